# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Files that state much and hold little take neither memory nor time."""

import io
import json
import os
import resource
import struct
import subprocess
import zlib

import numpy
import pytest
from PIL import Image

from conftest import PROGRAM, UNSANITIZED
from test_dicom_series import element, us

LIMIT = 1 << 30  # of the address space, a tenth of what these files once took


def run_small(*words, limit=LIMIT):
    """A run that has little memory."""
    return subprocess.run(
        [PROGRAM, *map(str, words), "--quiet"],
        capture_output=True,
        text=True,
        preexec_fn=None if "GIGAPIXEL_SANITIZED" in os.environ else lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )


def refuse(*words, limit=LIMIT):
    """The sentence of a run that has little memory."""
    finished = run_small(*words, limit=limit)
    assert finished.returncode == 1, finished
    (line,) = finished.stderr.splitlines()
    return line


def write_page(path, entries):
    """A TIFF of one page, of (tag, type, count, value or bytes), with the room that Hamamatsu's dialect wants."""
    entries = sorted(entries)
    table = 16
    data = table + 2 + 12 * len(entries) + 8 + 4 * len(entries)
    packed, behind = struct.pack("<H", len(entries)), b""
    for tag, kind, count, value in entries:
        if isinstance(value, bytes):
            value, behind = data + len(behind), behind + value
        packed += struct.pack("<HHII", tag, kind, count, value)
    packed += bytes(8 + 4 * len(entries))
    path.write_bytes(struct.pack("<2sHQ4x", b"II", 42, table) + packed + behind + bytes(4096))
    return path


def describe(width, height, compression):
    codec = [(258, 3, 1, 8), (259, 3, 1, compression), (262, 3, 1, 6), (277, 3, 1, 3)]
    return [(256, 4, 1, width), (257, 4, 1, height), *codec]


@pytest.mark.parametrize("width", [0x7FFFFFFF, 1 << 21])
@pytest.mark.parametrize("command", [["info"], ["info", "--check"]])
def test_a_page_with_more_pixels_than_its_file_has_room_for(tmp_path, command, width):
    strip = [(273, 4, 1, 300), (279, 4, 1, 64), (65420, 4, 1, 1), (65421, 11, 1, 0x41A00000)]
    slide = write_page(tmp_path / "wide.ndpi", [*describe(width, 1 << 12, 7), *strip])
    assert f"wide.ndpi: it cannot be opened: one of its pages states {width} x 4096 pixels" in refuse(*command, slide)


def test_a_tile_larger_than_any(tmp_path):
    xml = b'<scn xmlns="http://www.leica-microsystems.com/scn/2010/10/01"><collection/></scn>\0'
    tiles = [(270, 2, len(xml), xml), (322, 4, 1, 0x7FFFFFFF), (323, 4, 1, 128), (324, 4, 1, 300), (325, 4, 1, 64)]
    slide = write_page(tmp_path / "wide.scn", [*describe(1000, 1000, 7), *tiles])
    assert "states tiles of 2147483647 x 128 pixels" in refuse("info", slide)


def test_scans_without_end(tmp_path):
    """A progressive JPEG stream refines its picture by scans; the last one comes two hundred times here."""
    pixels = numpy.random.default_rng(1).integers(0, 256, (256, 256), numpy.uint8)
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "JPEG", progressive=True)
    coded = stream.getvalue()
    begin = coded.rindex(b"\xff\xda")
    slides = {}
    for times in (1, 200):
        jpeg = coded[:begin] + times * coded[begin:-2] + coded[-2:]
        place = 256
        tiles = [(322, 4, 1, 256), (323, 4, 1, 256), (324, 4, 1, place + 4096), (325, 4, 1, len(jpeg))]
        gray = [(256, 4, 1, 256), (257, 4, 1, 256), (258, 3, 1, 8), (259, 3, 1, 7), (262, 3, 1, 1), (277, 3, 1, 1)]
        slides[times] = write_page(tmp_path / f"{times}.tif", [*gray, *tiles])
        slides[times].write_bytes(slides[times].read_bytes().ljust(place + 4096, b"\0")[: place + 4096] + jpeg)
    subprocess.run([PROGRAM, "info", "--check", slides[1], "--quiet"], check=True, capture_output=True)
    assert "200.tif: the tile at 0,0 of level 0 cannot be decoded: its JPEG stream has more than 100 scans" in refuse(
        "info", "--check", slides[200]
    )


