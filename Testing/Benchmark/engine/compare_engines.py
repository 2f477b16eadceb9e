#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Compares a training step of our engine with PyTorch's: same pixels, same weights, interleaved.

    ninja EngineStep
    compare_engines.py --ours bin/EngineStep --venv ENV [--sizes 4096 8192 16384] [--json result.json]

ENV is a folder, made by `python3 -m venv ENV` with PyTorch from PyPI where it does not exist yet (5.4 GB with its CUDA
libraries; --python takes a Python that has PyTorch and NumPy instead, and lightstream with lightning, if that is to
run). Every engine computes the gradient of the mean binary cross-entropy of the network remedios2023 over the whole
image; times are the least of all rounds, without loading and without Adam; memory is the peak resident memory of the
process beside the image and its labels, which all hold in memory; gradients are compared with PyTorch's in double, ||g
- ref|| / ||ref||, where memory allows that. What does not fit into the free memory, by its bytes per pixel at the size
before, is left out and said. lightstream can do a part of it only: torch_step.py says which, and `encoder` is eager
PyTorch on the same.
"""

import argparse
import array
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

PACKAGES = ["torch==2.15.0", "numpy", "setuptools", "lightstream==1.0.7", "lightning"]

# The part of the step that lightstream can do has a reference of its own.
REFERENCES = {"encoder": "encoder-double", "lightstream": "encoder-double"}
REFERENCE_BYTES_PER_PIXEL = 52  # of eager PyTorch in double

# Multiplications with an addition per pixel of the image: forward, and gradients for weights and input (not of the
# first layer). kernel^2 * in * out / (area of the image per position at which the kernel is applied).
LAYERS = [(256, 1, 6, 64), (16, 6, 6, 256), (16, 6, 9, 1024), (9, 9, 9, 1024), (4, 9, 6, 1024), (4, 6, 6, 256)]
LAYERS += [(64, 6, 1, 64)]
PRODUCTS = [area * inputs * outputs / pixels for area, inputs, outputs, pixels in LAYERS]
FLOPS_PER_PIXEL = 2 * (3 * sum(PRODUCTS) - PRODUCTS[0])
LONGEST_SECONDS = 240  # of one process
ONCE_ABOVE = 8192  # side of the image from which on one step is measured, once

BYTES_PER_PIXEL = 3  # pixels for the forward pass and for the first layer's gradient, and the label


def run(command):
    """The JSON that a command prints last, or its error."""
    try:
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=LONGEST_SECONDS)
    except subprocess.TimeoutExpired:
        return {"error": f"took longer than {LONGEST_SECONDS} s"}
    if done.returncode != 0:
        lines = (done.stderr.strip() or f"ended with {done.returncode}").splitlines()
        return {"error": next((line for line in reversed(lines) if "Error" in line), lines[-1])[:200]}
    return json.loads(done.stdout.splitlines()[-1])


def describe_machine():
    text = Path("/proc/cpuinfo").read_text()
    names = [line.split(":", 1)[1].strip() for line in text.splitlines() if line.startswith("model name")]
    flags = next((line for line in text.splitlines() if line.startswith("flags")), "").split()
    return {
        "processor": names[0] if names else platform.machine(),
        "cores": os.cpu_count(),
        "instructions": [f for f in ("sse4_1", "avx2", "fma", "avx512f", "avx512_bf16", "amx_tile") if f in flags],
        "memory_bytes": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        "system": platform.platform(),
        "load": os.getloadavg()[0],
    }


def read_gradient(folder):
    values = array.array("d")
    values.frombytes((folder / "gradient.raw").read_bytes())
    return values


def relative_difference(a, b):
    return (sum((x - y) ** 2 for x, y in zip(a, b)) / sum(y * y for y in b)) ** 0.5


def make_venv(folder):
    python = folder / "bin" / "python"
    if not python.exists():
        print(f"making {folder} with PyTorch", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *PACKAGES], check=True)
    return python


def free_bytes():
    words = next(line for line in Path("/proc/meminfo").read_text().splitlines() if "MemAvailable" in line).split()
    return 1024 * int(words[1])


def find_truths(side, names, command, folder):
    """The gradients in double by kind; one that would take more than half of the free memory is left out."""
    truths = {}
    for kind in {REFERENCES.get(name, "double") for name in names}:
        if REFERENCE_BYTES_PER_PIXEL * side**2 < free_bytes() / 2 and "error" not in run(command(kind)):
            truths[kind] = read_gradient(folder)
    return truths


def leave_out_large(side, commands, smaller):
    """The commands that fit into the free memory by what their engines took per pixel for a smaller image, and the
    errors of those that do not, or failed there."""
    fitting, errors = {}, {}
    for name, command in commands.items():
        before = smaller.get(name, {})
        needed = before.get("bytes_per_pixel", 0) * side**2 + before.get("bytes_before", 0)
        if "error" in before:
            errors[name] = {"error": before["error"]}
        elif needed > 0.9 * free_bytes():
            errors[name] = {"error": f"does not fit: {needed / 2**30:.0f} GiB by its bytes per pixel"}
        else:
            fitting[name] = command
    return fitting, errors


def compare(side, commands, truths, rounds, folder):
    """Least times and highest peak of each engine over the rounds, and how its gradient differs from the reference."""
    results, gradients = {}, {}
    for _ in range(rounds):
        for name, command in commands.items():
            if "error" in results.get(name, {}):
                continue
            found = run(command)
            print(side, name, json.dumps(found), file=sys.stderr, flush=True)
            best = results.setdefault(name, found)
            if "error" in found:
                results[name] = found
                continue
            for key in ("cpu_seconds", "wall_seconds"):
                best[key] = min(best[key], found[key])
            best["peak_bytes"] = max(best["peak_bytes"], found["peak_bytes"])
            gradients[name] = read_gradient(folder)
    for name, result in results.items():
        if "error" not in result:
            result["bytes_per_pixel"] = (result["peak_bytes"] - result["bytes_before"]) / side**2
            result["peak_bytes_beside_image"] = result["peak_bytes"] - 2 * side**2
            result["cpu_ns_per_pixel"] = 1e9 * result["cpu_seconds"] / side**2
            truth = truths.get(REFERENCES.get(name, "double"))
            if truth is not None:
                result["gradient_difference"] = relative_difference(gradients[name], truth)
    return results


def measure_size(side, options, torch_step, smaller):
    """\param smaller: the results for a smaller image"""
    rounds, repeats = (options.rounds, options.repeats) if side <= ONCE_ABOVE else (1, 1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([str(options.ours), "data", str(side), name], check=True)
        arguments = [side, folder, options.threads, repeats]
        commands = {"ours": [options.ours, "step", *arguments]}
        commands.update({kind: [*torch_step, kind, *arguments] for kind in options.engines})
        commands, errors = leave_out_large(side, commands, smaller)
        truths = find_truths(side, commands, lambda kind: [*torch_step, kind, side, folder, options.threads, 1], folder)
        return {**compare(side, commands, truths, rounds, folder), **errors}


def print_table(report):
    print(json.dumps(report["machine"]), "peak", json.dumps(report["peak"]))
    head = ("size", "engine", "CPU s", "wall s", "ns/px", "peak MiB", "B/px", "gradient", "CPU x", "peak x")
    print("| " + " | ".join(head) + " |\n|" + " --- |" * len(head))
    for side, results in report["sizes"].items():
        ours = results["ours"]
        for name, r in results.items():
            if "error" in r:
                print(f"| {side} | {name} | {r['error']} |" + " |" * 7)
                continue
            difference = f"{r['gradient_difference']:.1e}" if "gradient_difference" in r else ""
            print(
                f"| {side} | {name} | {r['cpu_seconds']:.3f} | {r['wall_seconds']:.3f} | {r['cpu_ns_per_pixel']:.2f} | "
                f"{r['peak_bytes_beside_image'] / 2**20:.0f} | {r['bytes_per_pixel']:.1f} | {difference} | "
                f"{r['cpu_seconds'] / ours['cpu_seconds']:.1f} | "
                f"{r['peak_bytes_beside_image'] / ours['peak_bytes_beside_image']:.1f} |"
            )
    for side, fraction in report["fraction_of_peak"].items():
        flops, copied = fraction["flops"], fraction["bytes"]
        print(f"ours at {side}: {flops:.0%} of the FLOP and {copied:.0%} of the bytes that a CPU second gives at most")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", type=Path, required=True, help="the program EngineStep of a build")
    python = parser.add_mutually_exclusive_group(required=True)
    python.add_argument("--venv", type=Path, help="folder of a venv with PyTorch; made where it does not exist")
    python.add_argument("--python", type=Path, help="a Python that has PyTorch")
    parser.add_argument("--sizes", type=int, nargs="+", default=[4096, 8192, 16384], help="sides of the image in pixels")
    engines = ["eager", "compile", "encoder", "lightstream"]
    parser.add_argument("--engines", nargs="+", choices=engines, default=engines, help="beside ours")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=2, help="steps in each process of a round")
    parser.add_argument("--json", type=Path, help="write everything there")
    options = parser.parse_args()
    interpreter = options.python or make_venv(options.venv)
    torch_step = [interpreter, Path(__file__).with_name("torch_step.py")]
    report = {"machine": describe_machine(), "threads": options.threads, "peak": {}, "sizes": {}, "fraction_of_peak": {}}
    smaller = {}
    for side in sorted(options.sizes):
        # Beside each size, since what others do on the machine changes.
        for name, rate in run([*torch_step, "peak", "-", "-", options.threads, "-"]).items():
            report["peak"][name] = max(report["peak"].get(name, rate), rate)
        smaller = report["sizes"][side] = measure_size(side, options, torch_step, smaller)
    for side, results in report["sizes"].items():
        if "error" not in results["ours"] and "flops_per_cpu_second" in report["peak"]:
            rate = side**2 / results["ours"]["cpu_seconds"]
            report["fraction_of_peak"][side] = {
                "flops": rate * FLOPS_PER_PIXEL / report["peak"]["flops_per_cpu_second"],
                "bytes": rate * BYTES_PER_PIXEL / report["peak"]["bytes_per_cpu_second"],
            }
    print_table(report)
    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n")


main()
