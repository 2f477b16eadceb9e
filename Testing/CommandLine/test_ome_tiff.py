# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""OME-TIFF that is written: what tifffile sees in it, and that commands take it as they take our other pyramids."""

import json
import xml.etree.ElementTree as ElementTree

import numpy
import openslide
import pytest
import tifffile
from PIL import Image

from conftest import blobs, fails, run, write_slide
from test_annotations import square, write_outlines
from test_channels import COLORS, draw, signed, write
from test_convert import aperio_slide, raw_tiles, texture

OME = "{http://www.openmicroscopy.org/Schemas/OME/2016-06}"


def describe(path):
    """Of each image: axes, levels; and the elements Pixels."""
    with tifffile.TiffFile(path) as file:
        assert file.is_ome and len(file.pages) == len(file.series)
        root = ElementTree.fromstring(file.ome_metadata)
        images = [(series.axes, [level.asarray() for level in series.levels]) for series in file.series]
    return images, list(root.iter(f"{OME}Pixels"))


def find_pages(path):
    with tifffile.TiffFile(path) as file:
        return [page.asarray() for page in file.pages]


def write_both(folder, *words):
    """The same output as a pyramid and as an OME-TIFF: the levels of the first, and the other's file."""
    run(*[word or folder / "as.pyramid.tif" for word in words])
    run(*[word or folder / "as.ome.tif" for word in words])
    return find_pages(folder / "as.pyramid.tif"), folder / "as.ome.tif"


def check(path, levels, axes, kind):
    """That the first image has these levels; returns its element Pixels."""
    images, pixels = describe(path)
    assert images[0][0] == axes and len(images[0][1]) == len(levels) > 1
    for found, wanted in zip(images[0][1], levels):
        assert found.dtype == wanted.dtype and numpy.array_equal(found, wanted)
    height, width = levels[0].shape[:2]
    samples = levels[0].shape[2] if levels[0].ndim == 3 else 1
    first = pixels[0].attrib
    assert [int(first[f"Size{axis}"]) for axis in "XYCZT"] == [width, height, samples, 1, 1] and first["Type"] == kind
    assert [channel.attrib["SamplesPerPixel"] for channel in pixels[0].findall(f"{OME}Channel")] == [str(samples)]
    return pixels[0]


def test_slides(tmp_path):
    slide = write_slide(tmp_path / "slide.tif", texture(700, 1100), mpp=0.25)
    levels, path = write_both(tmp_path, "convert", slide, None, "--compression", "deflate")
    pixels = check(path, levels, "YXS", "uint8").attrib
    for axis in "XY":
        assert float(pixels[f"PhysicalSize{axis}"]) == 0.25 and pixels[f"PhysicalSize{axis}Unit"] == "µm"
    info = run("info", path, "--json").json
    assert info["levels"] == run("info", tmp_path / "as.pyramid.tif", "--json").json["levels"] and not info["warnings"]


def test_tiles_that_are_copied(tmp_path):
    slide = write_slide(tmp_path / "slide.tif", texture(700, 1100), mpp=None)
    run("convert", slide, tmp_path / "jpeg.pyramid.tif", "--compression", "jpeg")
    run("convert", tmp_path / "jpeg.pyramid.tif", tmp_path / "s.ome.tif")
    with tifffile.TiffFile(tmp_path / "jpeg.pyramid.tif") as first, tifffile.TiffFile(tmp_path / "s.ome.tif") as second:
        levels = second.series[0].levels
        assert [list(raw_tiles(second, level.pages[0])) for level in levels] == [list(raw_tiles(first, page)) for page in first.pages]
        assert "PhysicalSize" not in second.ome_metadata  # it is unknown


def test_openslide_sees_level_0(tmp_path):
    slide = write_slide(tmp_path / "slide.tif", texture(700, 1100))
    levels, path = write_both(tmp_path, "convert", slide, None, "--compression", "deflate")
    with openslide.OpenSlide(str(path)) as opened:
        assert opened.dimensions == (1100, 700)
        assert numpy.array_equal(numpy.asarray(opened.read_region((0, 0), 0, opened.dimensions))[..., :3], levels[0])


def test_label_and_macro_are_images_of_their_own(tmp_path):
    slide = aperio_slide(tmp_path / "slide.svs")
    path = tmp_path / "s.ome.tif"
    run("convert", slide, path, "--keep-label")
    images, _ = describe(path)
    with tifffile.TiffFile(path) as file:
        names = [series.name for series in file.series[1:]]
    before, after = [run("info", file, "--json").json for file in (slide, path)]
    assert sorted(names) == sorted(image["name"] for image in before["associatedImages"]) and names
    assert [axes for axes, _ in images] == ["YXS"] * (1 + len(names))
    assert after["associatedImages"] == before["associatedImages"] and not after["warnings"]


