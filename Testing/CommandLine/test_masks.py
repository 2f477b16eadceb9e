# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Masks: their values are those that the file holds, whatever its layout and type."""

import io
import itertools
import struct
import zlib

import numpy
import pytest
import tifffile
from PIL import Image

from conftest import fails, run
from tiff_pages import resolution, write_tiff

HEIGHT, WIDTH = 150, 200


def make_labels(classes=2):
    """A disk of 1 with, for more classes, a square of 2 in it."""
    y, x = numpy.mgrid[:HEIGHT, :WIDTH]
    labels = ((x - 90) ** 2 + (y - 70) ** 2 < 55**2).astype(numpy.uint8)
    if classes > 2:
        labels[60:90, 70:120] = 2
    return labels


@pytest.fixture(scope="module")
def truth(tmp_path_factory):
    return write_tiff(tmp_path_factory.mktemp("truth") / "truth.tif", {"pixels": make_labels(), "tags": resolution(0.5)})


def agrees(mask, truth):
    return run("evaluate", mask, truth, "--json").json["dice"] == 1


@pytest.mark.parametrize("tile", [(64, 64), (64, 80), 32, HEIGHT], ids=["tiles", "wide", "strips", "strip"])
@pytest.mark.parametrize("kind", ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8"])
def test_masks_of_every_type_are_read_as_stored(tmp_path, truth, kind, tile):
    for endian, compression in itertools.product("<>", (1, 8)):
        page = {"pixels": make_labels().astype(kind), "tile": tile, "compression": compression, "tags": resolution(0.5)}
        assert agrees(write_tiff(tmp_path / "mask.tif", page, endian=endian), truth)


@pytest.mark.parametrize("kind, predictor", [("u1", 2), ("u2", 2), ("i4", 2), ("u8", 2), ("f2", 3), ("f4", 3), ("f8", 3)])
def test_predictors_are_undone(tmp_path, truth, kind, predictor):
    for endian in "<>":
        page = {"pixels": make_labels().astype(kind), "predictor": predictor, "tags": resolution(0.5)}
        assert agrees(write_tiff(tmp_path / "mask.tif", page, endian=endian), truth)


@pytest.mark.parametrize("bits", [1, 2, 4])
@pytest.mark.parametrize("tile", [(64, 64), 32], ids=["tiles", "strips"])
def test_small_samples_and_white_zero_are_stored_values(tmp_path, truth, bits, tile):
    for photometric in (0, 1):
        page = {"pixels": make_labels(), "bits": bits, "tile": tile, "photometric": photometric, "tags": resolution(0.5)}
        assert agrees(write_tiff(tmp_path / "mask.tif", page), truth)


def test_white_zero_of_bytes_is_not_inverted(tmp_path, truth):
    for tile in ((64, 64), 32):
        page = {"pixels": make_labels(), "photometric": 0, "tile": tile, "tags": resolution(0.5)}
        assert agrees(write_tiff(tmp_path / "mask.tif", page), truth)


def test_palettes_give_their_indices(tmp_path, truth):
    colors = numpy.random.default_rng(1).integers(0, 65536, 768).tolist()
    for bits, tile in ((8, (64, 64)), (8, 32), (4, 32)):
        tags = {320: (3, colors[: 3 << bits]), **resolution(0.5)}
        page = {"pixels": make_labels(), "bits": bits, "tile": tile, "photometric": 3, "tags": tags}
        assert agrees(write_tiff(tmp_path / "mask.tif", page), truth)
    picture = Image.fromarray(make_labels(), "P")
    picture.putpalette([0, 0, 0, 200, 30, 30, 40, 40, 220])
    picture.save(tmp_path / "mask.png")
    assert agrees(tmp_path / "mask.png", truth)


@pytest.mark.parametrize("tile", [(64, 64), 32], ids=["tiles", "strips"])
@pytest.mark.parametrize("photometric, kind, bits", [(0, "u1", 1), (0, "u1", 8), (0, "u2", 16), (1, "u1", 1), (3, "u1", 8)])
def test_pyramids_of_masks_hold_their_values(tmp_path, photometric, kind, bits, tile):
    labels = make_labels(classes=2 if bits == 1 else 3).astype(kind)
    labels = labels.repeat(4, 0).repeat(4, 1)  # with room for levels
    colors = numpy.random.default_rng(1).integers(0, 65536, 768).tolist()
    tags = {320: (3, colors)} if photometric == 3 else {}
    page = {"pixels": labels, "bits": bits, "tile": tile, "photometric": photometric, "tags": {**resolution(0.5), **tags}}
    mask = write_tiff(tmp_path / "mask.tif", page)
    for options in ([], ["--compression", "deflate"], ["--content", "labels"], ["--region", "0,0,512,512", "--compression", "deflate"]):
        run("convert", mask, tmp_path / "out.tif", "--overwrite", "--quiet", "--tile-size", 128, *options)
        with tifffile.TiffFile(tmp_path / "out.tif") as file:
            pages = [(each.asarray(), int(each.photometric), each.colormap) for each in file.pages]
        region = labels[:512, :512] if "--region" in options else labels
        assert len(pages) > 1
        for number, (found, meaning, palette) in enumerate(pages):
            assert meaning == photometric and (meaning != 3 or palette.ravel().tolist() == colors)
            assert numpy.isin(found, (0, 1, 2)).all() and (number or numpy.array_equal(found, region)), options
        if "--region" not in options:
            assert run("evaluate", mask, tmp_path / "out.tif", "--json").json["dice"] == 1


def test_jpeg_masks_are_said(tmp_path, truth):
    image = Image.fromarray(make_labels() * 255)
    image.save(tmp_path / "mask.jpg")
    image.save(tmp_path / "mask.tif", compression="jpeg")
    image.save(tmp_path / "mask.png")
    for name, codes in (("mask.jpg", ["W-MASK-LOSSY"]), ("mask.tif", ["W-MASK-LOSSY"]), ("mask.png", [])):
        warnings = run("evaluate", tmp_path / name, truth, "--json").json.get("warnings", [])
        assert [(w["code"], w["file"]) for w in warnings] == [(code, str(tmp_path / name)) for code in codes]


@pytest.mark.parametrize("lossy", [False, True])
def test_jpeg_2000_masks_with_loss_are_said(tmp_path, truth, lossy):
    """Pillow's wavelets: 9-7 of floats or 5-3 of integers."""

    def encode(tile):
        stream = io.BytesIO()
        Image.frombytes("L", (64, 64), tile).save(stream, "JPEG2000", irreversible=lossy, no_jp2=True)
        return stream.getvalue()

    page = {"pixels": make_labels() * 255, "compression": 34712, "encode": encode, "tags": resolution(0.5)}
    write_tiff(tmp_path / "mask.tif", page)
    result = run("evaluate", tmp_path / "mask.tif", truth, "--json").json
    assert [(w["code"], w["file"]) for w in result.get("warnings", [])] == [("W-MASK-LOSSY", str(tmp_path / "mask.tif"))] * lossy
    assert result["dice"] > 0.99 if lossy else result["dice"] == 1


@pytest.mark.parametrize("kind, tile, photometric", [("u1", (64, 64), 1), ("u1", 32, 1), ("u2", (64, 64), 1), ("u1", (64, 64), 3)],
                         ids=["tiles", "strips", "16-bit", "palette"])
def test_a_file_of_several_masks_is_refused(tmp_path, truth, kind, tile, photometric):
    """By all commands alike; convert --image, which their advice names, writes one of them to a file of its own."""
    tags = {**resolution(0.5), **({320: (3, list(range(768)))} if photometric == 3 else {})}
    pages = [{"pixels": labels.astype(kind), "tile": tile, "photometric": photometric, "tags": tags}
             for labels in (make_labels() * 0, make_labels(), make_labels() * 0 + 1)]
    masks = write_tiff(tmp_path / "mask.tif", *pages)
    for words in (["evaluate", masks, truth], ["evaluate", truth, masks], ["outline", masks, "--like", truth, "-o", tmp_path / "a.geojson"],
                  ["overlay", truth, masks, "-o", tmp_path / "a.png"]):
        error = fails(*words)
        assert (error.code, error.file, error.value) == ("E-MASK-FORMAT", str(masks), "3"), words
    for number, dice in (("1", 0), ("2", 1)):
        run("convert", masks, tmp_path / "one.tif", "--image", number, "--overwrite")
        assert run("evaluate", tmp_path / "one.tif", truth, "--json").json["dice"] == dice
        with tifffile.TiffFile(tmp_path / "one.tif") as file:
            assert numpy.array_equal(file.pages[0].asarray(), pages[int(number) - 1]["pixels"])


@pytest.mark.parametrize("codec", ["tiff_lzw", "packbits"])
def test_codecs_of_others(tmp_path, truth, codec):
    Image.fromarray(make_labels()).save(tmp_path / "mask.tif", compression=codec)
    assert agrees(tmp_path / "mask.tif", truth)


def test_a_fax_is_refused_by_its_name(tmp_path, truth):
    Image.fromarray(make_labels() > 0).save(tmp_path / "mask.tif", compression="group4")
    error = fails("evaluate", tmp_path / "mask.tif", truth)
    assert (error.code, error.file) == ("E-TIFF-CODEC", str(tmp_path / "mask.tif")) and "Group 4" in error.why


def test_tiles_that_are_left_out_are_background(tmp_path, truth):
    labels = make_labels()
    blocks = {(x, y) for x in range(4) for y in range(3) if labels[64 * y : 64 * y + 64, 64 * x : 64 * x + 64].any()}
    page = {"pixels": labels, "empty": lambda x, y: (x, y) not in blocks, "tags": resolution(0.5)}
    assert 0 < len(blocks) < 12
    for photometric, kind in itertools.product((0, 1), ("u1", "u2", "i4")):
        page.update(photometric=photometric, pixels=labels.astype(kind))
        mask = write_tiff(tmp_path / "mask.tif", page)
        assert agrees(mask, truth)


def test_tiles_that_are_left_out_have_the_stated_value(tmp_path, truth):
    labels = make_labels()
    full = {(x, y) for x in range(7) for y in range(5) if labels[32 * y : 32 * y + 32, 32 * x : 32 * x + 32].all()}
    assert full
    tags = {42113: (2, b"1\0"), **resolution(0.5)}
    page = {"pixels": labels, "tile": (32, 32), "empty": lambda x, y: (x, y) in full, "tags": tags}
    assert agrees(write_tiff(tmp_path / "mask.tif", page), truth)


def write_png(path, labels, bits, palette=False, transparent=False, interlaced=False, level=6, cut=100, flip=None):
    """A PNG of gray or of a palette, byte by byte: rows of the filters 0 to 4, in one pass or in those of Adam7.

    \\param cut the second IDAT begins at this byte of zlib's stream \\param flip the byte of it that is damaged
    """
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    def pack(row):
        if bits >= 8:
            return row.astype(">u2" if bits == 16 else "u1").tobytes()
        return numpy.packbits(numpy.unpackbits(row.astype(numpy.uint8)[:, None], axis=1)[:, 8 - bits :].ravel()).tobytes()

    passes = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)] if interlaced else [(0, 0, 1, 1)]
    data, step = b"", 2 if bits == 16 else 1
    for x, y, across, down in passes:
        above = None
        for number, row in enumerate(labels[y::down, x::across]):
            now = numpy.frombuffer(pack(row), numpy.uint8).astype(int)
            above = numpy.zeros_like(now) if above is None else above
            left, corner = (numpy.concatenate([numpy.zeros(step, int), each[:-step]]) for each in (now, above))
            distances = [abs(left + above - corner - each) for each in (left, above, corner)]
            paeth = numpy.choose(numpy.argmin(distances, axis=0), [left, above, corner])
            guess = [0 * now, left, above, (left + above) // 2, paeth][number % 5]
            data += bytes([number % 5]) + ((now - guess) % 256).astype(numpy.uint8).tobytes()
            above = now
    height, width = labels.shape
    packed = bytearray(zlib.compress(data, level))
    if flip is not None:
        packed[flip] ^= 4
    colors = chunk(b"PLTE", bytes(range(3 * min(256, 1 << bits)))[: 3 << bits]) if palette else b""
    alpha = chunk(b"tRNS", b"\0\xff" if palette else b"\0\0") if transparent else b""
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, 3 if palette else 0, 0, 0, interlaced))
    halves = chunk(b"IDAT", packed[:cut]) + chunk(b"IDAT", packed[cut:])
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + header + colors + alpha + halves + chunk(b"IEND", b""))
    return path


