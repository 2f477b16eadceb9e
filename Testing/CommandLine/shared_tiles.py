# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""OME-TIFFs of many large channels in a small file: their directories share a few tiles."""

import struct
import zlib

import numpy

SIDE = 512  # of a tile
TILES = 16  # that differ

KINDS = {2: 1, 3: 2, 4: 4, 13: 4, 16: 8, 18: 8}  # TIFF's types and their bytes


def make_tile(number):
    """Noise of 16 bit, in every fourth tile as bright as a nucleus."""
    values = numpy.random.default_rng(number).poisson(1200 if number % 4 == 0 else 150, (SIDE, SIDE))
    return values.astype("<u2")


def find_tile(channel, column, row):
    """Which of them stands there."""
    return (channel + column // 4 + row // 4) % TILES


def describe(names, width, height, mpp):
    channels = "".join(f'<Channel ID="Channel:0:{i}" Name="{name}" SamplesPerPixel="1"/>' for i, name in enumerate(names))
    return (
        '<?xml version="1.0" encoding="UTF-8"?><OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06"><Image ID="Image:0">'
        f'<Pixels ID="Pixels:0" DimensionOrder="XYCZT" Type="uint16" SizeX="{width}" SizeY="{height}" SizeC="{len(names)}" SizeZ="1" SizeT="1" '
        f'PhysicalSizeX="{mpp}" PhysicalSizeY="{mpp}">{channels}<TiffData/></Pixels></Image></OME>'
    )


class File:
    """A BigTIFF that grows."""

    def __init__(self, stream):
        self.stream = stream
        stream.write(struct.pack("<2sHHHQ", b"II", 43, 8, 0, 0))
        self.link = 8  # where the place of the next directory goes

    def add(self, data):
        place = self.stream.seek(0, 2)
        self.stream.write(data)
        return place

    def add_directory(self, tags, is_linked=True):
        """\\param tags by their numbers: (type, values)"""
        entries = struct.pack("<Q", len(tags))
        for tag, (kind, values) in sorted(tags.items()):
            data = values if kind == 2 else numpy.asarray(values, {3: "<u2", 4: "<u4"}.get(kind, "<u8")).tobytes()
            count = len(data) // KINDS[kind]
            entries += struct.pack("<HHQ", tag, kind, count) + (data.ljust(8, b"\0") if len(data) <= 8 else struct.pack("<Q", self.add(data)))
        place = self.add(entries + bytes(8))
        if is_linked:
            self.stream.seek(self.link)
            self.stream.write(struct.pack("<Q", place))
            self.link = place + len(entries)
        return place


def write_shared_tiles(path, names, side, downsamples=(), mpp=0.5):
    """A square slide; where there are downsamples, each channel has smaller levels, too."""
    with open(path, "wb") as stream:
        file = File(stream)
        data = [zlib.compress(make_tile(number).tobytes(), 1) for number in range(TILES)]
        places = [file.add(each) for each in data]
        for channel, name in enumerate(names):
            levels = []
            for downsample in (1, *downsamples):
                size = side // downsample
                across = -(-size // SIDE)
                used = [find_tile(channel, column, row) for row in range(across) for column in range(across)]
                tags = {256: (4, [size]), 257: (4, [size]), 258: (3, [16]), 259: (3, [8]), 262: (3, [1]), 277: (3, [1])}
                tags |= {322: (4, [SIDE]), 323: (4, [SIDE]), 324: (16, [places[n] for n in used]), 325: (16, [len(data[n]) for n in used])}
                tags |= {254: (4, [0 if downsample == 1 else 1])}
                levels.append(tags)
            children = [file.add_directory(tags, is_linked=False) for tags in levels[1:]]
            more = {330: (18, children)} if children else {}
            text = {270: (2, describe(names, side, side, mpp).encode() + b"\0")} if channel == 0 else {}
            file.add_directory({**levels[0], **more, **text})
    return path
