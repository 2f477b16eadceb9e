# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""synthesize --lesions: slides with small foci, and cohorts of them."""

import csv
import json

import numpy
import openslide
import pytest
import tifffile

from conftest import fails, run

SIZE = ["--size", "600x500", "--slide-mpp", 1]


def read_outlines(path):
    """Class and corners of each outline."""
    features = json.loads(path.read_text())["features"]
    name = lambda feature: feature["properties"]["classification"]["name"]
    return [(name(feature), numpy.array(feature["geometry"]["coordinates"][0])) for feature in features]


def read_pixels(path):
    slide = openslide.OpenSlide(str(path))
    return numpy.asarray(slide.read_region((0, 0), 0, slide.dimensions))[..., :3].astype(int)


def get_area(corners):
    x, y = corners[:, 0], corners[:, 1]
    return abs(x @ numpy.roll(y, 1) - y @ numpy.roll(x, 1)) / 2


def test_outlines_are_where_the_slide_has_changed(tmp_path):
    run("synthesize", tmp_path / "plain.tif", *SIZE, "--seed", 5, "--quality", 100)
    options = [*SIZE, "--seed", 5, "--quality", 100, "--lesions", 2]
    run("synthesize", tmp_path / "lesion.tif", *options, "--outlines", tmp_path / "lesion.geojson")
    run("synthesize", tmp_path / "decoy.tif", *options, "--decoys", "--outlines", tmp_path / "decoy.geojson")
    outlines = read_outlines(tmp_path / "lesion.geojson")
    assert {name for name, _ in outlines} == {"Lesion"}
    assert {name for name, _ in read_outlines(tmp_path / "decoy.geojson")} == {"Decoy"}
    assert sum(get_area(corners) for _, corners in outlines) == pytest.approx(0.02 * 600 * 500, rel=5e-3)
    mask = tmp_path / "mask.tif"
    run("rasterize", tmp_path / "lesion.geojson", "--like", tmp_path / "lesion.tif", "-o", mask, "--downsample", 1)
    inside = tifffile.imread(mask) > 0
    pixels = {name: read_pixels(tmp_path / f"{name}.tif") for name in ("plain", "lesion", "decoy")}
    for name in ("lesion", "decoy"):
        changed = (numpy.abs(pixels[name] - pixels["plain"]) > 12).any(-1)
        assert changed[inside].mean() > 0.5 > 0.2 > changed[~inside].mean()


def test_cohort_is_what_train_reads(tmp_path):
    folder = tmp_path / "cohort"
    command = ["synthesize", folder, *SIZE, "--lesions", 1, "--slides", "4,2,2", "--seed", 9, "--json"]
    assert run(*command).json["drawn"] == 8
    with open(folder / "cohort.csv") as file:
        rows = list(csv.DictReader(file))
    assert [row["split"] for row in rows] == ["train"] * 4 + ["validation"] * 2 + ["test"] * 2
    assert [row["label"] for row in rows] == ["healthy", "lesion"] * 4
    assert len({row["patient"] for row in rows}) == 8
    for row in rows:
        assert (folder / row["slide"]).exists()
        name = row["slide"].split("/")[1].split(".")[0]
        assert (folder / "tissue" / f"{name}.pyramid.tif").exists()
        assert {"healthy": "Decoy", "lesion": "Lesion"}[row["label"]] == read_outlines(folder / "outlines" / f"{name}.geojson")[0][0]
    before = (folder / "cohort.csv").stat().st_mtime_ns
    (folder / "slides" / "0003.tif").unlink()
    (folder / "outlines" / "0005.geojson").unlink()
    assert run(*command).json["drawn"] == 2  # only what is missing
    assert (folder / "cohort.csv").stat().st_mtime_ns == before
    refused = fails(*command[:-1], "--brown")
    assert refused.code == "E-OUTPUT-EXISTS" and refused.file == str(folder / "slides" / "0001.tif")
    assert "brown" in refused.why
    run("synthesize", tmp_path / "one.tif", *SIZE, "--lesions", 1, "--seed", 12, "--outlines", tmp_path / "one.geojson")
    assert (read_pixels(tmp_path / "one.tif") == read_pixels(folder / "slides" / "0004.tif")).all()
    assert (tmp_path / "one.geojson").read_text() == (folder / "outlines" / "0004.geojson").read_text()


@pytest.mark.parametrize(
    "options, code, option, value",
    [
        (["--decoys"], "E-OPTION-NEEDS", "--decoys", None),
        (["--outlines", "o.geojson"], "E-OPTION-NEEDS", "--outlines", "o.geojson"),
        (["--slides", "2,2,2"], "E-OPTION-NEEDS", "--slides", "2,2,2"),
        (["--lesions", 1, "--slides", "2,2"], "E-OPTION-VALUE", "--slides", "2,2"),
        (["--lesions", 1, "--slides", "2,x,2"], "E-OPTION-VALUE", "--slides", "2,x,2"),
        (["--lesions", 1, "--slides", "0,0,0"], "E-OPTION-VALUE", "--slides", "0,0,0"),
        (["--lesions", 1, "--slides", "9000,1000,0"], "E-OPTION-VALUE", "--slides", "9000,1000,0"),
        (["--lesions", 1, "--slides", "2,2,2", "--decoys"], "E-OPTION-CONFLICT", "--decoys", None),
        (["--lesions", 1, "--slides", "2,2,2", "--truth", "t.tif"], "E-OPTION-CONFLICT", "--truth", None),
        (["--lesions", 1, "--slides", "2,2,2", "--seed", 4294967295], "E-OPTION-VALUE", "--seed", "4294967295"),
        (["--lesions", 0], "E-OPTION-VALUE", "--lesions", "0"),
    ],
)
def test_what_is_refused(tmp_path, options, code, option, value):
    refused = fails("synthesize", tmp_path / "s.tif", *SIZE, *options, code=2, cwd=tmp_path)
    assert (refused.code, refused.option, refused.value) == (code, option, value)
    assert not list(tmp_path.iterdir())


def test_outlines_end_in_geojson(tmp_path):
    options = ["--lesions", 1, "--outlines", "o.tif"]
    refused = fails("synthesize", tmp_path / "s.tif", *SIZE, *options, code=2, cwd=tmp_path)
    assert (refused.code, refused.option, refused.value) == ("E-OUTPUT-ENDING", "--outlines", "o.tif")
    assert not list(tmp_path.iterdir())


def test_outlines_of_somebody_else_are_kept(tmp_path):
    (tmp_path / "o.geojson").write_text("somebody's")
    command = ["synthesize", tmp_path / "s.tif", *SIZE, "--lesions", 1, "--outlines", tmp_path / "o.geojson"]
    refused = fails(*command)
    assert refused.code == "E-OUTPUT-EXISTS" and refused.file == str(tmp_path / "o.geojson") and "--overwrite" in refused.do
    assert not (tmp_path / "s.tif").exists()
