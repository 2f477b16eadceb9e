#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Does a U-Net learn real nuclei from random weights, in tiles, as it does in PyTorch on whole images?

    Testing/Benchmark/learn/learn_nuclei.py WORK-FOLDER [--seeds 1,2,3] [--epochs 12] [--learning-rate 1e-3] [--precision bf16]
                                             [--skip-torch]

The 30 H&E pictures of 320 x 256 of the test data ($GIGAPIXEL_TEST_DATA/histology, CC0) are split by picture: ten are
held back. Of each half mosaics are laid, every place a picture by chance, turned and mirrored by chance. `gigapixel train`
takes the mosaics whole, in tiles of 512; eager PyTorch takes the same mosaics in one piece, as many steps from the same
first weights with the same optimizer, in its own order. Both are judged by the Dice of the held-back mosaics.
WORK-FOLDER/learning.jsonl gets a line for each seed and epoch with the Dice of both, curve.png is drawn from it (--draw draws it
anew and does nothing else), and overlay.png is a held-back part with what was found: edges of the truth in green, of the
result in red.

The program is $GIGAPIXEL_PROGRAM, else build/bin/gigapixel. Needs NumPy, Pillow, tifffile and PyTorch.
"""

import argparse
import csv
import json
import os
import pathlib
import subprocess

import numpy as np
import tifffile
from PIL import Image, ImageDraw
from safetensors_arrays import load

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROGRAM = os.environ.get("GIGAPIXEL_PROGRAM", ROOT / "build/bin/gigapixel")
DATA = pathlib.Path(os.environ.get("GIGAPIXEL_TEST_DATA", "")) / "histology"

NETWORK = "unet:base=8,depth=3"
BASE, DEPTH = 8, 3
SIDE = 2048
TILE = 512
HELD_BACK = 10  # pictures
MOSAICS = {"train": 4, "validation": 2}


def lay(pictures, random):
    """A mosaic, every place of 256 x 256 a part of a picture."""
    pixels = np.empty((SIDE, SIDE, 3), np.uint8)
    mask = np.empty((SIDE, SIDE), np.uint8)
    for y in range(0, SIDE, 256):
        for x in range(0, SIDE, 256):
            picture, labels = pictures[random.integers(len(pictures))]
            left = random.integers(picture.shape[1] - 256 + 1)
            part, truth = picture[:256, left : left + 256], labels[:256, left : left + 256] > 0
            turns, mirrored = random.integers(4), random.integers(2)
            part, truth = np.rot90(part, turns), np.rot90(truth, turns)
            if mirrored:
                part, truth = part[:, ::-1], truth[:, ::-1]
            pixels[y : y + 256, x : x + 256] = part
            mask[y : y + 256, x : x + 256] = truth * 255
    return pixels, mask


def make_cohort(work):
    files = sorted(path for path in DATA.glob("*.png") if not path.stem.endswith("_labels"))
    pictures = []
    for path in files:
        labels = np.array(Image.open(path.with_name(path.stem + "_labels.png")))
        pictures.append((np.array(Image.open(path).convert("RGB")), labels))
    random = np.random.default_rng(7)
    order = random.permutation(len(pictures))
    parts = {"train": [pictures[i] for i in order[HELD_BACK:]], "validation": [pictures[i] for i in order[:HELD_BACK]]}
    rows, mosaics = ["slide,mask,split"], {"train": [], "validation": []}
    for split, number in MOSAICS.items():
        for i in range(number):
            pixels, mask = lay(parts[split], random)
            slide, truth = work / f"{split}-{i}.tif", work / f"{split}-{i}-mask.png"
            resolution = {"resolution": (20000, 20000), "resolutionunit": "CENTIMETER"}  # 0.5 micrometers
            tifffile.imwrite(slide, pixels, tile=(256, 256), photometric="rgb", compression="zlib", **resolution)
            Image.fromarray(mask).save(truth)
            rows.append(f"{slide.name},{truth.name},{split}")
            mosaics[split].append((pixels, mask > 0))
    cohort = work / "cohort.csv"
    cohort.write_text("\n".join(rows) + "\n")
    return cohort, mosaics


def train(cohort, folder, seed, epochs, rate, *more):
    words = ["train", "--cohort", cohort, "-o", folder, "--network", NETWORK, "--tile-size", TILE, "--seed", seed]
    words += ["--epochs", epochs, "--learning-rate", rate, "--no-augmentation", "--quiet", *more]
    subprocess.run([str(word) for word in (PROGRAM, *words)], check=True)
    with open(folder / "history.csv") as file:
        return [(float(row["training_loss"]), float(row["validation_dice"])) for row in csv.DictReader(file)]


def make_module():
    """The preset's module, under its names."""
    import torch
    from torch import nn

    def twice(inputs, channels):
        layers = []
        for _ in range(2):
            layers += [nn.Conv2d(inputs, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels), nn.ReLU()]
            inputs = channels
        return nn.Sequential(*layers)

    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            widths = [BASE << level for level in range(DEPTH + 1)]
            self.enc = nn.ModuleList(twice(inputs, width) for inputs, width in zip([3, *widths], widths))
            self.up = nn.ModuleList(nn.ConvTranspose2d(2 * width, width, 2, 2) for width in widths[:-1])
            self.dec = nn.ModuleList(twice(2 * width, width) for width in widths[:-1])
            self.last = nn.Conv2d(BASE, 1, 1)

        def forward(self, x):
            skips = []
            for level, encode in enumerate(self.enc):
                x = encode(nn.functional.max_pool2d(x, 2) if level else x)
                skips.append(x)
            for level in reversed(range(DEPTH)):
                x = self.dec[level](torch.cat([skips[level], self.up[level](x)], 1))
            return self.last(x)

    return UNet().eval()  # norms keep their statistics, as the preset's do


