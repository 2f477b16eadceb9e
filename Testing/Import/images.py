# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""An image of any size that is the same everywhere: whole numbers only."""

import numpy


def make_image(height, width, channels):
    """Bytes of height, width and channels: slopes of different lengths, and a little that is rough."""
    y, x = numpy.mgrid[:height, :width].astype(numpy.int64)
    planes = []
    for channel in range(channels):
        slope = numpy.abs((x * (3 + channel) + y * (5 - channel)) % 1021 - 510) // 2
        rough = (x * 31 + y * 17 + (x * y) % 23 * (channel + 1)) % 13
        planes.append(numpy.minimum(slope * 240 // 255 + rough, 255))
    return numpy.stack(planes, 2).astype(numpy.uint8)


def make_volume(depth, height, width, channels):
    """Floats of depth, height, width and channels, around 0: as rough along each axis."""
    z = numpy.arange(depth)[:, None, None, None] * 7
    return (make_image(height, width, channels)[None].astype(numpy.int64) + z * z % 151 - 128).astype(numpy.float32) / 64
