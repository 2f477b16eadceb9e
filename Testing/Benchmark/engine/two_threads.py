#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""The wall time of a training step by two threads, beside that of one, and what two cores give at best on this machine.

    two_threads.py --program build/bin/gigapixel --folder slides [--networks unet resnet18-unet] [--size 2048x2048]

Seconds are wall seconds of `gigapixel train` over one epoch of `--images` slides less those over a single one, divided by
the difference, so that neither starting nor saving counts; the least of the rounds, one way after the other in each.
`two processes` are two runs of one thread at once, each of which does the whole work: what they take beyond the time of
one run alone is what the cores take from each other (memory, caches, clock), which two threads cannot avoid either. The
`limit` is half of that, as a share of one thread's time.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from plan_runs import make_slide


def start(options, cohort, network, threads, folder):
    arguments = ["train", "--cohort", cohort, "-o", Path(folder) / "run", "--network", network, "--epochs", 1]
    arguments += ["--memory", options.memory, "--threads", threads, "--no-augmentation", "--quiet", "--json"]
    return subprocess.Popen([str(options.program), *map(str, arguments)], stdout=subprocess.PIPE, text=True)


def measure(options, cohort, network, threads, processes=1):
    """Wall seconds until all processes ended, and the CPU seconds of the network in one of them."""
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        folders = [Path(folder) / str(number) for number in range(processes)]
        for each in folders:
            each.mkdir()
        begin = time.perf_counter()
        started = [start(options, cohort, network, threads, each) for each in folders]
        texts = [process.communicate()[0] for process in started]
        if any(process.returncode != 0 for process in started):
            sys.exit(1)  # it has said why
        results = [json.loads(text) for text in texts]
        return time.perf_counter() - begin, results[0]["cpuSeconds"]["network"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, required=True, help="gigapixel")
    parser.add_argument("--folder", type=Path, required=True, help="where the slide is made and kept")
    parser.add_argument("--networks", nargs="+", default=["unet", "resnet18-unet", "resnet34-unet"])
    parser.add_argument("--size", default="2048x2048", help="of the slide, WIDTHxHEIGHT")
    parser.add_argument("--images", type=int, default=4, help="slides of the longer run")
    parser.add_argument("--memory", default="4G", help="of each process")
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    options.folder = options.folder.resolve()
    options.folder.mkdir(parents=True, exist_ok=True)
    slide, mask = make_slide(options.program, options.folder, options.size)
    cohorts = {}
    for images in (1, options.images):
        cohorts[images] = options.folder / f"{options.size}.{images}.csv"
        slides = [options.folder / f"{options.size}.{number}.tif" for number in range(images)]
        for copy in slides:  # a cohort names no slide twice
            shutil.copyfile(slide, copy)
        cohorts[images].write_text("slide,mask,split\n" + "".join(f"{copy},{mask},train\n" for copy in slides))
    ways = {"one thread": (1, 1), "two threads": (2, 1), "two processes": (1, 2)}
    print("| network | way | wall s | network's CPU s | of one thread |\n" + "| --- " * 5 + "|")
    for network in options.networks:
        rows = {}
        for _ in range(options.rounds):
            for way, arguments in ways.items():
                less, more = (measure(options, cohort, network, *arguments) for cohort in cohorts.values())
                found = [(b - a) / (options.images - 1) for a, b in zip(less, more)]
                rows[way] = [min(pair) for pair in zip(rows.get(way, found), found)]
        for way, (wall, cpu) in rows.items():
            share = wall / rows["one thread"][0] / ways[way][1]
            note = ", the limit" if way == "two processes" else ""
            print(f"| {network} | {way} | {wall:.2f} | {cpu:.2f} | {share:.3f}{note} |", flush=True)


if __name__ == "__main__":
    main()
