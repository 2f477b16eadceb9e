# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Masks of `gigapixel label` on the real slides of tissue_pictures, their figures, tables and sheets."""

import json
import os
import subprocess
import sys

import cv2
import numpy
import tifffile
from tissue_pictures import ARTIFACT, NOT_JUDGED, PEN, ROOT, TISSUE

PROGRAM = os.environ.get("GIGAPIXEL_PROGRAM", ROOT / "build/bin/gigapixel")


def run(program, *words):
    """The program's JSON."""
    done = subprocess.run([str(word) for word in (program, *words)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def label(work, picture, preset, program=PROGRAM, model=None, hints=None):
    """The preset's mask, at the size of the picture, and the preset that was chosen. A model file takes the place of the
    program's own; a file of hints corrects the mask."""
    slide = work / f"{picture['name']}.tif"
    if not slide.exists():
        tifffile.imwrite(slide, picture["pixels"], tile=(256, 256), compression="zlib")
    mask = work / f"{picture['name']}.{preset}.tif"
    words = ["label", slide, "-o", mask, "--preset", preset, "--overwrite", "--json", "--quiet"]
    words += ["--model", model] if model else []
    words += ["--hints", hints] if hints else []
    told = run(program, *words, "--slide-mpp", picture["mpp"], "--downsample", max(1, round(4 / picture["mpp"])))
    height, width = picture["classes"].shape
    labels = tifffile.imread(mask, key=0)
    factor = told["downsample"]
    return labels.repeat(factor, 0).repeat(factor, 1)[:height, :width] > 0, told["preset"]


def score(mask, classes):
    """Over what is judged: intersection over union, tissue lost (of the tissue), glass kept (of all that is none), and
    the shares of pen and artifacts that are called tissue."""
    tissue, glass = classes == TISSUE, (classes != TISSUE) & (classes != NOT_JUDGED)
    if tissue.any():
        both = float((mask & tissue).sum())
        figures = {
            "iou": both / float((mask & glass).sum() + tissue.sum()),
            "lost": 1 - both / float(tissue.sum()),
            "kept": float(mask[glass].mean()) if glass.any() else 0.0,
        }
    else:
        figures = {"called": float(mask[glass].mean())}
    for name, value in (("pen", PEN), ("artifact", ARTIFACT)):
        if (classes == value).sum() >= 50:
            figures[name] = float(mask[classes == value].mean())
    return figures


WORDS = {
    "lost": "tissue lost",
    "kept": "glass called tissue",
    "pen": "pen called tissue",
    "artifact": "artifacts called tissue",
}


def summarize(scores):
    ious = [figures["iou"] for figures in scores if "iou" in figures]
    if not ious:
        return "–"
    return f"{numpy.mean(ious):.3f} ({numpy.median(ious):.3f}), {sum(iou < 0.5 for iou in ious)}"


def write_tables(pictures, results, file):
    """Returns the summary."""
    methods = list(results)

    def head(first):
        return ["| " + " | ".join([first, *methods]) + " |", "|" + " --- |" * (len(methods) + 1)]

    lines = ["Intersection over union; of the picture without tissue the share called tissue:", "", *head("picture")]
    for picture in pictures:
        name = picture["name"]
        cells = [f"{next(iter(results[method][name].values())):.3f}" for method in methods]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    summary = ["Mean (median), pictures below 0.5:", "", *head("pictures")]
    for key in ("source", "stain"):
        for value in sorted({picture[key] for picture in pictures}):
            names = [picture["name"] for picture in pictures if picture[key] == value]
            cells = [summarize([results[method][name] for name in names]) for method in methods]
            summary.append(f"| {value} ({len(names)}) | " + " | ".join(cells) + " |")
    cells = [summarize(list(results[method].values())) for method in methods]
    summary.append(f"| all ({len(pictures)}) | " + " | ".join(cells) + " |")
    for key in ("lost", "kept", "pen", "artifact"):
        shares = [[scores[key] for scores in results[method].values() if key in scores] for method in methods]
        cells = [f"{100 * numpy.mean(values):.1f} % ({100 * max(values):.0f} %)" for values in shares]
        summary.append(f"| {WORDS[key]}, mean (worst) of {len(shares[0])} | " + " | ".join(cells) + " |")
    file.write_text("\n".join(lines + ["", *summary]) + "\n")
    return "\n".join(summary)


def draw_sheet(pictures, masks, scores, file):
    """All pictures, the worst first, the truth's outline in green and the mask's in red, on gray what is not judged."""
    side, columns, tiles = 360, 6, []

    def get_score(picture):
        found = scores[picture["name"]]
        return found.get("iou", 1 - found.get("called", 0))

    for picture in sorted(pictures, key=get_score):
        factor = side / max(picture["classes"].shape)
        size = [max(1, round(length * factor)) for length in picture["classes"].shape[::-1]]
        thumbnail = cv2.resize(picture["pixels"], size, interpolation=cv2.INTER_AREA)[..., ::-1].copy()
        truth = cv2.resize(picture["classes"], size, interpolation=cv2.INTER_NEAREST)
        mask = cv2.resize(masks[picture["name"]].astype(numpy.uint8), size, interpolation=cv2.INTER_NEAREST)
        thumbnail[truth == NOT_JUDGED] = thumbnail[truth == NOT_JUDGED] // 2 + 64
        for binary, color in (((truth == TISSUE).astype(numpy.uint8), (0, 170, 0)), (mask, (0, 0, 255))):
            contours, _ = cv2.findContours(binary, cv2.RETR_LIST, cv2.CHAIN_APPROX_NONE)
            cv2.drawContours(thumbnail, contours, -1, color, 1)
        tile = numpy.full((side + 40, side + 8, 3), 255, numpy.uint8)
        tile[36 : 36 + size[1], 4 : 4 + size[0]] = thumbnail
        found = scores[picture["name"]]
        figures = "  ".join(f"{name} {value:.3f}" if isinstance(value, float) else value for name, value in found.items())
        for row, text in enumerate((picture["name"], figures)):
            cv2.putText(tile, text, (4, 14 + 16 * row), cv2.FONT_HERSHEY_SIMPLEX, 0.45, (0, 0, 0), 1, cv2.LINE_AA)
        tiles.append(tile)
    tiles += [numpy.full_like(tiles[0], 255)] * (-len(tiles) % columns)
    rows = [numpy.hstack(tiles[i : i + columns]) for i in range(0, len(tiles), columns)]
    cv2.imwrite(str(file), numpy.vstack(rows))
