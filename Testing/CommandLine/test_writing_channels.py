# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Slides of several channels that are written as pyramids. References are tifffile, OpenSlide and NumPy."""

import numpy
import openslide
import pytest
import tifffile
from conftest import fails, run
from test_channels import COLORS, NAMES, draw, write

WAVELENGTHS = {"ExcitationWavelength": [405.0, 488.0, 640.5], "EmissionWavelength": [450.0, 520.25, 670.0]}
ENDINGS = ["tif", "ome.tif"]


def reduce(planes):
    """Means of 2 x 2 pixels, at odd edges of those that there are; of integers halves rounded up."""
    padded = numpy.pad(planes, [(0, 0), *[(0, side % 2) for side in planes.shape[1:]]], mode="edge").astype(float)
    means = (padded[:, ::2, ::2] + padded[:, 1::2, ::2] + padded[:, ::2, 1::2] + padded[:, 1::2, 1::2]) / 4
    return (means if planes.dtype.kind == "f" else numpy.floor(means + 0.5)).astype(planes.dtype)


def read(path):
    """The levels as tifffile sees them, each a stack of channels."""
    with tifffile.TiffFile(path) as file:
        return [level.asarray() for level in file.series[0].levels]


def check(path, planes, count=None):
    levels = read(path)
    assert count is None or len(levels) == count
    for level in levels:
        assert level.dtype == planes.dtype and numpy.array_equal(level, planes)
        planes = reduce(planes)


def entries(path):
    return run("info", path, "--json").json["channelEntries"]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