def train_eager(mosaics, weights, seed, epochs, rate):
    """The Dice of the held-back mosaics after each epoch of steps on whole ones."""
    import torch

    module = make_module()
    module.load_state_dict(load(weights), strict=False)
    adam = torch.optim.Adam(module.parameters(), rate)
    maps = {
        split: [torch.from_numpy(1 - pixels / np.float32(255)).permute(2, 0, 1)[None] for pixels, _ in of]
        for split, of in mosaics.items()
    }
    dice, random = [], np.random.default_rng(seed)
    for epoch in range(epochs):
        for i in random.permutation(len(mosaics["train"])):
            adam.zero_grad()
            truth = torch.from_numpy(mosaics["train"][i][1].astype(np.float32))[None, None]
            torch.nn.functional.binary_cross_entropy_with_logits(module(maps["train"][i]), truth).backward()
            adam.step()
        both = both_sums = 0
        with torch.no_grad():
            for x, (_, truth) in zip(maps["validation"], mosaics["validation"]):
                found = (module(x)[0, 0] >= 0).numpy()
                both += int((found & truth).sum())
                both_sums += int(found.sum()) + int(truth.sum())
        dice.append(2 * both / both_sums)
        print(f"  eager, epoch {epoch + 1}: Dice {dice[-1]:.4f}", flush=True)
    return dice


def draw_overlay(work, mosaics, run):
    mask = work / "found.tif"
    words = ["segment", work / "validation-0.tif", "--model", run, "-o", mask, "--overwrite", "--quiet"]
    subprocess.run([str(word) for word in (PROGRAM, *words)], check=True)
    with tifffile.TiffFile(mask) as file:
        found = file.pages[0].asarray() > 0
    pixels, truth = (array[:512, :512] for array in mosaics["validation"][0])
    picture = pixels.copy()
    for array, color in ((truth, (0, 160, 0)), (found[:512, :512], (220, 30, 30))):
        edge = np.zeros_like(array)
        edge[:, 1:] |= array[:, 1:] != array[:, :-1]
        edge[1:] |= array[1:] != array[:-1]
        picture[edge] = color
    Image.fromarray(np.concatenate([pixels, picture], 1)).save(work / "overlay.png", optimize=True)


