#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Compares the reading of each format with an independent program, in Markdown: table_of_formats.py [--program P] [--output PAGE]

The files are those that the tests draw. A cell has what both say; where they differ, both. A dash: the other program does not
say it, or the file has none. Programs that are not installed are left out with their rows (pip install tifffile imagecodecs
openslide-python openslide-bin pydicom).
"""

import argparse
import importlib.metadata
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy
import tifffile

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "CommandLine"))
import dicom_slides
import vendor_slides

MPP = 0.5
ASPECTS = ["open", "images", "levels", "channels", "depth", "planes", "resolution", "associated", "write"]

PAGE = """# Formats that are read

`Testing/Benchmark/read/table_of_formats.py` writes this page. It draws a small file of each format, reads it with `gigapixel` and with an
independent program, and compares them. A cell has what both say, "(program: …)" what the other one says instead. A dash: the program
does not say it, or nothing of the kind is there.

- read by: what decodes the pixels in `gigapixel`: its own reader of tiles and strips, or OpenSlide
- open: pixels of level 0, in each focal plane, with the largest difference
- depth: bits of a sample
- resolution: µm/px
- write: `convert` writes the format, and the program reads the same pixels in it

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
        axes = [axis for axis in first.axes if axis not in "YX"]
        pixels = first.asarray()
        if "Z" in axes or "I" in axes:
            axis = first.axes.index("Z" if "Z" in axes else "I")
            planes = list(numpy.moveaxis(pixels, axis, 0))
        else:
            planes = [pixels]
        said = {
            "pixels": [last(plane) for plane in planes],
            "images": len(file.series),
            "levels": [(level.shape[level.axes.index("X")], level.shape[level.axes.index("Y")]) for level in first.levels],
            "channels": last(planes[0]).shape[2],
            "depth": 8 * first.dtype.itemsize,
            "planes": len(planes),
        }
        if file.is_ome:
            image = tifffile.xml2dict(file.ome_metadata)["OME"]["Image"]
            said["resolution"] = (image[0] if isinstance(image, list) else image)["Pixels"].get("PhysicalSizeX")
        elif "XResolution" in file.pages[0].tags and file.pages[0].tags["ResolutionUnit"].value == 3:
            number, divisor = file.pages[0].tags["XResolution"].value
            said["resolution"] = 1e4 * divisor / number
        return said


def by_pydicom(path):
    """A file whose frames are all tiles of the paths, row by row."""
    import pydicom

    data = pydicom.dcmread(path, force=True)
    frames = data.pixel_array.reshape(data.NumberOfFrames, data.Rows, data.Columns, -1)
    width, height = data.TotalPixelMatrixColumns, data.TotalPixelMatrixRows
    down, across = -(-height // data.Rows), -(-width // data.Columns)
    paths = frames.reshape(-1, down, across, *frames.shape[1:]).transpose(0, 1, 3, 2, 4, 5)
    pixels = paths.reshape(len(paths), down * data.Rows, across * data.Columns, -1)[:, :height, :width]
    return {
        "pixels": [numpy.concatenate(list(pixels), axis=2)],
        "channels": len(paths) * data.SamplesPerPixel,
        "depth": data.BitsAllocated,
        "resolution": 1000 * float(data.SharedFunctionalGroupsSequence[0].PixelMeasuresSequence[0].PixelSpacing[0]),
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
    for shown, pixels, axes in (("focal planes", stack[:, 0], "ZYX"), ("channels", stack[0], "CYX"), ("channels and focal planes", stack, "ZCYX")):
        for program, more in (("ImageJ", {"imagej": True}), ("tifffile", {"photometric": "minisblack"})):
            path = folder / f"{program}-{axes}.tif"
            tifffile.imwrite(path, pixels, metadata={"axes": axes, "unit": "um"}, resolution=(1 / MPP, 1 / MPP), **more)
            yield f"{program}, {shown}", path


def write_files(folder):
    """(format, file, program)"""
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
        yield shown, vendor_slides.write(vendor_slides.WRITERS[name](), folder / name), "openslide-python"
    for shown, path in write_tiffs(folder):
        yield shown, path, "tifffile"
    random = numpy.random.default_rng(1)
    colors = random.integers(0, 256, (90, 110, 3), numpy.uint8)
    yield "DICOM, RGB", dicom_slides.write_slide_file(folder / "rgb.dcm", colors), "pydicom"
    planes = random.integers(0, 65536, (2, 90, 110), numpy.uint16)
    deep = [dicom_slides.encode_deep(tile) for plane in planes for tile in dicom_slides.cut(plane)]
    options = dict(syntax="1.2.840.10008.1.2.4.90", samples=1, bits=16, photometric="MONOCHROME2", paths=("a", "b"))
    yield "DICOM, two optical paths in JPEG 2000", dicom_slides.write_dicom(folder / "deep.dcm", (110, 90), deep, **options), "pydicom"


READERS = {"openslide-python": by_openslide, "tifffile": by_tifffile, "pydicom": by_pydicom}


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
    options = parser.parse_args()
    versions = {}
    for name in READERS:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            print(f"{name} is not installed")
    rows = ["| format | read by | " + " | ".join(ASPECTS) + " | program |", "| --- |" + " --- |" * (len(ASPECTS) + 2)]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for shown, path, reader in write_files(folder):
            if reader not in versions:
                continue
            ours = read_ours(options.program, path, folder)
            try:
                theirs = READERS[reader](path)
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
