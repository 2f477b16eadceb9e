#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Compares writing a pyramid with libvips and tifffile: same pixels from the same raw file, interleaved.

    ninja WritePyramid
    compare_writers.py --ours bin/WritePyramid --venv ENV [--json result.json]

Pixels: a synthetic slide (RGB, JPEG of quality 80, 4:2:0) and the mask of one (deflate, level 6), tiles of 256, levels by
two. `codec` is libjpeg-turbo or libdeflate alone, on every tile of every level, a constant tile once, one thread: nobody
gets below it with these codecs. `read` starts and reads the raw file in bands, as ours does, and nothing else. Of each:
least user and system time of all rounds, reading included; highest peak resident memory; size. `ours, writing` is the
part of ours that is not reading. Each file is opened again with OpenSlide and tifffile: level 0 of masks is equal to the
raw file, a square of 1024 of pictures differs by so much in the mean.

libvips is the program `vips` (Debian: libvips-tools). ENV is a folder, made by `python3 -m venv ENV` with tifffile,
imagecodecs, openslide-python and openslide-bin from PyPI where it does not exist yet.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PACKAGES = ["numpy", "tifffile", "imagecodecs", "openslide-python", "openslide-bin"]
TILE = 256


def measure(command):
    """CPU seconds, wall seconds and peak memory of a process."""
    start = time.monotonic()
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE)
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} ended with {process.returncode}")
    result = {
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "wall_seconds": time.monotonic() - start,
        "peak_bytes": usage.ru_maxrss * 1024,
    }
    return {**result, **(json.loads(out) if out.strip() else {})}


def make_venv(folder):
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *PACKAGES], check=True)
    return python


def vips(kind, raw, width, height, out):
    """libvips from its raw loader; masks pick pixels and have no predictor, as ours."""
    image = f"{raw}.v"
    bands = 1 if kind == "mask" else 3
    if not os.path.exists(image):
        subprocess.run(["vips", "rawload", raw, image, str(width), str(height), str(bands)], check=True)
    options = ["--tile", "--pyramid", "--tile-width", TILE, "--tile-height", TILE]
    if kind == "mask":
        options += ["--compression", "deflate", "--predictor", "none", "--region-shrink", "nearest"]
    else:
        options += ["--compression", "jpeg", "--Q", 80]
    return ["vips", "tiffsave", image, out, *options]


