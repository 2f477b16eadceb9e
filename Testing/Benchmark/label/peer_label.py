# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""The published chain by other libraries, CPU seconds without the imports as one line of JSON.

    peer_label.py opencv|skimage PIXELS WIDTH HEIGHT RADIUS MASK     interleaved RGB bytes to mask bytes
    peer_label.py vips+opencv SLIDE PAGE RADIUS MASK.tif             a page of the pyramid to a mask pyramid
"""

import json
import resource
import sys

import numpy


def cpu():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def ball(radius):
    """ITK's: it is neither skimage's disk nor OpenCV's ellipse."""
    y, x = numpy.mgrid[-radius : radius + 1, -radius : radius + 1]
    return (x * x + y * y <= (radius + 0.5) ** 2).astype(numpy.uint8)


def by_opencv(cv2, pixels, radius):
    red, green, blue = cv2.split(pixels)
    sums = cv2.add(cv2.add(red, green, dtype=cv2.CV_16U), blue, dtype=cv2.CV_16U)
    mask = cv2.inRange(sums, 2, 690)  # gray is 0 where the sum is below 2, nearly everywhere
    mask = cv2.medianBlur(mask, 2 * radius + 1)
    mask = cv2.dilate(cv2.erode(mask, ball(radius)), ball(radius))
    contours, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    return cv2.drawContours(mask, contours, -1, 255, cv2.FILLED)


def by_skimage(pixels, radius):
    from scipy import ndimage
    from skimage import filters, morphology

    sums = pixels.sum(axis=2, dtype=numpy.uint16)
    mask = ((sums >= 2) & (sums <= 690)).astype(numpy.uint8)
    square = numpy.ones((2 * radius + 1, 2 * radius + 1), numpy.uint8)
    mask = filters.median(mask, square, behavior="ndimage", mode="nearest")
    mask = morphology.dilation(morphology.erosion(mask, ball(radius)), ball(radius))
    return ndimage.binary_fill_holes(mask).astype(numpy.uint8) * 255


def label_level(slide, page, radius, output):
    import cv2
    import pyvips

    cv2.setNumThreads(1)
    before = cpu()
    level = pyvips.Image.new_from_file(slide, page=int(page), access="sequential")
    mask = by_opencv(cv2, level.numpy(), int(radius))
    options = {"tile": True, "tile_width": 256, "tile_height": 256, "pyramid": True, "compression": "deflate"}
    pyvips.Image.new_from_array(mask).tiffsave(output, region_shrink="nearest", **options)
    return cpu() - before


def label_pixels(library, file, width, height, radius, output):
    pixels = numpy.fromfile(file, numpy.uint8).reshape(int(height), int(width), 3)
    if library == "opencv":
        import cv2

        cv2.setNumThreads(1)
        before = cpu()
        mask = by_opencv(cv2, pixels, int(radius))
    else:
        import scipy.ndimage  # noqa: F401
        import skimage.filters  # noqa: F401
        import skimage.morphology  # noqa: F401

        before = cpu()
        mask = by_skimage(pixels, int(radius))
    seconds = cpu() - before
    mask.tofile(output)
    return seconds


if __name__ == "__main__":
    work = label_level if sys.argv[1] == "vips+opencv" else label_pixels
    print(json.dumps({"cpu_s": work(*sys.argv[1 if work is label_pixels else 2 :])}))