@UNSANITIZED  # which reports that a number of bytes is refused
@pytest.mark.parametrize("width", [2_000_000, 100_000_000])
def test_strips_of_rows_that_are_not_there(tmp_path, width):
    """A row of tiles would take the width's memory: 1.5 GB and more."""
    strip, rows = zlib.compress(bytes(48)), 400
    page = [(256, 4, 1, width), (257, 4, 1, rows), (258, 3, 1, 8), (259, 3, 1, 8), (262, 3, 1, 2), (277, 3, 1, 3)]
    place = 4096
    offsets, sizes = struct.pack("<25I", *[place] * 25), struct.pack("<25I", *[len(strip)] * 25)
    strips = [(273, 4, 25, offsets), (278, 4, 1, rows // 25), (279, 4, 25, sizes)]
    slide = write_page(tmp_path / "wide.tif", [*page, *strips])
    slide.write_bytes(slide.read_bytes().ljust(place, b"\0")[:place] + strip)
    output = tmp_path / "out.pyramid.tif"
    for words in (["convert", slide, output], ["label", slide, "-o", output]):
        sentence = refuse(*words)
        assert "wide.tif" in sentence
        reasons = "fewer pixels than its size", "not enough memory", "too large to be decoded"
        assert any(reason in sentence for reason in reasons)
        assert not output.exists()


def write_pages(path, pages, values):
    """A TIFF of these pages, behind the bytes that their entries name by position."""
    place = 4
    packed = bytearray(struct.pack("<2sHI8x", b"II", 42, 0) + values + bytes(len(values) % 2))
    for entries in pages:
        struct.pack_into("<I", packed, place, len(packed))
        packed += struct.pack("<H", len(entries)) + b"".join(struct.pack("<HHII", *entry) for entry in sorted(entries))
        place = len(packed)
        packed += bytes(4)
    path.write_bytes(packed)


GRAY = [(258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 1), (277, 3, 1, 1)]


def tile_page(side, tile, entries, *more):
    """Of gray tiles, of which all are where the file begins to hold values."""
    shape = [(256, 4, 1, side), (257, 4, 1, side), (322, 4, 1, tile), (323, 4, 1, tile)]
    return [*GRAY, *shape, (324, 1, entries, 16), (325, 1, entries, 16), *more]


def test_tables_that_are_longer_than_their_pages_need(tmp_path):
    """Each of a hundred pages names a million tiles, and has one."""
    slide, entries = tmp_path / "tables.tif", 1 << 20
    write_pages(slide, [tile_page(16, 16, entries, (254, 4, 1, min(page, 1))) for page in range(100)], bytes([1]) * entries)
    assert run_small("info", slide).returncode == 0


@pytest.mark.parametrize("table", ["tiles", "JPEG"])
def test_tables_that_pages_share(tmp_path, table):
    slide, entries = tmp_path / "shared.tif", 1 << 20
    of_jpeg = [(347, 7, entries, 16)] if table == "JPEG" else []
    side = 16 if table == "JPEG" else 8 << 10
    pages = [tile_page(side, 16, entries, (254, 4, 1, min(page, 1)), *of_jpeg) for page in range(2000)]
    write_pages(slide, pages, bytes([1]) * entries)
    assert "shared.tif: it cannot be opened: the tables of its pages overlap" in refuse("info", slide)


def test_tables_that_channels_share(tmp_path):
    channels, side, entries = 200, 8 << 10, 1 << 20
    xml = b'<OME><Image><Pixels SizeX="%d" SizeY="%d" SizeC="%d" SizeZ="1" SizeT="1"/></Image></OME>\0' % (side, side, channels)
    slide = tmp_path / "shared.ome.tif"
    pages = [tile_page(side, 16, entries, *([(270, 2, len(xml), 16 + entries)] if page == 0 else [])) for page in range(channels)]
    write_pages(slide, pages, bytes([1]) * entries + xml)
    assert "shared.ome.tif: it cannot be opened: the tables of its pages overlap" in refuse("info", slide)


def test_page_tables_that_share_their_bytes(tmp_path):
    """A page begins every four bytes, and has 4096 entries."""
    slide, pages, entries, first = tmp_path / "pages.tif", 4090, 4096, 16
    length = 2 + 12 * entries
    packed = bytearray(struct.pack("<2sHI8x", b"II", 42, first) + b"\1\0" * (2 * pages + length // 2 + 35000))
    for page in range(pages):
        struct.pack_into("<H", packed, first + 4 * page, entries)
        struct.pack_into("<I", packed, first + 4 * page + length, first + 4 * (page + 1) if page + 1 < pages else 0)
    slide.write_bytes(packed)
    assert "pages.tif: it cannot be opened: its page tables overlap" in refuse("info", slide, limit=LIMIT // 4)


@pytest.mark.parametrize("tiles", [(1, 1), (64, 64), (1, 256)])
def test_tiles_that_are_not_stored_are_not_checked(tmp_path, tiles):
    """Each of them would be a gigabyte of background."""
    across, down = tiles
    width, height = (8192, 16384) if down < 256 else (8, 1 << 24)
    slide = tmp_path / "sparse.tif"
    samples = [(258, 3, 1, 16), (259, 3, 1, 1), (262, 3, 1, 1), (277, 3, 1, 4)]
    shape = [(256, 4, 1, width * across), (257, 4, 1, min(height * down, (1 << 32) - 1)), (322, 4, 1, width), (323, 4, 1, height)]
    tables = [(tag, 1, across * down, 16 if across * down > 4 else 0) for tag in (324, 325)]
    write_pages(slide, [[*samples, *shape, *tables]], bytes(2 * across * down))
    assert run_small("info", "--check", slide).returncode == 0


def write_sparse_dicom(path, side):
    """A gray level of tiles of one pixel, of which the first is there."""
    kind = "1.2.840.10008.5.1.4.1.1.77.1.6"
    meta = element(2, 2, b"UI", kind) + element(2, 0x10, b"UI", "1.2.840.10008.1.2.1")
    data = [
        element(8, 8, b"CS", "ORIGINAL\\PRIMARY\\VOLUME\\NONE"), element(8, 0x16, b"UI", kind), element(0x20, 0xE, b"UI", "1.2.3.4"),
        element(0x20, 0x9311, b"CS", "TILED_SPARSE"), element(0x28, 2, b"US", us(1)), element(0x28, 4, b"CS", "MONOCHROME2"), element(0x28, 8, b"IS", "1"),
        element(0x28, 0x10, b"US", us(1)), element(0x28, 0x11, b"US", us(1)), element(0x28, 0x100, b"US", us(8)),
        element(0x48, 6, b"UL", struct.pack("<I", side)), element(0x48, 7, b"UL", struct.pack("<I", side)), element(0x7FE0, 0x10, b"OB", b"\7\0"),
    ]
    path.write_bytes(bytes(128) + b"DICM" + meta + b"".join(data))


def test_dicom_files_of_tiles_that_are_not_stored(tmp_path):
    for side in (4096, 4095):
        write_sparse_dicom(tmp_path / f"{side}.dcm", side)
    finished = run_small("info", tmp_path / "4096.dcm", limit=LIMIT // 4)
    assert finished.returncode == 0, finished
    assert "level 1: 4095 x 4095" in finished.stdout


def test_long_names_that_pages_share(tmp_path):
    """Each of two thousand associated images has a name of a megabyte, that of the page before without its last letter."""
    length, first = 1 << 20, b"Aperio x\nab|MPP = 0.5\0\0"
    pages = [tile_page(16, 16, 1, (270, 2, len(first), 16))]
    strip = [(256, 4, 1, 16), (257, 4, 1, 16), (273, 4, 1, 16), (278, 4, 1, 16), (279, 4, 1, 256)]
    pages += [[*GRAY, *strip, (270, 2, length - page, 16 + len(first))] for page in range(2000)]
    slide = tmp_path / "named.svs"
    write_pages(slide, pages, first + b"Aperio\n" + b"a" * length)
    assert run_small("info", slide).returncode == 0


@UNSANITIZED
def test_pages_without_tables_share_the_table_of_the_first(tmp_path):
    """Thousands of pages of one byte, and a table of thousands of entries."""
    text = b"ImageJ=1.54f\nimages=4096\nchannels=4096\n\0"
    strip = [(258, 3, 1, 8), (259, 3, 1, 1), (270, 2, len(text), text), (273, 4, 1, 16), (278, 3, 1, 1), (279, 4, 1, 1)]
    unknown = [(40000 + number, 3, 1, 0) for number in range(4000)]
    path = write_page(tmp_path / "s.tif", [(256, 3, 1, 1), (257, 3, 1, 1), *strip, *unknown])
    with open(tmp_path / "told.json", "w+") as told:
        process = subprocess.Popen([PROGRAM, "info", path, "--json"], stdout=told)
        _, process.returncode, used = os.wait4(process.pid, 0)
    assert process.returncode == 0 and json.loads((tmp_path / "told.json").read_text())["channels"] == 4096
    assert used.ru_maxrss < 300 << 10  # less than half of what a table for each page takes
