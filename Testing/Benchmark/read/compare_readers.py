#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Compares our reader with others on the same slide (a TIFF of JPEG tiles), interleaved.

    ninja ReadSlide
    compare_readers.py SLIDE... --ours bin/ReadSlide --venv ENV [--rounds 3] [--json result.json]

ENV is a folder, made by `python3 -m venv ENV` with the readers that PyPI has where it does not exist yet. Of each
reader the round that took the least CPU time counts. Opening is in the times, importing libraries and checking pixels
are not.
"""

import argparse
import json
import os
import platform
import subprocess
from pathlib import Path

PACKAGES = ["numpy", "openslide-python", "openslide-bin", "tifffile", "imagecodecs", "pyvips[binary]", "tiffslide"]
PACKAGES += ["fastslide", "cucim-cu12"]
PYTHON_READERS = ["openslide", "tifffile", "libvips", "tiffslide", "fastslide", "cucim"]


def make_venv(folder):
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run(["python3", "-m", "venv", folder], check=True)
        for package in PACKAGES:  # one by one: a reader that this machine cannot have is left out
            subprocess.run([folder / "bin" / "pip", "install", "-q", package], check=False)
    return python


def run(command):
    """The JSON that a command prints last, or its error."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        lines = (done.stderr.strip() or f"ended with {done.returncode}").splitlines()
        return {"error": lines[-1][:120]}
    return json.loads(done.stdout.splitlines()[-1])


def compare(slide, arguments, python):
    here = Path(__file__).parent
    commands = {
        "libjpeg-turbo alone, RGB": ["floor", "rgb", 1, 1],
        "ours, RGB": ["ours", "rgb", 1, 1],
        "ours, RGB, two rows of tiles at a time": ["ours", "rgb", 1, 2],
        "ours, RGB, two rows at a time, two threads": ["ours", "rgb", 2, 2],
        "libjpeg-turbo alone, gray": ["floor", "gray", 1, 1],
        "ours, gray": ["ours", "gray", 1, 1],
        "libjpeg-turbo alone, RGB 1/8": ["floor", "eighth", 1, 1],
        "ours, RGB 1/8": ["ours", "eighth", 1, 1],
        "ITK's TIFFImageIO": ["itk", "rgb", 1, 1],
    }
    commands = {name: [arguments.ours, slide, *words] for name, words in commands.items()}
    code = "import sys, tifffile; print(tifffile.TiffFile(sys.argv[1]).pages[0].tilelength)"
    rows = subprocess.run([python, "-c", code, slide], capture_output=True, text=True, check=True).stdout.strip()
    for reader in PYTHON_READERS:
        commands[reader] = [python, here / "read_with.py", reader, slide, rows]
    best = {}
    for _ in range(arguments.rounds):
        for name, command in commands.items():
            result = run(command)
            if "error" in result or name not in best or result["cpu"] < best[name].get("cpu", 0):
                best[name] = result
    return best


def print_table(slide, results):
    floor = results["libjpeg-turbo alone, RGB"]
    print(f"\n| {Path(slide).name} | Mpx per CPU s | of libjpeg-turbo alone | peak MB | pixels |")
    print("| --- | --- | --- | --- | --- |")
    for name, result in results.items():
        if "error" in result:
            print(f"| {name} | {result['error']} | | | |")
            continue
        rate = result["pixels"] / result["cpu"] / 1e6
        kind = next((end for end in ("RGB 1/8", "gray") if name.endswith(end)), "RGB")
        own = results[f"libjpeg-turbo alone, {kind}"]
        share = rate / (own["pixels"] / own["cpu"] / 1e6)
        same = ""
        if kind == "RGB" and not name.endswith("two threads"):  # which are not summed up
            same = "equal" if result["checksum"] == floor["checksum"] else "differ"
        if kind == "gray":
            same = "equal" if result["checksum"] == own["checksum"] else "differ"
        print(f"| {name} | {rate:.0f} | {share:.0%} | {result['rss'] / 1e6:.0f} | {same} |")
    one = results["ours, RGB, two rows of tiles at a time"]
    two = results["ours, RGB, two rows at a time, two threads"]
    if "error" not in two and "error" not in one:
        print(f"\nOurs: wall time on one thread over that on two: {one['wall'] / two['wall']:.2f}.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("slides", nargs="+", metavar="SLIDE")
    parser.add_argument("--ours", type=Path, required=True, help="the program ReadSlide")
    parser.add_argument("--venv", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    python = make_venv(arguments.venv)
    everything = {"machine": platform.platform(), "cores": os.cpu_count(), "slides": {}}
    for slide in arguments.slides:
        everything["slides"][slide] = compare(slide, arguments, python)
        print_table(slide, everything["slides"][slide])
    everything["load"] = os.getloadavg()
    if arguments.json:
        arguments.json.write_text(json.dumps(everything, indent=2) + "\n")


main()
