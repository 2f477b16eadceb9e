# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Vendors' slides, most of which OpenSlide reads, damaged one by one as OpenSlide's own tests damage them, by sizes and
counts that nothing has room for, and at random. Whatever it is: the pixels that OpenSlide alone gives, or one sentence and
exit code 1; no signal, and neither memory nor time without bounds."""

import functools
import json
import os
import random
import re
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time

import numpy
import pytest
import tifffile

import vendor_slides
from conftest import PROGRAM
from test_mutations import SEED, mutate

MUTATIONS = int(os.environ.get("GIGAPIXEL_MUTATIONS", 8))  # of each format
MOST_BYTES = 3 << 29  # in memory, of the program and all that it starts
MOST_SECONDS = 15  # of computing: OpenSlide has ten, in the process that tries it out
MANY = "2000000000"


def swap(old, new):
    """An edit of a text."""

    def edit(text):
        assert old in text
        return text.replace(old, new)

    return edit


def leave_out(key):
    """An edit: the lines that begin so."""

    def edit(text):
        assert key in text
        return "".join(line for line in text.splitlines(keepends=True) if not line.startswith(key))

    return edit


def several(*edits):
    return lambda text: functools.reduce(lambda changed, edit: edit(changed), edits, text)


def put(name, place, data):
    """A damage to a file; places below zero are counted from its end."""

    def spoil(files):
        content = bytearray(files[name])
        at = place % len(content)
        assert content[at : at + len(data)] != data
        content[at : at + len(data)] = data
        files[name] = bytes(content)

    return spoil


def cut(name, length):
    return lambda files: files.update({name: files[name][:length]})


def drop(name):
    return lambda files: files.pop(name)


def replace_bytes(name, old, new):
    def spoil(files):
        assert old in files[name]
        files[name] = files[name].replace(old, new, 1)

    return spoil


def tag(number, kind=None, count=None, value=None):
    """An edit of the entries of an NDPI's page; nothing but the number: it is left out."""

    def edit(entries):
        changed = [entry for entry in entries if entry[0] != number]
        if kind is not None:
            changed.append((number, kind, count, value))
        return sorted(changed)

    return edit


INDEX, DATA = "slide/Index.dat", "slide/Data0000.dat"
ROOT = 5 + 16  # of MIRAX's index: what stands before it is a version and a name
PAGES = ROOT + 8 + 4 * 4  # the page of level 0: 8 bytes, its count, the next page, and 16 bytes for each image
POSITIONS = PAGES + (16 + 12 * 16) + (16 + 4 * 16)  # the record of where images lie, whose last numbers are place and size
WITHOUT_POSITIONS = swap("NONHIER_COUNT=2", "NONHIER_COUNT=0")


def numbers(*values):
    return struct.pack(f"<{len(values)}i", *values)


def size_images(side):
    return swap("DIGITIZER_WIDTH=64\nDIGITIZER_HEIGHT=64", f"DIGITIZER_WIDTH={side}\nDIGITIZER_HEIGHT={side}")


def count_images(across, down):
    return swap("IMAGENUMBER_X=4\nIMAGENUMBER_Y=3", f"IMAGENUMBER_X={across}\nIMAGENUMBER_Y={down}")


# A JPEG stream of vendor_slides: 20 bytes of JFIF, 69 of quantization, then the frame with height and width.
FRAME = 20 + 69
HUGE_FRAME = struct.pack(">HH", 65496, 65496)

