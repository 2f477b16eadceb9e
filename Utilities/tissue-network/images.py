# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""The images that the network is trained and judged on: those of the data folder, and those whose outlines are drawn by hand."""

import json
import re
import sys
from pathlib import Path

import cv2
import numpy

sys.path.append(str(Path(__file__).resolve().parents[1]))
from tissue_pictures import ARTIFACT, GLASS, NOT_JUDGED, PEN, ROOT, TISSUE, find_other_than_glass, read_pictures  # noqa: E402

OUTLINES = ROOT / "Testing/Tissue/annotations/pictures"


def is_dark(pixels):
    """IsDark() of the program: a dark ground and hardly any glass."""
    largest = find_extremes(pixels)[0]
    return 2 * (largest < 60).mean() > 1 and 20 * find_possible_glass(pixels).mean() < 1


def find_extremes(pixels):
    """The largest and the least of the three channels, without numpy's slow reduction of a short axis."""
    red, green, blue = (pixels[..., channel] for channel in range(3))
    return numpy.maximum(numpy.maximum(red, green), blue), numpy.minimum(numpy.minimum(red, green), blue)


def find_possible_glass(pixels):
    largest, least = find_extremes(pixels)
    return (largest >= 180) & (largest - least <= 16) & (least < 255)


def read_known(data, pen_on_tissue=NOT_JUDGED):
    """The images of the data folder: rows with "name", "source", "stain", "mpp" (µm/px), "may_train" ("yes" or "no"),
    "pixels" (RGB) and "classes", one of which is that of pen on tissue."""
    return read_pictures(data, pen_on_tissue)


def read_table():
    """What the table of the drawn images says, by name. Of a range of resolutions ("10 to 15") the geometric mean. A network
    that is given away is trained on what is under a licence that asks for no more than to be named."""
    rows = {}
    for line in (OUTLINES / "README.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        found = re.match(r"(?:about )?([\d.]+)(?: to ([\d.]+))?", cells[4]) if len(cells) == 8 else None
        if found:
            low = float(found[1])
            mpp = (low * float(found[2] or low)) ** 0.5
            group, stain = cells[1].split(", ", 1)
            may_train = "no" if re.search("VERIFY|licence file|GPL|BY-SA", cells[5]) else "yes"
            row = {"name": cells[0], "source": cells[6].split(",")[0], "group": group, "stain": stain}
            rows[cells[0]] = row | {"mpp": mpp, "may_train": may_train}
    return rows


def find_held_out(images):
    """Names of the images that no network learns: of their repository or group no image may be trained on."""
    learned = [image for image in images if image["may_train"] == "yes"]
    sources, groups = ({image.get(key) for image in learned} - {None} for key in ("source", "group"))
    return {image["name"] for image in images if image["source"] not in sources and image.get("group") not in groups}


def fill(shape, outlines, names):
    """Where one of the named classes was drawn; inner rings of a polygon are holes."""
    inside = numpy.zeros(shape, numpy.uint8)
    for feature in outlines["features"]:
        if feature["properties"]["classification"]["name"].startswith(names):
            geometry = feature["geometry"]
            several = geometry["coordinates"] if geometry["type"] == "MultiPolygon" else [geometry["coordinates"]]
            for polygon in several:
                rings = [(numpy.array(ring) - 0.5).round().astype(numpy.int32) for ring in polygon]
                one = numpy.zeros(shape, numpy.uint8)
                cv2.fillPoly(one, rings, 1)
                inside |= one
    return inside > 0


def draw_classes(pixels, outlines, pen_on_tissue=NOT_JUDGED):
    """Pen and artifacts are drawn generously, so they are what differs from the glass there."""
    shape = pixels.shape[:2]
    classes = numpy.where(fill(shape, outlines, "Tissue"), TISSUE, GLASS).astype(numpy.uint8)
    other = find_other_than_glass(pixels, classes) & (classes == GLASS)
    classes[other & fill(shape, outlines, "Pen")] = PEN
    classes[other & fill(shape, outlines, "Artifact")] = ARTIFACT
    classes[fill(shape, outlines, "Ignore")] = NOT_JUDGED
    classes[fill(shape, outlines, "Ignore pen on tissue")] = pen_on_tissue
    return classes


def read_drawn(folders, pen_on_tissue=NOT_JUDGED):
    """The images of the folders (Testing/Tissue/annotations/pictures/collect makes one), as read_known() gives them."""
    table, images = read_table(), []
    for file in sorted(file for folder in folders for file in Path(folder).iterdir() if file.name in table):
        pixels = cv2.imread(str(file), cv2.IMREAD_COLOR)[..., ::-1].copy()
        outlines = json.loads((OUTLINES / f"{file.stem}.geojson").read_text())
        classes = draw_classes(pixels, outlines, pen_on_tissue)
        images.append(table[file.name] | {"pixels": pixels, "classes": classes})
    return images
