# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Slides of real pixels, for learn_lesions.py: mosaics of pictures of stained tissue, at half of their resolution. Every
second one has one to three foci of another of these pictures at its full resolution: nuclei, stroma and all are twice as
large there. The others have foci of the same outlines at half of it. Pictures are split, too: of those that are trained
on, no pixel is in a slide to validate or to test with."""

import json

import numpy as np
import tifffile
from PIL import Image

SPLITS = ("train", "validation", "test")
SHARES = (0.55, 0.2, 0.25)  # of the pictures
GREATEST = 24  # pixels of a nucleus that are as wide as it is: pictures with larger ones are of another magnification
PLACE = 128  # pixels of the side of a part of a mosaic


def read_pictures(folder):
    """Of each split its pictures."""
    pictures = []
    for file in sorted(path for path in folder.glob("*.png") if not path.stem.endswith("_labels")):
        labels = np.asarray(Image.open(file.with_name(f"{file.stem}_labels.png")))
        number = len(np.unique(labels)) - 1
        if number and np.sqrt(np.count_nonzero(labels) / number) < GREATEST:
            pictures.append(np.asarray(Image.open(file).convert("RGB")))
    places = np.round(np.cumsum((0, *SHARES)) * len(pictures)).astype(int)
    return {split: pictures[begin:end] for split, begin, end in zip(SPLITS, places, places[1:])}


def cut(picture, height, width, random):
    """A part, turned and mirrored; it goes on mirrored where the picture ends."""
    picture = np.rot90(picture, random.integers(4))
    short = [(0, max(0, size - has)) for size, has in zip((height, width), picture.shape)]
    picture = np.pad(picture, (*short, (0, 0)), "symmetric")
    y, x = (random.integers(has - size + 1) for size, has in zip((height, width), picture.shape))
    part = picture[y : y + height, x : x + width]
    return part[:, ::-1] if random.integers(2) else part


def halve(picture):
    height, width = (size // 2 * 2 for size in picture.shape[:2])
    parts = picture[:height, :width].reshape(height // 2, 2, width // 2, 2, 3)
    return np.round(parts.mean((1, 3))).astype(np.uint8)


def draw_outline(side, area, random):
    """Corners of a focus, (x, y), which all lie in the slide."""
    angles = np.linspace(0, 2 * np.pi, 48, endpoint=False)
    radius = np.ones(48)
    for wave in (2, 3, 4):
        radius += random.uniform(0, 0.12) * np.sin(wave * angles + random.uniform(0, 2 * np.pi))
    following = np.roll(angles, -1) - angles
    radius *= np.sqrt(area / (0.5 * (radius * np.roll(radius, -1) * np.sin(following)).sum()))
    middle = random.uniform(radius.max() + 1, side - radius.max() - 1, 2)
    return middle + radius[:, None] * np.stack([np.cos(angles), np.sin(angles)], 1)


def draw(pictures, side, area, lesion, random):
    """Pixels and outlines of foci."""
    from skimage.draw import polygon2mask

    halves = [halve(picture) for picture in pictures]
    pixels = np.empty((side, side, 3), np.uint8)
    for y in range(0, side, PLACE):
        for x in range(0, side, PLACE):
            target = pixels[y : y + PLACE, x : x + PLACE]
            target[...] = cut(halves[random.integers(len(halves))], *target.shape[:2], random)
    outlines = []
    number = random.integers(1, 4)
    for _ in range(number):
        corners = draw_outline(side, area / number, random)
        (left, top), (right, bottom) = np.floor(corners.min(0)).astype(int), np.ceil(corners.max(0)).astype(int) + 1
        which = random.integers(len(pictures))
        part = cut((pictures if lesion else halves)[which], bottom - top, right - left, random)
        inside = polygon2mask(part.shape[:2], (corners - (left, top))[:, ::-1] - 0.5)  # pixels' middles
        pixels[top:bottom, left:right][inside] = part[inside]
        outlines.append(corners)
    return pixels, outlines


def write_outlines(file, outlines):
    features = []
    for corners in outlines:
        ring = [[float(x), float(y)] for x, y in (*corners, corners[0])]
        features.append({"type": "Feature", "properties": {}, "geometry": {"type": "Polygon", "coordinates": [ring]}})
    file.write_text(json.dumps({"type": "FeatureCollection", "features": features}))


def make(cohort, pictures, side, mpp, percent, numbers, seed):
    """What `gigapixel synthesize --lesions` makes, with the same names.
    \\param numbers of slides to train on, to validate and to test with"""
    folder = cohort.table.parent
    for name in ("slides", "tissue", "outlines"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    options = {"tile": (256, 256), "resolution": (1e4 / mpp, 1e4 / mpp), "resolutionunit": "CENTIMETER", "compression": "zlib"}
    rows = ["slide,label,patient,split"]
    splits = [split for split, number in zip(SPLITS, numbers) for _ in range(number)]
    parts = read_pictures(pictures)
    for i, split in enumerate(splits, 1):
        lesion = i % 2 == 0
        rows.append(f"slides/{i:04}.tif,{'lesion' if lesion else 'healthy'},P{i:04},{split}")
        file = folder / "slides" / f"{i:04}.tif"
        if file.exists():
            continue
        random = np.random.default_rng(seed + i)
        pixels, outlines = draw(parts[split], side, side * side * percent / 100, lesion, random)
        write_outlines(folder / "outlines" / f"{i:04}.geojson", outlines if lesion else [])
        tissue = np.full((side, side), 255, np.uint8)
        tifffile.imwrite(folder / "tissue" / f"{i:04}.pyramid.tif", tissue, photometric="minisblack", **options)
        tifffile.imwrite(file.with_suffix(".part"), pixels, photometric="rgb", **options)
        file.with_suffix(".part").rename(file)
    cohort.table.write_text("\n".join(rows) + "\n")