def write_by_tifffile(kind, raw, width, height, out):
    """In a process of its own: levels by slicing or by the mean of four."""
    import numpy
    import tifffile

    mask = kind == "mask"
    level = numpy.memmap(raw, numpy.uint8, "r", shape=(height, width) if mask else (height, width, 3))
    options = {"tile": (TILE, TILE), "maxworkers": os.cpu_count()}
    if mask:
        options.update(photometric="minisblack", compression="zlib", compressionargs={"level": 6})
    else:
        options.update(photometric="rgb", compression="jpeg", compressionargs={"level": 80}, subsampling=(2, 2))
    with tifffile.TiffWriter(out, bigtiff=True) as file:
        first = True
        while min(level.shape[:2]) >= TILE:
            file.write(level, subfiletype=0 if first else 1, **options)
            first = False
            if mask:
                level = level[::2, ::2]
                continue
            even = level[: level.shape[0] // 2 * 2, : level.shape[1] // 2 * 2].astype(numpy.uint16)
            level = ((even[::2, ::2] + even[1::2, ::2] + even[::2, 1::2] + even[1::2, 1::2] + 2) // 4).astype("uint8")


def check(kind, raw, width, height, out):
    """In a process of its own: what OpenSlide and tifffile say of the file."""
    import numpy
    import openslide
    import tifffile

    mask = kind == "mask"
    pixels = numpy.memmap(raw, numpy.uint8, "r", shape=(height, width) if mask else (height, width, 3))
    slide = openslide.OpenSlide(out)
    x, y = width // 2 - 512, height // 2 - 512
    seen = numpy.asarray(slide.read_region((x, y), 0, (1024, 1024)))[..., :3].astype(int)
    truth = pixels[y : y + 1024, x : x + 1024].astype(int)
    difference = numpy.abs(seen - (truth[..., None] if mask else truth)).mean()
    result = {"levels": slide.level_count, "difference": float(difference)}
    if mask:
        with tifffile.TiffFile(out) as file:
            result["equal"] = bool(numpy.array_equal(file.pages[0].asarray(maxworkers=2), pixels))
    print(json.dumps(result))


def compare(kind, size, options, python, folder):
    raw = folder / f"{kind}.raw"
    place = [kind, raw, *size]
    print(f"drawing a {kind} of {size[0]} x {size[1]}", file=sys.stderr, flush=True)
    subprocess.run([str(part) for part in (options.ours, "draw", *place)], check=True)
    outputs = {name: folder / f"{kind}-{name}.tif" for name in ("ours", "libvips", "tifffile")}
    commands = {
        "codec": [options.ours, "codec", *place],
        "read": [options.ours, "read", *place],
        "ours": [options.ours, "pyramid", *place, outputs["ours"]],
        "libvips": vips(kind, str(raw), *size, outputs["libvips"]),
        "tifffile": [python, __file__, "--write-by-tifffile", *place, outputs["tifffile"]],
    }
    results = {}
    for _ in range(options.rounds):
        for name, command in commands.items():
            found = measure(command)
            print(kind, name, json.dumps(found), file=sys.stderr, flush=True)
            writing = found.pop("writing_cpu_seconds", None)
            if writing is not None:
                part = results.setdefault("ours, writing", {"cpu_seconds": writing})
                part["cpu_seconds"] = min(part["cpu_seconds"], writing)
            best = results.setdefault(name, found)
            for key in ("cpu_seconds", "wall_seconds"):
                best[key] = min(best[key], found[key])
            best["peak_bytes"] = max(best["peak_bytes"], found["peak_bytes"])
    for name, result in results.items():
        result["megapixels_per_cpu_second"] = size[0] * size[1] / 1e6 / result["cpu_seconds"]
        if name in outputs:
            result["file_bytes"] = outputs[name].stat().st_size
            result.update(measure([python, __file__, "--check", *place, outputs[name]]) | result)
    return results


def print_table(report):
    print("| pixels | writer | CPU s | Mpx per CPU s | times the codec | peak MB | file MB | levels, pixels |")
    print("| --- |" + " --- |" * 7)
    for kind, entry in report["pictures"].items():
        floor = entry["results"]["codec"]["cpu_seconds"]
        for name, r in entry["results"].items():
            seen = ""
            if "levels" in r:
                pixels = {True: "equal", False: "NOT EQUAL"}.get(r.get("equal"), f"{r['difference']:.2f} off")
                seen = f"{r['levels']}, {pixels}"
            memory = f"{r['peak_bytes'] / 1e6:.0f}" if name in ("ours", "libvips", "tifffile") else ""
            size = f"{r['file_bytes'] / 1e6:.1f}" if "file_bytes" in r else ""
            print(
                f"| {kind} {entry['size'][0]} x {entry['size'][1]} | {name} | {r['cpu_seconds']:.2f} | "
                f"{r['megapixels_per_cpu_second']:.0f} | {r['cpu_seconds'] / floor:.2f} | {memory} | {size} | {seen} |"
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", type=Path, required=True, help="the program WritePyramid of a build")
    parser.add_argument("--venv", type=Path, required=True, help="folder of a venv; made where it does not exist")
    parser.add_argument("--mask", type=int, nargs=2, default=[16000, 64000], metavar=("WIDTH", "HEIGHT"))
    parser.add_argument("--picture", type=int, nargs=2, default=[8192, 16384], metavar=("WIDTH", "HEIGHT"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="write everything there")
    options = parser.parse_args()
    python = make_venv(options.venv)
    report = {"cores": os.cpu_count(), "load": os.getloadavg()[0], "pictures": {}}
    for kind, size in (("mask", options.mask), ("picture", options.picture)):
        with tempfile.TemporaryDirectory() as folder:
            results = compare(kind, size, options, python, Path(folder))
        report["pictures"][kind] = {"size": size, "results": results}
    print_table(report)
    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n")


PARTS = {"--write-by-tifffile": write_by_tifffile, "--check": check}
if len(sys.argv) == 7 and sys.argv[1] in PARTS:
    name, kind, raw, width, height, out = sys.argv[1:]
    PARTS[name](kind, raw, int(width), int(height), out)
else:
    main()
