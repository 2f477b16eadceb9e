# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Writes DICOM whole-slide images byte by byte, as PS3.5 and PS3.10 say."""

import io
import struct

import numpy
from PIL import Image

from test_dicom_series import element, us

KIND = "1.2.840.10008.5.1.4.1.1.77.1.6"
EXPLICIT = "1.2.840.10008.1.2.1"
JPEG = "1.2.840.10008.1.2.4.50"
SIDE = 32  # of a tile


def ul(value):
    return struct.pack("<I", value)


def item(content):
    return struct.pack("<HHI", 0xFFFE, 0xE000, len(content)) + content


def sequence(group, number, *contents):
    return element(group, number, b"SQ", b"".join(map(item, contents)))


def cut(pixels, side=SIDE):
    """The tiles of an image, row by row; they reach beyond its edges."""
    down, across = (-(-n // side) for n in pixels.shape[:2])
    padding = [(0, down * side - pixels.shape[0]), (0, across * side - pixels.shape[1])] + [(0, 0)] * (pixels.ndim - 2)
    padded = numpy.pad(pixels, padding)
    return [padded[y * side : (y + 1) * side, x * side : (x + 1) * side] for y in range(down) for x in range(across)]


def write_dicom(path, size, frames, *, syntax=EXPLICIT, photometric="RGB", samples=3, bits=8, planar=0, flavor="VOLUME",
                series="1.2.3.4", side=SIDE, organization="TILED_FULL", places=None, paths=("1",), add=(), fragments=1, table=True):
    """A file with these frames, each as bytes. size: (width, height). places: (x, y, z) of each frame, or (x, y, z, path).
    paths: identifiers of optical paths. fragments: of each compressed frame. table: of where the frames begin. add: elements in the place of those of their tags, or more of them."""
    elements = [
        element(8, 8, b"CS", f"ORIGINAL\\PRIMARY\\{flavor}\\NONE"), element(8, 0x16, b"UI", KIND), element(0x20, 0xE, b"UI", series),
        element(0x20, 0x9311, b"CS", organization), element(0x28, 2, b"US", us(samples)), element(0x28, 4, b"CS", photometric),
        element(0x28, 6, b"US", us(planar)), element(0x28, 8, b"IS", str(len(frames))), element(0x28, 0x10, b"US", us(side)),
        element(0x28, 0x11, b"US", us(side)), element(0x28, 0x100, b"US", us(bits)), element(0x28, 0x101, b"US", us(bits)),
        element(0x28, 0x103, b"US", us(0)), element(0x48, 6, b"UL", ul(size[0])), element(0x48, 7, b"UL", ul(size[1])),
        sequence(0x48, 0x105, *(element(0x48, 0x106, b"SH", name) for name in paths)),
        sequence(0x5200, 0x9229, sequence(0x28, 0x9110, element(0x28, 0x30, b"DS", "0.0005\\0.0005"))),
    ]
    if places:
        groups = []
        for x, y, z, *name in places:
            group = sequence(0x48, 0x21A, element(0x40, 0x74A, b"DS", f"{z:g}") + element(0x48, 0x21E, b"SL", ul(x + 1)) + element(0x48, 0x21F, b"SL", ul(y + 1)))
            groups.append((sequence(0x48, 0x207, element(0x48, 0x106, b"SH", name[0])) if name else b"") + group)
        elements.append(sequence(0x5200, 0x9230, *groups))
    chosen = {struct.unpack_from("<HH", each): each for each in [*elements, *add]}
    if syntax == EXPLICIT:
        stored = element(0x7FE0, 0x10, b"OW" if bits == 16 else b"OB", b"".join(frames))
    else:
        padded = [frame + b"\0" * (len(frame) % 2) for frame in frames]
        sides = [-(-len(frame) // fragments // 2) * 2 + 2 * (fragments > 1) for frame in padded]
        items = [b"".join(item(frame[i : i + n]) for i in range(0, len(frame), n)) for frame, n in zip(padded, sides)]
        starts = numpy.cumsum([0] + [len(each) for each in items[:-1]]) if table else []
        stored = struct.pack("<HH2s2xI", 0x7FE0, 0x10, b"OB", 0xFFFFFFFF) + item(b"".join(map(ul, map(int, starts))))
        stored += b"".join(items) + struct.pack("<HHI", 0xFFFE, 0xE0DD, 0)
    meta = element(2, 2, b"UI", KIND) + element(2, 0x10, b"UI", syntax)
    path.write_bytes(bytes(128) + b"DICM" + meta + b"".join(chosen[tag] for tag in sorted(chosen)) + stored)
    return path


def write_slide_file(path, pixels, **options):
    """An uncompressed image of 8 or 16 bit."""
    frames = [tile.tobytes() for tile in cut(pixels)]
    gray = pixels.ndim == 2
    defaults = {"photometric": "MONOCHROME2" if gray else "RGB", "samples": 1 if gray else 3, "bits": 8 * pixels.itemsize}
    return write_dicom(path, pixels.shape[1::-1], frames, **{**defaults, **options})


def concatenation(number, offset, total=None, name="1.2.3.5"):
    """Elements of a part."""
    elements = [element(0x20, 0x9161, b"UI", name)]
    if number is not None:
        elements.append(element(0x20, 0x9162, b"US", us(number)))
    if total is not None:
        elements.append(element(0x20, 0x9163, b"US", us(total)))
    if offset is not None:
        elements.append(element(0x20, 0x9228, b"UL", ul(offset)))
    return elements


def encode_jpeg(tile, marker=True, ids=(1, 2, 3), rgb=False, reduced=False):
    """A JPEG stream of quality 95: YCbCr, also with reduced chroma, or the colors as they are (rgb). Without its JFIF marker, and with other numbers of
    its components, where that is wanted."""
    stream = io.BytesIO()
    image = Image.fromarray(tile)
    if rgb:  # libjpeg stores what it takes for YCbCr
        image = Image.merge("YCbCr", image.split())
    image.save(stream, "JPEG", quality=95, subsampling=2 if reduced else 0)
    data = stream.getvalue()
    if not marker:
        assert data[2:4] == b"\xff\xe0"
        data = data[:2] + data[4 + struct.unpack(">H", data[4:6])[0] :]
    for start, first, step in ((b"\xff\xc0", 10, 3), (b"\xff\xda", 5, 2)):
        at = data.index(start)
        changed = bytearray(data)
        for i, number in enumerate(ids):
            changed[at + first + step * i] = number
        data = bytes(changed)
    return data


def encode_deep(tile):
    """JPEG 2000 of 16 bit by Pillow, without loss."""
    stream = io.BytesIO()
    Image.fromarray(tile).save(stream, "JPEG2000", no_jp2=True)
    return stream.getvalue()
