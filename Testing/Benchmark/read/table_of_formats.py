#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Compares the reading of each format with an independent program, in Markdown:
table_of_formats.py [--program P] [--output PAGE] [--real FOLDER]

The files are those that the tests draw. A cell has what both say; where they differ, both. A dash: the other program does not
say it, or the file has none. Programs that are not installed are left out with their rows (pip install tifffile imagecodecs
openslide-python openslide-bin pydicom wsidicom). FOLDER has the real images that the page names, if they are to be read.
"""

import argparse
import importlib.metadata
import json
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

import numpy
import tifffile

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "CommandLine"))
import dicom_slides
import vendor_slides

MPP = 0.5
ASPECTS = ["open", "images", "levels", "channels", "depth", "planes", "spacing", "resolution", "associated", "write"]

PAGE = """# Formats that are read

`Testing/Benchmark/read/table_of_formats.py` writes this page. It draws a small file of each format, reads it with `gigapixel` and with an
independent program, and compares them. A cell has what both say, "(program: …)" what the other one says instead. A dash: the program
does not say it, or nothing of the kind is there.

- read by: what decodes the pixels in `gigapixel`: its own reader of tiles and strips, or OpenSlide
- open: pixels of level 0, in each focal plane, with the largest difference
- depth: bits of a sample
- planes: focal planes; spacing: how many µm they are apart
- resolution: µm/px
- write: `convert` writes the format, and the program reads the same pixels in it

Rows that say so are of real images.