TEXTS = {
    "mirax": {
        "no-general": swap("[GENERAL]", "[SPECIFIC]"),
        "no-slide-id": leave_out("SLIDE_ID"),
        "bad-slide-id": swap("SLIDE_ID=0", "SLIDE_ID=1"),
        "bad-imagenumber": swap("IMAGENUMBER_X=4", "IMAGENUMBER_X=four"),
        "no-images": count_images(0, 3),
        "fewer-images": count_images(2, 3),
        "many-images": several(count_images(30000, 30000), WITHOUT_POSITIONS),
        "more-images-than-an-integer-holds": several(count_images(65536, 65537), WITHOUT_POSITIONS),
        "a-row-without-end": several(count_images(MANY, 1), WITHOUT_POSITIONS),
        "no-objective": leave_out("OBJECTIVE_MAGNIFICATION"),
        "empty-objective": swap("OBJECTIVE_MAGNIFICATION=20", "OBJECTIVE_MAGNIFICATION="),
        "bad-divisions": swap("PerSide=1", "PerSide=-1"),
        "divisions-of-parts": several(swap("PerSide=1", "PerSide=3"), WITHOUT_POSITIONS),
        "many-divisions": several(swap("PerSide=1", "PerSide=1000"), WITHOUT_POSITIONS),
        "no-hierarchical": swap("[HIERARCHICAL]", "[FLAT]"),
        "zero-hier-count": swap("HIER_COUNT=1\nNON", "HIER_COUNT=0\nNON"),
        "negative-nonhier-count": swap("NONHIER_COUNT=2", "NONHIER_COUNT=-1"),
        "many-nonhier": swap("NONHIER_COUNT=2", f"NONHIER_COUNT={MANY}"),
        "no-slide-zoom-level": swap("Slide zoom level", "Slide"),
        "zoom-level-count-0": swap("HIER_0_COUNT=2", "HIER_0_COUNT=0"),
        "zoom-level-count-3": swap("HIER_0_COUNT=2", "HIER_0_COUNT=3"),
        "many-zoom-levels": swap("HIER_0_COUNT=2", f"HIER_0_COUNT={MANY}"),
        "no-section": swap("[LAYER_0_LEVEL_1_SECTION]", "[LAYER]"),
        "no-datafile": swap("[DATAFILE]", "[FILES]"),
        "no-files": swap("FILE_COUNT=1", "FILE_COUNT=0"),
        "many-files": swap("FILE_COUNT=1", f"FILE_COUNT={MANY}"),
        "no-file-name": leave_out("FILE_0"),
        "no-index-name": leave_out("INDEXFILE"),
        "no-overlap": leave_out("OVERLAP_X"),
        "overlap-of-a-whole-image": swap("OVERLAP_X=0\nOVERLAP_Y=0", "OVERLAP_X=64\nOVERLAP_Y=64"),
        "overlap-of-nearly-an-image": swap("OVERLAP_X=0\nOVERLAP_Y=0", "OVERLAP_X=63.9999999\nOVERLAP_Y=63.9999999"),
        "overlap-beyond-an-image": swap("OVERLAP_X=0\nOVERLAP_Y=0", "OVERLAP_X=1000\nOVERLAP_Y=1000"),
        "overlap-nan": swap("OVERLAP_X=0\nOVERLAP_Y=0", "OVERLAP_X=nan\nOVERLAP_Y=inf"),
        "no-image-format": leave_out("IMAGE_FORMAT"),
        "bad-image-format": swap("IMAGE_FORMAT=JPEG", "IMAGE_FORMAT=TGA"),
        "format-png": swap("IMAGE_FORMAT=JPEG", "IMAGE_FORMAT=PNG"),
        "format-bmp": swap("IMAGE_FORMAT=JPEG", "IMAGE_FORMAT=BMP24"),
        "bad-fill-color": swap("16777215", "white"),
        "image-0": size_images(0),
        "image-63": size_images(63),
        "image-32": size_images(32),
        "image-8192": size_images(8192),
        "image-20000": size_images(20000),
        "image-32768": size_images(32768),
        "image-65536": size_images(65536),
        "image-without-bounds": size_images(MANY),
        "concat-factor-text": swap("FACTOR=1", "FACTOR=one"),
        "concat-factor-0": swap("FACTOR=1", "FACTOR=0"),
        "concat-factor-negative": swap("FACTOR=0", "FACTOR=-1"),
        "concat-factor-20": swap("FACTOR=1", "FACTOR=20"),
        "concat-factor-30": swap("FACTOR=0", "FACTOR=30"),
        "concat-factor-70": swap("FACTOR=1", "FACTOR=70"),
        "bad-macro-format": swap("THUMBNAIL_IMAGE_TYPE=JPEG", "THUMBNAIL_IMAGE_TYPE=FOO"),
        "no-macro-section": swap("NONHIER_1_VAL_0_SECTION=", "NONHIER_1_VAL_0_SECTOR="),
        "mpp-nan": swap("PIXEL_X=0.25", "PIXEL_X=nan"),
        "garbage": lambda text: text[:300] + "\0\1\2 garbage" + text[300:],
        "empty": lambda text: "",
    },
    "vms": {
        "bad-group": swap("[Virtual", "[Virtuous"),
        "no-columns": leave_out("NoJpegColumns"),
        "no-rows": swap("NoJpegRows=2", "NoJpegRows=0"),
        "many-files": swap("NoJpegColumns=2\nNoJpegRows=2", "NoJpegColumns=30000\nNoJpegRows=30000"),
        "more-files-than-an-integer-holds": swap("NoJpegColumns=2\nNoJpegRows=2", "NoJpegColumns=65536\nNoJpegRows=65536"),
        "as-many-files-as-an-integer-holds": swap("NoJpegColumns=2\nNoJpegRows=2", "NoJpegColumns=2147483647\nNoJpegRows=2147483647"),
        "invalid-row": swap("(0,1)", "(0,2)"),
        "negative-row": swap("(0,1)", "(0,-1)"),
        "missing-image": leave_out("ImageFile(1,1)"),
        "duplicate-image": swap("(1,1)", "(0,1)"),
        "bad-coordinate": swap("(1,0)", "(1z,0)"),
        "bad-coordinates": swap("(1,0)", "(1,2,3,4,5)"),
        "layers": swap("NoLayers=1", "NoLayers=100000"),
        "blank-map": swap("MapFile=map.jpg", "MapFile="),
        "no-map": leave_out("MapFile"),
        "map-is-itself": swap("MapFile=map.jpg", "MapFile=slide.vms"),
        "map-is-a-folder": swap("MapFile=map.jpg", "MapFile=."),
        "blank-macro": swap("MacroImage=macro.jpg", "MacroImage="),
        "no-macro": swap("MacroImage=macro.jpg", "MacroImage=none.jpg"),
        "bad-physical-width": swap("PhysicalWidth=64000", "PhysicalWidth=wide"),
        "optimisation-is-a-slide": swap("OptimisationFile=", "OptimisationFile=image00.jpg"),
    },
    "vmu": {
        "bad-bits": swap("BitsPerPixel=36", "BitsPerPixel=24"),
        "bad-order": swap("PixelOrder=RGB", "PixelOrder=BGR"),
        "no-map": leave_out("MapFile"),
        "no-image": leave_out("ImageFile"),
        "image-is-itself": swap("ImageFile=image.ngr", "ImageFile=slide.vmu"),
    },
    "ndpi": {
        "no-format-flag": tag(65420),
        "no-lens": tag(65421),
        "lens-nan": tag(65421, 11, 1, 0x7FC00000),
        "no-focal-plane": tag(65424),
        "nonzero-focal-plane": tag(65424, 9, 1, 7),
        "no-starts": tag(65426),
        "starts-beyond-the-file": tag(65426, 4, 64, 0x7FFFFFF0),
        "starts-of-the-stream": tag(65426, 4, 64, 16),
        "many-starts": tag(65426, 4, 0x3FFFFFFF, 16),
        "no-rows-per-strip": tag(278),
        "bad-rows-per-strip": tag(278, 4, 1, 64),
        "no-height": tag(257),
        "height-0": tag(257, 4, 1, 0),
        "height-large": several(tag(257, 4, 1, 0x7FFFFFFF), tag(278, 4, 1, 0x7FFFFFFF)),
        "width-large": tag(256, 4, 1, 0x7FFFFFFF),
        "both-large": several(tag(256, 4, 1, 131072), tag(257, 4, 1, 131072), tag(278, 4, 1, 131072)),
        "bad-strip-offset": tag(273, 4, 1, 0x7FFFFFFF),
        "bad-strip-offset-count": tag(273, 4, 2, 16),
        "bad-strip-size": tag(279, 4, 1, 30),
        "strip-size-large": tag(279, 4, 1, 0xFFFFFFFF),
        "bad-field-type": tag(271, 221, 1, 0),
        "resolution-0": tag(282, 5, 1, 0),
        "bad-resolution-unit": tag(296, 3, 1, 9),
        "bad-compression": tag(259, 3, 1, 200),
    },
    "sakura": {
        "no-magic": swap("('++MagicBytes'", "('MagicBytes'"),
        "magic-null": swap("'SVGigaPixelImage'", "NULL"),
        "magic-other": swap("'SVGigaPixelImage'", "'SVPixelImage'"),
        "no-table": swap("INSERT INTO DataManagerSQLiteConfigXPO VALUES ('Unique');\n", ""),
        "table-null": swap("XPO VALUES ('Unique');", "XPO VALUES (NULL);"),
        "table-that-is-not": swap("XPO VALUES ('Unique');", "XPO VALUES ('Another');"),
        "two-tables": swap("XPO VALUES ('Unique');", "XPO VALUES ('Unique'), ('Another');"),
        "id-null": swap("('++VersionBytes'", "(NULL"),
        "version-null": swap("'3.1'", "NULL"),
        "slide-id-null": swap("(1, 1, 1, 'one', 'today'", "(1, 1, 1, NULL, NULL"),
        "no-header": swap("'Header'", "'Footer'"),
        "header-null": swap(f"'Header', X'{struct.pack('<IIIII', 64, 150, 100, 0, 1).hex()}'", "'Header', NULL"),
        "header-short": swap(struct.pack("<IIIII", 64, 150, 100, 0, 1).hex(), "40000000"),
        "tile-0": swap(struct.pack("<I", 64).hex() + "9600", struct.pack("<I", 0).hex() + "9600"),
        "tile-63": swap(struct.pack("<I", 64).hex() + "9600", struct.pack("<I", 63).hex() + "9600"),
        "tile-20000": swap(struct.pack("<I", 64).hex() + "9600", struct.pack("<I", 20000).hex() + "9600"),
        "tile-65536": swap(struct.pack("<I", 64).hex() + "9600", struct.pack("<I", 65536).hex() + "9600"),
        "tile-large": swap(struct.pack("<I", 64).hex() + "9600", "ffffff7f9600"),
        "width-large": swap("9600000064000000", "ffffffff64000000"),
        "both-large": swap("9600000064000000", "ffffffffffffffff"),
        "both-0": swap("9600000064000000", "0000000000000000"),
        "many-focal-planes": swap("64000000" + "00000000" + "01000000", "64000000" + "00000000" + "ffffffff"),
        "bad-tile-id": swap("'T;0|0;1;0;0'", "'T;0|0;1;0'"),
        "bad-downsample": swap(";2;", ";3;"),
        "large-downsample": swap(";2;", f";{1 << 62};"),
        "missing-tile": swap("'T;0|0;1;0;0'", "'X'"),
        "tile-null": lambda text: re.sub(r"('T;0\|0;1;0;0'), X'\w+'", r"\1, NULL", text),
        "a-view-without-end": several(
            swap("CREATE TABLE 'Unique' (id TEXT, data BLOB);", "CREATE TABLE 'Kept' (id TEXT, data BLOB);"),
            swap("INTO 'Unique'", "INTO 'Kept'"),
            lambda text: text
            + "CREATE VIEW 'Unique' AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT 'T;0|0;1;0;' || x AS id, x AS data FROM c;\n",
        ),
    },
    "trestle": {
        "empty-property": swap("Power=20", "Power="),
        "property-without-value": swap("Power=20", "Power"),
        "empty-description": lambda text: "",
        "overlaps-odd": swap("OverlapsXY= 4 4 2 2", "OverlapsXY= 4 4 2"),
        "overlaps-none": swap("OverlapsXY= 4 4 2 2", "OverlapsXY="),
        "overlaps-of-a-tile": swap("OverlapsXY= 4 4", "OverlapsXY= 32 32"),
        "overlaps-of-nearly-a-tile": swap("OverlapsXY= 4 4", "OverlapsXY= 31 31"),
        "overlaps-beyond-a-tile": swap("OverlapsXY= 4 4", "OverlapsXY= 64 64"),
        "overlaps-negative": swap("OverlapsXY= 4 4", "OverlapsXY= -1000000000 -1000000000"),
        "bad-background": swap("FFFFFF", "paper"),
    },
    "leica": {
        "malformed": swap("</scn>", ""),
        "bad-namespace": swap("2010/10/01", "2010/10/02"),
        "namespace-20100310": swap("2010/10/01", "2010/03/10"),
        "no-collection": lambda text: text[: text.index("<collection")] + "</scn>",
        "no-image": lambda text: text[: text.index("<image")] + "</collection></scn>",
        "no-main-image": lambda text: text[: text.index('<image name="area"')] + "</collection></scn>",
        "no-macro": lambda text: text[: text.index('<image name="glass"')] + text[text.index('<image name="area"') :],
        "no-view": swap("<view ", "<look "),
        "bad-width": swap('name="a" sizeX="128000"', 'name="a" sizeX="wide"'),
        "width-0": swap('name="a" sizeX="128000"', 'name="a" sizeX="0"'),
        "width-large": swap('name="a" sizeX="128000"', 'name="a" sizeX="9000000000000000000"'),
        "width-negative": swap('name="a" sizeX="128000"', 'name="a" sizeX="-128000"'),
        "area-large": swap('sizeX="64000" sizeY="64000"', 'sizeX="1" sizeY="1"'),
        "area-0": swap('sizeX="64000" sizeY="64000"', 'sizeX="0" sizeY="0"'),
        "area-far-away": swap('offsetX="32000"', 'offsetX="9000000000000000000"'),
        "no-illumination": swap("<illuminationSource>brightfield</illuminationSource>", ""),
        "no-objective": swap("<objective>20</objective>", ""),
        "no-dimensions": lambda text: text.replace("<dimension", "<size"),
        "no-main-dimensions": swap('<dimension r="0" ifd="1" sizeX="128" sizeY="128"/><dimension r="1" ifd="2" sizeX="64" sizeY="64"/>', ""),
        "no-macro-dimensions": swap('<dimension r="0" ifd="0" sizeX="64" sizeY="64"/>', ""),
        "bad-ifd": swap('ifd="1"', 'ifd="one"'),
        "large-ifd": swap('ifd="1"', 'ifd="42"'),
        "negative-ifd": swap('ifd="1"', 'ifd="-1"'),
        "same-ifd": swap('ifd="2"', 'ifd="1"'),
        "dimension-0": swap('ifd="1" sizeX="128"', 'ifd="1" sizeX="0"'),
        "other-planes": swap('r="1"', 'r="1" z="1"'),
    },
    "philips": {
        "malformed": swap("</DataObject></Array>", ""),
        "bad-root": swap('<DataObject ObjectType="DPUfsImport"', '<DataThing ObjectType="DPUfsImport"'),
        "bad-type": swap("DPUfsImport", "DPUfsExport"),
        "no-main-image": swap("WSI", "OTHER"),
        "no-spacing": lambda text: text.replace("DICOM_PIXEL_SPACING", "SPACING"),
        "bad-spacing": swap('"0.001"', '"wide"'),
        "spacing-0": swap('"0.0005"', '"0"'),
        "spacing-large": swap('"0.001"', '"1e300"'),
        "spacing-small": swap('"0.0005"', '"1e-300"'),
        "spacing-nan": swap('"0.001"', '"nan"'),
        "many-levels": lambda text: text.replace("<Array><DataObject ObjectType=\"Pix", "<Array>" + '<DataObject ObjectType="PixelDataRepresentation"/>' * 1000 + '<DataObject ObjectType="Pix'),
    },
    "ventana": {
        "malformed": swap("</EncodeInfo>", ""),
        "bad-root": swap("EncodeInfo", "Info"),
        "no-joints": lambda text: text.replace("TileJointInfo", "Joint"),
        "no-origin": swap("AoiOrigin", "Origin"),
        "bad-origin": swap('OriginX="0"', 'OriginX="7"'),
        "origin-far-away": swap('OriginX="0"', 'OriginX="2147483616"'),
        "no-area": swap("ImageInfo", "Image"),
        "bad-height": swap('Height="32"', 'Height="31"'),
        "negative-rows": swap('NumRows="4"', 'NumRows="-4"'),
        "many-rows": swap('NumRows="4" NumCols="4"', 'NumRows="40000" NumCols="40000"'),
        "more-rows-than-an-integer-holds": swap('NumRows="4" NumCols="4"', 'NumRows="4294967297" NumCols="4294967297"'),
        "no-columns": swap('NumCols="4"', ""),
        "bad-direction": swap("RIGHT", "LEFT-ISH"),
        "bad-adjacency": swap('Tile2="2"', 'Tile2="3"'),
        "bad-tile": swap('Tile1="1"', 'Tile1="987"'),
        "no-tile": swap('Tile2="2"', ""),
        "no-overlap": swap('OverlapX="4"', ""),
        "overlap-of-a-tile": swap('OverlapX="4"', 'OverlapX="32"'),
        "overlap-beyond-a-tile": swap('OverlapX="4"', 'OverlapX="1000"'),
        "overlap-negative": swap('OverlapX="4"', 'OverlapX="-1000000000"'),
        "overlap-nan": swap('OverlapX="4"', 'OverlapX="nan"'),
        "confidence": swap('Confidence="90"', 'Confidence="0"'),
    },
    "aperio": {
        "empty-property": swap("AppMag = 20", "AppMag ="),
        "property-without-value": swap("AppMag = 20", "AppMag"),
        "decimal-comma": swap("MPP = 0.5", "MPP = 0,5"),
        "mpp-nan": swap("MPP = 0.5", "MPP = nan"),
        "mpp-large": swap("MPP = 0.5", "MPP = 1e300"),
    },
}

