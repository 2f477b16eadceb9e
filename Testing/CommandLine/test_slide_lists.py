# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Slides by patterns, tables and manifests, wherever a command takes several."""

import csv
import json
import os
import shutil

import numpy
import pytest

from conftest import blobs, fails, run, write_slide

WORDS = ["--preset", "remedios2023", "--quiet"]


@pytest.fixture
def folder(tmp_path):
    """slides/a.tif, b.tif and c.tif"""
    (tmp_path / "slides").mkdir()
    for seed, name in enumerate("abc"):
        pixels = numpy.where(blobs(64, 64, seed)[..., None] > 0, numpy.array([200, 100, 150], numpy.uint8), numpy.uint8(245))
        write_slide(tmp_path / f"slides/{name}.tif", pixels)
    return tmp_path


def get_names(results):
    return [os.path.basename(each["slide"]) for each in results]


def write_table(path, *rows):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


def test_pattern(folder):
    assert get_names(run("info", "slides/[ac].tif", "--json", cwd=folder).json) == ["a.tif", "c.tif"]
    # A pattern means the same whatever the number of files that match.
    assert get_names(run("label", "slides/b*", "-o", "masks", *WORDS, "--json", cwd=folder).json) == ["b.tif"]
    assert (folder / "masks/b.pyramid.tif").is_file()
    assert fails("info", "slides/*.svs", cwd=folder).code == "E-FILE-MISSING"
    # A file of this very name is no pattern.
    shutil.copy(folder / "slides/a.tif", folder / "slides/[b].tif")
    assert run("info", "slides/[b].tif", "--json", cwd=folder).json["slide"] == "slides/[b].tif"


def test_pattern_of_folders(folder):
    shutil.copytree(folder / "slides", folder / "slides2")
    results = run("info", "slides*", "--json", cwd=folder).json
    assert [each["slide"] for each in results] == [f"{place}/{name}.tif" for place in ("slides", "slides2") for name in "abc"]


def test_table_is_seen_from_its_folder(folder):
    (folder / "tables").mkdir()
    table = write_table(folder / "tables/some.csv", ["score", "slide"], [1, "../slides/c.tif"], [2, folder / "slides/a.tif"], [3, "../slides/c.tif"], [4, "gone.tif"])
    results = run("label", table, "-o", folder / "masks", *WORDS, "--json", code=1).json
    assert get_names(results) == ["c.tif", "a.tif", "gone.tif"]
    assert ["error" in each for each in results] == [False, False, True] and results[2]["error"]["code"] == "E-FILE-MISSING"


@pytest.mark.parametrize("rows", [[], [["name"], ["a.tif"]], [["slide"]], [["slide"], [""]], [["slide", "x"], ["a.tif"]]])
def test_tables_that_name_nothing(folder, rows):
    table = write_table(folder / "slides/bad.csv", *rows)
    assert fails("label", table, "-o", folder / "masks", *WORDS[:2]).code == "E-COHORT-FORMAT"
    assert not (folder / "masks").exists()


def test_manifest_and_failed_table(folder):
    """From another folder than that in which they were written, and after both folders were moved together."""
    (folder / "slides/d.svs").write_bytes(b"no slide")
    run("label", "slides", "-o", "masks", *WORDS, code=1, cwd=folder)
    moved = folder / "elsewhere"
    moved.mkdir()
    shutil.move(folder / "slides", moved)
    shutil.move(folder / "masks", moved)
    assert get_names(run("info", moved / "masks/failed.csv", "--json", code=1, cwd="/").json) == ["d.svs"]
    results = run("info", moved / "masks/manifest.json", "--json", code=1, cwd="/").json
    assert get_names(results) == ["a.tif", "b.tif", "c.tif", "d.svs"]
    assert [each.get("width") for each in results[:3]] == [64, 64, 64]
    # Of masks the manifest has those that were made.
    run("measure", moved / "masks/manifest.json", "--slide", moved / "masks/manifest.json", "-o", folder / "table.csv", "--quiet", cwd="/")
    with open(folder / "table.csv") as table:
        assert {os.path.basename(row["mask"]) for row in csv.DictReader(table)} == {f"{name}.pyramid.tif" for name in "abc"}
    # The batch is done where it went, too.
    results = run("label", moved / "slides", "-o", moved / "masks", *WORDS, "--json", code=1).json
    assert [each.get("skipped") for each in results[:3]] == [True, True, True]


def test_manifests_that_are_none(folder):
    for text in ("", "{}", "[1]", '{"format": "gigapixel manifest 1", "slides": [1, {"slide": 2}]}'):
        (folder / "manifest.json").write_text(text)
        assert fails("info", folder / "manifest.json").code == "E-FILE-KIND"


def test_report_finds_slides_by_pattern(folder):
    run("label", "slides", "-o", "masks", *WORDS, cwd=folder)
    (folder / "masks/manifest.json").unlink()
    for place in ("slides/*.tif", write_table(folder / "list.csv", ["slide"], ["slides/a.tif"], ["slides/b.tif"], ["slides/c.tif"])):
        result = run("report", "masks", "--slides", place, "-o", "page.html", "--overwrite", "--json", cwd=folder).json
        assert (result["slides"], result["missing"]) == (3, 0)
