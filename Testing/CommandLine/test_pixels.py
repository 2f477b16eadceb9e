# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Which values the pixels and the resolution of a TIFF have."""

import io
import itertools
import re

import numpy
import openslide
import pytest
import tifffile

from conftest import fails, run
from PIL import Image
from tiff_pages import resolution, write_tiff

MPP = resolution(0.5)


def make_tissue(width=512, height=384):
    """Glass with a disk of stain, and its share."""
    y, x = numpy.mgrid[:height, :width]
    inside = (x - width // 2) ** 2 + (y - height // 2) ** 2 < (height // 4) ** 2
    noise = numpy.random.default_rng(2).integers(-4, 5, (height, width, 3))
    pixels = numpy.where(inside[..., None], (190, 90, 160), (244, 243, 245)) + noise
    return numpy.clip(pixels, 0, 255).astype(numpy.uint8), inside.mean()


def convert(slide, *options):
    """The finest page of the pyramid."""
    out = slide.with_suffix(".pyramid.tif")
    run("convert", slide, out, "--quiet", "--overwrite", "--compression", "deflate", *options)
    return tifffile.imread(out, key=0)


def get_tissue(slide):
    out = slide.with_suffix(".mask.tif")
    return run("label", slide, "-o", out, "--quiet", "--overwrite", "--json", "--preset", "remedios2023").json["tissueFraction"]


def test_a_fourth_sample_without_a_meaning_is_left_out(tmp_path):
    pixels, share = make_tissue()
    for fourth, planar, tags in itertools.product((0, 128), (False, True), ({338: (3, [0])}, {})):
        four = numpy.dstack([pixels, numpy.full(pixels.shape[:2], fourth, numpy.uint8)])
        slide = write_tiff(tmp_path / "slide.tif", {"pixels": four, "planar": planar, "tags": {**MPP, **tags}})
        assert numpy.array_equal(convert(slide), pixels)
        assert abs(get_tissue(slide) - share) < 0.012
        assert [w["code"] for w in run("info", slide, "--json").json["warnings"]] == ["W-SLIDE-CHANNELS"]


@pytest.mark.parametrize("kind, predictor", [("f2", 1), ("f2", 3), ("f4", 1), ("f4", 3)])
def test_floats_are_those_that_are_stored(tmp_path, kind, predictor):
    stored = numpy.random.default_rng(3).normal(0, 1e-3, (100, 150)).astype(kind)
    stored[0, :6] = 0, -0.0, 65504, 6e-8, -1.5, 2**-14
    for endian, tile in itertools.product("<>", ((64, 64), 32)):
        page = {"pixels": stored, "predictor": predictor, "tile": tile, "tags": MPP}
        read = convert(write_tiff(tmp_path / "slide.tif", page, endian=endian))
        assert read.dtype == numpy.float32 and numpy.array_equal(read, stored.astype(numpy.float32))


@pytest.mark.parametrize("photometric, nodata, is_white", [(1, None, False), (1, "255", True), (2, None, True), (2, "0", False)])
def test_tiles_that_are_not_stored_are_no_tissue(tmp_path, photometric, nodata, is_white):
    """Their pixels are 0 in gray. A network that takes white for background is shown white there."""
    pixels, share = make_tissue(1024, 512)
    pixels = pixels if photometric == 2 else pixels[..., 1]
    tags = {**MPP, 42113: (2, nodata.encode() + b"\0")} if nodata else MPP
    page = {"pixels": pixels, "photometric": photometric, "tags": tags, "empty": lambda column, row: column < 4}
    slide = write_tiff(tmp_path / "slide.tif", page)
    assert numpy.unique(convert(slide, "--content", "picture")[:, :256]).tolist() == [255 if is_white else 0]
    warnings = [(w["code"], w["file"], w["value"]) for w in run("info", slide, "--json").json.get("warnings", [])]
    assert warnings == ([] if is_white else [("W-SLIDE-SPARSE", str(slide), "32")])
    assert abs(get_tissue(slide) - share) < 0.012
    run("segment", slide, "--model", "tissue", "-o", tmp_path / "s.tif", "--quiet")
    labels = tifffile.imread(tmp_path / "s.tif", key=0)
    assert not labels[:, : labels.shape[1] // 4].any() and labels.any()


@pytest.mark.parametrize("photometric, samples", [(5, 4), (8, 3)])
def test_tiles_that_are_not_stored_are_white_in_colors_that_openslide_reads(tmp_path, photometric, samples):
    """CMYK and CIELab. All others are as OpenSlide reads them of a file that has all tiles."""
    random = numpy.random.default_rng(5)
    base, half = (random.integers(0, 255, (height, width, samples), numpy.uint8) for height, width in ((300, 400), (150, 200)))
    missing = {(1, 0), (4, 2), (6, 4)}

    def empty(column, row):
        return (column, row) in missing

    paths = {}
    for name, left_out in (("whole", lambda column, row: False), ("sparse", empty)):
        pages = [{"pixels": each, "photometric": photometric, "empty": left_out, "tags": {**MPP, 254: (4, [int(each is half)])}} for each in (base, half)]
        paths[name] = write_tiff(tmp_path / f"{name}.tif", *pages)
    reader = openslide.OpenSlide(paths["whole"])
    for level in range(2):
        wanted = numpy.array(reader.read_region((0, 0), level, reader.level_dimensions[level]))[..., :3]
        for column, row in missing:
            wanted[64 * row : 64 * (row + 1), 64 * column : 64 * (column + 1)] = 255
        assert numpy.array_equal(convert(paths["sparse"], "--level", level), wanted)
    assert run("info", paths["sparse"], "--check", "--json").json["undecodableTiles"] == 0


@pytest.mark.parametrize("kind", ["u1", "u2"])
def test_min_is_white_is_turned_round(tmp_path, kind):
    most = numpy.iinfo(kind).max
    stored = numpy.random.default_rng(4).integers(0, most, (100, 150), endpoint=True).astype(kind)
    for tile in ((64, 64), 32):
        page = {"pixels": stored, "photometric": 0, "tile": tile, "tags": MPP}
        slide = write_tiff(tmp_path / "slide.tif", page)
        assert numpy.array_equal(convert(slide, "--content", "picture"), most - stored)
        assert numpy.array_equal(convert(slide), stored)  # labels, still marked as min-is-white
        with tifffile.TiffFile(slide.with_suffix(".pyramid.tif")) as file:
            assert {page.photometric.name for page in file.pages} == {"MINISWHITE"}


@pytest.mark.parametrize(
    "photometric, nodata, expected",
    [(1, None, 0), (0, None, 255), (3, None, (10, 20, 30)), (2, None, (255, 255, 255)), (1, b"77\0", 77), (0, b"77\0", 178),
     (3, b"1\0", (40, 50, 60)), (2, b"9\0", (9, 9, 9)), (1, b"-9999\0", 0), (1, b"nan\0", 0), (2, b"none\0", (255, 255, 255))],
)  # fmt: skip
def test_tiles_that_are_left_out(tmp_path, photometric, nodata, expected):
    pixels = numpy.full((128, 192, 3) if photometric == 2 else (128, 192), 1, numpy.uint8)
    palette = numpy.zeros((3, 256), int)
    palette[:, 0], palette[:, 1] = (10, 20, 30), (40, 50, 60)
    tags = {320: (3, (palette * 257).ravel().tolist())} if photometric == 3 else {}
    tags.update({42113: (2, nodata)} if nodata else {})
    page = {"pixels": pixels, "photometric": photometric, "empty": lambda x, y: x == 1, "tags": {**MPP, **tags}}
    read = convert(write_tiff(tmp_path / "slide.tif", page), "--content", "picture")
    assert (read[:, 64:128] == expected).all()
    assert not (read[:, :64] == expected).all() or nodata == b"1\0"


def test_tiles_that_are_left_out_are_no_tissue(tmp_path):
    pixels, share = make_tissue()
    gray = pixels.mean(2).round().astype(numpy.uint8)
    for stored, nodata in ((gray, {}), (pixels, {}), (pixels, {42113: (2, b"0\0")})):
        page = {"pixels": stored, "empty": lambda x, y: x == 0, "tags": {**MPP, **nodata}}
        assert abs(get_tissue(write_tiff(tmp_path / "slide.tif", page)) - share) < 0.012


def test_an_internal_mask_belongs_to_the_image_before_it(tmp_path):
    """Images of one size, each black with its own part masked out: what is white was masked."""
    def image(kind=0, size=(384, 512)):
        return {"pixels": numpy.zeros((*size, 3), numpy.uint8), "tags": {254: (4, [kind]), **MPP}}

    def mask(columns, kind=4, size=(384, 512)):
        shown = numpy.ones(size, numpy.uint8)
        shown[:, columns] = 0
        return {"pixels": shown, "photometric": 4, "bits": 1, "tile": (64, 128), "tags": {254: (4, [kind])}}

    left, right, half = slice(0, 128), slice(384, 512), (192, 256)
    files = {
        "each behind its image": [image(), mask(left), image(), mask(right)],
        "both behind both": [image(), image(), mask(left), mask(right)],
        "with levels": [image(), mask(left), image(1, half), mask(slice(0, 64), 5, half),
                        image(), mask(right), image(1, half), mask(slice(192, 256), 5, half)],
        "of another resolution": [image(), mask(slice(0, 64), size=half), image(), mask(slice(192, 256), size=half)],
    }  # fmt: skip
    for name, pages in files.items():
        slide = write_tiff(tmp_path / "slide.tif", *pages)
        for number, columns in ((1, left), (2, right)):
            read = convert(slide, "--image", number)
            assert (read[:, columns] == 255).all() and (read == 255).mean() == 0.25, (name, number)
    # A mask of one image alone says nothing of the other, and one of none is named.
    slide = write_tiff(tmp_path / "slide.tif", image(), image(), mask(right))
    assert not convert(slide, "--image", 1).any() and (convert(slide, "--image", 2) == 255).mean() == 0.25
    slide = write_tiff(tmp_path / "slide.tif", image(), mask(left, size=(100, 500)))
    told = run("info", slide, "--json").json
    assert [(w["code"], w["value"]) for w in told["warnings"]] == [("W-SLIDE-TRANSPARENCY", "2")] and not convert(slide).any()
    slide = write_tiff(tmp_path / "slide.tif", mask(left), image())
    assert (convert(slide)[:, left] == 255).all()


def test_what_an_internal_mask_leaves_out_is_background(tmp_path):
    pixels, share = make_tissue()
    shown = numpy.ones(pixels.shape[:2], numpy.uint8)
    shown[:, :100] = 0
    dark = numpy.where(shown[..., None], pixels, 20)
    half, half_shown = dark[::2, ::2], shown[::2, ::2]
    mask = {"photometric": 4, "bits": 1, "tile": (64, 128)}
    for own in (True, False):
        pages = [{"pixels": dark, "tags": MPP}, {"pixels": shown, "tags": {254: (4, [4])}, **mask}]
        pages += [{"pixels": half, "tags": {254: (4, [1])}}]
        pages += [{"pixels": half_shown, "tags": {254: (4, [5])}, **mask}] if own else []
        slide = write_tiff(tmp_path / "slide.tif", *pages)
        described = run("info", slide, "--json").json
        assert [(level["width"], level["height"]) for level in described["levels"]] == [(512, 384), (256, 192)]
        assert numpy.array_equal(convert(slide), numpy.where(shown[..., None], dark, 255))
        assert numpy.array_equal(convert(slide, "--level", 1), numpy.where(half_shown[..., None], half, 255))
        assert abs(get_tissue(slide) - share) < 0.012


@pytest.mark.parametrize(
    "number, name",
    [(50002, "JPEG XL"), (52546, "JPEG XL"), (34934, "JPEG XR"), (22610, "JPEG XR"), (34892, "lossy JPEG"), (12345, "12345")],
)  # fmt: skip
def test_codecs_that_are_not_decoded_are_named(tmp_path, number, name):
    pixels = numpy.zeros((64, 64, 3), numpy.uint8)
    slide = write_tiff(tmp_path / "slide.tif", {"pixels": pixels, "compression": number, "tags": MPP})
    error = fails("info", slide)
    assert (error.code, error.file) == ("E-TIFF-CODEC", str(slide)) and name in error.why


def encode_jpeg2000(kind="I;16", dtype="<u2", **options):
    """A tile of 64 x 64 samples by Pillow, without loss."""

    def encode(data):
        stream = io.BytesIO()
        pixels = numpy.frombuffer(data, "<u2").reshape(64, 64)
        Image.fromarray(pixels.astype(dtype), kind).save(stream, "JPEG2000", no_jp2=True, **options)
        return stream.getvalue()

    return encode


@pytest.mark.parametrize("number", [33003, 33005, 34712])
@pytest.mark.parametrize("photometric", [0, 1])
def test_jpeg_2000_of_16_bit(tmp_path, number, photometric):
    pixels = numpy.random.default_rng(0).integers(0, 65536, (150, 200), numpy.uint16)
    page = {"pixels": pixels, "compression": number, "encode": encode_jpeg2000(), "photometric": photometric, "tags": MPP}
    found = convert(write_tiff(tmp_path / "s.tif", page), "--content", "picture")
    assert numpy.array_equal(found, 65535 - pixels if photometric == 0 else pixels)


def test_jpeg_2000_of_channels(tmp_path):
    pixels = numpy.random.default_rng(0).integers(0, 65536, (150, 200, 3), numpy.uint16)
    page = {"pixels": pixels, "compression": 34712, "encode": encode_jpeg2000(), "planar": True, "photometric": 1, "tags": MPP}
    slide = write_tiff(tmp_path / "s.tif", page)
    run("convert", slide, tmp_path / "o.tif")
    assert numpy.array_equal(tifffile.imread(tmp_path / "o.tif"), numpy.moveaxis(pixels, 2, 0))


@pytest.mark.parametrize("missing", [1, 50, 2000])
def test_jpeg_2000_that_ends_early(tmp_path, missing):
    pixels = numpy.random.default_rng(0).integers(0, 65536, (64, 128), numpy.uint16)
    whole, cut = encode_jpeg2000(), []

    def encode(data):
        cut.append(whole(data)[: None if cut else -missing])
        return cut[-1]

    slide = write_tiff(tmp_path / "s.tif", {"pixels": pixels, "compression": 34712, "encode": encode, "photometric": 1, "tags": MPP})
    told = run("info", slide, "--check", "--json", code=1).json
    assert told["undecodableTiles"] == 1 and told["error"]["code"] == "E-CODEC-DATA"


def test_jpeg_2000_of_ycbcr_has_8_bit(tmp_path):
    pixels = numpy.zeros((64, 64, 3), numpy.uint16)
    page = {"pixels": pixels, "compression": 33003, "encode": lambda data: data, "photometric": 2, "tags": MPP}
    assert "YCbCr" in fails("info", write_tiff(tmp_path / "s.tif", page)).why


def test_jpeg_2000_that_is_not_what_the_tags_say(tmp_path):
    """Tiles of 8 bit where the tags say 16, and tiles that are cut."""
    pixels = numpy.random.default_rng(0).integers(0, 256, (150, 200), numpy.uint16)
    whole = encode_jpeg2000()
    for encode in (encode_jpeg2000("L", "u1"), lambda data: whole(data)[:60], lambda data: b"\xff\x4f\xff\x51" + bytes(40)):
        page = {"pixels": pixels, "compression": 34712, "encode": encode, "photometric": 1, "tags": MPP}
        slide = write_tiff(tmp_path / "s.tif", page)
        assert fails("convert", slide, tmp_path / "o.tif", "--overwrite").code == "E-CODEC-DATA"


def write_imagej(path, text, width, height, unit):
    """Pixels are width x height of ImageJ's unit; the tag ResolutionUnit is `unit`."""
    ratios = {282: (5, [100000, round(100000 * width)]), 283: (5, [100000, round(100000 * height)])}
    tags = {270: (2, b"ImageJ=1.54\nimages=1\n" + text + b"\nloop=false\n\0"), **ratios, 296: (3, [unit])}
    return write_tiff(path, {"pixels": make_tissue()[0], "tile": 64, "tags": tags})


UNITS = [
    *((unit, 1) for unit in (b"micron", b"microns", b"um", b"\xb5m", b"\xc2\xb5m", b"\\u00B5m", b"\xce\xbcm", b"Micrometre")),
    *((b"nm", 1e-3), (b"mm", 1e3), (b"millimeters", 1e3), (b"cm", 1e4), (b"m", 1e6), (b"meter", 1e6), (b"metres", 1e6)),
    *((b"inch", 25400), (b"inches", 25400)),
]


@pytest.mark.parametrize("tag", [1, 2, 3])
@pytest.mark.parametrize("unit, micrometers", UNITS)
def test_the_unit_of_imagej(tmp_path, unit, micrometers, tag):
    below = 1000 if micrometers < 1e5 else 1
    ratios = {282: (5, [round(4 * micrometers * below), below]), 283: (5, [round(2 * micrometers * below), below])}
    tags = {270: (2, b"ImageJ=1.54\nimages=1\nunit=" + unit + b"\nloop=false\n\0"), **ratios, 296: (3, [tag])}
    slide = write_tiff(tmp_path / "slide.tif", {"pixels": make_tissue()[0], "tile": 64, "tags": tags})
    found = run("info", slide, "--json").json
    assert (found["mppX"], found["mppY"]) == pytest.approx((0.25, 0.5), rel=1e-3)


def test_imagej_has_a_unit_of_y(tmp_path):
    slide = write_imagej(tmp_path / "slide.tif", b"unit=micron\nyunit=mm", 0.5, 0.001, 1)
    found = run("info", slide, "--json").json
    assert (found["mppX"], found["mppY"]) == pytest.approx((0.5, 1), rel=1e-3)


def test_no_unit_is_no_resolution(tmp_path):
    for text in (b"ImageJ=1.54\nunit=pixel\n\0", b"unit=um\n\0"):
        tags = {270: (2, text), 282: (5, [4, 1]), 283: (5, [4, 1]), 296: (3, [1])}
        slide = write_tiff(tmp_path / "slide.tif", {"pixels": make_tissue()[0], "tags": tags})
        assert run("info", slide, "--json").json["mpp"] is None
    for text in (b"unit=pixel", b"unit=pixels", b"unit=sec", b"unit=micron\nyunit=sec"):
        slide = write_imagej(tmp_path / "slide.tif", text, 1 / 50000, 1 / 50000, 2)  # 0.508 micrometers, were it an inch
        info = run("info", slide, "--json").json
        assert info["mpp"] is None and not info.get("warnings")


@pytest.mark.parametrize("kind, bits", [("f4", 32), ("f8", 64)])
@pytest.mark.parametrize("number", [5, 6, 9])
def test_complex_numbers_are_no_pixels(tmp_path, kind, bits, number):
    page = {"pixels": numpy.ones((64, 64), kind), "tags": {**MPP, 339: (3, [number])}}
    slide = write_tiff(tmp_path / "slide.tif", page)
    for command in (["info", slide], ["convert", slide, tmp_path / "o.tif"]):
        error = fails(*command)
        assert (error.code, error.file) == ("E-TIFF-CODEC", str(slide))
    error = fails("evaluate", slide, slide)
    assert (error.code, error.file) == ("E-MASK-FORMAT", str(slide)) and str(bits) in error.why


def test_colors_of_16_bit_need_a_window(tmp_path):
    slide = write_tiff(tmp_path / "slide.tif", {"pixels": numpy.zeros((64, 64, 3), "u2"), "tags": MPP})
    error = fails("segment", slide, "--model", "tissue", "-o", tmp_path / "o.tif")
    assert (error.code, error.file, error.value) == ("E-SLIDE-CHANNELS", str(slide), "unsigned_short")


@pytest.mark.parametrize("text, mpp", [("0,252", 0.252), ("0.252", 0.252), ("1,234", 1.234), ("1,234.5", None), ("0,25,0", None)])
def test_a_comma_in_a_resolution_is_that_of_decimals(tmp_path, text, mpp):
    tags = {270: (2, f"Aperio Image Library v11.2.1\r\n512x384|AppMag = 20|MPP = {text}".encode() + b"\0")}
    slide = write_tiff(tmp_path / "slide.svs", {"pixels": make_tissue()[0], "tags": tags})
    assert run("info", slide, "--json").json["mpp"] == mpp


@pytest.mark.parametrize(
    "mpp, codes",
    [(0.04, ["W-SLIDE-RESOLUTION"]), (0.06, []), (7.9, []), (8.1, ["W-SLIDE-RESOLUTION-COARSE"]),
     (19.9, ["W-SLIDE-RESOLUTION-COARSE"]), (20.5, ["W-SLIDE-RESOLUTION"])],
)  # fmt: skip
def test_resolutions_that_are_unknown_or_flagged(tmp_path, mpp, codes):
    slide = write_tiff(tmp_path / "slide.tif", {"pixels": make_tissue()[0], "tags": resolution(mpp)})
    found = run("info", slide, "--json").json
    assert [(w["code"], w["file"]) for w in found["warnings"]] == [(code, str(slide)) for code in codes]
    assert found["mpp"] == (None if codes == ["W-SLIDE-RESOLUTION"] else pytest.approx(mpp, rel=1e-3))


def test_pixels_that_are_not_square(tmp_path):
    pixels, share = make_tissue()
    slide = write_tiff(tmp_path / "slide.tif", {"pixels": pixels, "tags": resolution(0.5, 1.25)})
    found = run("info", slide, "--json").json
    assert (found["mppX"], found["mppY"], found["mpp"]) == (0.5, 1.25, 0.875)
    assert (found["widthMm"], found["heightMm"]) == (pytest.approx(0.256), pytest.approx(0.48))
    assert (found["levels"][0]["mppX"], found["levels"][0]["mppY"]) == (0.5, 1.25)
    assert re.search(r"0\.50* x 1\.250* µm/px", run("info", slide).out)
    mask = tmp_path / "mask.tif"
    labeled = run("label", slide, "-o", mask, "--quiet", "--json", "--downsample", 1).json
    assert labeled["tissueMm2"] == pytest.approx(labeled["tissueFraction"] * 0.256 * 0.48)
    assert (labeled["mppX"], labeled["mppY"], labeled["mpp"]) == (0.5, 1.25, 0.875)
    converted = run("convert", slide, tmp_path / "pyramid.tif", "--quiet", "--json").json
    assert (converted["mppX"], converted["mppY"], converted["mpp"]) == (0.5, 1.25, 0.875)
    compared = run("evaluate", mask, mask, "--json").json
    assert compared["truthMm2"] == pytest.approx(labeled["tissueMm2"])
    assert (compared["mppX"], compared["mppY"]) == (pytest.approx(0.5), pytest.approx(1.25))
    outlines = tmp_path / "outlines.geojson"
    run("outline", mask, "--like", slide, "-o", outlines, "--quiet")
    again = tmp_path / "again.tif"
    run("rasterize", outlines, "--like", slide, "-o", again, "--downsample", 2, "--quiet")
    coarse = run("info", again, "--json").json
    assert (coarse["mppX"], coarse["mppY"]) == (1, 2.5)
    assert run("evaluate", again, mask, "--json").json["dice"] > 0.98