FILES = {
    "mirax": {
        "slidedat-missing": drop("slide/Slidedat.ini"),
        "index-missing": drop(INDEX),
        "data-missing": drop(DATA),
        "index-bad-version": put(INDEX, 0, b"9"),
        "index-cut-in-its-head": cut(INDEX, 10),
        "index-cut-in-its-roots": cut(INDEX, ROOT + 2),
        "index-cut-in-its-pages": cut(INDEX, PAGES + 30),
        "index-bad-root": put(INDEX, ROOT, numbers(0x7FFFFFFF)),
        "index-negative-root": put(INDEX, ROOT, numbers(-5)),
        "index-bad-nonhier-root": put(INDEX, ROOT + 4, numbers(0x7FFFFFF0)),
        "page-bad-head": put(INDEX, PAGES, numbers(1)),
        "page-bad-pointer": put(INDEX, PAGES + 4, numbers(-7)),
        "page-many-images": put(INDEX, PAGES + 8, numbers(0x7FFFFFFF)),
        "page-loop": put(INDEX, PAGES + 12, numbers(PAGES + 8)),
        "image-y-too-large": put(INDEX, PAGES + 16, numbers(4000)),
        "image-negative": put(INDEX, PAGES + 16, numbers(-2)),
        "image-twice": put(INDEX, PAGES + 32, numbers(0)),
        "image-negative-offset": put(INDEX, PAGES + 20, numbers(-2)),
        "image-offset-beyond-the-file": put(INDEX, PAGES + 20, numbers(0x7FFFFFF0)),
        "image-negative-length": put(INDEX, PAGES + 24, numbers(-2)),
        "image-long": put(INDEX, PAGES + 24, numbers(0x7FFFFFF0)),
        "image-bad-file": put(INDEX, PAGES + 28, numbers(1)),
        "image-negative-file": put(INDEX, PAGES + 28, numbers(-2)),
        "level-1-bad-multiple": put(INDEX, PAGES + 16 + 12 * 16 + 16, numbers(1)),
        "level-1-long": put(INDEX, PAGES + 16 + 12 * 16 + 24, numbers(0x7FFFFFF0)),
        "positions-bad-head": put(INDEX, POSITIONS, numbers(1)),
        "positions-bad-page": put(INDEX, POSITIONS + 8, numbers(2)),
        "positions-bad-place": put(INDEX, POSITIONS + 24, numbers(0x7FFFFFF0)),
        "positions-bad-size": put(INDEX, POSITIONS + 28, numbers(100)),
        "positions-large": put(INDEX, POSITIONS + 28, numbers(0x7FFFFFF0)),
        "positions-negative-size": put(INDEX, POSITIONS + 28, numbers(-20)),
        "positions-bad-file": put(INDEX, POSITIONS + 32, numbers(4864)),
        "data-cut": cut(DATA, 3000),
        "data-empty": cut(DATA, 0),
        "data-bad-image": put(DATA, 0, b"\xfe"),
        "data-image-of-another-size": put(DATA, FRAME + 5, struct.pack(">HH", 32, 32)),
        "data-huge-image": put(DATA, FRAME + 5, HUGE_FRAME),
        "data-bad-macro": put(DATA, -20, bytes(20)),
        "position-far-away": replace_bytes(DATA, struct.pack("<bii", 0, 64, 0), struct.pack("<bii", 0, 0x7FFFFF00, 0x7FFFFF00)),
        "position-negative": replace_bytes(DATA, struct.pack("<bii", 0, 64, 0), struct.pack("<bii", 0, -0x7FFFFF00, -0x7FFFFF00)),
        "position-bad-flag": replace_bytes(DATA, struct.pack("<bii", 0, 64, 0), struct.pack("<bii", 96, 64, 0)),
    },
    "vms": {
        "image-missing": drop("image10.jpg"),
        "map-missing": drop("map.jpg"),
        "image-empty": cut("image00.jpg", 0),
        "image-cut-in-its-header": cut("image00.jpg", 26),
        "image-cut-in-its-data": cut("image11.jpg", -100),
        "image-bad-marker": put("image11.jpg", 20, b"\0"),
        "image-bad-marker-length": put("image11.jpg", 22, b"\0\1"),
        "image-long-marker": put("image11.jpg", 22, b"\xff\xff"),
        "image-no-frame": put("image11.jpg", FRAME + 1, b"\xe1"),
        "image-gray": put("image11.jpg", FRAME + 9, b"\1"),
        "image-many-components": put("image11.jpg", FRAME + 9, b"\xff"),
        "image-huge": put("image00.jpg", FRAME + 5, HUGE_FRAME),
        "map-huge": put("map.jpg", FRAME + 5, HUGE_FRAME),
        "macro-huge": put("macro.jpg", FRAME + 5, HUGE_FRAME),
        "image-without-size": put("image00.jpg", FRAME + 5, bytes(4)),
        "image-restarts-within-rows": replace_bytes("image11.jpg", b"\xff\xdd\0\4\0\x08", b"\xff\xdd\0\4\0\5"),
        "image-restarts-beyond-rows": replace_bytes("image11.jpg", b"\xff\xdd\0\4\0\x08", b"\xff\xdd\0\4\0\x40"),
        "image-restarts-of-other-size": replace_bytes("image11.jpg", b"\xff\xdd\0\4\0\x08", b"\xff\xdd\0\4\0\4"),
        "image-without-restarts": replace_bytes("image00.jpg", b"\xff\xdd\0\4\0\x08", b"\xff\xdd\0\4\0\0"),
        "image-restart-missing": replace_bytes("image00.jpg", b"\xff\xd3", b"\0\0"),
        "image-early-end": replace_bytes("image00.jpg", b"\xff\xd3", b"\xff\xd9"),
        "image-no-end": put("image00.jpg", -2, b"\0\0"),
        "macro-bad": put("macro.jpg", 0, b"\xff\xd9"),
        "key-file-large": lambda files: files.update({"slide.vms": files["slide.vms"] + b"#" * (1 << 18)}),
    },
    "vmu": {
        "image-missing": drop("image.ngr"),
        "bad-magic": put("image.ngr", 0, b"X"),
        "width-0": put("image.ngr", 4, numbers(0)),
        "width-negative": put("image.ngr", 4, numbers(-64)),
        "width-large": put("image.ngr", 4, numbers(0x7FFFFFE0)),
        "height-large": put("image.ngr", 8, numbers(0x7FFFFFFF)),
        "both-large": put("image.ngr", 4, numbers(0x7FFFFFE0, 0x7FFFFFFF)),
        "column-0": put("image.ngr", 12, numbers(0)),
        "column-no-divisor": put("image.ngr", 12, numbers(7)),
        "column-large": put("image.ngr", 4, numbers(1 << 24, 64, 1 << 24)),
        "column-larger-than-an-integer-holds": put("image.ngr", 4, numbers(1 << 26, 64, 1 << 26)),
        "column-largest": put("image.ngr", 4, numbers(0x7FFFFFFF, 64, 0x7FFFFFFF)),
        "start-beyond-the-file": put("image.ngr", 24, numbers(0x7FFFFFF0)),
        "start-negative": put("image.ngr", 24, numbers(-4)),
        "cut": cut("image.ngr", 1000),
        "cut-in-its-header": cut("image.ngr", 20),
        "map-larger": put("map.ngr", 4, numbers(1 << 20, 1 << 20, 32)),
    },
    "ndpi": {
        "bad-magic": put("slide.ndpi", 2, b"\x2f"),
        "cut-in-its-tables": lambda files: files.update({"slide.ndpi": files["slide.ndpi"][:-100]}),
        "cut-in-its-images": cut("slide.ndpi", 1000),
        "loop": lambda files: files.update({"slide.ndpi": files["slide.ndpi"][:-68] + files["slide.ndpi"][4:12] + files["slide.ndpi"][-60:]}),
        "image-bad": put("slide.ndpi", 12, b"\0"),
        "image-huge": put("slide.ndpi", 12 + FRAME + 5, HUGE_FRAME),
        "image-of-another-size": put("slide.ndpi", 12 + FRAME + 5, struct.pack(">HH", 64, 256)),
        "image-bad-marker-length": put("slide.ndpi", 12 + 22, b"\0\1"),
    },
    "sakura": {
        "cut": cut("slide.svslide", 5000),
        "cut-in-its-header": cut("slide.svslide", 60),
        "bad-page-size": put("slide.svslide", 16, b"\0\3"),
        "page-size-other": put("slide.svslide", 16, b"\2\0"),
        "many-pages": put("slide.svslide", 28, b"\x7f\xff\xff\xff"),
        "schema-lost": put("slide.svslide", 100, bytes(8)),
        "tile-huge": replace_bytes("slide.svslide", struct.pack(">BHHB", 8, 64, 64, 1), struct.pack(">BHHB", 8, 65496, 65496, 1)),
        "macro-huge": replace_bytes("slide.svslide", struct.pack(">BHHB", 8, 32, 48, 3), struct.pack(">BHHB", 8, 65496, 65496, 3)),
        "tile-bad": replace_bytes("slide.svslide", b"\xff\xd8\xff\xe0", b"\0\0\0\0"),
    },
}


