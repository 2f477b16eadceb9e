#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Compares the memory plan's estimate with the measured peak of `gigapixel train` and `segment`, over a grid.

    plan_grid.py --program build/bin/gigapixel --folder slides [--sizes 4096x8192 16000x64000] [--json result.json]

Slides and masks are made in the folder where they are not there yet, and kept. Sizes, networks (the preset, and one of
RGB with twice its channels), budgets with numbers of threads, and what is done: training in tiles, from shared memory, and
in one piece where the image has at most 4 megapixels; segmentation with labels and with probabilities. About two minutes
of CPU time. With --graphs, networks that LibTorch computes, trained as the plan chooses, in tiles or in segments: a minute
a megapixel for all of them. Ends with 1 if an estimate is further than --tolerance from its peak, or a peak above its budget.
"""

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path

from plan_runs import make_cohort, make_slide, run

BUDGETS = [("200M", 1), ("512M", 2), ("4G", 4)]
GRAPHS = ["unet:base=8", "unet:base=16", "resnet18-unet", "resnet34-unet"]
GRAPH_BUDGETS = [("600M", 1), ("2G", 2), ("4G", 2)]
WHOLE_PIXELS = 1 << 22


def make_networks(folder):
    """Name and file (or preset) of each."""
    preset = json.loads((Path(__file__).parents[3] / "Modules/Network/networks/remedios2023.json").read_text())
    wide = {**preset, "name": "wide", "input": {**preset["input"], "channels": 3}}
    wide["layers"] = [
        {**layer, "in": 3 if i == 0 else 2 * layer["in"], "out": layer["out"] * (1 if layer["name"] == "L7" else 2)}
        for i, layer in enumerate(preset["layers"])
    ]
    (folder / "wide.json").write_text(json.dumps(wide))
    return {"remedios2023": "remedios2023", "wide": folder / "wide.json"}


def measure_training(program, scratch, slide, mask, network, precision, memory, threads):
    """Yields (what, result): in tiles, from shared memory, and in one piece for small images."""
    cohort = make_cohort(scratch / "cohort.csv", slide, mask)
    width, height = map(int, slide.stem.split("x"))
    # What does not fit leaves no model for the inference: training in tiles comes last.
    kinds = [("train in one piece", ["--tile-size", "image"])] if width * height <= WHOLE_PIXELS else []
    kinds += [("train, shared memory", ["--shared-memory"])]
    kinds = [("train", [])] if network in GRAPHS else [*kinds, ("train", [])]
    for what, options in kinds:
        shutil.rmtree(scratch / "run", ignore_errors=True)
        # Each epoch turns the slide another way, and has other tiles of it cut by the edges of the network's.
        epochs = (2 if network in GRAPHS else 4) if what == "train" else 1
        arguments = ["--cohort", cohort, "-o", scratch / "run", "--network", network]
        arguments += ["--epochs", epochs, "--precision", precision]
        limits = [*options, "--memory", memory, "--threads", threads]
        yield what, run(program, "train", *arguments, *limits, "--quiet", "--json")


def measure_inference(program, scratch, slide, precision, memory, threads):
    for what, arguments in [("segment", []), ("segment, probability", ["--probability", scratch / "p.pyramid.tif"])]:
        limits = ["--precision", precision, "--memory", memory, "--threads", threads]
        outputs = ["-o", scratch / "o.pyramid.tif", *arguments, "--overwrite"]
        model = scratch / "run" / "best.safetensors"
        yield what, run(program, "segment", slide, "--model", model, *outputs, *limits, "--quiet", "--json")


def measure(program, slide, mask, name, network, precision):
    rows = []
    for memory, threads in GRAPH_BUDGETS if network in GRAPHS else BUDGETS:
        with tempfile.TemporaryDirectory(dir=slide.parent) as folder:
            scratch = Path(folder)
            results = list(measure_training(program, scratch, slide, mask, network, precision, memory, threads))
            if (scratch / "run" / "best.safetensors").exists():
                results += measure_inference(program, scratch, slide, precision, memory, threads)
        for what, result in results:
            row = {"what": what, "size": slide.stem, "network": name, "budget": memory, "threads": threads}
            if result is not None:
                result = result.get("results", [result])[0] if isinstance(result, dict) else result[0]
                row.update(estimate=result["estimatedPeakBytes"], peak=result["peakBytes"])
            rows.append(row)
            print_row(row)
    return rows


def to_bytes(budget):
    return int(budget[:-1]) * {"M": 2**20, "G": 2**30}[budget[-1]]


def print_row(row):
    cells = [row["what"], row["size"], row["network"], row["budget"], row["threads"]]
    if "peak" in row:
        cells += [round(row["estimate"] / 1e6), round(row["peak"] / 1e6), f"{row['estimate'] / row['peak']:.2f}"]
    else:
        cells += ["refused", "", ""]
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, required=True, help="gigapixel")
    parser.add_argument("--folder", type=Path, required=True, help="where slides are made and kept")
    sizes = ["1024x1536", "4096x8192", "16000x8192"]
    parser.add_argument("--sizes", nargs="+", default=sizes, help="of the slides, WIDTHxHEIGHT")
    parser.add_argument("--graphs", nargs="*", choices=GRAPHS, help="these networks, or all of them, in place of the others")
    parser.add_argument("--precision", default="fp32", help="of training and segmentation")
    parser.add_argument("--tolerance", type=float, default=0.1)
    parser.add_argument("--json", type=Path, help="write everything there")
    options = parser.parse_args()
    options.folder = options.folder.resolve()
    options.folder.mkdir(parents=True, exist_ok=True)
    print("| what | size | network | budget | threads | estimate MB | peak MB | ratio |\n" + "| --- " * 8 + "|")
    rows = []
    for size in options.sizes:
        slide, mask = make_slide(options.program, options.folder, size)
        graphs = GRAPHS if options.graphs == [] else options.graphs
        networks = {name: name for name in graphs} if graphs else make_networks(options.folder)
        for name, network in networks.items():
            rows += measure(options.program, slide, mask, name, network, options.precision)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")
    ratios = [row["estimate"] / row["peak"] for row in rows if "peak" in row]
    outside = [ratio for ratio in ratios if abs(ratio - 1) > options.tolerance]
    above = [row for row in rows if "peak" in row and row["peak"] > to_bytes(row["budget"])]
    print(f"{len(ratios)} runs, estimate / peak {min(ratios):.2f} to {max(ratios):.2f}, {len(outside)} outside")
    print(f"{len(above)} peaks above their budgets, {len(rows) - len(ratios)} budgets refused")
    return 1 if outside or above else 0


sys.exit(main())
