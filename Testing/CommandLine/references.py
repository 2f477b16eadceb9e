#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""SHA-256 digests of what the program computes from synthetic slides, to hold later versions against.

    references.py BUILD     computes all of them with the programs of a build folder and replaces references.json;
                            twice, with one thread and with two, and refuses where these differ

Three seeds draw slides of an odd size (one plain, one brown, one with artifacts). Digests are of pixels and weights, not
of files: a file's form may change. What goes through a network depends in its last bits on the instruction set, so that
these digests are kept for each one that the machine has (AVX3 is Highway's name for AVX-512). Slides and labels do not.
"""

import argparse
import csv
import ctypes
import hashlib
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

FILE = Path(__file__).with_name("references.json")
SIZE = "1777x1333"
SLIDES = {1: [], 2: ["--brown"], 3: ["--artifacts"]}  # seed: further options of synthesize
PRESETS = ["remedios2023", "robust", "fluorescence", "ihc", "rules"]
STEPS = 20
TILE = 512  # 12 tiles, of which some are computed at the same time
TRAININGS = ["gray", "rgb", "dice"]
PRESET = Path(__file__).parents[2] / "Modules" / "Network" / "networks" / "remedios2023.json"


def use_build(build):
    """Before conftest is loaded."""
    os.environ["GIGAPIXEL_PROGRAM"] = str(build / "bin" / "gigapixel")
    os.environ["GIGAPIXEL_INSTRUCTION_SETS"] = str(next((build / "lib").glob("libInstructionSets.*")))


def get_instruction_sets():
    """The best one first, without plain C++, which is slow and for processors older than 2009. None where the library
    that chooses them, Testing/Network/InstructionSets.cxx, was not built."""
    path = os.environ.get("GIGAPIXEL_INSTRUCTION_SETS")
    if not path:
        return []
    ask = ctypes.CDLL(path).GetInstructionSets
    ask.restype = ctypes.c_char_p
    return [name for name in ask().decode().split() if name not in ("SCALAR", "EMU128")]


def limit_to(instructions):
    """Variables for the program."""
    return {"LD_PRELOAD": os.environ["GIGAPIXEL_INSTRUCTION_SETS"], "GIGAPIXEL_INSTRUCTION_SET": instructions}


def run(*arguments, instructions=None):
    from conftest import run as run_program

    return run_program(*arguments, "--quiet", env={**os.environ, **limit_to(instructions)} if instructions else None)


def digest_pixels(path):
    """Of the finest level."""
    import tifffile

    pixels = tifffile.imread(path)
    return hashlib.sha256(str(pixels.shape).encode() + pixels.tobytes()).hexdigest()


def digest_weights(path):
    """Of a model file's tensors: names, types, shapes and bytes; neither the text beside them nor the optimizer's state."""
    data = Path(path).read_bytes()
    begin = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:begin])
    found = hashlib.sha256()
    for name in sorted(key for key in header if not key.startswith(("__metadata__", "training."))):
        first, end = header[name]["data_offsets"]
        found.update(f"{name} {header[name]['dtype']} {header[name]['shape']}".encode())
        found.update(data[begin + first : begin + end])
    return found.hexdigest()


def read_history(path):
    """The columns that hold no time."""
    names = ["epoch", "training_loss", "validation_loss", "validation_dice", "learning_rate"]
    with open(path, newline="") as file:
        return [{name: row[name] for name in names} for row in csv.DictReader(file)]


def make_slides(folder):
    """For each seed SEED.tif with SEED.truth.tif, its pixels in SEED.flat.tif, their negative in SEED.dark.tif, and the
    cohort SEED.csv, which trains on it and validates with the next one."""
    import tifffile
    from conftest import write_slide

    for seed, options in SLIDES.items():
        slide, flat = folder / f"{seed}.tif", folder / f"{seed}.flat.tif"
        run("synthesize", slide, "--size", SIZE, "--seed", seed, "--truth", folder / f"{seed}.truth.tif", *options)
        run("convert", slide, flat, "--compression", "deflate")
        write_slide(folder / f"{seed}.dark.tif", 255 - tifffile.imread(flat))
        other = seed % len(SLIDES) + 1
        rows = [f"{seed}.tif,{seed}.truth.tif,train", f"{other}.tif,{other}.truth.tif,validation"]
        (folder / f"{seed}.csv").write_text("slide,mask,split\n" + "\n".join(rows) + "\n")
    network = json.loads(PRESET.read_text())
    network["name"] = "rgb"
    network["input"]["channels"] = network["layers"][0]["in"] = 3
    (folder / "rgb.json").write_text(json.dumps(network))


def digest_slide(folder, seed):
    return {"slide": digest_pixels(folder / f"{seed}.flat.tif"), "truth": digest_pixels(folder / f"{seed}.truth.tif")}


def digest_label(folder, preset, seed, threads):
    slide = folder / (f"{seed}.dark.tif" if preset == "fluorescence" else f"{seed}.tif")
    mask = folder / "label.tif"
    run("label", slide, "-o", mask, "--preset", preset, "--overwrite", "--threads", threads)
    return digest_pixels(mask)


def get_training(folder, kind, seed, run_folder):
    """Arguments of a training of as many steps as epochs, because there is one slide to train on."""
    arguments = ["train", "--cohort", folder / f"{seed}.csv", "--seed", seed, "--epochs", STEPS, "--tile-size", TILE]
    network = folder / "rgb.json" if kind == "rgb" else "remedios2023"
    return [*arguments, "--network", network, *(["--loss", "dice"] if kind == "dice" else []), "-o", run_folder]


def digest_run(run_folder):
    """Losses stand beside the digests, for a word on how far off a result is: the first one is that of the initial
    weights."""
    history = read_history(run_folder / "history.csv")
    return {
        "weights": digest_weights(run_folder / "last.safetensors"),
        "history": hashlib.sha256(json.dumps(history).encode()).hexdigest(),
        "first loss": float(history[0]["training_loss"]),
        "training loss": float(history[-1]["training_loss"]),
        "validation loss": float(history[-1]["validation_loss"]),
    }


def digest_training(folder, kind, seed, threads, instructions=None):
    run_folder = folder / "run"
    run(*get_training(folder, kind, seed, run_folder), "--threads", threads, instructions=instructions)
    found = digest_run(run_folder)
    shutil.rmtree(run_folder)
    return found


def digest_training_by_ranks(folder, kind, seed, ranks, instructions):
    from test_ranks import start_ranks

    run_folder = folder / "run"
    arguments = [*get_training(folder, kind, seed, run_folder), "--quiet"]
    processes = start_ranks(range(ranks), arguments, WORLD_SIZE=str(ranks), **limit_to(instructions))
    outputs = [process.communicate(timeout=200) for process in processes]
    assert [process.returncode for process in processes] == [0] * ranks, outputs
    found = digest_run(run_folder)
    shutil.rmtree(run_folder)
    return found


def make_fresh_model(folder, seed):
    """A network with the weights that a training begins with, but for a step of 1e-9, which rounds away in most."""
    run_folder = folder / f"{seed}.fresh"
    if not run_folder.exists():
        options = ["--seed", seed, "--epochs", 1, "--learning-rate", 1e-9, "--tile-size", TILE]
        run("train", "--cohort", folder / f"{seed}.csv", "-o", run_folder, "--network", "remedios2023", *options)
    return run_folder


def digest_segmentation(folder, model, seed, threads, instructions):
    mask, probability = folder / "mask.tif", folder / "probability.tif"
    options = ["--overwrite", "--threads", threads]
    model = "tissue" if model == "tissue" else make_fresh_model(folder, seed)
    arguments = ["segment", folder / f"{seed}.tif", "--model", model, "-o", mask, "--probability", probability]
    run(*arguments, *options, instructions=instructions)
    return {"mask": digest_pixels(mask), "probability": digest_pixels(probability)}


def compute_network(folder, threads, instructions):
    found = {
        kind: {str(seed): digest_training(folder, kind, seed, threads, instructions) for seed in SLIDES}
        for kind in TRAININGS
    }
    for model in ("tissue", "fresh"):
        found[f"segment {model}"] = {
            str(seed): digest_segmentation(folder, model, seed, threads, instructions) for seed in SLIDES
        }
    return found


def compute(threads):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_slides(folder)
        return {
            "slides": {str(seed): digest_slide(folder, seed) for seed in SLIDES},
            "label": {p: {str(seed): digest_label(folder, p, seed, threads) for seed in SLIDES} for p in PRESETS},
            "network": {i: compute_network(folder, threads, i) for i in get_instruction_sets()},
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path, help="folder in which the program and the tests were built")
    use_build(parser.parse_args().build.resolve())
    found = compute(1)
    if compute(2) != found:
        sys.exit("references.py: one thread and two give different results; references.json is left as it was")
    FILE.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