| file | what it shows | from, licence |
| --- | --- | --- |
| `test3-DAPI-2-(387).ndpi`, `test3-TRITC 2 (560).ndpi` | channels of one section, by a NanoZoomer C9600-12 | [slideio-tutorial](https://github.com/Booritas/slideio-tutorial/tree/master/images), by Manuel Stritt, CC BY 4.0 |
| `downsampled.tiff` | a brain of a mouse in 135 planes | [brainreg](https://github.com/brainglobe/brainreg/tree/main/tests/data/registration_output/Linux), BSD-3-Clause |
| `105.tif` | nuclei, 16 bit | [UnMicst](https://github.com/HMS-IDAC/UnMicst/tree/master/UNet%20sample%20data/registration), MIT |

"""


def run(program, *words):
    done = subprocess.run([program, *map(str, words), "--quiet"], check=True, capture_output=True, text=True)
    return json.loads(done.stdout) if "--json" in words else None


def last(pixels):
    """(y, x, channels) of (y, x), (c, y, x) or (y, x, c)."""
    pixels = numpy.asarray(pixels)
    pixels = pixels[None] if pixels.ndim == 2 else pixels
    return numpy.moveaxis(pixels, 0, -1) if pixels.shape[0] < pixels.shape[-1] else pixels


def read_ours(program, path, folder):
    """The answers about the file, and the pixels of each focal plane."""
    info = run(program, "info", path, "--json")
    planes = info["focalPlanes"]["count"] if info["focalPlanes"] else 1
    pixels = []
    for plane in range(planes):
        out = folder / "out.ome.tif"
        image = ["--plane", plane + 1] if planes > 1 else []
        run(program, "convert", path, out, "--compression", "deflate", "--content", "picture", "--overwrite", *image)
        pixels.append(last(tifffile.imread(out, series=0, level=0)))
    return {
        "pixels": pixels,
        "decoder": info["decoder"],
        "images": len(info["images"]) // planes if info["images"] else 1,
        "levels": [(level["width"], level["height"]) for level in info["levels"]],
        "channels": info["channels"],
        "depth": {"unsigned_char": 8, "unsigned_short": 16, "float": 32}[info["sampleType"]],
        "planes": planes,
        "spacing": info["focalPlanes"] and info["focalPlanes"]["spacingUm"],
        "resolution": info["mpp"],
        "associated": sorted(image["name"] for image in info["associatedImages"]),
    }


def by_openslide(path):
    import openslide

    with openslide.OpenSlide(str(path)) as slide:
        mpp = slide.properties.get("openslide.mpp-x")
        read = numpy.asarray(slide.read_region((0, 0), 0, slide.dimensions))
        return {
            "pixels": [numpy.where(read[..., 3:] > 0, read[..., :3], 255).astype(numpy.uint8)],
            "levels": list(slide.level_dimensions),
            "channels": 3,
            "depth": 8,
            "resolution": mpp and float(mpp),
            "associated": sorted(slide.associated_images),
        }


def by_tifffile(path):
    with tifffile.TiffFile(path) as file:
        first = file.series[0]
        axis = next((first.axes.index(letter) for letter in "ZI" if letter in first.axes), None)
        pixels = first.asarray()
        planes = [pixels] if axis is None else list(numpy.moveaxis(pixels, axis, 0))
        said = {
            "pixels": [last(plane) for plane in planes],
            "images": None if file.is_qpi else len(file.series),  # of which the thumbnail is one
            "levels": [(level.shape[level.axes.index("X")], level.shape[level.axes.index("Y")]) for level in first.levels],
            "channels": last(planes[0]).shape[2],
            "depth": 8 * first.dtype.itemsize,
            "planes": len(planes),
        }
        if file.is_ome:
            image = tifffile.xml2dict(file.ome_metadata)["OME"]["Image"]
            pixels = (image[0] if isinstance(image, list) else image)["Pixels"]
            said.update(resolution=pixels.get("PhysicalSizeX"), spacing=pixels.get("PhysicalSizeZ"))
        elif "XResolution" in file.pages[0].tags and file.pages[0].tags["ResolutionUnit"].value == 3:
            number, divisor = file.pages[0].tags["XResolution"].value
            said["resolution"] = 1e4 * divisor / number
        return said


def by_pages(planes):
    """Each channel of each focal plane is a page that tifffile reads. \param planes (file, page) of the channels of each"""

    def read(file, page):
        with tifffile.TiffFile(file) as opened:
            return opened.pages[page].asarray()

    pixels = [numpy.dstack([read(*place) for place in channels]) for channels in planes]
    return {"pixels": pixels, "channels": pixels[0].shape[2], "depth": 8 * pixels[0].itemsize, "planes": len(pixels)}


def by_bands(files, wavelengths):
    """NDPIs that tifffile reads, of each the color of its wavelength in nm: blue up to 490, green up to 580, else red."""
    channels = [tifffile.imread(file, series=0, level=0)[..., (nm <= 490) + (nm <= 580)] for file, nm in zip(files, wavelengths)]
    return {"pixels": [numpy.dstack(channels)], "channels": len(channels), "depth": 8}


def by_pydicom(path):
    """Files that have all tiles of the optical paths, of each those of the focal planes, row by row."""
    import pydicom

    planes = []
    for file in sorted(path.parent.glob("*.dcm")):
        data = pydicom.dcmread(file, force=True)
        width, height = data.TotalPixelMatrixColumns, data.TotalPixelMatrixRows
        down, across = -(-height // data.Rows), -(-width // data.Columns)
        depths = data.get("TotalPixelMatrixFocalPlanes", 1)
        tiles = data.pixel_array.reshape(-1, depths, down, across, data.Rows, data.Columns, data.SamplesPerPixel)
        images = tiles.transpose(1, 2, 4, 3, 5, 0, 6).reshape(depths, down * data.Rows, across * data.Columns, -1)
        planes.append(images[:, :height, :width])
    measures = data.SharedFunctionalGroupsSequence[0].PixelMeasuresSequence[0]
    pixels = numpy.concatenate(planes, axis=3)
    return {
        "pixels": list(pixels),
        "channels": pixels.shape[3],
        "depth": data.BitsAllocated,
        "planes": depths,
        "spacing": 1000 * float(measures.SpacingBetweenSlices) if "SpacingBetweenSlices" in measures else None,
        "resolution": 1000 * float(measures.PixelSpacing[0]),
    }


def by_wsidicom(path):
    import wsidicom

    with wsidicom.WsiDicom.open(path.parent) as slide:
        level = slide.pyramids[0].base_level
        size = level.size.to_tuple()

        def read(plane, name):
            return numpy.asarray(slide.read_region((0, 0), 0, size, z=plane, path=name))

        depths = level.focal_planes
        pixels = [numpy.dstack([read(plane, name) for name in sorted(level.optical_paths)]) for plane in depths]
        return {
            "pixels": pixels,
            "levels": [each.size.to_tuple() for each in slide.pyramids[0]],
            "channels": pixels[0].shape[2],
            "planes": len(depths),
            "spacing": depths[1] - depths[0] if len(depths) > 1 else None,
            "resolution": level.mpp.width,
        }


def write_tiffs(folder):
    """(format, file) of those that tifffile writes."""
    random = numpy.random.default_rng(0)
    colors = random.integers(0, 256, (300, 400, 3), numpy.uint8)
    stack = random.integers(0, 60000, (3, 4, 300, 400), numpy.uint16)  # planes, channels
    resolution = dict(resolution=(1e4 / MPP, 1e4 / MPP), resolutionunit="CENTIMETER")
    tiles = dict(tile=(64, 64), compression="zlib")
    size = {"PhysicalSizeX": MPP, "PhysicalSizeY": MPP}

    def write_levels(name, pixels, steps, **options):
        with tifffile.TiffWriter(folder / name, ome=".ome." in name) as file:
            file.write(pixels, subifds=len(steps) if ".ome." in name else None, **options, **tiles, **resolution)
            for step in steps:
                reduced = {key: value for key, value in options.items() if key != "metadata"}
                smaller = pixels[::step, ::step] if pixels.shape[-1] == 3 else pixels[..., ::step, ::step]
                file.write(smaller, subfiletype=1, **reduced, **tiles)
        return folder / name

    yield "TIFF pyramid, RGB", write_levels("pyramid.tif", colors, (2, 4), photometric="rgb", metadata=None)
    yield "OME-TIFF, RGB", write_levels("rgb.ome.tif", colors, (2,), photometric="rgb", metadata={"axes": "YXS", **size})
    gray = dict(photometric="minisblack")
    yield "OME-TIFF, channels", write_levels("channels.ome.tif", stack[0], (2, 4), metadata={"axes": "CYX", **size}, **gray)
    yield "OME-TIFF, channels and focal planes", write_levels("planes.ome.tif", stack, (), metadata={"axes": "ZCYX", **size}, **gray)
    yield "OME-TIFF, floats", write_levels("float.ome.tif", stack[0].astype(numpy.float32) / 7, (), metadata={"axes": "CYX", **size}, **gray)
    several = folder / "several"
    several.mkdir()
    import test_ome_tiff_in_files as files

    files.write_set(several, stack[0][:, None], {f"C{c}.ome.tif": [(c, 0)] for c in range(4)}, levels=2)
    yield "OME-TIFF in several files", several / "C0.ome.tif"
    with tifffile.TiffWriter(folder / "images.ome.tif", ome=True) as file:
        for image in (stack[0], stack[1, :, :200, :300], stack[2, :, :100, :150]):
            file.write(image, metadata={"axes": "CYX", **size}, **tiles, **gray)
    yield "OME-TIFF, several images", folder / "images.ome.tif"
    tifffile.imwrite(folder / "wide.tif", stack[0, 0], tile=(64, 64), compression="jpeg2000", metadata=None, **gray, **resolution)
    yield "TIFF in JPEG 2000, 16 bit", folder / "wide.tif"
    qptiff = folder / "channels.qptiff"
    with tifffile.TiffWriter(qptiff) as file:

        def describe(kind, name=""):
            text = f"<PerkinElmer-QPI-ImageDescription><ImageType>{kind}</ImageType><Name>{name}</Name></PerkinElmer-QPI-ImageDescription>"
            return dict(description=text, metadata=None, software="PerkinElmer-QPI", resolutionunit="CENTIMETER")

        for kind, step, reduced in (("FullResolution", 1, 0), ("ReducedResolution", 2, 1)):
            if reduced:
                file.write(colors[::4, ::4], photometric="rgb", **describe("Thumbnail"))
            for name, pixels in zip(("DAPI", "CD3", "CD8", "CD20"), stack[0, :, ::step, ::step]):
                file.write(pixels, subfiletype=reduced, resolution=(step * 1e4 / MPP,) * 2, **describe(kind, name), **tiles, **gray)
    yield "QPTIFF, channels", qptiff
    for shown, pixels, axes in (("focal planes", stack[:, 0], "ZYX"), ("channels", stack[0], "CYX"), ("channels and focal planes", stack, "ZCYX")):
        for program, more in (("ImageJ", {"imagej": True}), ("tifffile", {"photometric": "minisblack"})):
            path = folder / f"{program}-{axes}.tif"
            tifffile.imwrite(path, pixels, metadata={"axes": axes, "unit": "um"}, resolution=(1 / MPP, 1 / MPP), **more)
            yield f"{program}, {shown}", path
    for program, more in (("ImageJ", {"imagej": True}), ("tifffile", {"photometric": "minisblack"})):
        path = folder / f"{program}-truncated.tif"
        tifffile.imwrite(path, stack, metadata={"axes": "ZCYX"}, truncate=True, **more)
        yield f"{program}, one table for all pages", path


def write_dicoms(folder):
    """(format, file)"""
    random = numpy.random.default_rng(1)
    colors = random.integers(0, 256, (3, 90, 110, 3), numpy.uint8)
    deep = random.integers(0, 65536, (2, 90, 110), numpy.uint16)

    def write(name, pixels, number=1, **options):
        (folder / name).mkdir(exist_ok=True)
        sides = [dicom_slides.element(0x48, tag, b"FL", struct.pack("<f", side * MPP / 1000)) for tag, side in ((1, 110), (2, 90))]
        identifiers = [dicom_slides.element(8, 0x18, b"UI", f"1.2.9.{number}"), dicom_slides.element(0x20, 0xD, b"UI", "1.2.8")]
        paths = dicom_slides.element(0x48, 0x302, b"UL", dicom_slides.ul(len(options.get("paths", "1"))))
        more = [*identifiers, *sides, paths, *options.pop("add", [])]
        path = folder / name / f"{number}.dcm"
        if isinstance(pixels, list):
            return dicom_slides.write_dicom(path, (110, 90), pixels, add=more, **options)
        return dicom_slides.write_slide_file(path, pixels, add=more, **options)

    def cut(planes):
        return [tile for plane in planes for tile in dicom_slides.cut(plane)]

    yield "DICOM, RGB", write("rgb", colors[0])
    options = dict(syntax="1.2.840.10008.1.2.4.90", samples=1, bits=16, photometric="MONOCHROME2", paths=("a", "b"))
    yield "DICOM, two optical paths in JPEG 2000", write("deep", [dicom_slides.encode_deep(tile) for tile in cut(deep)], **options)
    for number, plane in enumerate(deep, 1):
        first = write("files", plane, number, paths=(f"path{number}",))
    yield "DICOM, a file for each channel", first
    measures = dicom_slides.sequence(0x28, 0x9110, dicom_slides.element(0x18, 0x88, b"DS", "0.0015") + dicom_slides.element(0x28, 0x30, b"DS", "0.0005\\0.0005"))
    planes = [dicom_slides.element(0x48, 0x303, b"UL", dicom_slides.ul(3)), dicom_slides.sequence(0x5200, 0x9229, measures)]
    yield "DICOM, focal planes", write("planes", [tile.tobytes() for tile in cut(colors)], add=planes)


def write_planes(folder):
    """(format, file, reader) of scanners' files with focal planes or channels."""
    colors = numpy.random.default_rng(2).integers(0, 256, (3, 256, 320, 3), numpy.uint8)
    path = folder / "planes.svs"
    with tifffile.TiffWriter(path) as file:
        for depth, plane in zip((-1.5, 0, 1.5), colors):
            for step in (1, 2):
                text = f"Aperio Image Library v1\n320x256 ({320 // step}x{256 // step})|AppMag = 20|MPP = 0.5|OffsetZ = {depth}"
                file.write(plane[::step, ::step], description=text, metadata=None, photometric="rgb", tile=(64, 64), compression="zlib")
    yield "Aperio SVS, focal planes", path, lambda file: by_pages([[(file, 2 * plane)] for plane in range(3)]) | {"spacing": 1.5, "resolution": MPP}
    (folder / "depths").mkdir()
    depths = vendor_slides.write(vendor_slides.ndpi(planes=(-2000, 0, 2000)), folder / "depths")
    yield "Hamamatsu NDPI, focal planes", depths, lambda file: by_tifffile(file) | {"levels": None, "images": None}
    (folder / "set").mkdir()
    wavelengths = (455.0, 520.0, 670.0)
    path = vendor_slides.write(vendor_slides.ndpis(list(zip(("DAP", "FIT", "CY5"), wavelengths))), folder / "set")
    files = [path.with_name(f"s-{number}.ndpi") for number in range(3)]
    yield "Hamamatsu NDPIS, fluorescence", path, lambda _: by_bands(files, wavelengths)
    import test_ome_tiff_in_files as files_of_ome

    companion = folder / "companion"
    companion.mkdir()
    planes = files_of_ome.draw(2, 3)
    binary = files_of_ome.xml('<BinaryOnly MetadataFile="set.companion.ome" UUID="urn:uuid:all"/>')
    text = files_of_ome.write_set(companion, planes, {f"p{z}.ome.tif": [(0, z), (1, z)] for z in range(3)}, binary)
    path = companion / "set.companion.ome"
    path.write_text(files_of_ome.xml(text), encoding="utf-8")
    yield "OME-TIFF with a companion file", path, lambda _: by_pages([[(companion / f"p{z}.ome.tif", c) for c in range(2)] for z in range(3)])


def write_real(real, folder):
    """(format, file, reader)"""
    files = [real / "test3-DAPI-2-(387).ndpi", real / "test3-TRITC 2 (560).ndpi"]
    for file in files:
        shutil.copy(file, folder)  # links that lead out of the folder are refused
    path = folder / "test3.ndpis"
    path.write_text("[NanoZoomer Digital Pathology Image Set]\n" + "".join(f"Image{n}={file.name}\n" for n, file in enumerate(files)))
    yield "Hamamatsu NDPIS, real", path, lambda _: by_bands(files, [455.0, 622.0])
    yield "tifffile, focal planes, real", real / "downsampled.tiff", by_tifffile
    yield "ImageJ, 16 bit, real", real / "105.tif", by_tifffile


def write_files(folder, real):
    """(format, file, program, how it reads)"""
    names = {
        "aperio": "Aperio SVS",
        "ndpi": "Hamamatsu NDPI",
        "vms": "Hamamatsu VMS",
        "vmu": "Hamamatsu VMU",
        "leica": "Leica SCN",
        "mirax": "MIRAX",
        "philips": "Philips TIFF",
        "sakura": "Sakura SVSLIDE",
        "trestle": "Trestle",
        "ventana": "Ventana BIF",
    }
    for name, shown in names.items():
        (folder / name).mkdir()
        yield shown, vendor_slides.write(vendor_slides.WRITERS[name](), folder / name), "openslide-python", by_openslide
    for shown, path, read in [*write_planes(folder), *(write_real(real, folder) if real else [])]:
        yield shown, path, "tifffile", read
    for shown, path in write_tiffs(folder):
        yield shown, path, "tifffile", by_tifffile
    for shown, path in write_dicoms(folder):
        yield shown, path, "pydicom", by_pydicom
        yield shown, path, "wsidicom", by_wsidicom


PROGRAMS = ["openslide-python", "tifffile", "pydicom", "wsidicom"]


def compare_pixels(ours, theirs):
    if len(ours) != len(theirs) or any(one.shape != other.shape for one, other in zip(ours, theirs)):
        return f"{ours[0].shape} (program: {theirs[0].shape})"
    difference = max(numpy.abs(one.astype(float) - other).max() for one, other in zip(ours, theirs))
    return "to the bit" if difference == 0 else f"{difference:g}"


def compare(aspect, ours, theirs):
    if theirs in (None, []):
        return "-"
    if aspect == "levels":
        ours, theirs = [[f"{width} × {height}" for width, height in sizes] for sizes in (ours, theirs)]

    def show(value):
        return ", ".join(value) if isinstance(value, list) else "none" if value is None else f"{value:g}"

    ours, theirs = show(ours), show(theirs)
    return ours if ours == theirs else f"{ours} (program: {theirs})"


def try_writing(program, path, folder, theirs):
    """Whether tifffile reads the pixels in what convert writes, where that writes the format."""
    ending = ".ome.tif" if path.name.endswith(".ome.tif") else ".pyramid.tif" if path.name == "pyramid.tif" else None
    if ending is None:
        return "-"
    out = folder / f"written{ending}"
    plane = ["--plane", 1] if len(theirs["pixels"]) > 1 else []
    run(program, "convert", path, out, "--compression", "deflate", "--content", "picture", "--overwrite", *plane)
    with tifffile.TiffFile(out) as file:
        series = file.series[0]
        same = numpy.array_equal(last(series.asarray()), theirs["pixels"][0])
    return ("one plane" if plane else "yes") if same else "other pixels"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default="gigapixel")
    parser.add_argument("--output", type=pathlib.Path, help="the page; without it: on the standard output")
    parser.add_argument("--real", type=pathlib.Path, help="the folder of the real images that the page names")
    options = parser.parse_args()
    versions = {}
    for name in PROGRAMS:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            print(f"{name} is not installed")
    rows = ["| format | read by | " + " | ".join(ASPECTS) + " | program |", "| --- |" + " --- |" * (len(ASPECTS) + 2)]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for shown, path, reader, read in write_files(folder, options.real):
            if reader not in versions:
                continue
            ours = read_ours(options.program, path, folder)
            try:
                theirs = read(path)
            except Exception as error:  # whatever it throws, it does not read the file
                print(f"{shown}: {reader}: {error}", file=sys.stderr)
                rows.append(f"| {shown} | {ours['decoder']} |" + " |" * len(ASPECTS) + f" {reader} {versions[reader]} does not read it |")
                continue
            cells = [compare_pixels(ours["pixels"], theirs["pixels"])]
            cells += [compare(aspect, ours[aspect], theirs.get(aspect)) for aspect in ASPECTS[1:-1]]
            cells.append(try_writing(options.program, path, folder, theirs))
            rows.append(f"| {shown} | {ours['decoder']} | " + " | ".join(cells) + f" | {reader} {versions[reader]} |")
    text = PAGE + "\n".join(rows) + "\n"
    print(text) if options.output is None else options.output.write_text(text)


if __name__ == "__main__":
    main()
