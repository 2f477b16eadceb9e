#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Compares `gigapixel measure` with scikit-image: CPU seconds, peak memory, and equality of the figures.

    compare_measures.py --program build/bin/gigapixel [--peers 8000] [--sizes 8000 32000] [--slide SIDE] [--json result.json]

Python needs numpy, tifffile and scikit-image. The masks are squares of blobs on a grid of
100 pixels, some with a hole, as tiled deflate TIFF. Every run is a process of its own, one thread; CPU is user and system
time of the process, reading the file included. scikit-image holds the whole mask, so it gets those of up to --peers pixels a
side. --slide also measures an RGB slide of that side under its mask.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy
import tifffile

STEP = 100  # pixels from blob to blob
PATTERN = 32  # blobs along a side of what is repeated


def draw_pattern():
    random = numpy.random.default_rng(0)
    pattern = numpy.zeros((PATTERN * STEP, PATTERN * STEP), numpy.uint8)
    y, x = numpy.mgrid[:STEP, :STEP] - STEP / 2
    distance, angle = numpy.hypot(y, x), numpy.arctan2(y, x)
    for row in range(0, pattern.shape[0], STEP):
        for column in range(0, pattern.shape[1], STEP):
            radius = random.uniform(20, 45) * (1 + 0.1 * numpy.cos(5 * angle + random.uniform(0, 6)))
            blob = (distance < radius) & (distance > (10 if random.random() < 0.3 else -1))
            pattern[row : row + STEP, column : column + STEP] = 255 * blob
    return pattern


def write_mask(path, side):
    pattern = draw_pattern()

    def tiles():
        for y in range(0, side, 256):
            for x in range(0, side, 256):
                rows, columns = numpy.arange(y, y + 256), numpy.arange(x, x + 256)
                tile = pattern[numpy.ix_(rows % len(pattern), columns % len(pattern))]
                tile[rows >= side] = 0
                tile[:, columns >= side] = 0
                yield tile

    options = {"tile": (256, 256), "compression": "zlib", "photometric": "minisblack", "bigtiff": True}
    resolution = {"resolution": (20000, 20000), "resolutionunit": "CENTIMETER"}
    tifffile.imwrite(path, tiles(), shape=(side, side), dtype=numpy.uint8, **options, **resolution)


def run(command):
    """CPU seconds and peak memory of a process, and the number that it printed."""
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE)
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise RuntimeError(f"{command} ended with {status}")
    cpu = usage.ru_utime + usage.ru_stime
    return {"cpu_s": cpu, "peak_mb": usage.ru_maxrss * 1024 / 1e6, "said": json.loads(out)}


def peer(mask, table):
    """Writes the figures of all components as scikit-image has them, and prints their number."""
    from skimage import measure

    pixels = tifffile.imread(mask)
    regions = measure.label(pixels)
    rows = measure.regionprops_table(regions, properties=("area", "centroid", "bbox", "perimeter", "euler_number"))
    numpy.savez(table, **rows)
    print(json.dumps({"components": len(rows["area"])}))


def find_difference(table, file):
    """The greatest difference of any figure, relative where it is above 1."""
    with open(table, newline="", encoding="utf-8") as text:
        ours = [row for row in csv.DictReader(text) if row["component"] != "0"]
    theirs = dict(numpy.load(file))
    theirs["holes"] = 1 - theirs["euler_number"]
    names = {"area": "area_px", "centroid-0": "centroid_y", "centroid-1": "centroid_x", "bbox-0": "y", "bbox-1": "x", "perimeter": "perimeter_px", "holes": "holes"}
    columns = {name: numpy.array([float(row[column]) for row in ours]) for name, column in names.items()}
    return max(float((abs(column - theirs[name]) / numpy.maximum(1, abs(theirs[name]))).max()) for name, column in columns.items())


def main():
    if len(sys.argv) == 4 and sys.argv[1] == "peer":
        peer(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--sizes", type=int, nargs="+", default=[8000, 32000])
    parser.add_argument("--peers", type=int, default=8000)
    parser.add_argument("--slide", type=int, help="side of a slide that is measured under its mask")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    results = []

    def tell(what, side, result, difference=""):
        results.append({"what": what, "side": side, **result, "difference": difference})
        number = result["said"]["components"]
        print(f"| {what} | {side} x {side} | {number} | {result['cpu_s']:.2f} | {result['peak_mb']:.0f} | {difference} |", flush=True)

    print("| | pixels | components | CPU s | peak MB | greatest difference |\n" + "| --- " * 6 + "|")
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        mask, table = work / "mask.tif", work / "table.csv"
        ours = [arguments.program, "measure", mask, "-o", table, "--overwrite", "--quiet", "--json", "--threads", 1]
        for side in arguments.sizes:
            write_mask(mask, side)
            tell("ours", side, run(ours))
            if side <= arguments.peers:
                file = work / "peer.npz"
                result = run([sys.executable, __file__, "peer", mask, file])
                tell("scikit-image", side, result, f"{find_difference(table, file):.1e}")
        if arguments.slide:
            slide = work / "slide.tif"
            draw = [arguments.program, "synthesize", slide, "--size", f"{arguments.slide}x{arguments.slide}", "--quiet"]
            subprocess.run([str(part) for part in draw], check=True, stdout=sys.stderr)
            write_mask(mask, arguments.slide)
            tell("ours, with the slide", arguments.slide, run([*ours, "--slide", slide]))
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