def draw_curve(work):
    """Dice of the held-back mosaics over steps, a line for each seed: ours in blue, eager PyTorch's in orange."""
    lines = [json.loads(line) for line in (work / "learning.jsonl").read_text().splitlines()]
    last = max(line["step"] for line in lines)
    dice = [line[name] for line in lines for name in ("gigapixel", "eager") if line[name] is not None]
    low, high = np.floor(min(dice) * 10) / 10, np.ceil(max(dice) * 10) / 10
    width, height, left, top, right, bottom = 640, 400, 40, 24, 16, 48
    picture = Image.new("RGB", (width, height), "white")
    draw = ImageDraw.Draw(picture)

    def place(step, value):
        return left + (width - left - right) * step / last, top + (height - top - bottom) * (high - value) / (high - low)

    for value in np.arange(round(low * 10), round(high * 10) + 1) / 10:
        draw.line([place(0, value), place(last, value)], "#dddddd")
        draw.text((left - 8, place(0, value)[1]), f"{value:.1f}", "black", anchor="rm")
    for step in range(0, last + 1, max(1, last // 6)):
        draw.text((place(step, low)[0], height - bottom + 10), str(step), "black", anchor="mt")
    draw.text((width // 2, height - 12), "steps", "black", anchor="mb")
    draw.text((left, 3), "Dice of held-back mosaics", "black")
    for place_of_name, (name, color) in enumerate((("eager", "#e07b00"), ("gigapixel", "#0b5cad"))):
        draw.text((width - right - 80 * (2 - place_of_name), 3), name, color)
        for seed in sorted({line["seed"] for line in lines}):
            points = [place(line["step"], line[name]) for line in lines if line["seed"] == seed and line[name] is not None]
            if len(points) > 1:
                draw.line(points, color, 2, joint="curve")
    picture.quantize(32).save(work / "curve.png", optimize=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--learning-rate", type=float, default=3e-3)
    parser.add_argument("--precision", default="fp32", help="of gigapixel train")
    parser.add_argument("--skip-torch", action="store_true")
    parser.add_argument("--draw", action="store_true", help="only draw the curve of an earlier run anew")
    arguments = parser.parse_args()
    if arguments.draw:
        return draw_curve(arguments.work)
    arguments.work.mkdir(parents=True, exist_ok=True)
    cohort, mosaics = make_cohort(arguments.work)
    share = np.mean([truth.mean() for _, truth in mosaics["validation"]])
    everything = 2 * share / (1 + share)
    print(f"nuclei take {share:.3f} of the held-back mosaics: calling everything nucleus has a Dice of {everything:.3f}")
    lines, best = [], (0.0, None)
    for seed in [int(word) for word in arguments.seeds.split(",")]:
        run = arguments.work / f"run-{seed}"
        goes_on = ["--resume"] if run.exists() else []
        history = train(cohort, run, seed, arguments.epochs, arguments.learning_rate, "--precision", arguments.precision, *goes_on)
        best = max(best, (max(dice for _, dice in history), run))
        print(f"seed {seed}: best Dice {max(dice for _, dice in history):.4f}, last {history[-1][1]:.4f}", flush=True)
        eager = [None] * len(history)
        if not arguments.skip_torch:
            start = arguments.work / f"start-{seed}"
            train(cohort, start, seed, 1, 1e-9, *(["--resume"] if start.exists() else []))
            eager = train_eager(mosaics, start / "last.safetensors", seed, arguments.epochs, arguments.learning_rate)
        for i, ((_, dice), other) in enumerate(zip(history, eager)):
            lines.append({"seed": seed, "epoch": i + 1, "step": (i + 1) * MOSAICS["train"], "gigapixel": dice, "eager": other})
        (arguments.work / "learning.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        draw_curve(arguments.work)
    draw_overlay(arguments.work, mosaics, best[1])


if __name__ == "__main__":
    main()
