# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Tables of components, against scikit-image; and pages, which say what masks hold."""

import csv
import html.parser
import json

import itk
import itkgigapixel as gp
import numpy as np
import pytest
from conftest import refused, synthesize


@pytest.fixture
def blobs():
    """(y, x) of bool."""
    rng = np.random.default_rng(5)
    return np.kron(rng.random((20, 30)) > 0.7, np.ones((7, 5), bool))


@pytest.mark.parametrize("connectivity", [4, 8])
def test_components_are_those_of_scikit_image(blobs, connectivity):
    measure = pytest.importorskip("skimage.measure")
    with pytest.warns(gp.GigapixelWarning):  # an array has no resolution
        rows = gp.measure(blobs, connectivity=connectivity)
    whole, *found = rows
    assert (whole["component"], whole["area_px"], whole["mask"], whole["area_mm2"]) == (0, blobs.sum(), None, None)
    expected = measure.regionprops(measure.label(blobs, connectivity=connectivity // 4))
    assert [row["area_px"] for row in found] == [each.area for each in expected]
    for row, each in zip(found, expected):
        top, left, bottom, right = each.bbox
        assert (row["x"], row["y"], row["width"], row["height"]) == (left, top, right - left, bottom - top)
        assert (row["centroid_y"], row["centroid_x"]) == pytest.approx(each.centroid)
        assert row["perimeter_px"] == pytest.approx(each.perimeter)


def test_the_table_of_an_array_names_no_file(blobs, tmp_path):
    with pytest.warns(gp.GigapixelWarning):
        rows = gp.measure(blobs, output=tmp_path / "table.csv")
    with open(tmp_path / "table.csv", newline="") as file:
        lines = list(csv.DictReader(file))
    assert {line["mask"] for line in lines} == {"array"} and [int(line["area_px"]) for line in lines] == [row["area_px"] for row in rows]


def test_colors_are_the_slides(tmp_path):
    slide, truth = synthesize(tmp_path, 900, 700, seed=2)
    table = tmp_path / "table.csv"
    whole = gp.measure(truth, gp.Slide(slide), table)[0]
    with open(table, newline="") as file:
        lines = list(csv.DictReader(file))
    assert whole["mask"] == truth and whole["slide"] == slide and float(lines[0]["red_mean"]) == whole["red_mean"]
    inside = gp.Slide(slide).read()[np.asarray(itk.imread(truth)) > 0]
    assert whole["slide_pixels"] == len(inside)
    assert [whole[f"{name}_mean"] for name in ("red", "green", "blue")] == pytest.approx(inside.mean(axis=0).tolist())


def test_refusals_of_measure(drawn, tmp_path):
    with refused(FileNotFoundError, "E-FILE-MISSING", file=str(tmp_path / "none.tif")):
        gp.measure(tmp_path / "none.tif")
    with refused(ValueError, "E-OPTION-VALUE", option="connectivity"):
        gp.measure(drawn[1], connectivity=6)
    with refused(ValueError, "E-OPTION-MISSING", option="masks"):
        gp.measure([])


class Data(html.parser.HTMLParser):
    """What a page shows, as JSON in a script of it."""

    def __init__(self, page):
        super().__init__()
        self.inside, self.text = False, ""
        self.feed(page.read_text())

    def handle_starttag(self, tag, attributes):
        self.inside = dict(attributes).get("id") == "data"

    def handle_data(self, data):
        self.text += data if self.inside else ""


def test_report_shows_masks(tmp_path):
    (tmp_path / "slides").mkdir()
    (tmp_path / "masks").mkdir()
    slide, _ = synthesize(tmp_path / "slides", 900, 700, seed=2)
    mask = gp.label(slide, tmp_path / "masks/slide-2.pyramid.tif", preset="remedios2023")
    page = tmp_path / "page.html"
    assert gp.report(tmp_path / "masks", page, slides=tmp_path / "slides", anonymous=True) == page
    (row,) = json.loads(Data(page).text)["slides"]
    assert row["name"] == "Slide 1" and row["width"] == 900 and row["height"] == 700 and "picture" in row
    assert row["tissueFraction"] == pytest.approx((np.asarray(itk.imread(mask)) > 0).mean())
    with pytest.warns(gp.GigapixelWarning) as told:
        gp.report([tmp_path / "masks"], page, picture_size=64)
    assert [each.message.code for each in told] == ["W-REPORT-MISSING"]  # nothing names the slide
    (row,) = json.loads(Data(page).text)["slides"]
    assert "picture" not in row and row["mask"] == str(mask)


def test_refusals_of_report(tmp_path):
    with refused(ValueError, "E-REPORT-INPUT", file=str(tmp_path)):
        gp.report(tmp_path, tmp_path / "page.html")
    with refused(ValueError, "E-OUTPUT-ENDING", option="output"):
        gp.report(tmp_path, tmp_path / "page.pdf")
    with refused(ValueError, "E-OPTION-VALUE", option="picture_size"):
        gp.report(tmp_path, tmp_path / "page.html", picture_size=5000)
    assert not (tmp_path / "page.html").exists()
