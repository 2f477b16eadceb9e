#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Time and memory of classifiers of whole slides, as the program takes them.

    measure_classifiers.py WORK-FOLDER [--side 16384] [--wide 80000] [--network resnet34:pool=attention] [--memory 2G]

One exact training step on a synthetic slide of SIDE x SIDE pixels (and one on a slide of 256 x 256, so that there are two
labels), maps between segments in WORK-FOLDER/scratch if the plan keeps any; then the label of that slide, and of one of
WIDE x WIDE pixels, which is even glass but for some tissue in its middle. --tissue trains with a mask of four round parts
of the tissue, too, and tells what share of the tiles reads any of it.
Prints what the program says: peak memory, the plan, and CPU seconds.

The program is $GIGAPIXEL_PROGRAM, else build/bin/gigapixel. Needs NumPy, tifffile and openslide-python.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time
import zlib

import numpy as np
import openslide
import tifffile

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROGRAM = os.environ.get("GIGAPIXEL_PROGRAM", ROOT / "build/bin/gigapixel")
TILE = 512
GLASS = 243
TISSUE = 4096  # pixels of the wide slide that are none, each way


def execute(*words):
    begin = time.perf_counter()
    done = subprocess.run([str(word) for word in (PROGRAM, *words, "--json")], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{words[0]} failed")
    return {**json.loads(done.stdout), "wallSeconds": time.perf_counter() - begin}


def synthesize(file, side, *more):
    execute("synthesize", file, "--size", f"{side}x{side}", "--quiet", *more)


def write_wide_slide(file, side, tissue):
    """All tiles are the same bytes but for those in the middle."""
    glass = zlib.compress(np.full((TILE, TILE, 3), GLASS, np.uint8))
    tiles = -(-side // TILE)
    inner = tissue.shape[0] // TILE
    first = (tiles - inner) // 2

    def draw():
        for row in range(tiles):
            for column in range(tiles):
                y, x = row - first, column - first
                inside = 0 <= y < inner and 0 <= x < inner
                pixels = tissue[y * TILE : (y + 1) * TILE, x * TILE : (x + 1) * TILE]
                yield zlib.compress(np.ascontiguousarray(pixels)) if inside else glass

    resolution = {"resolution": (20000, 20000), "resolutionunit": "CENTIMETER"}  # 0.5 micrometers
    colors = {"photometric": "rgb", "compression": "zlib"}
    part = file.with_suffix(".part")
    tifffile.imwrite(part, draw(), shape=(side, side, 3), dtype=np.uint8, tile=(TILE, TILE), bigtiff=True, **colors, **resolution)
    part.rename(file)


def keep_four_parts(mask):
    """Round, one in each quarter, where there is most tissue."""
    side, blocks = len(mask), 32
    step = side // blocks
    density = mask[: blocks * step, : blocks * step].reshape(blocks, step, blocks, step).mean((1, 3))
    y, x = np.ogrid[:side, :side]
    kept = np.zeros_like(mask)
    for row, column in ((0, 0), (0, 16), (16, 0), (16, 16)):
        place = np.unravel_index(density[row : row + 16, column : column + 16].argmax(), (16, 16))
        middle = (np.array(place) + (row, column) + 0.5) * step
        kept |= (y - middle[0]) ** 2 + (x - middle[1]) ** 2 < step**2
    return mask & kept


def write_mask(file, network, tile):
    """In place of the whole one. Returns the share of tiles that read tissue."""
    mask = keep_four_parts(tifffile.imread(file) > 0)
    resolution = {"resolution": (20000, 20000), "resolutionunit": "CENTIMETER"}
    tifffile.imwrite(file, mask.astype(np.uint8) * 255, tile=(TILE, TILE), compression="zlib", **resolution)
    halo = execute("networks", network)["halo"]
    starts = range(0, len(mask), tile)
    reads = [mask[max(0, y - halo) : y + tile + halo, max(0, x - halo) : x + tile + halo].any() for y in starts for x in starts]
    return float(np.mean(reads))


def tell(what, found):
    keys = ("peakBytes", "estimatedPeakBytes", "cpuSeconds", "wallSeconds", "plan", "probabilities")
    print(what, json.dumps({key: found[key] for key in keys if key in found}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--side", type=int, default=16384)
    parser.add_argument("--wide", type=int, default=80000, help="0: leave it out")
    parser.add_argument("--network", default="resnet34:pool=attention")
    parser.add_argument("--memory", default="2G")
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--tile-size", type=int, help="of training; the plan's by default")
    parser.add_argument("--tissue", action="store_true")
    options = parser.parse_args()
    work = options.work
    (work / "scratch").mkdir(parents=True, exist_ok=True)
    (work / "masks").mkdir(exist_ok=True)
    slide, small = work / f"{options.side}.tif", work / "256.tif"
    for file, side in ((slide, options.side), (small, 256)):
        synthesize(file, side, "--truth", work / "masks" / f"{side}.pyramid.tif", "--overwrite")
    table = work / f"{options.side}.csv"
    table.write_text(f"slide,label,split\n{slide.name},a,train\n{small.name},b,train\n")
    words = ["--network", options.network, "--epochs", 1, "--memory", options.memory, "--precision", options.precision]
    words += ["--learning-rate", 1e-6, "--scratch", work / "scratch"]
    words += ["--tile-size", options.tile_size] if options.tile_size else []
    for masks in [[], ["--tissue", work / "masks"]] if options.tissue else [[]]:
        if masks:
            share = write_mask(work / "masks" / f"{options.side}.pyramid.tif", options.network, found["plan"]["tileSize"])
            print(f"{share:.3f} of the tiles read tissue", flush=True)
        run = work / f"run-{options.side}{'-tissue' if masks else ''}"
        if run.exists():
            sys.exit(f"{run} is there: remove it to measure again")
        found = execute("train", "--cohort", table, "-o", run, *words, *masks)
        tell(f"training step{' with --tissue' if masks else ''}", found)
    run = work / f"run-{options.side}/last.safetensors"
    labels = ["--model", run, "--memory", options.memory, "--precision", options.precision, "--overwrite", "-o", work / "predictions.csv"]
    tell("label", execute("classify", slide, *labels))
    if options.wide:
        wide = work / f"{options.wide}.tif"
        if not wide.exists():
            tissue = work / "tissue.tif"
            synthesize(tissue, TISSUE, "--seed", 2)
            with openslide.OpenSlide(str(tissue)) as file:
                pixels = np.array(file.read_region((0, 0), 0, file.dimensions).convert("RGB"))
            write_wide_slide(wide, options.wide, pixels)
        tell(f"label of {options.wide} x {options.wide}", execute("classify", wide, *labels))


if __name__ == "__main__":
    main()