def make(name, edit=vendor_slides.no_edit, spoil=None):
    files = vendor_slides.WRITERS[name](edit)
    if spoil:
        spoil(files)
    return files


def list_cases():
    for vendor, cases in TEXTS.items():
        for name, edit in cases.items():
            yield pytest.param(vendor, edit, None, id=f"{vendor}-{name}")
    for vendor, cases in FILES.items():
        for name, spoil in cases.items():
            yield pytest.param(vendor, vendor_slides.no_edit, spoil, id=f"{vendor}-{name}")
    for vendor, writer in vendor_slides.WRITERS.items():
        for number in range(MUTATIONS):
            yield pytest.param(vendor, vendor_slides.no_edit, functools.partial(change_at_random, vendor, number), id=f"{vendor}-mutation-{number}")


def change_at_random(vendor, number, files):
    """One of the files: each about as often as the others."""
    draw = random.Random(f"{SEED} {vendor} {number}")
    name = draw.choice([each for each, content in files.items() if content])
    files[name] = mutate(files[name], draw)


def limit():
    if "GIGAPIXEL_SANITIZED" not in os.environ:  # sanitizers take more than there is
        resource.setrlimit(resource.RLIMIT_DATA, (3 << 30, 3 << 30))
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run_limited(words, seconds):
    """\\return exit code, both outputs, and what the process and those that it waited for took: seconds on a core, and bytes
    of the largest of them"""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(words, stdout=out, stderr=err, preexec_fn=limit, start_new_session=True)
        deadline = time.monotonic() + seconds
        pid = 0
        while pid == 0:
            if time.monotonic() > deadline:
                os.killpg(process.pid, signal.SIGKILL)
            time.sleep(0.002)
            pid, status, used = os.wait4(process.pid, os.WNOHANG)
        process.returncode = os.waitstatus_to_exitcode(status)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    return process.returncode, *texts, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


