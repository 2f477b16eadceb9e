#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Which programs read what convert writes, as a page in Markdown: readers_of_pyramids.py [--program P] [--output PAGE]

Each reader is tried in this Python environment (pip install bioio bioio-ome-tiff large-image-source-tiff napari openslide-python
openslide-bin ome-types pyvips pyvips-binary SimpleITK slideio tiatoolbox tiffslide tifffile imagecodecs xmlschema); one that is not
installed is left out. A cell says what of the file a reader gave: pixels of level 0 to the bit, levels, channels, names of channels,
micrometers per pixel.
"""

import argparse
import importlib.metadata
import pathlib
import subprocess
import tempfile

import numpy
import tifffile

MPP = 0.5
NAMES = ["DAPI", "CD3", "CD8"]
PALETTE = numpy.repeat(numpy.arange(256, dtype=numpy.uint8)[:, None], 3, axis=1)  # gray, but for classes
PALETTE[:4] = [(0, 0, 0), (200, 40, 40), (40, 160, 80), (30, 60, 220)]

PAGE = """# Programs that read our files

`Testing/Benchmark/write/readers_of_pyramids.py` writes this page. Each program reads what `convert` writes of drawn images of 701 × 530 pixels
at 0.5 µm/px. Cells say what it gave as it is in the file: pixels of level 0 to the bit, levels, names of channels, resolution.
"Pixels" of classes are their numbers, "colors" those of their map. "Other pixels" are shown in other colors or bits.

The last column has the rules of QuPath, which is not run. It reads OME-TIFF through Bio-Formats, and other pyramids through OpenSlide or ImageJ.

- The XML is valid by the schema of OME (`ome-types`), and states size, type and channels.
- Each channel has a page, whose SubIFDs are its levels. Elsewhere levels are pages that are marked as reduced.
- Levels halve, tiles have sides of 16 to 1024 pixels, and Bio-Formats has the codec.

