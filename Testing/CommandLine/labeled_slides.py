# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Small slides that have a label, their tables, and the files of networks that learn it."""

import csv
import json
import struct

import numpy as np
import tifffile

WORDS = ["--network", "resnet18:width=2", "--tile-size", 96]


def write_slide(path, seed, positive):
    """Gray noise; where it is positive, with a few dark spots."""
    random = np.random.default_rng(seed)
    pixels = random.integers(150, 250, (140, 170, 3), dtype=np.uint8)
    for y, x in zip(random.integers(0, 110, 3), random.integers(0, 140, 3)) if positive else ():
        pixels[y : y + 30, x : x + 30] = random.integers(0, 60, (30, 30, 3), dtype=np.uint8)
    tifffile.imwrite(path, pixels, tile=(64, 64), photometric="rgb", resolution=(20000, 20000), resolutionunit="CENTIMETER")


def write_table(path, rows, header="slide,label,patient"):
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def read(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def arrays(path):
    """The weights of a model, as one array."""
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    tensors = {k: v for k, v in header.items() if k != "__metadata__" and not k.startswith("training.")}
    parts = [np.frombuffer(data[8 + size :][slice(*v["data_offsets"])], "<f4") for _, v in sorted(tensors.items())]
    return np.concatenate(parts).astype(np.float64)
