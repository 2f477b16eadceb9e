# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Channels of slides: which are read, as what values, and as what picture. References are tifffile and NumPy."""

import csv
import json
import os
import signal

import numpy
import pytest
import tifffile
from conftest import fails, run
from PIL import Image
from report_pages import Page
from shared_tiles import find_tile, make_tile, write_shared_tiles
from test_terminal import read_until, start_on_terminal

NAMES = ["DAPI", "CD3", "CD8"]
COLORS = [(0, 0, 255), (255, 64, 0), (0, 255, 0)]


def signed(color):
    """OME's number of an opaque color."""
    return int.from_bytes(bytes((*color, 255)), "big", signed=True)


def draw(width=300, height=200, channels=3, dtype="uint16", seed=1):
    """Noise with a bright disc in each channel."""
    rows, columns = numpy.mgrid[:height, :width]
    planes = []
    for channel in range(channels):
        disc = (columns - width * (channel + 1) / (channels + 1)) ** 2 + (rows - height / 2) ** 2 < (height / 3) ** 2
        noise = numpy.random.default_rng(seed + channel).normal(0, 1, disc.shape)
        planes.append(numpy.clip(100 * (channel + 1) + 20 * noise + disc * 900 * (channel + 2), 0, None))
    return numpy.stack(planes).astype(dtype)


def write(path, planes, names=NAMES, levels=(), colors=COLORS, **channel):
    """An OME-TIFF of a page for each channel, with levels as SubIFDs."""
    attributes = {"Name": names[: len(planes)], **channel}
    if colors:
        attributes["Color"] = [signed(color) for color in colors[: len(planes)]]
    options = dict(tile=(64, 64), compression="zlib", photometric="minisblack", resolutionunit="CENTIMETER")
    metadata = {"axes": "CYX", "Channel": attributes, "PhysicalSizeX": 0.5, "PhysicalSizeY": 0.5}
    with tifffile.TiffWriter(path, ome=True) as file:
        file.write(planes, subifds=len(levels), metadata=metadata, **options)
        for level in levels:
            file.write(level, subfiletype=1, **options)
    return path


def find_window(plane):
    return numpy.percentile(plane.astype(float), [0.1, 99.9])


def show(plane, window):
    """8 bit, halves rounded up."""
    low, high = window
    return numpy.clip(numpy.floor(255 * (plane.astype(float) - low) / (high - low) + 0.5), 0, 255).astype(numpy.uint8)