"""


def say(pixels, wanted, levels=None, names=None, mpp=None):
    """\\param pixels (y, x, channels)"""
    is_colors = wanted.dtype == numpy.uint8 and numpy.array_equal(pixels[..., :3], PALETTE[wanted[..., 0]])
    is_first = pixels.shape[:2] == wanted.shape[:2] and numpy.array_equal(pixels[..., 0], wanted[..., 0])
    has_all = numpy.array_equal(pixels[..., : wanted.shape[2]], wanted)  # gray may be given as RGB, and RGB with an alpha
    parts = ["pixels" if has_all else "colors" if is_colors else "first channel" if is_first else "other pixels"]
    parts += [f"{levels} levels"] if levels and levels > 1 else []
    parts += ["names"] if names == NAMES else []
    parts += ["µm/px"] if mpp and abs(mpp - MPP) < 1e-6 else []
    return ", ".join(parts)


def last(pixels, count):
    """Channels last: (y, x, c)."""
    pixels = numpy.squeeze(numpy.asarray(pixels))
    pixels = pixels[..., None] if pixels.ndim == 2 else pixels
    return numpy.moveaxis(pixels, 0, -1) if pixels.shape[0] == count and pixels.shape[-1] != count else pixels


def by_tifffile(path, wanted):
    with tifffile.TiffFile(path) as file:
        series = file.series[0]
        return say(last(series.asarray(), wanted.shape[2]), wanted, len(series.levels))


def by_openslide(path, wanted, module="openslide"):
    library = __import__(module)
    slide = (library.OpenSlide if module == "openslide" else library.TiffSlide)(str(path))
    pixels = numpy.asarray(slide.read_region((0, 0), 0, slide.dimensions))[..., :3]
    mpp = slide.properties.get(f"{module}.mpp-x")
    return say(pixels, wanted, slide.level_count, mpp=float(mpp) if mpp else None)


def by_tiffslide(path, wanted):
    return by_openslide(path, wanted, "tiffslide")


def by_bioio(path, wanted):
    import bioio_ome_tiff
    from bioio import BioImage

    image = BioImage(path, reader=bioio_ome_tiff.Reader)
    return say(last(image.data, wanted.shape[2]), wanted, names=[str(name) for name in image.channel_names], mpp=image.physical_pixel_sizes.X)


def by_large_image(path, wanted):
    import large_image
    import large_image_source_tiff

    source = large_image_source_tiff.open(str(path))
    about = source.getMetadata()
    frames = range(len(about.get("frames", [0])))
    samples = max(wanted.shape[2] // len(frames), 3 if wanted.shape[2] == 1 else 1)
    read = [source.getRegion(format=large_image.constants.TILE_FORMAT_NUMPY, frame=frame)[0][..., :samples] for frame in frames]
    pixels = numpy.concatenate(read, axis=2)
    return say(pixels, wanted, mpp=(about["mm_x"] or 0) * 1000)


def by_slideio(path, wanted):
    import slideio

    scene = slideio.open_slide(str(path), "OMETIFF" if ".ome." in path.name else "GDAL").get_scene(0)
    names = [scene.get_channel_name(channel) for channel in range(scene.num_channels)]
    return say(last(scene.read_block(), wanted.shape[2]), wanted, scene.num_zoom_levels, names=names, mpp=scene.resolution[0] * 1e6)


def by_pyvips(path, wanted):
    import pyvips

    first = pyvips.Image.new_from_file(str(path))
    pages = 1 if first.bands >= wanted.shape[2] else wanted.shape[2]
    pixels = [first.numpy() if page == 0 else pyvips.Image.new_from_file(str(path), page=page).numpy() for page in range(pages)]
    levels = first.get("n-subifds") + 1 if first.get_typeof("n-subifds") else first.get("n-pages") // pages
    return say(numpy.dstack(pixels), wanted, levels, mpp=1000 / first.xres)


def by_tiatoolbox(path, wanted):
    from tiatoolbox.wsicore.wsireader import WSIReader

    reader = WSIReader.open(path)
    about = reader.info
    pixels = reader.read_bounds((0, 0, *about.slide_dimensions), resolution=0, units="level")
    return say(last(pixels, wanted.shape[2]), wanted, about.level_count, mpp=None if about.mpp is None else about.mpp[0])


def by_simple_itk(path, wanted):
    import SimpleITK

    image = SimpleITK.ReadImage(str(path))
    return say(last(SimpleITK.GetArrayFromImage(image), wanted.shape[2]), wanted, mpp=image.GetSpacing()[0] * 1000)


def by_napari(path, wanted):
    from napari_builtins.io import napari_get_reader

    data, *about = napari_get_reader(str(path))(str(path))[0]
    levels = data if isinstance(data, list) else [data]
    scale = about[0].get("scale") if about else None
    return say(last(levels[0], wanted.shape[2]), wanted, len(levels), mpp=None if scale is None else scale[-1])


def by_rules(path, wanted):
    """Of QuPath, which is not run."""
    import ome_types

    with tifffile.TiffFile(path) as file:
        pages = list(file.pages)
        broken = []
        if path.name.endswith(".ome.tif"):
            about = ome_types.from_xml(file.ome_metadata, validate=True).images[0].pixels
            samples = [channel.samples_per_pixel or 1 for channel in about.channels]
            broken += ["size"] if (about.size_x, about.size_y, sum(samples)) != (wanted.shape[1], wanted.shape[0], wanted.shape[2]) else []
            broken += ["type"] if about.type.value not in (wanted.dtype.name, "float" if wanted.dtype == numpy.float32 else "") else []
            broken += ["pages"] if len(pages) != len(about.channels) else []
        levels = [[page, *page.pages] for page in pages] if pages[0].subifds else [pages]
        for page, *smaller in levels:
            halves = all(abs(level.imagewidth * 2 ** (n + 1) - page.imagewidth) <= 2 ** (n + 1) for n, level in enumerate(smaller))
            broken += [] if smaller and halves and all(level.is_reduced for level in smaller) else ["levels"]
        tiled = all(page.is_tiled and 16 <= page.tilewidth <= 1024 and page.tilewidth % 16 == 0 for each in levels for page in each)
        broken += [] if tiled else ["tiles"]
        broken += [] if all(page.compression.name in ("ADOBE_DEFLATE", "JPEG", "ZSTD") for each in levels for page in each) else ["codec"]
    return f"broken: {', '.join(sorted(set(broken)))}" if broken else "kept"


READERS = {
    "tifffile": by_tifffile,
    "openslide-python": by_openslide,
    "tiffslide": by_tiffslide,
    "pyvips": by_pyvips,
    "tiatoolbox": by_tiatoolbox,
    "SimpleITK": by_simple_itk,
    "napari": by_napari,
    "bioio-ome-tiff": by_bioio,
    "large-image-source-tiff": by_large_image,
    "slideio": by_slideio,
    "ome-types": by_rules,
}
SHOWN = {"ome-types": "QuPath's rules by ome-types"}


def write_files(program, folder):
    """Files by what they hold, each with its pixels (y, x, c)."""
    random = numpy.random.default_rng(0)
    colors = random.integers(0, 256, (530, 701, 3), numpy.uint8)
    channels = random.integers(0, 4000, (3, 530, 701), numpy.uint16)
    options = dict(tile=(256, 256), resolution=(1e4 / MPP, 1e4 / MPP), resolutionunit="CENTIMETER")
    tifffile.imwrite(folder / "colors.tif", colors, photometric="rgb", **options)
    tifffile.imwrite(folder / "mask.tif", (colors[..., :1] > 99).astype(numpy.uint8), photometric="minisblack", **options)
    classes = colors[..., :1] // 64
    tifffile.imwrite(folder / "classes.tif", classes[..., 0], photometric="palette", colormap=PALETTE.T.astype(numpy.uint16) * 257, **options)
    metadata = {"axes": "CYX", "Channel": {"Name": NAMES}, "PhysicalSizeX": MPP, "PhysicalSizeY": MPP}
    tifffile.imwrite(folder / "channels.ome.tif", channels, photometric="minisblack", metadata=metadata, ome=True, tile=(256, 256))
    objects = {name: random.integers(0, 60000, (530, 701, 1)).astype(name) for name in ("uint16", "uint32")}
    probabilities = random.random((530, 701, 1)).astype(numpy.float32)
    for name, pixels in (*objects.items(), ("probability", probabilities)):
        tifffile.imwrite(folder / f"{name}.tif", pixels[..., 0], photometric="minisblack", **options)
    kinds = [
        ("RGB of 8 bit", "colors.tif", colors),
        ("labels of 8 bit", "mask.tif", (colors[..., :1] > 99).astype(numpy.uint8)),
        ("labels with colors", "classes.tif", classes),
        ("labels of 16 bit", "uint16.tif", objects["uint16"]),
        ("labels of 32 bit", "uint32.tif", objects["uint32"]),
        ("a probability map", "probability.tif", probabilities),
        ("three channels of 16 bit", "channels.ome.tif", numpy.moveaxis(channels, 0, -1)),
    ]
    for what, name, pixels in kinds:
        for ending in ("pyramid.tif", "ome.tif"):
            out = folder / f"out-{name.split('.')[0]}.{ending}"
            words = ["--compression", "deflate", "--tile-size", "128", *(["--content", "labels"] if "labels" in what else [])]
            subprocess.run([program, "convert", folder / name, out, "--quiet", *words], check=True, stdout=subprocess.DEVNULL)
            yield f"{what}, `.{ending}`", out, pixels


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
    rows = ["| file | " + " | ".join(f"{SHOWN.get(name, name)} {version}" for name, version in versions.items()) + " |", "| --- |" + " --- |" * len(versions)]
    with tempfile.TemporaryDirectory() as folder:
        for what, path, pixels in write_files(options.program, pathlib.Path(folder)):
            cells = []
            for name in versions:
                try:
                    cells.append(READERS[name](path, pixels))
                except Exception as error:  # whatever a reader throws, it does not read the file
                    cells.append(f"not read ({type(error).__name__})")
            rows.append(f"| {what} | " + " | ".join(cells) + " |")
    text = PAGE + "\n".join(rows) + "\n"
    print(text) if options.output is None else options.output.write_text(text)


if __name__ == "__main__":
    main()
