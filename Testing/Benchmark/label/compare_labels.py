#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Compares our tissue labels with other libraries': CPU seconds, peak memory, equality of pixels.

    ninja gigapixel LabelStages
    compare_labels.py --bin build/bin --venv ENV [--size 16000x64000] [--rounds 3] [--json result.json]

Four tables: the published chain (radius 3) on the pixels of the label grid in memory; the whole way from the slide file
to a mask pyramid on the disk, beside reading the 1/8 level alone; the same without reduced levels in the file, beside
decoding it at 1/8 alone; and with a label for every pixel of level 0, beside decoding that. Every run is a process of
its own, interleaved over the rounds; CPU is user and system time, the least of all rounds: of the work alone (without
imports and loading) and of the process; memory is the process's peak. ENV is a folder, made by `python3 -m venv ENV`
with what is compared where it does not exist.
"""

import argparse
import hashlib
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGES = ["numpy", "opencv-python-headless", "scikit-image", "pyvips-binary", "pyvips"]
RADIUS = 3


def run(command):
    """What a process printed last as JSON, with its CPU seconds and its peak memory."""
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE)
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise RuntimeError(f"{command} ended with {status}")
    lines = out.decode().strip().splitlines()
    result = json.loads(lines[-1]) if lines and lines[-1].startswith("{") else {}
    return result | {"process_s": usage.ru_utime + usage.ru_stime, "peak_mib": usage.ru_maxrss / 1024}


def make_venv(folder):
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    subprocess.run([python, "-m", "pip", "install", "-q", *PACKAGES], check=True)
    return python


def measure(commands, rounds, pixels_of=None):
    """Least figures of each command over interleaved rounds; a digest of what it wrote."""
    results = {}
    for _ in range(rounds):
        for name, command in commands.items():
            found = run(command)
            if pixels_of and name in pixels_of:
                found["digest"] = hashlib.sha256(Path(pixels_of[name]).read_bytes()).hexdigest()
            best = results.setdefault(name, found)
            for figure in ("cpu_s", "process_s", "peak_mib"):
                if figure in found:
                    best[figure] = min(best[figure], found[figure])
            print(".", end="", file=sys.stderr, flush=True)
    return results


def cut_pyramid(slide, flat):
    """Copies a TIFF without its reduced levels: the first directory links to no other."""
    shutil.copyfile(slide, flat)  # not through our memory: what a child's parent had counts into its peak
    with open(flat, "r+b") as file:
        head = file.read(16)
        is_big = head[2] == 43
        offset, count, entry = ("<Q", "<Q", 20) if is_big else ("<I", "<H", 12)
        (directory,) = struct.unpack_from(offset, head, 8 if is_big else 4)
        file.seek(directory)
        (entries,) = struct.unpack(count, file.read(struct.calcsize(count)))
        file.seek(entries * entry, os.SEEK_CUR)
        file.write(bytes(struct.calcsize(offset)))


def print_table(title, results, reference, figure):
    print(f"\n{title}\n\n| | CPU s, work | CPU s, process | peak MiB | times {reference} | pixels |\n|" + " --- |" * 6)
    for name, result in results.items():
        equal = ""
        if "digest" in result:
            equal = "equal" if result["digest"] == results[reference].get("digest") else "differ"
        work = f"{result['cpu_s']:.3f}" if "cpu_s" in result else ""
        ratio = result[figure] / results[reference][figure]
        print(f"| {name} | {work} | {result['process_s']:.3f} | {result['peak_mib']:.0f} | {ratio:.2f} | {equal} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, default=Path("build/bin"))
    parser.add_argument("--venv", type=Path, required=True)
    parser.add_argument("--size", default="16000x64000")
    parser.add_argument("--slide", type=Path, help="one that synthesize drew of that size, instead of drawing it")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    python = make_venv(arguments.venv)
    ours, stages = arguments.bin / "gigapixel", arguments.bin / "LabelStages"
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        slide, flat = arguments.slide or work / "slide.tif", work / "flat.tif"
        if not arguments.slide:
            draw = [ours, "synthesize", slide, "--size", arguments.size, "--quiet"]
            subprocess.run(draw, check=True, stdout=sys.stderr)
        cut_pyramid(slide, flat)
        width, height = (-(-int(side) // 8) for side in arguments.size.split("x"))
        code = "import pyvips,sys; pyvips.Image.new_from_file(sys.argv[1], page=3).numpy().tofile(sys.argv[2])"
        pixels = work / "pixels.raw"
        subprocess.run([python, "-c", code, slide, pixels], check=True)

        names = {"ours": "ours", "ITK": "itk", "OpenCV": "opencv", "scikit-image": "skimage"}
        masks = {name: work / f"{word}.raw" for name, word in names.items()}
        chain = {}
        for name, word in names.items():
            program = [stages] if word in ("ours", "itk") else [python, HERE / "peer_label.py"]
            chain[name] = [*program, word, pixels, width, height, RADIUS, masks[name]]
        in_memory = measure(chain, arguments.rounds, masks)

        def label(file, preset, *how):
            options = ["--preset", preset, "--overwrite", "--quiet", "--threads", 1, *how]
            return [ours, "label", file, "-o", work / "mask.tif", *options]

        peer = [python, HERE / "peer_label.py", "vips+opencv", slide, 3, RADIUS, work / "peer.tif"]
        pyramid = {
            "decoding the 1/8 level": [stages, "decode", slide, 8],
            "ours, remedios2023": label(slide, "remedios2023"),
            "ours, robust": label(slide, "robust"),
            "libvips and OpenCV": peer,
        }
        from_pyramid = measure(pyramid, arguments.rounds)
        single = {
            "decoding at 1/8": [stages, "decode", flat, 8],
            "ours, remedios2023": label(flat, "remedios2023"),
            "ours, robust": label(flat, "robust"),
        }
        from_single = measure(single, arguments.rounds)
        full = {
            "decoding level 0": [stages, "decode", slide, 1],
            "ours, remedios2023": label(slide, "remedios2023", "--downsample", 1),
            "ours, robust": label(slide, "robust", "--downsample", 1),
        }
        at_full = measure(full, arguments.rounds)
    print(file=sys.stderr)
    title = f"{arguments.size} JPEG slide to mask pyramid"
    print_table(f"{width} x {height} pixels in memory, radius {RADIUS}", in_memory, "ours", "cpu_s")
    print_table(f"{title}, from its 1/8 level", from_pyramid, "decoding the 1/8 level", "process_s")
    print_table(f"{title}, without reduced levels", from_single, "decoding at 1/8", "process_s")
    print_table(f"{title}, a label for every pixel", at_full, "decoding level 0", "process_s")
    if arguments.json:
        tables = {"in memory": in_memory, "from a pyramid": from_pyramid, "from a single level": from_single}
        tables["a label for every pixel"] = at_full
        arguments.json.write_text(json.dumps(tables, indent=2) + "\n")


if __name__ == "__main__":
    main()
