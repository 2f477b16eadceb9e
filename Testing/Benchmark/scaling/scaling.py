#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""How training scales over ranks: what is measured here, and a model of what is not.

    scaling.py measure BUILD [-o measured.json]      runs the programs of a build: minutes
    scaling.py model measured.json [-o scaling.svg]  table and plot: no measuring

The model: a step's T tiles of 2048 x 2048 are dealt to R ranks in runs of as many tiles as a rank has threads. A tile
takes what it was measured to take, with several ranks more than with one, since each of them decodes what lies around
its tiles. The sum goes from run to run, T / threads times, beside the computing; after the last tile it
passes the runs that still wait, R at most, and goes to all ranks in log2(R) rounds. What the model leaves out: storage
and network that ranks share, slower hosts, validation.
"""

import argparse
import json
import math
import os
import random
import resource
import subprocess
import tempfile
from pathlib import Path

TILE = 2048 * 2048
RANKS = [1, 2, 4, 8, 16, 32, 64, 128]
GIGAPIXELS = [1, 10, 100]
# Printed in the papers; other networks, images and machines: only the factors can be laid beside ours.
PUBLISHED = [
    ("GEMS, 128 V100", 128, 7.25 / 0.46),
    ("aetherAI, 32 GPUs, with mixed precision", 32, 146),
]


def cpu_seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    output = subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, output


def measure_compute(build, rounds=3):
    """CPU ns per pixel of a step whose pixels are in memory, one thread."""
    outputs = [cpu_seconds([build / "bin/MeasureStep", "train", 8192, 16384, 0, 1])[1].split() for _ in range(rounds)]
    return min(float(words[words.index("cpu_ns_per_pixel") + 1]) for words in outputs)


def run_ranks(ranks, command):
    """Standard output of rank 0, and CPU seconds of each rank."""
    port = random.randrange(20000, 32768)  # below those that connections are given
    processes = []
    for rank in range(ranks):
        place = {"RANK": rank, "WORLD_SIZE": ranks, "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": ranks, "MASTER_PORT": port}
        environment = {**os.environ, **{key: str(value) for key, value in place.items()}}
        processes.append(subprocess.Popen(list(map(str, command)), env=environment, stdout=subprocess.PIPE))
    output = processes[0].stdout.read().decode()
    seconds = []
    for process in processes:
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            raise SystemExit(f"{command[0]} failed")
        seconds.append(usage.ru_utime + usage.ru_stime)
    return output, seconds


def measure_epochs(build, rounds=3):
    """CPU seconds per rank of an epoch of the program from a JPEG slide and its mask, by number of ranks: what four more
    epochs cost, divided by four. Of several rounds the one with the least sum."""
    program, width, height = build / "bin/gigapixel", 8192, 8192
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        slide, truth, table = folder / "slide.tif", folder / "truth.pyramid.tif", folder / "cohort.csv"
        cpu_seconds([program, "synthesize", slide, "--size", f"{width}x{height}", "--truth", truth])
        table.write_text(f"slide,mask,split\n{slide},{truth},train\n")

        def train(ranks, epochs):
            run = tempfile.mkdtemp(dir=folder)
            options = ["--cohort", table, "--network", "remedios2023", "--epochs", epochs, "--threads", 1, "-o", run]
            return run_ranks(ranks, [program, "train", "--quiet", *options])[1]

        def measure_epoch(ranks):
            return [(five - one) / 4 for five, one in zip(train(ranks, 5), train(ranks, 1))]

        return width * height, {ranks: min((measure_epoch(ranks) for _ in range(rounds)), key=sum) for ranks in (1, 2, 4)}


def measure_exchange(build, ranks, rounds=5):
    """Microseconds of a hop and of a broadcast, all ranks on this host: the least that was seen."""
    times = [run_exchange(build, ranks) for _ in range(rounds)]
    return min(hop for hop, _ in times), min(broadcast for _, broadcast in times)


def run_exchange(build, ranks):
    words = run_ranks(ranks, [build / "bin/MeasureRanks"])[0].split()
    return float(words[1]), float(words[3])


def measure(build):
    compute = measure_compute(build)
    exchange = {ranks: measure_exchange(build, ranks) for ranks in (2, 4)}
    pixels, epochs = measure_epochs(build)
    return {
        "compute_ns_per_pixel": compute,
        "decode_and_labels_ns_per_pixel": max(0.0, sum(epochs[1]) / pixels * 1e9 - compute),
        "cpu_ns_per_pixel_of_each_rank": {
            str(ranks): [round(seconds / pixels * 1e9, 3) for seconds in epochs[ranks]] for ranks in epochs
        },
        "hop_us": {str(ranks): hop for ranks, (hop, _) in exchange.items()},
        "broadcast_us": {str(ranks): broadcast for ranks, (_, broadcast) in exchange.items()},
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
    }


def predict(measured, gigapixels, ranks, threads):
    """Seconds of one step of one image."""
    nanoseconds = sum(measured["cpu_ns_per_pixel_of_each_rank"]["1" if ranks == 1 else "4"])
    tiles = math.ceil(gigapixels * 1e9 / TILE)
    runs = math.ceil(tiles / threads)
    compute = math.ceil(runs / ranks) * TILE * nanoseconds * 1e-9
    if ranks == 1:
        return compute
    hop = measured["hop_us"]["2"] * 1e-6
    return max(compute, runs * hop) + min(ranks, runs) * hop + math.ceil(math.log2(ranks)) * hop


def speedups(measured, threads):
    return {
        gigapixels: [
            predict(measured, gigapixels, 1, threads) / predict(measured, gigapixels, ranks, threads)
            for ranks in RANKS
        ]
        for gigapixels in GIGAPIXELS
    }


def measured_speedups(measured):
    """CPU time of an epoch by one process over that of the busiest rank: what ranks on cores of their own come to, but
    for the time that they wait for each other."""
    of_ranks = measured["cpu_ns_per_pixel_of_each_rank"]
    return {int(ranks): of_ranks["1"][0] / max(of_ranks[ranks]) for ranks in of_ranks}


def print_table(measured, threads):
    print("Measured CPU ns per pixel of an epoch, each rank (speed-up by CPU time)")
    for ranks, factor in measured_speedups(measured).items():
        print(f"| {ranks} | {measured['cpu_ns_per_pixel_of_each_rank'][str(ranks)]} ({factor:.2f}) |")
    print(f"Predicted seconds of a step, {threads} threads a rank, decoding included (speed-up over one rank)")
    print("| ranks | " + " | ".join(f"{gigapixels} Gpx" for gigapixels in GIGAPIXELS) + " |")
    print("| --- |" + " --- |" * len(GIGAPIXELS))
    factors = speedups(measured, threads)
    for i, ranks in enumerate(RANKS):
        cells = [f"{predict(measured, g, ranks, threads):.2f} ({factors[g][i]:.1f})" for g in GIGAPIXELS]
        print(f"| {ranks} | " + " | ".join(cells) + " |")


def draw(measured, threads):
    """Speed-up over ranks, both logarithmic."""
    left, top, size = 70, 30, 420
    factors = speedups(measured, threads)
    most = math.log2(256)

    def place(ranks, factor):
        return left + math.log2(ranks) / 7 * size, top + size - math.log2(factor) / most * size

    def line(points, style):
        return f'<polyline fill="none" {style} points="' + " ".join(f"{x:.1f},{y:.1f}" for x, y in points) + '"/>'

    def text(x, y, words, anchor="start"):
        return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{words}</text>'

    parts = [line([place(1, 1), place(128, 128)], 'stroke="#bbb" stroke-dasharray="4"')]
    for ranks in RANKS:
        x, y = place(ranks, 1)
        parts += [text(x, y + 18, ranks, "middle"), text(left - 8, place(1, ranks)[1] + 4, ranks, "end")]
    for color, gigapixels in zip(("#1b6ca8", "#2a9d5c", "#c8552b"), GIGAPIXELS):
        points = [place(ranks, factor) for ranks, factor in zip(RANKS, factors[gigapixels])]
        parts += [line(points, f'stroke="{color}" stroke-width="2"')]
        parts += [f'<text x="{points[-1][0] + 8:.1f}" y="{points[-1][1] + (-2 if gigapixels == 100 else 6):.1f}" fill="{color}">{gigapixels} Gpx</text>']
    for ranks, factor in measured_speedups(measured).items():
        x, y = place(ranks, factor)
        parts += [f'<path stroke="black" stroke-width="2" d="M{x - 5:.1f} {y:.1f}h10m-5 -5v10"/>']
    for name, ranks, factor in PUBLISHED:
        x, y = place(ranks, factor)
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4"/>', text(x - 8, y - 8, name, "end")]
    parts += [
        text(left + size / 2, top + size + 40, "ranks (or GPUs)", "middle"),
        text(left, top - 12, "speed-up; crosses: measured here (CPU time), lines: predicted, dots: published by others"),
        f'<rect x="{left}" y="{top}" width="{size}" height="{size}" fill="none" stroke="#888"/>',
    ]
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + size + 80}" height="{top + size + 60}" '
        f'font-family="sans-serif" font-size="12">\n<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n'
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["measure", "model"])
    parser.add_argument("path", type=Path, help="the build, or what was measured")
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--threads", type=int, default=2, help="of each rank in the model (2)")
    arguments = parser.parse_args()
    if arguments.what == "measure":
        text = json.dumps(measure(arguments.path.resolve()), indent=2) + "\n"
        print(text, end="")
    else:
        measured = json.loads(arguments.path.read_text())
        print_table(measured, arguments.threads)
        text = draw(measured, arguments.threads)
    if arguments.output:
        arguments.output.write_text(text)


if __name__ == "__main__":
    main()
