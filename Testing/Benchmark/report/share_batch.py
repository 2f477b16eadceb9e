#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""A batch of many small slides: killed three times, and shared by two processes. What is made has to be, to the byte, what is
made undisturbed, and no slide is to be made twice. Prints the seconds of each.

    share_batch.py FOLDER [--program gigapixel] [--slides 1000]
"""

import argparse
import json
import pathlib
import random
import shutil
import subprocess
import time

import numpy
import tifffile


def make_slides(folder, number):
    folder.mkdir(parents=True)
    chance = numpy.random.default_rng(1)
    for i in range(number):
        pixels = numpy.full((192, 256, 3), 245, numpy.uint8)
        y, x = chance.integers(0, 96, 2)
        pixels[y : y + 80, x : x + 120] = (200, 100, 150)
        tifffile.imwrite(folder / f"{i:05}.tif", pixels, tile=(256, 256), compression="zlib", photometric="rgb", resolution=(20000, 20000), resolutionunit="CENTIMETER")


def read_all(folder):
    """But what states times, which are others in every run."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name not in ("timings.jsonl", "report.html")}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--program", default="gigapixel")
    parser.add_argument("--slides", type=int, default=1000)
    arguments = parser.parse_args()
    folder, number = arguments.folder, arguments.slides
    make_slides(folder / "slides", number)
    program = pathlib.Path(shutil.which(arguments.program)).resolve()
    words = [program, "label", "slides", "-o", "out", "--preset", "remedios2023", "--quiet", "--json", "--report", "out/report.html"]

    def start():
        return subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=folder)

    def finish(process):
        told = json.loads(process.communicate()[0])
        assert process.returncode == 0 and len(told) == number
        return told

    begun = time.monotonic()
    finish(start())
    print(f"undisturbed: {time.monotonic() - begun:.1f} s")
    whole = read_all(folder / "out")
    shutil.move(folder / "out", folder / "whole")

    begun = time.monotonic()
    for part in sorted(random.Random(1).uniform(0, number) for _ in range(3)):
        process = start()
        while process.poll() is None and len(list(folder.glob("out/.gigapixel/*.record.json"))) < part:
            time.sleep(0.01)
        process.kill()
        process.communicate()
        assert process.returncode < 0
    finish(start())
    assert read_all(folder / "out") == whole
    print(f"killed three times: {time.monotonic() - begun:.1f} s, the same {len(whole)} files")
    shutil.rmtree(folder / "out")

    begun = time.monotonic()
    told = [finish(process) for process in [start(), start()]]
    made = [sum(not result["skipped"] for result in results) for results in told]
    assert sum(made) == number and read_all(folder / "out") == whole
    print(f"two processes: {time.monotonic() - begun:.1f} s, {made[0]} + {made[1]} slides, the same files")


if __name__ == "__main__":
    main()
