#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Compares a training step of a network that is a graph with eager PyTorch's: same pixels, same weights, one thread,
interleaved, in fp32 and bf16.

    ninja GraphStep
    compare_graphs.py --ours bin/GraphStep --python PYTHON [--network unet] [--side 2048] [--tiles 512 1024]
    compare_graphs.py --ours build/bin/GraphStep build-of-another-LibTorch/bin/GraphStep --python PYTHON

CPU seconds are the least of all rounds; memory is the peak resident memory above that before the first step; gradients
and probabilities are compared with those of the first engine, ||g - ref|| / ||ref||: of all arrays and of each, the
middle and the worst one. Batch norms have frozen statistics. Networks that label images (resnet18, resnet18-thin of 16
channels, resnet34) take two passes of ours, in the segments of a training; with --tiles as large as the image, one tile.
--python has PyTorch and NumPy (for --picture, Pillow).
"""

import argparse
import itertools
import json
import math
import subprocess
import sys
import tempfile
from array import array
from pathlib import Path


def run(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def read(file):
    values = array("d")
    values.frombytes(file.read_bytes())
    return values


def difference(a, b):
    return math.dist(a, b) / (math.dist(b, array("d", bytes(8 * len(b)))) or 1)


def differences(folder, gradient, reference):
    """Of each array that has a gradient, and its name."""
    found, place = [], 0
    for name, size in json.loads((folder / "arrays.json").read_text()):
        of_array = slice(place, place + size)
        found.append((difference(gradient[of_array], reference[of_array]), name))
        place += size
    return sorted(found)


def compare(options, folder):
    script = Path(__file__).with_name("graph_step.py")
    subprocess.run([options.python, script, "data", options.network, str(options.side), folder, *options.picture], check=True)
    device = [options.device] if options.device != "cpu" else []
    commands = {kind: [options.python, script, kind, options.side, folder, options.repeats, *device] for kind in options.eager}
    for program, tile, precision in itertools.product(options.ours, options.tiles, options.precisions):
        which = f"ours, {program}" if len(options.ours) > 1 else "ours"
        commands[f"{which}, {tile}, {precision}"] = [program, options.side, tile, folder, options.repeats, precision, *device]
    results, gradients, probabilities = {}, {}, {}
    for _ in range(options.rounds):
        for name, command in commands.items():
            found = run(command)
            print(name, json.dumps(found), file=sys.stderr, flush=True)
            best = results.setdefault(name, found)
            clock = "wall_seconds" if device else "cpu_seconds"
            best["seconds"] = min(best.get("seconds", found[clock]), found[clock])
            best["bytes"] = max(best.get("bytes", 0), found["gpu_bytes"] if device else found["peak_bytes"] - found["bytes_before"])
            gradients[name] = read(folder / "gradient.raw")
            probabilities[name] = read(folder / "probabilities.raw")
    first = next(iter(commands))
    if not any(gradients[first]):
        sys.exit("the gradient is 0: nothing is compared")
    for name in results:
        results[name]["difference"] = difference(gradients[name], gradients[first])
        results[name]["arrays"] = differences(folder, gradients[name], gradients[first])
        results[name]["probability"] = max(abs(a - b) for a, b in zip(probabilities[name], probabilities[first]))
    return first, results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", type=Path, nargs="+", required=True, help="the program GraphStep of a build, or of several")
    parser.add_argument("--python", type=Path, required=True, help="a Python that has PyTorch and NumPy")
    parser.add_argument("--network", default="unet", help="unet, resnet18-unet, or resnet18, resnet18-thin, resnet34, which label images")
    parser.add_argument("--side", type=int, default=2048, help="of the image")
    parser.add_argument("--tiles", type=int, nargs="+", default=[512, 1024], help="sides")
    parser.add_argument("--precisions", nargs="+", default=["fp32", "bf16"], help="of ours")
    kinds = ["eager", "channels_last"]
    more = ["autocast", "double", "lightstream"]
    parser.add_argument("--eager", nargs="*", default=kinds, help=f"of {', '.join([*kinds, *more])} (1.0.7, of networks that label images)")
    parser.add_argument("--picture", nargs=2, default=[], help="image and labels in place of drawn ones, at least as large")
    parser.add_argument("--device", default="cpu", help="of both; of a GPU seconds are the wall clock's, and memory is what LibTorch's tensors take there")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=1, help="steps in each process of a round")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        first, results = compare(options, Path(name))
    print(f"{options.network}, {options.side} x {options.side}")
    on_cpu = options.device == "cpu"
    titles = ["engine", "CPU s" if on_cpu else "s", "of the first", "MB above start" if on_cpu else "MB of the GPU", "of the first"]
    titles += ["gradient", "its middle array", "its worst array", "probabilities at most"]
    print(f"| {' | '.join(titles)} |\n|" + " --- |" * len(titles))
    for name, r in results.items():
        arrays = [a for a in r["arrays"] if not a[1].endswith(("running_mean", "running_var"))]
        time, memory = r["seconds"] / results[first]["seconds"], r["bytes"] / results[first]["bytes"]
        print(
            f"| {name} | {r['seconds']:.{2 if on_cpu else 4}f} | {time:.2f} | {r['bytes'] / 1e6:.0f} | {memory:.2f} | "
            f"{r['difference']:.1e} | {arrays[len(arrays) // 2][0]:.1e} | {arrays[-1][0]:.1e} ({arrays[-1][1]}) | "
            f"{r['probability']:.1e} |"
        )


main()
