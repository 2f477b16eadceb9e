#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""How the training of a network that labels slides scales over ranks, and whether it has the bits of one process.

    measure_labels.py BUILD [--side 2048] [--network resnet18:width=16,pool=attention] [--tile-size 512] [-o measured.json]

An epoch of four synthetic slides, one thread a rank: data parallel (four slides a step, dealt to the ranks), spatial
(one slide a step, its tiles dealt) and hybrid (two slides a step on four ranks: two ranks each). Prints the CPU seconds
of each rank for an epoch, what three take less what one takes, halved, and those of one process with the same steps,
and compares the files of the runs. CPU seconds, since waiting says nothing where ranks share cores.
"""

import argparse
import json
import tempfile
from pathlib import Path

from scaling import cpu_seconds, run_ranks

SLIDES = 4
WAYS = [("data", 4, 2), ("data", 4, 4), ("spatial", 1, 2), ("spatial", 1, 4), ("hybrid", 2, 4)]
FILES = ["best.safetensors", "last.safetensors", "history.csv"]


def draw_slides(program, folder, side):
    table = folder / "cohort.csv"
    rows = ["slide,label,split"]
    for i in range(SLIDES):
        slide = folder / f"{i}.tif"
        cpu_seconds([program, "synthesize", slide, "--size", f"{side}x{side}", "--seed", i + 1])
        rows.append(f"{slide},{'ab'[i % 2]},train")
    table.write_text("\n".join(rows) + "\n")
    return table


def train(program, table, folder, ranks, images_per_step, epochs, more):
    """CPU seconds of each rank, and the files of the run."""
    run = Path(tempfile.mkdtemp(dir=folder)) / "run"
    options = ["--cohort", table, "-o", run, "--epochs", epochs, "--images-per-step", images_per_step]
    seconds = run_ranks(ranks, [program, "train", "--quiet", "--threads", 1, *options, *more])[1]
    return seconds, {name: (run / name).read_bytes() for name in FILES}


def measure(program, table, folder, ranks, images_per_step, more):
    short, _ = train(program, table, folder, ranks, images_per_step, 1, more)
    long, files = train(program, table, folder, ranks, images_per_step, 3, more)
    return [(b - a) / 2 for a, b in zip(short, long)], files


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--side", type=int, default=2048)
    parser.add_argument("--network", default="resnet18:width=16,pool=attention")
    parser.add_argument("--tile-size", default="512")
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    program = arguments.build / "bin/gigapixel"
    more = ["--network", arguments.network, "--tile-size", arguments.tile_size]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        table = draw_slides(program, folder, arguments.side)
        alone = {}
        print("| way | slides a step | ranks | CPU s of each | one process | busiest rank faster by | same files |")
        print("| --- | --- | --- | --- | --- | --- | --- |")
        for way, images_per_step, ranks in WAYS:
            if images_per_step not in alone:
                alone[images_per_step] = measure(program, table, folder, 1, images_per_step, more)
            one, files = alone[images_per_step]
            seconds, same = measure(program, table, folder, ranks, images_per_step, more)
            row = {"way": way, "slidesAStep": images_per_step, "ranks": ranks, "cpuSeconds": seconds}
            row |= {"oneProcess": one[0], "sameFiles": same == files}
            rows.append(row)
            each = ", ".join(f"{value:.2f}" for value in seconds)
            factor = one[0] / max(seconds)
            said = "yes" if row["sameFiles"] else "NO"
            print(f"| {way} | {images_per_step} | {ranks} | {each} | {one[0]:.2f} | {factor:.2f} | {said} |", flush=True)
    if arguments.output:
        arguments.output.write_text(json.dumps(rows, indent=1) + "\n")
    if not all(row["sameFiles"] for row in rows):
        raise SystemExit("the files of ranks are others than those of one process")


if __name__ == "__main__":
    main()