def test_all_channels(tmp_path, dtype, ending):
    """Noise of few bits, whose sums are exact floats."""
    planes = (draw(701, 530) // (16 if dtype == "uint8" else 1)).astype(dtype) / (8 if dtype == "float32" else 1)
    planes = planes.astype(dtype)
    slide = write(tmp_path / "slide.ome.tif", planes, ["<a>", "Größe", "CD8"], ExcitationWavelengthUnit=["nm"] * 3, **WAVELENGTHS)
    out = tmp_path / f"out.{ending}"
    result = run("convert", slide, out, "--tile-size", 64, "--json").json
    assert (result["width"], result["height"], result["levels"]) == (701, 530, 4)
    check(out, planes, 4)
    found, before = [run("info", path, "--json").json for path in (out, slide)]
    assert found["channelEntries"] == before["channelEntries"] and found["sampleType"] == before["sampleType"]
    assert [entry["name"] for entry in found["channelEntries"]] == ["<a>", "Größe", "CD8"]
    assert [entry["excitationNm"] for entry in found["channelEntries"]] == WAVELENGTHS["ExcitationWavelength"]
    assert (found["mppX"], found["mppY"], found["warnings"]) == (0.5, 0.5, [])
    if ending == "ome.tif":
        with tifffile.TiffFile(out) as file:
            assert file.series[0].axes == "CYX"
            pixels = tifffile.xml2dict(file.ome_metadata)["OME"]["Image"]["Pixels"]
        assert [channel["Color"] for channel in pixels["Channel"]] == [
            int.from_bytes(bytes((*color, 255)), "big", signed=True) for color in COLORS
        ]
        assert [channel["EmissionWavelength"] for channel in pixels["Channel"]] == WAVELENGTHS["EmissionWavelength"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_chosen_channels_in_their_order(tmp_path, ending):
    planes = draw(400, 300)
    slide = write(tmp_path / "slide.ome.tif", planes)
    out = tmp_path / f"out.{ending}"
    run("convert", slide, out, "--channel", "CD8", "--channel", 1)
    check(out, planes[[2, 0]])
    assert [entry["name"] for entry in entries(out)] == ["CD8", "DAPI"]
    assert run("convert", slide, out, "--channel", "CD8", "--channel", 1, "--json").json["skipped"]
    assert fails("convert", slide, out, "--channel", "CD8", "--channel", 2).code == "E-OUTPUT-EXISTS"


@pytest.mark.parametrize("ending", ENDINGS)
def test_names_that_are_numbers_or_the_same(tmp_path, ending):
    planes = draw(200, 150, 4)
    names = ["2", "a", "a", "1"]
    slide = write(tmp_path / "slide.ome.tif", planes, names, colors=None)
    run("convert", slide, tmp_path / f"out.{ending}")
    check(tmp_path / f"out.{ending}", planes)
    assert [entry["name"] for entry in entries(tmp_path / f"out.{ending}")] == names


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_pyramid_is_a_slide_again(tmp_path, ending):
    """Regions, levels and channels of it are those of the slide."""
    planes = draw(700, 520)
    slide = write(tmp_path / "slide.ome.tif", planes)
    first, second = tmp_path / f"first.{ending}", tmp_path / "second.ome.tif"
    run("convert", slide, first, "--tile-size", 64)
    run("convert", first, second, "--region", "64,128,320,256")
    check(second, planes[:, 128:384, 64:384])
    run("convert", first, second, "--level", 1, "--overwrite")
    check(second, reduce(planes))
    run("convert", first, second, "--channel", "CD3", "--overwrite")
    assert numpy.array_equal(read(second)[0], planes[1]) and entries(second)[0]["name"] == "CD3"
    run("convert", first, second, "--mpp", 0.75, "--overwrite")
    halves = planes.repeat(2, axis=1).repeat(2, axis=2)[:, :1038, :1398]  # of pixels: three of them are a new one
    means = halves.reshape(3, 346, 3, 466, 3).mean(axis=(2, 4))
    assert numpy.abs(read(second)[0][:, :346, :466].astype(float) - means).max() <= 0.5 + 1e-6


@pytest.mark.parametrize("layout", ["contig", "separate"])
def test_samples_of_a_pixel(tmp_path, layout):
    pixels = numpy.random.default_rng(4).integers(0, 4000, (120, 150, 5), numpy.uint16)
    stored = pixels if layout == "contig" else numpy.moveaxis(pixels, 2, 0)
    tifffile.imwrite(tmp_path / "s.tif", stored, tile=(64, 64), photometric="minisblack", planarconfig=layout, metadata=None)
    run("convert", tmp_path / "s.tif", tmp_path / "out.tif", "--tile-size", 32)
    check(tmp_path / "out.tif", numpy.moveaxis(pixels, 2, 0), 2)


def test_colors_of_16_bit_are_channels(tmp_path):
    pixels = numpy.random.default_rng(3).integers(0, 60000, (120, 150, 3), numpy.uint16)
    tifffile.imwrite(tmp_path / "s.tif", pixels, tile=(64, 64), photometric="rgb")
    run("convert", tmp_path / "s.tif", tmp_path / "out.ome.tif")
    check(tmp_path / "out.ome.tif", numpy.moveaxis(pixels, 2, 0))
    assert [(entry["name"], entry["color"]) for entry in entries(tmp_path / "out.ome.tif")] == [
        ("red", "#ff0000"),
        ("green", "#00ff00"),
        ("blue", "#0000ff"),
    ]


@pytest.mark.parametrize("ending", ENDINGS)
def test_other_programs_see_the_first_channel(tmp_path, ending):
    planes = (draw(300, 200) / 20).astype(numpy.uint8)
    slide, out = write(tmp_path / "slide.ome.tif", planes), tmp_path / f"out.{ending}"
    run("convert", slide, out)
    with openslide.OpenSlide(str(out)) as opened:
        assert opened.dimensions == (300, 200)
        assert numpy.array_equal(numpy.asarray(opened.read_region((0, 0), 0, (300, 200)))[..., 0], planes[0])


def test_compressions(tmp_path):
    planes = (draw(300, 200) / 20).astype(numpy.uint8)
    slide, out = write(tmp_path / "slide.ome.tif", planes), tmp_path / "out.ome.tif"
    sixteen = write(tmp_path / "sixteen.ome.tif", draw(300, 200))
    again = tmp_path / "again.tif"  # tifffile alone decodes neither
    run("convert", slide, out, "--compression", "zstd")
    run("convert", out, again)
    check(again, planes)
    run("convert", slide, out, "--compression", "jpeg", "--quality", 95, "--overwrite")
    run("convert", out, again, "--overwrite")
    lossy, before = read(again)[0], out.read_bytes()
    assert lossy.shape == planes.shape and 0 < numpy.abs(lossy.astype(int) - planes).mean() < 2
    assert fails("convert", slide, out, "--compression", "webp", "--overwrite").code == "E-OPTION-CONFLICT"
    assert fails("convert", sixteen, out, "--compression", "jpeg", "--overwrite").code == "E-OPTION-CONFLICT"
    assert out.read_bytes() == before  # what was there is kept


@pytest.mark.parametrize("ending", ENDINGS)
def test_associated_images_stand_behind_the_channels(tmp_path, ending):
    planes = draw(400, 300)
    label = numpy.random.default_rng(0).integers(0, 255, (40, 60, 3), numpy.uint8)
    with tifffile.TiffWriter(tmp_path / "both.ome.tif", ome=True) as file:
        file.write(planes, tile=(64, 64), photometric="minisblack", metadata={"axes": "CYX", "Channel": {"Name": NAMES}})
        file.write(label, photometric="rgb", metadata={"axes": "YXS", "Name": "label"})
    out = tmp_path / f"out.{ending}"
    run("convert", tmp_path / "both.ome.tif", out, "--keep-label")
    with tifffile.TiffFile(out) as file:
        assert numpy.array_equal(numpy.stack([page.asarray() for page in file.pages[:3]]), planes)
        assert numpy.array_equal(file.pages[3].asarray(), label)
    found = run("info", out, "--json").json
    assert [image["name"] for image in found["associatedImages"]] == ["label"] and found["channelNames"] == NAMES


def test_many_channels(tmp_path):
    planes = numpy.random.default_rng(0).integers(0, 4000, (150, 64, 80), numpy.uint16)
    slide = write(tmp_path / "s.ome.tif", planes, [f"M{i}" for i in range(150)], colors=None)
    for ending in ENDINGS:
        run("convert", slide, tmp_path / f"out.{ending}")
        check(tmp_path / f"out.{ending}", planes)
        assert len(entries(tmp_path / f"out.{ending}")) == 150


def test_no_mask(tmp_path):
    slide = write(tmp_path / "slide.ome.tif", (draw(300, 200) / 20).astype(numpy.uint8))
    run("convert", slide, tmp_path / "out.tif")
    assert fails("evaluate", tmp_path / "out.tif", tmp_path / "out.tif").code == "E-MASK-FORMAT"


def spoil(path, before, after):
    """Other bytes of the same length in the text of a pyramid."""
    data = path.read_bytes()
    assert data.count(before) == 1 and len(before) == len(after)
    path.write_bytes(data.replace(before, after))
    return path


@pytest.mark.parametrize(
    "before, after",
    [
        (b"gigapixel.channel.3 =", b"gigapixel.channel.4 ="),  # a page too few
        (b"gigapixel.channel.2 = #ff4000 CD3", b"gigapixel.channel.4096 = ff4000 C"),
    ],
)
def test_more_channels_than_pages(tmp_path, before, after):
    run("convert", write(tmp_path / "slide.ome.tif", draw(300, 200)), tmp_path / "out.tif")
    assert fails("info", spoil(tmp_path / "out.tif", before, after)).code == "E-TIFF-FORMAT"


@pytest.mark.parametrize("number", [b"0", b"-", b"9" * 30])
def test_numbers_that_no_channel_has(tmp_path, number):
    """They are left out: what is said of the others remains."""
    slide = write(tmp_path / "slide.ome.tif", draw(300, 200), ["DAPI", "CD3", "x" * 40])
    run("convert", slide, tmp_path / "out.tif")
    before = b"gigapixel.channel.3 = #00ff00 " + b"x" * 40
    after = b"gigapixel.channel." + number + b" = "
    names = [entry["name"] for entry in entries(spoil(tmp_path / "out.tif", before, after.ljust(len(before), b"x")))]
    assert names == ["DAPI", "CD3"]


def test_channels_of_different_sizes(tmp_path):
    """Pages that are not what the text says."""
    text = "ITKGigapixel pyramid\ncontent = picture\ngigapixel.channel.1 = a\ngigapixel.channel.2 = b\n"
    options = dict(tile=(64, 64), photometric="minisblack", metadata=None)
    for second in (numpy.zeros((200, 299), numpy.uint16), numpy.zeros((200, 300), numpy.uint8)):
        with tifffile.TiffWriter(tmp_path / "s.tif") as file:
            file.write(numpy.zeros((200, 300), numpy.uint16), description=text, **options)
            file.write(second, **options)
        assert fails("info", tmp_path / "s.tif").code == "E-TIFF-FORMAT"


@pytest.mark.parametrize("ending", ENDINGS)
def test_channels_of_labels_stay_channels(tmp_path, ending):
    """Levels keep labels, the names are there, and the same command knows its file again."""
    planes = (draw(300, 200) % 3).astype("uint8")
    out = tmp_path / f"labels.{ending}"
    slide = write(tmp_path / "slide.ome.tif", planes)
    command = ["convert", slide, out, "--content", "labels", "--tile-size", 64, "--json"]
    run(*command)
    assert numpy.array_equal(read(out)[0], planes) and set(numpy.unique(read(out)[1])) <= set(numpy.unique(planes))
    assert [entry["name"] for entry in entries(out)] == NAMES
    assert run(*command).json["skipped"]