@pytest.mark.parametrize("interlaced", [False, True])
@pytest.mark.parametrize("transparent", [False, True])
@pytest.mark.parametrize("bits, palette", [(1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (1, 1), (2, 1), (4, 1)])
def test_png_masks_have_the_values_of_the_file(tmp_path, truth, bits, palette, transparent, interlaced):
    labels = make_labels().astype(int)
    options = {"palette": bool(palette), "transparent": transparent, "interlaced": interlaced}
    mask = write_png(tmp_path / "mask.png", labels, bits, **options)
    image = Image.open(mask)
    assert numpy.array_equal(numpy.asarray(image if palette or bits == 16 else image.convert("L")) > 0, labels > 0)
    assert agrees(mask, truth)
    if bits > 1 and not interlaced:  # the value as it is stored, and not a gray or a color
        slide = write_tiff(tmp_path / "slide.tif", {"pixels": numpy.full((HEIGHT, WIDTH, 3), 200, numpy.uint8), "tags": resolution(0.5)})
        labels[20, 30] = 3 if bits < 16 else 300
        write_png(mask, labels, bits, **options)
        (tmp_path / "cohort.csv").write_text(f"slide,mask,split\n{slide},{mask},train\n")
        error = fails("train", "--cohort", tmp_path / "cohort.csv", "-o", tmp_path / "run", "--network", "unet:base=2,depth=1", "--epochs", 1, "--level", 0)
        assert (error.code, error.file, error.value) == ("E-LABEL-VALUE", str(mask), str(labels[20, 30]))


def test_png_masks_that_are_no_masks_are_refused(tmp_path, truth):
    labels = make_labels()
    for mode, channels in (("LA", 2), ("RGB", 3), ("RGBA", 4)):
        Image.fromarray(labels).convert(mode).save(tmp_path / "mask.png")
        error = fails("evaluate", tmp_path / "mask.png", truth)
        assert (error.code, error.file, error.value) == ("E-MASK-FORMAT", str(tmp_path / "mask.png"), str(channels))
    whole = write_png(tmp_path / "mask.png", labels, 2).read_bytes()
    for size in (len(whole) // 2, len(whole) - 40, 50):
        (tmp_path / "mask.png").write_bytes(whole[:size])
        error = fails("evaluate", tmp_path / "mask.png", truth)
        assert (error.code, error.file) == ("E-FILE-DAMAGED", str(tmp_path / "mask.png"))


@pytest.mark.parametrize("cut", [-4, -2, 100])
@pytest.mark.parametrize("level", [0, 6])
def test_the_checksum_of_png_masks_is_compared_wherever_it_lies(tmp_path, truth, level, cut):
    mask = write_png(tmp_path / "mask.png", make_labels(), 8, level=level, cut=cut)
    assert agrees(mask, truth)
    for flip in (-1, -4) + ((-200,) if level == 0 else ()):  # of the checksum; of a row that is stored as it is
        write_png(mask, make_labels(), 8, level=level, cut=cut, flip=flip)
        error = fails("evaluate", mask, truth)
        assert (error.code, error.file) == ("E-FILE-DAMAGED", str(mask))
    whole = write_png(mask, make_labels(), 8, level=level, cut=cut).read_bytes()
    mask.write_bytes(whole[:-17])  # without IEND, and the last byte of the checksum
    error = fails("evaluate", mask, truth)
    assert (error.code, error.file) == ("E-FILE-DAMAGED", str(mask))


@pytest.mark.parametrize("kind, value", [("i1", -1), ("i4", -7), ("f4", 0.5), ("f8", float("nan")), ("f4", -float("nan")), ("f4", float("inf"))])
def test_values_that_are_no_labels_are_refused(tmp_path, truth, kind, value):
    pixels = make_labels().astype(kind)
    pixels[20, 30] = value
    error = fails("evaluate", write_tiff(tmp_path / "mask.tif", {"pixels": pixels, "tags": resolution(0.5)}), truth)
    assert (error.code, error.file, error.value) == ("E-LABEL-VALUE", str(tmp_path / "mask.tif"), str(value))


def test_labels_beyond_the_classes_stop_a_training(tmp_path):
    slide = numpy.full((HEIGHT, WIDTH, 3), 200, numpy.uint8)
    write_tiff(tmp_path / "slide.tif", {"pixels": slide, "tags": resolution(0.5)})
    options = ["--network", "unet:base=2,depth=1", "--epochs", 1, "--level", 0]
    for kind, value in (("u1", 7), ("u4", 70000), ("u2", 256)):
        pixels = make_labels().astype(kind)
        pixels[20, 30] = value
        write_tiff(tmp_path / "mask.tif", {"pixels": pixels, "tags": resolution(0.5)})
        (tmp_path / "cohort.csv").write_text("slide,mask,split\nslide.tif,mask.tif,train\n")
        error = fails("train", "--cohort", tmp_path / "cohort.csv", "-o", tmp_path / "run", *options)
        assert (error.code, error.file, error.value) == ("E-LABEL-VALUE", str(tmp_path / "mask.tif"), str(value)), error


def test_what_is_no_mask_is_refused(tmp_path, truth):
    colors = numpy.zeros((HEIGHT, WIDTH, 3), numpy.uint8)
    for page, code in (({"pixels": colors}, "E-MASK-FORMAT"), ({"pixels": make_labels(), "compression": 50002}, "E-TIFF-CODEC")):
        error = fails("evaluate", write_tiff(tmp_path / "mask.tif", page), truth)
        assert (error.code, error.file) == (code, str(tmp_path / "mask.tif"))
