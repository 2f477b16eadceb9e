# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""The real slides that tissue detection is judged and trained on: pictures, truth, resolution, pen and artifacts."""

import csv
import json
import os
import re
from pathlib import Path

import cv2
import numpy

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("GIGAPIXEL_TEST_DATA", "")) / "tissue"
POLYGONS = ROOT / "Testing/Tissue/annotations/pen-and-artifact.json"
# Of what the model tells apart, and what takes no part.
GLASS, TISSUE, PEN, ARTIFACT, NOT_JUDGED = 0, 1, 2, 3, 255


def read_resolutions(sources):
    """µm/px by file: the number in its column of SOURCES.md, of a range ("10 to 24") the geometric mean."""
    resolutions = {}
    for line in sources.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        found = re.match(r"(?:about )?([\d.]+)(?: to ([\d.]+))?", cells[3]) if len(cells) > 4 else None
        if found:
            low = float(found[1])
            resolutions[cells[0]] = (low * float(found[2] or low)) ** 0.5
    return resolutions


def find_other_than_glass(pixels, mask):
    """More than 20 levels from the commonest value of what is bright and no tissue, in any channel."""
    bright = pixels[(mask == 0) & (pixels.min(axis=2) > 150) & (pixels.min(axis=2) < 255)]
    if not len(bright):
        return numpy.zeros(mask.shape, bool)
    glass = [numpy.bincount(bright[:, channel], minlength=256).argmax() for channel in range(3)]
    return numpy.abs(pixels.astype(int) - glass).max(axis=2) > 20


def get_classes(pixels, mask, polygons, pen_on_tissue):
    """The mask with its classes; inside a polygon, what is neither tissue nor glass is of the polygon's class."""
    classes = numpy.select([mask == 255, mask == 128], [TISSUE, NOT_JUDGED], GLASS).astype(numpy.uint8)
    if polygons:
        other = find_other_than_glass(pixels, mask) & (mask == 0)
        for name, value in (("pen", PEN), ("artifact", ARTIFACT), ("pen on tissue", pen_on_tissue)):
            inside = numpy.zeros(mask.shape, numpy.uint8)
            for polygon in polygons.get(name, []):
                cv2.fillPoly(inside, [numpy.array(polygon)], 1)
            classes[other & (inside > 0)] = value
    return classes


def read_pictures(data=DATA, pen_on_tissue=NOT_JUDGED):
    """Those with a truth: rows of groups.tsv with "name", "mpp", "pixels" (RGB) and "classes", one of which is that of pen
    on tissue."""
    resolutions = read_resolutions(data / "SOURCES.md")
    polygons = json.loads(POLYGONS.read_text())
    with open(data / "groups.tsv") as table:
        rows = [row for row in csv.DictReader(table, delimiter="\t") if row["truth"]]
    for row in rows:
        row["name"] = row["file"]
        row["mpp"] = resolutions[row["name"]]
        row["pixels"] = cv2.imread(str(data / "images" / row["name"]))[..., ::-1].copy()
        mask = cv2.imread(str(data / row["truth"]), cv2.IMREAD_GRAYSCALE)
        row["classes"] = get_classes(row["pixels"], mask, polygons.get(row["name"]), pen_on_tissue)
    return rows
