# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Writes TIFFs tag by tag: layouts, predictors and tiles left out that tifffile does not write."""

import struct
import zlib

import numpy

FORMATS = {"u": 1, "i": 2, "f": 3}


def difference(block, predictor, endian):
    """Bytes of a block (rows, columns, samples) as TIFF's predictor leaves them."""
    block = numpy.ascontiguousarray(block)
    if predictor == 2:
        block = numpy.concatenate([block[:, :1], numpy.diff(block, axis=1)], axis=1)
    if predictor == 3:  # the highest bytes of a row first, each the difference to the one before
        rows, samples = block.shape[0], block.shape[2]
        planes = block.astype(block.dtype.newbyteorder(">")).view(numpy.uint8).reshape(rows, -1, block.dtype.itemsize)
        row = planes.transpose(0, 2, 1).reshape(rows, -1, samples)
        return numpy.concatenate([row[:, :1], numpy.diff(row, axis=1)], axis=1).tobytes()
    return block.astype(block.dtype.newbyteorder(endian)).tobytes()


def pack_bits(block, bits):
    """Rows of small samples, each row filled up to a byte."""
    values = numpy.unpackbits(block[..., 0][..., None].astype(numpy.uint8), axis=-1)[..., 8 - bits :]
    return numpy.packbits(values.reshape(len(block), -1), axis=1).tobytes()


def make_pieces(pixels, tile, bits, predictor, planar, endian, encode, empty):
    """The bytes of all tiles, or of strips of `tile` rows where it is a number; those that `empty` names are left out."""
    high, wide = (tile, pixels.shape[1]) if isinstance(tile, int) else tile
    pieces = []
    for plane in numpy.split(pixels, pixels.shape[2], axis=2) if planar else [pixels]:
        for y in range(0, pixels.shape[0], high):
            for x in range(0, pixels.shape[1], wide):
                block = plane[y : y + high, x : x + wide]
                if not isinstance(tile, int):
                    block = numpy.pad(block, ((0, high - block.shape[0]), (0, wide - block.shape[1]), (0, 0)))
                data = pack_bits(block, bits) if bits < 8 else difference(block, predictor, endian)
                pieces.append(b"" if empty(x // wide, y // high) else encode(data))
    return pieces


def write_tiff(path, *pages, endian="<"):
    """Each page is a dict: pixels, and any of tile, bits, photometric, predictor, planar, compression, encode (bytes of a tile
    as the compression has them), empty, and tags."""
    out = bytearray({"<": b"II", ">": b"MM"}[endian] + struct.pack(endian + "HI", 42, 0))
    link = 4
    for page in pages:
        pixels = page["pixels"] if page["pixels"].ndim == 3 else page["pixels"][..., None]
        bits = page.get("bits", pixels.dtype.itemsize * 8)
        tile = page.get("tile", (64, 64))
        planar, predictor, compression = page.get("planar", False), page.get("predictor", 1), page.get("compression", 8)
        empty = page.get("empty", lambda column, row: False)
        encode = page.get("encode", zlib.compress if compression == 8 else bytes)
        pieces = make_pieces(pixels, tile, bits, predictor, planar, endian, encode, empty)
        places = []
        for piece in pieces:
            places.append(len(out) if piece else 0)
            out += piece + b"\0" * (len(piece) % 2)
        tiled = not isinstance(tile, int)
        tags = {
            256: (4, [pixels.shape[1]]),
            257: (4, [pixels.shape[0]]),
            258: (3, [bits] * pixels.shape[2]),
            259: (3, [compression]),
            262: (3, [page.get("photometric", 1 if pixels.shape[2] == 1 else 2)]),
            277: (3, [pixels.shape[2]]),
            284: (3, [2 if planar else 1]),
            317: (3, [predictor]),
            339: (3, [FORMATS[pixels.dtype.kind]] * pixels.shape[2]),
            **({322: (4, [tile[1]]), 323: (4, [tile[0]])} if tiled else {278: (4, [tile])}),
            **{324 if tiled else 273: (4, places), 325 if tiled else 279: (4, [len(piece) for piece in pieces])},
            **page.get("tags", {}),
        }
        entries = b""
        for tag, (kind, values) in sorted(tags.items()):
            data = values if kind == 2 else b"".join(struct.pack(endian + {3: "H", 4: "I", 5: "I"}[kind], v) for v in values)
            count = len(data) // {2: 1, 3: 2, 4: 4, 5: 8}[kind]
            if len(data) > 4:
                at = len(out)
                out += data + b"\0" * (len(data) % 2)
                data = struct.pack(endian + "I", at)
            entries += struct.pack(endian + "HHI", tag, kind, count) + data.ljust(4, b"\0")
        out[link : link + 4] = struct.pack(endian + "I", len(out))
        out += struct.pack(endian + "H", len(tags)) + entries
        link = len(out)
        out += b"\0\0\0\0"
    path.write_bytes(out)
    return path


def resolution(x, y=None):
    """Tags of micrometers per pixel."""
    y = y or x
    return {282: (5, [round(1e7 / x), 1000]), 283: (5, [round(1e7 / y), 1000]), 296: (3, [3])}
