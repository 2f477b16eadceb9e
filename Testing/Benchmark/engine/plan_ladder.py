#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Compares what the plan chooses for training with tiles of other sizes, and the time that it prints with the time that
a step takes.

    plan_ladder.py --program build/bin/gigapixel --folder slides [--networks unet resnet18-unet] [--size 2048x2048]

Each row is one training step by `gigapixel train`: the plan's choice, then the network at once in tiles of each size.
Seconds are CPU seconds of the network with one thread, the least of the rounds; peaks are those of the process. A rung
that the budget refuses is left out. Ends with 1 if the choice takes more than --ladder times the best rung, or a printed
time is further than a factor of --time from the measured one.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from plan_runs import make_cohort, make_slide, run

SIDES = [256, 384, 512, 768, 1024, 1536, 2048]


def measure(options, cohort, network, tiling):
    """Seconds and peak of one step; None where it does not fit."""
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        arguments = ["--cohort", cohort, "-o", Path(folder) / "run", "--network", network, "--epochs", 1]
        limits = ["--memory", options.memory, "--threads", 1, *tiling]
        result = run(options.program, "train", *arguments, *limits, "--no-augmentation", "--quiet", "--json")
    return result and (result["cpuSeconds"]["network"], result["peakBytes"])


def read_plan(options, network, tiling):
    limits = ["--memory", options.memory, "--threads", 1, *tiling]
    plan = run(options.program, "plan", "--size", options.size, "--network", network, *limits, "--measure", "--json")
    return next(row for row in plan["plans"] if row["purpose"] == "training" and row["fits"])


def measure_ladder(options, cohort, network):
    tilings = {"chosen": []} | {str(side): ["--tile-size", side] for side in options.sides}
    rows = {}
    for _ in range(options.rounds):
        for name, tiling in tilings.items():
            found = measure(options, cohort, network, tiling)
            if found:
                seconds, peak = rows.get(name, found)
                rows[name] = min(seconds, found[0]), max(peak, found[1])
    for name, (seconds, peak) in rows.items():
        plan = read_plan(options, network, tilings[name])
        what = f"{len(plan['segments'])} segments" if plan["segments"] else f"tiles of {plan['tileSize']}"
        cells = [network, name, what, f"{seconds:.2f}", f"{plan['seconds']:.2f}", f"{plan['seconds'] / seconds:.2f}"]
        print(f"| {' | '.join(cells)} | {peak / 1e6:.0f} |", flush=True)
        yield name, seconds, plan["seconds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, required=True, help="gigapixel")
    parser.add_argument("--folder", type=Path, required=True, help="where the slide is made and kept")
    parser.add_argument("--networks", nargs="+", default=["unet", "resnet18-unet", "resnet34-unet"])
    parser.add_argument("--size", default="2048x2048", help="of the slide, WIDTHxHEIGHT")
    parser.add_argument("--sides", nargs="*", type=int, default=SIDES, help="of tiles")
    parser.add_argument("--memory", default="4G", help="leaves out tiles far beyond the 1 GiB that a plan gives to one")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--ladder", type=float, default=1.15)
    parser.add_argument("--time", type=float, default=1.3)
    options = parser.parse_args()
    options.folder = options.folder.resolve()
    options.folder.mkdir(parents=True, exist_ok=True)
    slide = make_slide(options.program, options.folder, options.size)
    cohort = make_cohort(options.folder / f"{options.size}.csv", *slide)
    print("| network | rung | plan | CPU s | printed s | ratio | peak MB |\n" + "| --- " * 7 + "|")
    wrong = 0
    for network in options.networks:
        rows = list(measure_ladder(options, cohort, network))
        if "chosen" not in [name for name, *_ in rows]:
            sys.exit(f"--memory {options.memory} is too small for {network} and {options.size}")
        best = min(seconds for _, seconds, _ in rows)
        chosen, printed = rows[0][1:]
        print(f"{network}: {chosen / best:.2f} times the best rung, printed {printed / chosen:.2f} times the measured")
        wrong += chosen > options.ladder * best or not 1 / options.time < printed / chosen < options.time
    return 1 if wrong else 0


sys.exit(main())
