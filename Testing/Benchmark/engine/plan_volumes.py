#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Compares the memory plan's estimate with the measured peak of a training step on volumes, over sizes, channels and batches.

    plan_volumes.py --program build/bin/gigapixel --folder work [--sizes 48x48x48 ...] [--bases 4 8 16] [--batches 1 4 16]
                    [--memory 1G] [--plot memory.svg] [--json result.json] [--draw]

For each size and each number of channels that `unet3d` begins with, one step is taken in one piece, in which all maps of the volume
are in memory, and one as the plan divides it within --memory. Batches are those of the middle size and number. Estimates are those
of `gigapixel train` before its first step: what `plan` says but for validation, and 8 bytes a parameter where a step has several
volumes. --plot draws both over voxels, batch and feature maps; --draw draws it from the file of an earlier run and does nothing
else. Ends with 1 if an estimate is further than --tolerance from its peak.
Needs what volume_step.py needs; two CPU minutes.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

COLORS = ["#e07b00", "#2a8c3c", "#0b5cad", "#8a2a8c"]
WHOLE, TILES = "in one piece", "in tiles"


def count_voxels(size):
    width, height, depth = map(int, size.split("x"))
    return width * height * depth


def measure(options, base, size, batch, way):
    from volume_step import make_volume, train

    folder = options.folder / "step"
    subprocess.run(["rm", "-rf", folder], check=True)
    folder.mkdir()
    sides = tuple(map(int, size.split("x")))
    volumes = [make_volume(options.folder, sides, 1 + i) for i in range(batch)]
    memory, tiling = (options.most, ["--tile-size", "image"]) if way == WHOLE else (options.memory, [])
    step = SimpleNamespace(program=options.program, network=f"unet3d:base={base}", threads=1, memory=memory)
    found = train(step, folder, volumes, *tiling)
    row = {"way": way, "base": base, "size": size, "batch": batch, "tiles": found["plan"]["tiles"]}
    row.update(estimate=found["estimatedPeakBytes"], peak=found["peakBytes"], seconds=found["cpuSeconds"]["network"])
    cells = [way, base, size, batch, row["tiles"], f"{row['estimate'] / 1e6:.0f}", f"{row['peak'] / 1e6:.0f}"]
    print("| " + " | ".join(map(str, [*cells, f"{row['estimate'] / row['peak']:.2f}", f"{row['seconds']:.1f}"])) + " |", flush=True)
    return row


