# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""read_with.py READER FILE ROWS: reads level 0 in strips of ROWS rows, one thread; prints what it took as JSON."""

import json
import resource
import sys
import time
import zlib

import numpy


def open_openslide(name):
    import openslide

    slide = openslide.OpenSlide(name)

    def read(top, rows):
        return numpy.asarray(slide.read_region((0, top), 0, (slide.dimensions[0], rows)))[:, :, :3]

    return slide.dimensions, read


def open_tiffslide(name):
    import tiffslide

    slide = tiffslide.TiffSlide(name)

    def read(top, rows):
        return slide.read_region((0, top), 0, (slide.dimensions[0], rows), as_array=True)[:, :, :3]

    return slide.dimensions, read


def open_fastslide(name):
    import fastslide

    slide = fastslide.FastSlide.from_file_path(name)

    def read(top, rows):
        return slide.read_region((0, top), 0, (slide.dimensions[0], rows)).numpy()[:, :, :3]

    return slide.dimensions, read


def open_cucim(name):
    from cucim import CuImage

    image = CuImage(name)
    height, width = image.shape[:2]

    def read(top, rows):
        return numpy.asarray(image.read_region((0, top), (width, rows), level=0, num_workers=1))

    return (width, height), read


def open_libvips(name):
    import pyvips

    image = pyvips.Image.new_from_file(name, access="sequential")

    def read(top, rows):
        return image.crop(0, top, image.width, rows).numpy()[:, :, :3]

    return (image.width, image.height), read


def open_tifffile(name):
    """Tile by tile, as its page decodes them."""
    import tifffile

    page = tifffile.TiffFile(name).pages[0]
    handle = page.parent.filehandle
    across = -(-page.imagewidth // page.tilewidth)
    strip = numpy.empty((page.tilelength, across * page.tilewidth, 3), numpy.uint8)

    def read(top, rows):
        first = top // page.tilelength * across
        for column in range(across):
            index = first + column
            data = None
            if page.databytecounts[index]:
                handle.seek(page.dataoffsets[index])
                data = handle.read(page.databytecounts[index])
            tile, _, shape = page.decode(data, index, jpegtables=page.jpegtables)
            left = column * page.tilewidth
            strip[: shape[1], left : left + shape[2]] = tile[0, : shape[1], : shape[2]]
        return strip[:rows, : page.imagewidth]

    return (page.imagewidth, page.imagelength), read


def main():
    reader, name, step = sys.argv[1], sys.argv[2], int(sys.argv[3])
    start = time.process_time()
    (width, height), read = globals()[f"open_{reader}"](name)
    cpu = time.process_time() - start
    checksum = 0
    for top in range(0, height, step):
        start = time.process_time()
        pixels = read(top, min(step, height - top))
        cpu += time.process_time() - start
        checksum = zlib.crc32(numpy.ascontiguousarray(pixels).tobytes(), checksum)
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"pixels": width * height, "cpu": cpu, "rss": rss, "checksum": checksum}))


main()