@pytest.mark.parametrize("dtype, kind", [("uint8", "uint8"), ("uint16", "uint16"), ("float32", "float")])
def test_a_channel_has_its_name_and_color(tmp_path, dtype, kind):
    planes = (draw(800, 600) / (20 if dtype == "uint8" else 1)).astype(dtype)
    slide = write(tmp_path / "slide.ome.tif", planes, ["&lt;a &amp; &quot;b&quot;&gt;", "Größe", "c"])
    for number, name in enumerate(['<a & "b">', "Größe"]):
        levels, path = write_both(tmp_path, "convert", slide, None, "--channel", number + 1, "--overwrite")
        assert numpy.array_equal(levels[0], planes[number])
        channel = check(path, levels, "YX", kind).find(f"{OME}Channel").attrib
        assert (channel["Name"], channel["Color"]) == (name, str(signed(COLORS[number])))
        entry = run("info", path, "--json").json["channelEntries"][0]
        assert (entry["name"], entry["color"]) == (name, "#%02x%02x%02x" % COLORS[number])


@pytest.fixture
def tissue(tmp_path):
    pixels = blobs(1500, 1100)
    return write_slide(tmp_path / "slide.tif", pixels if pixels.ndim == 3 else numpy.repeat(pixels[..., None], 3, -1))


def test_masks_are_as_good_as_pyramids(tmp_path, tissue):
    levels, path = write_both(tmp_path, "label", tissue, "-o", None, "--classes", "--preset", "model", "--full-resolution")
    check(path, levels, "YX", "uint8")
    both = [tmp_path / "as.pyramid.tif", path]
    truth = write_slide(tmp_path / "truth.tif", numpy.where(levels[0] > 0, 255, 0).astype(numpy.uint8))
    with tifffile.TiffFile(path) as file:
        assert file.pages[0].colormap is not None

    def read(mask, *words):
        """What a command says of a mask, but its name."""
        return json.loads(json.dumps(run(*words, "--json").json).replace(str(mask), "MASK"))

    table, outlines = [["-o", tmp_path / name, "--overwrite"] for name in ("t.csv", "o.geojson")]
    calls = [
        ["info", None],
        ["evaluate", None, truth],
        ["measure", None, "--slide", tissue, *table],
        ["outline", None, "--like", tissue, *outlines],
    ]
    for words in calls:
        first, second = [read(mask, *[word or mask for word in words]) for mask in both]
        for key in ("fileBytes", "madeBy"):  # the files themselves differ
            first.pop(key, None), second.pop(key, None)
        assert first == second, words
    tables, pictures = [], []
    for mask in both:
        run("measure", mask, "-o", tmp_path / "t.csv", "--overwrite")
        run("outline", mask, "--like", tissue, "-o", tmp_path / "o.geojson", "--overwrite")
        run("overlay", tissue, mask, "-o", tmp_path / "o.png", "--overwrite")
        tables.append([(tmp_path / name).read_text().replace(mask.name, "") for name in ("t.csv", "o.geojson")])
        pictures.append(numpy.asarray(Image.open(tmp_path / "o.png")))
    assert tables[0] == tables[1] and numpy.array_equal(*pictures)


def test_what_was_made_already_is_found(tmp_path, tissue):
    words = ["label", tissue, "-o", tmp_path / "m.ome.tif"]
    run(*words)
    before = (tmp_path / "m.ome.tif").stat()
    assert run(*words, "--json").json["skipped"]
    assert (tmp_path / "m.ome.tif").stat().st_mtime_ns == before.st_mtime_ns
    assert fails(*words, "--downsample", 16).code == "E-OUTPUT-EXISTS"


def test_drawn_classes_come_back_with_their_names(tmp_path, tissue):
    names = ["Tumor", "a < b & \"c\" 'd'", "Größe µ 漢"]
    outlines = write_outlines(tmp_path / "a.geojson", *[(name, square(100 + 300 * i, 100)) for i, name in enumerate(names)])
    options = ["--like", tissue, *[word for name in names for word in ("--class", name)]]
    words = ["rasterize", outlines, "-o", tmp_path / "m.ome.tif", *options]
    run(*words)
    images, _ = describe(tmp_path / "m.ome.tif")
    assert set(numpy.unique(images[0][1][0])) == {0, 1, 2, 3}
    assert run(*words, "--json").json["skipped"]


def test_folders_of_masks(tmp_path, tissue):
    folder = tmp_path / "folder"
    folder.mkdir()
    run("label", tissue, "-o", folder / "m.ome.tif")
    planes = draw(800, 600)
    write(folder / "slide.ome.tif", planes, levels=[planes[:, ::2, ::2]])
    write(folder / "gray.ome.tif", planes[:1], levels=[planes[:1, ::2, ::2]])  # a slide of one channel
    run("measure", folder, "-o", tmp_path / "t.csv")
    assert {line.split(",")[0].rsplit("/")[-1] for line in (tmp_path / "t.csv").read_text().splitlines()[1:]} == {"m.ome.tif"}
    found = run("info", folder, "--json").json
    assert [entry["slide"].rsplit("/")[-1] for entry in found] == ["gray.ome.tif", "slide.ome.tif"]