class Panel:
    """Megabytes over a figure of the rows; lines are estimates, circles peaks."""

    WIDTH, HEIGHT, LEFT, TOP = 300, 220, 50, 30

    def __init__(self, place, title, most_x, most_y, unit):
        self.x0, self.most = 20 + place * (self.WIDTH + self.LEFT + 30) + self.LEFT, (most_x, most_y)
        bottom = self.TOP + self.HEIGHT
        self.parts = [f'<text x="{self.x0}" y="{self.TOP - 12}" font-weight="bold">{title}</text>']
        self.parts += [f'<path d="M{self.x0} {self.TOP}V{bottom}H{self.x0 + self.WIDTH}" fill="none" stroke="#444"/>']
        self.parts += [f'<text x="{self.x0 + self.WIDTH / 2}" y="{bottom + 32}" text-anchor="middle">{unit}</text>']
        step = next(10**k * m for k in range(12) for m in (1, 2, 5) if most_y / (10**k * m) <= 5)
        for value in range(0, int(most_y) + 1, step):
            y = self.at(0, value)[1]
            self.parts.append(f'<path d="M{self.x0} {y:.1f}h{self.WIDTH}" stroke="#ddd"/>')
            self.parts.append(f'<text x="{self.x0 - 6}" y="{y + 4:.1f}" text-anchor="end">{value}</text>')

    def at(self, x, y):
        return self.x0 + self.WIDTH * x / self.most[0], self.TOP + self.HEIGHT * (1 - y / self.most[1])

    def mark(self, x, text):
        self.parts.append(f'<text x="{self.at(x, 0)[0]:.1f}" y="{self.TOP + self.HEIGHT + 15}" text-anchor="middle">{text}</text>')

    def draw(self, rows, get_x, color, way):
        rows = sorted(rows, key=get_x)
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in (self.at(get_x(row), row["estimate"] / 1e6) for row in rows))
        dashes = ' stroke-dasharray="5 3"' if way == TILES else ""
        self.parts.append(f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="1.5"{dashes}/>')
        for x, y in (self.at(get_x(row), row["peak"] / 1e6) for row in rows):
            self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{color}"/>')


def draw_plot(rows, path):
    bases = sorted({row["base"] for row in rows})
    single = [row for row in rows if row["batch"] == 1]
    most = 1.05 * max(max(row["peak"], row["estimate"]) for row in rows) / 1e6
    megavoxels = lambda row: count_voxels(row["size"]) / 1e6
    left = Panel(0, "MB over megavoxels, batch of 1", 1.05 * max(map(megavoxels, rows)), most, "megavoxels")
    for value in sorted({megavoxels(row) for row in single}):
        left.mark(value, f"{value:.2g}")
    right = Panel(1, "MB over batch, middle size and base", 1.05 * max(row["batch"] for row in rows), most, "volumes a step")
    several = {(row["base"], row["size"]) for row in rows if row["batch"] > 1}
    for value in sorted({row["batch"] for row in rows}):
        right.mark(value, value)
    sizes = sorted({row["size"] for row in single}, key=count_voxels)
    middle = [row for row in single if row["size"] == sizes[len(sizes) // 2]]
    maps = Panel(2, f"MB over feature maps, {middle[0]['size']}", 1.05 * bases[-1], most, "channels of the first level (base)")
    for base in bases:
        maps.mark(base, base)
    for way in (WHOLE, TILES):
        maps.draw([row for row in middle if row["way"] == way], lambda row: row["base"], "#444", way)
    for base, color in zip(bases, COLORS):
        for way in (WHOLE, TILES):
            left.draw([row for row in single if (row["base"], row["way"]) == (base, way)], megavoxels, color, way)
            at_batches = [row for row in rows if (row["base"], row["size"]) in several and (row["base"], row["way"]) == (base, way)]
            if at_batches:
                right.draw(at_batches, lambda row: row["batch"], color, way)
    words = [f'<tspan fill="{color}">base {base}</tspan>' for base, color in zip(bases, COLORS)]
    words += ["lines: planned (whole in one piece, dashed in tiles)", "circles: measured"]
    legend = f'<text x="20" y="305">{" · ".join(words)}</text>'
    head = '<svg xmlns="http://www.w3.org/2000/svg" width="1170" height="315" font-family="sans-serif" font-size="11">'
    body = "\n".join(['<rect width="1170" height="315" fill="white"/>', *left.parts, *right.parts, *maps.parts, legend])
    path.write_text(f"{head}\n{body}\n</svg>\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, help="gigapixel")
    parser.add_argument("--folder", type=Path, help="where volumes are made and kept")
    parser.add_argument("--sizes", nargs="+", default=["48x48x48", "64x64x64", "96x96x64"], help="WIDTHxHEIGHTxDEPTH")
    parser.add_argument("--bases", nargs="+", type=int, default=[4, 8, 16])
    parser.add_argument("--batches", nargs="+", type=int, default=[1, 4, 16])
    parser.add_argument("--memory", default="1G", help="of steps in tiles")
    parser.add_argument("--most", default="12G", help="of steps in one piece")
    parser.add_argument("--tolerance", type=float, default=0.1)
    parser.add_argument("--plot", type=Path, help="SVG file")
    parser.add_argument("--json", type=Path, help="write everything there")
    parser.add_argument("--draw", action="store_true", help="only --plot, of an earlier --json")
    options = parser.parse_args()
    if options.draw:
        return draw_plot(json.loads(options.json.read_text()), options.plot)
    if not options.program or not options.folder:
        parser.error("--program and --folder are needed")
    options.folder = options.folder.resolve()
    options.folder.mkdir(parents=True, exist_ok=True)
    print("| way | base | size | batch | tiles | planned MB | peak MB | ratio | CPU s |\n" + "| --- " * 9 + "|")
    grid = [(base, size, 1) for size in options.sizes for base in options.bases]
    middle = options.bases[len(options.bases) // 2], options.sizes[len(options.sizes) // 2]
    grid += [(*middle, batch) for batch in options.batches if batch > 1]
    rows = [measure(options, *place, way) for way in (WHOLE, TILES) for place in grid]
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    if options.plot:
        draw_plot(rows, options.plot)
    ratios = [row["estimate"] / row["peak"] for row in rows]
    outside = sum(abs(ratio - 1) > options.tolerance for ratio in ratios)
    print(f"{len(ratios)} runs, planned / peak {min(ratios):.2f} to {max(ratios):.2f}, {outside} outside of {options.tolerance}")
    return 1 if outside else 0


if __name__ == "__main__":
    sys.exit(main())