# In a process of its own, which may crash: a region, over white where nothing was scanned. Of a TIFF without a vendor OpenSlide
# reads the first page and this program the largest image, so that only those of the same size are compared.
READ_WITH_OPENSLIDE = """
import sys, numpy, openslide
slide = openslide.OpenSlide(sys.argv[1])
x, y, width, height = map(int, sys.argv[3].split(","))
if slide.properties["openslide.vendor"] == "generic-tiff" and slide.dimensions != tuple(map(int, sys.argv[4:6])):
    sys.exit(1)
pixels = numpy.asarray(slide.read_region((x, y), 0, (width, height))).copy()
color = slide.properties.get("openslide.background-color", "FFFFFF")
pixels[pixels[..., 3] == 0, :3] = list(bytes.fromhex(color))
numpy.save(sys.argv[2], pixels[..., :3])
"""


def attempt(slide, out, *words):
    """\\return exit code, and the output, where the program took little and said one sentence if it failed"""
    code, said, err, spent, taken = run_limited([PROGRAM, *map(str, words), "--quiet"], 300)
    case = f"{words}\nexit code {code}\n{said[:2000]}\n{err[:2000]}"
    assert code in (0, 1), case
    assert spent < MOST_SECONDS, f"{spent} s\n{case}"
    assert taken < MOST_BYTES or "GIGAPIXEL_SANITIZED" in os.environ, f"{taken} bytes\n{case}"
    if code == 1:
        lines = [line for line in err.splitlines() if not line.endswith("[W-SLIDE-RESOLUTION]")]
        assert len(lines) == 1 and lines[0].startswith("gigapixel: ") and str(slide) in lines[0], case
        assert lines[0].isprintable() and not out.exists(), case
    return code, said


