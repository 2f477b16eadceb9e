#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Samples of 16 bit: our reader beside tifffile and beside the codec alone, tile by tile, on the same files in one process.

    wide_samples.py FOLDER [--side 8192] [--rounds 3] [--openjpeg build/bin/DecodeJPEG2000] [--json result.json]

It wants itkgigapixel, tifffile and imagecodecs. The files are drawn: smooth noise of 12 bit, as a camera gives it. Each reader
reads level 0 with one thread; the round with the least CPU time counts. The share is the codec's time of ours. The codec is
imagecodecs', whose OpenJPEG is of another version than ours: with --openjpeg (ninja DecodeJPEG2000) it is Debian's, as ours.
"""

import argparse
import json
import subprocess
import time
from pathlib import Path

import imagecodecs
import itk
import itkgigapixel as gp
import numpy
import tifffile

TILE = 512
CODECS = {
    "deflate": ("zlib", lambda data, size: imagecodecs.deflate_decode(data, out=size)),
    "zstd": ("zstd", lambda data, size: imagecodecs.zstd_decode(data, out=size)),
    "JPEG 2000": ("jpeg2000", lambda data, size: imagecodecs.jpeg2k_decode(data)),
}


def draw(side):
    chance = numpy.random.default_rng(0)
    coarse = chance.integers(0, 3000, (side // 64 + 1, side // 64 + 1)).astype(numpy.float32)
    smooth = numpy.kron(coarse, numpy.ones((64, 64), numpy.float32))[:side, :side]
    return (smooth + chance.normal(0, 12, (side, side)).astype(numpy.float32)).clip(0, 4095).astype(numpy.uint16)


def decode_tiles(path, decode):
    """The codec alone: each tile's bytes become samples at their place in an array, as every reader has to give them."""
    with tifffile.TiffFile(path) as file:
        page = file.pages[0]
        pixels = numpy.empty(page.shape, numpy.uint16)
        for number, (offset, size) in enumerate(zip(page.dataoffsets, page.databytecounts)):
            file.filehandle.seek(offset)
            y, x = (TILE * place for place in divmod(number, page.shape[1] // TILE))
            tile = decode(file.filehandle.read(size), TILE * TILE * 2)
            pixels[y : y + TILE, x : x + TILE] = numpy.frombuffer(tile, numpy.uint16).reshape(TILE, TILE)
    return pixels


def decode_with(program, path):
    """CPU seconds of OpenJPEG alone, in a program."""
    seconds, total = subprocess.run([program, path], check=True, capture_output=True, text=True).stdout.split()
    assert int(total) == int(tifffile.imread(path).sum(dtype=numpy.uint64))
    return float(seconds)


def measure(work, rounds):
    times = []
    for _ in range(rounds):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return min(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--side", type=int, default=8192)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--openjpeg", type=Path)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    itk.MultiThreaderBase.SetGlobalDefaultNumberOfThreads(1)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    pixels = draw(arguments.side)
    results = []
    print("| tiles | codec alone s | ours s | tifffile s | codec of ours |\n| --- | ---: | ---: | ---: | ---: |")
    for name, (compression, decode) in CODECS.items():
        path = arguments.folder / f"{compression}.tif"
        if not path.exists():
            tifffile.imwrite(path, pixels, tile=(TILE, TILE), compression=compression, photometric="minisblack", metadata=None)
        for found in (gp.Slide(path).read(level=0), tifffile.imread(path), decode_tiles(path, decode)):
            assert numpy.array_equal(found, pixels)
        times = {
            "codec": measure(lambda path=path, decode=decode: decode_tiles(path, decode), arguments.rounds),
            "ours": measure(lambda path=path: gp.Slide(path).read(level=0), arguments.rounds),
            "tifffile": measure(lambda path=path: tifffile.imread(path, maxworkers=1), arguments.rounds),
        }
        if name == "JPEG 2000" and arguments.openjpeg:
            times["codec"] = min(decode_with(arguments.openjpeg, path) for _ in range(arguments.rounds))
        share = times["codec"] / times["ours"]
        results.append({"tiles": name, **times, "share": share})
        print(f"| {name} | {times['codec']:.2f} | {times['ours']:.2f} | {times['tifffile']:.2f} | {share:.2f} |", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