def add_up(planes, windows, colors):
    sums = sum(numpy.multiply.outer(show(p, w).astype(int), c) for p, w, c in zip(planes, windows, colors))
    sums = sums * 7 // len(planes) if len(planes) > 7 else sums
    return numpy.minimum(255, (sums + 127) // 255).astype(numpy.uint8)


def read_windows(result):
    """Names and windows as JSON has them."""
    lines = [line.rsplit(" ", 1) for line in result.json["channels"]]
    return [name for name, _ in lines], [tuple(map(float, window.split(","))) for _, window in lines]


def convert(path, *options):
    out = path.with_name("out.tif")
    result = run("convert", path, out, "--json", "--overwrite", "--compression", "deflate", *options)
    with tifffile.TiffFile(out) as file:
        return file.pages[0].asarray(), result


@pytest.fixture
def slide(tmp_path):
    planes = draw()
    return write(tmp_path / "slide.ome.tif", planes), planes


def test_info_lists_channels(tmp_path):
    path = write(tmp_path / "s.ome.tif", draw(), EmissionWavelength=[461.0, 520.0, 670.0], ExcitationWavelength=[358.0, 490.0, 650.0])
    info = run("info", path, "--json").json
    assert info["channels"] == 3 and info["sampleType"] == "unsigned_short"
    assert [(c["number"], c["name"], c["color"], c["emissionNm"], c["excitationNm"]) for c in info["channelEntries"]] == [
        (1, "DAPI", "#0000ff", 461, 358),
        (2, "CD3", "#ff4000", 520, 490),
        (3, "CD8", "#00ff00", 670, 650),
    ]


@pytest.mark.parametrize("number, name", enumerate(NAMES))
def test_one_channel_has_its_values(slide, number, name):
    path, planes = slide
    for choice in (name, number + 1):
        pixels, _ = convert(path, "--channel", choice)
        assert pixels.dtype == planes.dtype
        assert numpy.array_equal(pixels, planes[number])


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
def test_automatic_window_is_of_percentiles(tmp_path, dtype):
    planes = draw(dtype="float32") / (1 if dtype != "uint8" else 20)
    planes = (planes - 300 if dtype == "float32" else planes).astype(dtype)
    path = write(tmp_path / "s.ome.tif", planes)
    pixels, result = convert(path, "--channel", "CD3", "--window", "auto")
    names, windows = read_windows(result)
    assert names == ["CD3"]
    assert windows[0] == pytest.approx(find_window(planes[1]), rel=1e-12)
    assert pixels.dtype == numpy.uint8
    assert numpy.array_equal(pixels, show(planes[1], windows[0]))


def test_automatic_window_is_of_the_coarsest_level_of_a_megapixel(tmp_path):
    planes = [draw(2000 // n, 2000 // n, 2, seed=n) for n in (1, 2, 4)]
    path = write(tmp_path / "s.ome.tif", planes[0], levels=planes[1:])
    _, result = convert(path, "--channel", "2", "--window", "auto", "--level", "2")
    _, windows = read_windows(result)
    assert windows[0] == pytest.approx(find_window(planes[1][1]), rel=1e-12)


def test_picture_adds_up_colors(slide):
    path, planes = slide
    pixels, result = convert(path, "--window", "auto", "--channel", "CD8", "--channel", "1")
    names, windows = read_windows(result)
    assert names == ["CD8", "DAPI"]
    assert numpy.array_equal(pixels, add_up(planes[[2, 0]], windows, [COLORS[2], COLORS[0]]))
    pixels, result = convert(path, "--window", "100,2000")
    assert result.codes == ["W-SLIDE-CHANNELS-ALL"]
    assert numpy.array_equal(pixels, add_up(planes, [(100, 2000)] * 3, COLORS))


def test_window_is_kept_in_the_output(slide):
    path, _ = slide
    out = path.with_name("out.tif")
    convert(path, "--channel", "CD3", "--window", "120,2500")
    with tifffile.TiffFile(out) as file:
        assert "channels=2 windows=120,2500" in file.pages[0].description
    words = ["convert", path, out, "--json", "--compression", "deflate", "--channel", "CD3", "--window"]
    assert run(*words, "120,2500").json["skipped"]
    assert fails(*words, "120,2501").code == "E-OUTPUT-EXISTS"


def test_colors_on_three_pages_are_rgb(tmp_path):
    colors = draw(dtype="uint8") // 2
    for names in (["R", "G", "B"], ["Red", "Green", "Blue"]):
        path = write(tmp_path / "rgb.ome.tif", colors, names, colors=None)
        assert run("info", path, "--json").json["color"]
        pixels, _ = convert(path)
        assert numpy.array_equal(pixels, numpy.moveaxis(colors, 0, -1))
        pixels, _ = convert(path, "--channel", names[1])
        assert numpy.array_equal(pixels, colors[1])
    path = write(tmp_path / "wide.ome.tif", draw(), ["R", "G", "B"], colors=None)
    assert not run("info", path, "--json").json["color"]


def test_label_uses_channels_with_signal(tmp_path):
    planes = draw(1200, 900, 3)
    planes[1] = 7  # of which no sample differs
    path = write(tmp_path / "s.ome.tif", planes)
    result = run("label", path, "-o", tmp_path / "all.tif", "--preset", "fluorescence", "--json")
    assert "W-SLIDE-CHANNELS-ALL" in result.codes
    assert read_windows(result)[0] == ["DAPI", "CD8"]
    chosen = ["--channel", "DAPI", "--channel", "CD8"]
    named = run("label", path, "-o", tmp_path / "two.tif", "--preset", "fluorescence", "--json", *chosen)
    assert "W-SLIDE-CHANNELS-ALL" not in named.codes
    masks = [tifffile.imread(tmp_path / name, key=0) for name in ("all.tif", "two.tif")]
    assert numpy.array_equal(*masks)
    discs = (planes[0] > 600) | (planes[2] > 1000)
    assert result.json["tissueFraction"] == pytest.approx(discs.mean(), abs=0.03)


def test_label_of_one_channel(tmp_path):
    planes = draw(1200, 900, 3)
    path = write(tmp_path / "s.ome.tif", planes)
    for number, name in enumerate(NAMES):
        result = run("label", path, "-o", tmp_path / f"{name}.tif", "--preset", "fluorescence", "--channel", name, "--json")
        disc = planes[number] > 500 * (number + 1)
        assert result.json["tissueFraction"] == pytest.approx(disc.mean(), abs=0.02)


def test_a_channel_with_a_wavelength_has_dark_ground(tmp_path):
    """Its ground may be as bright as a microscope makes it, which for an unknown gray slide is that of glass."""
    rows, columns = numpy.mgrid[:600, :900]
    disc = (columns - 450) ** 2 + (rows - 300) ** 2 < 150**2
    noise = numpy.random.default_rng(0).normal(0, 10, disc.shape)
    plane = (1000 + 400 * (columns > 450) + noise + 1000 * disc).astype(numpy.uint16)[None]
    presets = {}
    for name, more in (("none", {}), ("emission", {"EmissionWavelength": [461], "EmissionWavelengthUnit": ["nm"]})):
        path = write(tmp_path / f"{name}.ome.tif", plane, ["DAPI"], colors=None, **more)
        told = run("label", path, "-o", tmp_path / f"{name}.tif", "--preset", "rules", "--downsample", 2, "--json").json
        presets[name] = told["preset"]
    assert presets["emission"] == "fluorescence" != presets["none"]


def test_overlay_shows_the_picture(slide):
    path, planes = slide
    empty, out = path.with_name("empty.tif"), path.with_name("out.png")
    tifffile.imwrite(empty, numpy.zeros(planes[0].shape, numpy.uint8), tile=(64, 64), resolution=(20000, 20000), resolutionunit="CENTIMETER")
    result = run("overlay", path, empty, "-o", out, "--picture-size", 300, "--channel", "DAPI", "--channel", "CD3", "--json")
    _, windows = read_windows(result)
    assert windows == [pytest.approx(find_window(p), rel=1e-12) for p in planes[:2]]
    picture, strip = numpy.split(numpy.asarray(Image.open(out)), [200])
    assert numpy.array_equal(picture, add_up(planes[:2], windows, COLORS))
    assert result.json["height"] == 200 + len(strip)
    assert [numpy.count_nonzero((strip == color).all(-1)) > 100 for color in COLORS] == [True, True, False]
    run("overlay", path, empty, "-o", out, "--picture-size", 300, "--channel", "DAPI", "--overwrite")
    assert numpy.array_equal(numpy.asarray(Image.open(out)), show(planes[0], windows[0])[..., None].repeat(3, -1))


def test_legend_has_channels_before_classes(slide):
    """In one row of swatches, which begin on the left."""
    path, planes = slide
    mask, out = path.with_name("mask.tif"), path.with_name("out.png")
    description = "ITKGigapixel pyramid\ncontent = labels\ngigapixel.class.1 = #0050d0 pen\n"
    options = dict(tile=(64, 64), resolution=(20000, 20000), resolutionunit="CENTIMETER", metadata=None)
    tifffile.imwrite(mask, (planes[0] > 600).astype(numpy.uint8), description=description, **options)
    run("overlay", path, mask, "-o", out, "--picture-size", 300, "--channel", "CD8", "--channel", "CD3")
    strip = numpy.asarray(Image.open(out))[200:]
    columns = [numpy.nonzero((strip == color).all(-1))[1] for color in (COLORS[2], COLORS[1], (0, 0x50, 0xD0))]
    assert columns[0].max() < columns[1].min() and columns[1].max() < columns[2].min()


def test_legend_shows_white_on_white(tmp_path):
    path = write(tmp_path / "s.ome.tif", draw(channels=2), colors=[(255, 255, 255), (255, 0, 0)])
    mask = tmp_path / "empty.tif"
    tifffile.imwrite(mask, numpy.zeros((200, 300), numpy.uint8), tile=(64, 64), resolution=(20000, 20000), resolutionunit="CENTIMETER")
    run("overlay", path, mask, "-o", tmp_path / "out.png", "--picture-size", 300, "--channel", "1", "--channel", "2")
    strip = numpy.asarray(Image.open(tmp_path / "out.png"))[200:]
    left = int(numpy.nonzero((strip == (255, 0, 0)).all(-1))[1].min())
    assert numpy.count_nonzero((strip[:, : left // 2] == 128).all(-1)) >= 4 * 14


def test_colors_have_no_legend(tmp_path):
    pixels = numpy.moveaxis(draw(dtype="uint8") // 2, 0, -1)
    options = dict(tile=(64, 64), resolution=(20000, 20000), resolutionunit="CENTIMETER")
    tifffile.imwrite(tmp_path / "s.tif", pixels, photometric="rgb", **options)
    tifffile.imwrite(tmp_path / "empty.tif", numpy.zeros((200, 300), numpy.uint8), **options)
    run("overlay", tmp_path / "s.tif", tmp_path / "empty.tif", "-o", tmp_path / "out.png", "--picture-size", 300)
    assert numpy.array_equal(numpy.asarray(Image.open(tmp_path / "out.png")), pixels)


def test_report_names_the_channels_of_pictures(slide):
    path, _ = slide
    run("label", path, "-o", f"{path.with_name('masks')}/", "--preset", "fluorescence", "--json")
    page = path.with_name("page.html")
    run("report", path.with_name("masks"), "--slides", path.parent, "-o", page)
    row = Page(page).data["slides"][0]
    assert row["channels"] == [{"name": n, "color": "#%02x%02x%02x" % c} for n, c in zip(NAMES, COLORS)]


def test_info_says_how_a_picture_was_made(slide):
    path, _ = slide
    convert(path, "--channel", "CD3", "--window", "120,2500")
    assert "channels=2 windows=120,2500" in run("info", path.with_name("out.tif"), "--json").json["madeBy"]
    assert run("info", path, "--json").json["madeBy"] is None


def test_plan_of_channels(slide):
    path, _ = slide
    words = ["plan", path, "--network", "unet:channels=2", "--window", "100,2000", "--json"]
    assert run(*words, "--channel", "DAPI", "--channel", "CD3").json["plans"][0]["fits"]
    assert fails(*words, "--channel", "CD4").code == "E-SLIDE-CHANNEL"


@pytest.mark.parametrize("choice", [["blue"], ["blue", "red"]])
def test_channels_of_jpeg_have_its_values(choice, tmp_path):
    """Compressed again, but without loss, unless somebody asks for it or for a picture."""
    pixels = numpy.moveaxis(draw(dtype="uint8") // 2, 0, -1)
    path, out = tmp_path / "s.tif", tmp_path / "out.tif"
    tifffile.imwrite(tmp_path / "plain.tif", pixels, tile=(64, 64), photometric="rgb")
    run("convert", tmp_path / "plain.tif", path, "--compression", "jpeg")
    names = ["red", "green", "blue"]
    words = ["convert", path, out, "--overwrite", *[word for name in choice for word in ("--channel", name)]]
    run("convert", path, tmp_path / "all.tif", "--compression", "deflate")
    decoded = tifffile.imread(tmp_path / "all.tif", key=0)
    run(*words)
    with tifffile.TiffFile(out) as file:
        for page, name in zip(file.pages, choice):
            assert page.compression == tifffile.COMPRESSION.ADOBE_DEFLATE
            assert numpy.array_equal(page.asarray(), decoded[..., names.index(name)])
    for options in (["--window", "0,200"], ["--compression", "jpeg"]):
        run(*words, *options)
        assert tifffile.TiffFile(out).pages[0].compression == tifffile.COMPRESSION.JPEG


@pytest.mark.parametrize("dtype, name, isPicture", [("float32", None, True), ("uint8", "DAPI", True), ("uint16", None, False)])
def test_one_channel_is_a_picture_where_it_has_a_name_or_floats(dtype, name, isPicture, tmp_path):
    plane = (draw(channels=1)[0] // (16 if dtype == "uint8" else 1)).astype(dtype)
    path, out = tmp_path / ("s.ome.tif" if name else "s.tif"), tmp_path / "out.tif"
    if name:
        write(path, plane[None], [name], colors=None)
    else:
        tifffile.imwrite(path, plane, tile=(64, 64), metadata=None)
    run("convert", path, out, "--tile-size", 64)
    with tifffile.TiffFile(out) as file:
        levels = [level.asarray() for level in file.series[0].levels]
    means = plane.reshape(100, 2, 150, 2).mean((1, 3), dtype="float64")
    if dtype != "float32":
        means = numpy.floor(means + 0.5)
    assert numpy.array_equal(levels[0], plane)
    assert numpy.array_equal(levels[1], means.astype(dtype) if isPicture else plane[::2, ::2])


@pytest.mark.parametrize("choice", [["0"], ["4"], ["10000"], ["-1"], ["dapi"], ["DAPI", "1"], ["DAPI", "DAPI"]])
def test_channels_that_are_not_there(slide, choice):
    path, _ = slide
    options = [word for name in choice for word in ("--channel=" + name,)]
    refused = fails("convert", path, path.with_name("out.tif"), *options)
    assert (refused.code, refused.file, refused.option) == ("E-SLIDE-CHANNEL", str(path), "--channel")
    assert not path.with_name("out.tif").exists()


def test_names_come_before_numbers(tmp_path):
    planes = draw()
    path = write(tmp_path / "s.ome.tif", planes, ["2", "1", "A"])
    assert numpy.array_equal(convert(path, "--channel", "2")[0], planes[0])
    assert numpy.array_equal(convert(path, "--channel", "3")[0], planes[2])
    path = write(tmp_path / "same.ome.tif", planes, ["A", "A", "B"])
    assert fails("convert", path, tmp_path / "o.tif", "--channel", "A").code == "E-SLIDE-CHANNEL"
    assert numpy.array_equal(convert(path, "--channel", "2")[0], planes[1])


@pytest.mark.parametrize("window", ["5", "9,3", "3,3", "a,b", "1,2,3", "nan,3", "0,inf", ","])
def test_windows_that_are_none(slide, window):
    path, _ = slide
    refused = fails("convert", path, path.with_name("out.tif"), "--channel", "1", "--window=" + window, code=2)
    assert (refused.code, refused.option, refused.value) == ("E-OPTION-VALUE", "--window", window)


def test_many_channels(tmp_path):
    planes = numpy.random.default_rng(0).integers(0, 4000, (70, 64, 64), numpy.uint16)
    path = write(tmp_path / "s.ome.tif", planes, [f"M{i}" for i in range(70)], colors=None)
    assert numpy.array_equal(convert(path, "--channel", "M66")[0], planes[66])
    assert fails("convert", path, tmp_path / "o.tif", "--window", "auto").code == "E-SLIDE-CHANNELS"
    pixels, result = convert(path, "--window", "auto", *[w for i in range(20) for w in ("--channel", f"M{i}")])
    usual = [(0, 0, 255), (0, 255, 0), (255, 0, 0), (0, 255, 255), (255, 0, 255), (255, 255, 0), (255, 255, 255)]
    assert numpy.array_equal(pixels, add_up(planes[:20], read_windows(result)[1], (usual * 3)[:20]))


def test_colors_of_16_bit(tmp_path):
    pixels = numpy.random.default_rng(3).integers(0, 60000, (120, 150, 3), numpy.uint16)
    tifffile.imwrite(tmp_path / "s.tif", pixels, tile=(64, 64), photometric="rgb")
    shown, _ = convert(tmp_path / "s.tif", "--window", "1000,50000")
    assert numpy.array_equal(shown, show(pixels, (1000, 50000)))
    green, _ = convert(tmp_path / "s.tif", "--channel", "green")
    assert numpy.array_equal(green, pixels[..., 1])


def test_samples_of_a_pixel_are_channels(tmp_path):
    pixels = numpy.random.default_rng(4).integers(0, 4000, (120, 150, 5), numpy.uint16)
    for layout in ("contig", "separate"):
        stored = pixels if layout == "contig" else numpy.moveaxis(pixels, 2, 0)
        tifffile.imwrite(tmp_path / "s.tif", stored, tile=(64, 64), photometric="minisblack", planarconfig=layout, metadata=None)
        assert numpy.array_equal(convert(tmp_path / "s.tif", "--channel", "4")[0], pixels[..., 3])


def test_strips_and_levels(tmp_path):
    """Each level of a channel is that of the channel."""
    planes = [draw(512 // n, 512 // n) for n in (1, 2)]
    path = write(tmp_path / "s.ome.tif", planes[0], levels=planes[1:])
    for level in (0, 1):
        assert numpy.array_equal(convert(path, "--channel", "2", "--level", level)[0], planes[level][1])
    tifffile.imwrite(tmp_path / "strips.ome.tif", planes[0], ome=True, metadata={"axes": "CYX"}, rowsperstrip=50, photometric="minisblack")
    assert numpy.array_equal(convert(tmp_path / "strips.ome.tif", "--channel", "channel3")[0], planes[0][2])


def measure(path, *options):
    """Rows of the components of a mask with two halves, by their numbers."""
    mask = path.with_name("mask.tif")
    halves = numpy.zeros((200, 300), numpy.uint8)
    halves[:, :100], halves[:, 150:] = 1, 1
    tifffile.imwrite(mask, halves, tile=(64, 64), resolution=(20000, 20000), resolutionunit="CENTIMETER")
    result = run("measure", mask, "--slide", path, "-o", path.with_name("t.csv"), "--overwrite", "--json", *options)
    with open(path.with_name("t.csv"), newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["component"] != "0"]
    return rows, [slice(0, 100), slice(150, 300)], result.json


def test_measure_has_columns_of_the_chosen_channels(slide):
    path, planes = slide
    rows, columns, told = measure(path, "--channel", "CD8", "--channel", "1")
    assert told["channels"] == ["CD8", "DAPI"]
    assert [name for name in rows[0] if name.endswith("_mean")] == ["CD8_mean", "DAPI_mean"]
    for row, part in zip(rows, columns):
        for name, plane in (("CD8", planes[2]), ("DAPI", planes[0])):
            pixels = plane[:, part].astype(float)
            assert float(row[f"{name}_mean"]) == pytest.approx(pixels.mean(), rel=1e-12)
            assert float(row[f"{name}_p95"]) == pytest.approx(numpy.percentile(pixels, 95), rel=1e-12)
    rows, columns, told = measure(path, "--channel", "CD3", "--window", "100,2000")
    assert told["channels"] == ["CD3 100,2000"]
    for row, part in zip(rows, columns):
        assert float(row["CD3_mean"]) == pytest.approx(show(planes[1], (100, 2000))[:, part].mean(), rel=1e-12)


def test_measure_of_channels_needs_a_slide(slide):
    path, _ = slide
    measure(path)
    for option, value in (("--channel", "CD3"), ("--window", "auto")):
        refused = fails("measure", path.with_name("mask.tif"), "-o", path.with_name("none.csv"), option, value, code=2)
        assert (refused.code, refused.option) == ("E-OPTION-NEEDS", option)
    refused = fails("measure", path.with_name("mask.tif"), "--slide", path, "-o", path.with_name("none.csv"), "--channel", "CD4")
    assert (refused.code, refused.option, refused.value) == ("E-SLIDE-CHANNEL", "--channel", "CD4")


def test_a_mask_of_channels_lies_on_its_slide(tmp_path):
    """Of 16 bit, whose pixels no network and no mask can be made of without a choice."""
    planes = draw(1200, 900, 3)
    path = write(tmp_path / "s.ome.tif", planes)
    run("label", path, "-o", tmp_path / "mask.tif", "--preset", "fluorescence", "--channel", "DAPI")
    run("measure", tmp_path / "mask.tif", "--slide", path, "-o", tmp_path / "t.csv", "--channel", "DAPI")
    with open(tmp_path / "t.csv", newline="") as file:
        assert sum(float(row["DAPI_mean"]) > 600 for row in csv.DictReader(file)) >= 1


def test_directories_may_share_tiles(tmp_path):
    """The reference of the tests below."""
    path = write_shared_tiles(tmp_path / "s.ome.tif", ["A", "B", "C"], 1100, (4,))
    assert numpy.array_equal(tifffile.imread(path, key=0)[:512, :512], make_tile(find_tile(0, 0, 0)))
    pixels, _ = convert(path, "--channel", "C")
    assert numpy.array_equal(pixels, tifffile.imread(path, key=2))
    assert numpy.array_equal(pixels[512:1024, :512], make_tile(find_tile(2, 0, 1)))
    assert numpy.array_equal(convert(path, "--channel", "B", "--level", "1")[0], tifffile.TiffFile(path).pages[1].pages[0].asarray())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_finding_windows_is_shown_and_interrupted(tmp_path, number):
    path = write_shared_tiles(tmp_path / "s.ome.tif", ["A", "B"], 40000)  # 3.2 gigapixels to be read, in a file of 8 MB
    process, terminal = start_on_terminal(["convert", path, tmp_path / "out.tif", "--window", "auto", "--channel", "A", "--channel", "B"])
    shown = read_until(terminal, r"windows of [^\r]*\d+ %")
    process.send_signal(number)
    shown += read_until(terminal, r"Interrupted")
    assert process.wait(timeout=120) == 130, shown
    os.close(terminal)
    assert os.listdir(tmp_path) == ["s.ome.tif"]


@pytest.mark.parametrize("ome", [True, False])
@pytest.mark.parametrize("color", [(0, 255, 0), (255, 0, 255), (255, 153, 0)])
def test_a_palette_of_one_color_is_of_a_channel(ome, color, tmp_path):
    """ImageJ writes the color of a channel so. Values are read, and not colors; palettes of classes stay colors."""
    pixels = numpy.random.default_rng(0).integers(0, 256, (200, 300), numpy.uint8)
    ramp = (numpy.outer(color, numpy.arange(256)) / 255 * 257).astype(numpy.uint16)
    path = tmp_path / ("s.ome.tif" if ome else "s.tif")
    options = dict(photometric="palette", tile=(64, 64), ome=ome, metadata={"axes": "YX"} if ome else None)
    tifffile.imwrite(path, pixels, colormap=ramp, **options)
    info = run("info", path, "--json").json
    assert info["channels"] == 1 and info["channelEntries"][0]["color"] == "#" + bytes(color).hex()
    for words in ([], ["--compression", "deflate"]):
        run("convert", path, tmp_path / "out.ome.tif", "--overwrite", *words)
        assert numpy.array_equal(tifffile.imread(tmp_path / "out.ome.tif", series=0, level=0), pixels)
        info = run("info", tmp_path / "out.ome.tif", "--json").json
        assert info["channels"] == 1 and info["channelEntries"][0]["color"] == "#" + bytes(color).hex()
    ramp[:, 100] = (0, 0, 65535)
    tifffile.imwrite(path, pixels, colormap=ramp, **options)
    assert run("info", path, "--json").json["channels"] == 3