def check(slide, folder):
    """Reads the slide, or the middle of one that says it is large, and compares with OpenSlide where both can.
    \\return the exit code"""
    out, kept = folder / "out.tif", folder / "openslide.npy"
    code, said = attempt(slide, out, "info", slide, "--json")
    if code != 0:
        return code
    info = json.loads(said)
    width, height = info["width"], info["height"]
    region = (0, 0, width, height)
    if width * height > 1 << 20:
        region = (max(0, width // 2 - 256), max(0, height // 2 - 256), min(512, width), min(512, height))
    else:
        attempt(slide, out, "info", slide, "--check")
    region = ",".join(map(str, region))
    code, _ = attempt(slide, out, "convert", slide, out, "--region", region, "--compression", "deflate")
    read = [sys.executable, "-c", READ_WITH_OPENSLIDE, str(slide), str(kept), region, str(width), str(height)]
    if code == 0 and run_limited(read, 60)[0] == 0:
        with tifffile.TiffFile(out) as file:
            assert numpy.array_equal(file.pages[0].asarray(), numpy.load(kept))
    return code


@pytest.fixture(scope="module")
def counts():
    """Exit codes by vendor; a table of them is shown with pytest's -s."""
    counts = {}
    yield counts
    print(f"\n{'format':10} {'read':>6} {'refused':>8}")
    for name, codes in counts.items():
        print(f"{name:10} {codes.count(0):6} {codes.count(1):8}")


@pytest.mark.parametrize("vendor", vendor_slides.WRITERS)
def test_whole_slides(vendor, tmp_path):
    slide = vendor_slides.write(make(vendor), tmp_path)
    assert check(slide, tmp_path) == 0
    assert (tmp_path / "openslide.npy").exists()
    info = json.loads(subprocess.run([PROGRAM, "info", slide, "--json"], capture_output=True, check=True).stdout)
    assert info["mpp"] == pytest.approx(0.5 if vendor in ("sakura", "trestle", "leica", "philips", "ventana", "aperio") else 0.25)


@pytest.mark.parametrize("vendor, edit, spoil", list_cases())
def test_damage(vendor, edit, spoil, counts, tmp_path):
    counts.setdefault(vendor, []).append(check(vendor_slides.write(make(vendor, edit, spoil), tmp_path), tmp_path))
