# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Slides by patterns, tables and manifests, wherever a command takes several."""

import csv
import json
import os
import shutil

import numpy
import pytest

pytest.importorskip("PIL.Image", reason="python3-pil decodes the pictures of pages")

from conftest import blobs, fails, obey_permissions, run, write_slide
from dicom_slides import write_slide_file
from report_pages import Page

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


@pytest.mark.parametrize("rows", [[], [["name"], ["a.tif"]], [["slide"]], [["slide"], [""]], [["slide", "x"], ["a.tif"]], [["slide", "slide"], ["a.tif", "b.tif"]]])
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
    # The manifest names the masks that were made.
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


@pytest.mark.parametrize(
    "change",
    [
        {"slide": 3},
        {"command": []},
        {"outputs": 4},
        {"outputs": ["a"]},
        {"outputs": [{"field": 1}]},
        {"output": None},
        {"result": "good"},
        {"result": {"error": "bad"}},
        {"result": {"error": {"code": 7}}},
    ],
)
def test_entries_of_foreign_types_count_as_none(folder, change):
    run("label", "slides", "-o", "masks", *WORDS, cwd=folder)
    manifest = json.loads((folder / "masks/manifest.json").read_text())
    manifest["slides"][0].update(change)
    (folder / "masks/manifest.json").write_text(json.dumps(manifest))
    assert get_names(run("info", "masks/manifest.json", "--json", cwd=folder).json) == ["b.tif", "c.tif"]
    assert run("status", "masks", "--json", cwd=folder).json["done"] == 2
    results = run("label", "slides", "-o", "masks", *WORDS, "--json", cwd=folder).json
    assert [each["skipped"] for each in results] == [True, True, True]  # the mask itself says how it was made
    run("report", "masks", "-o", "page.html", cwd=folder)


def test_results_of_foreign_types(folder):
    """A page shows what it can."""
    run("label", "slides", "-o", "masks", *WORDS, cwd=folder)
    manifest = json.loads((folder / "masks/manifest.json").read_text())
    result = manifest["slides"][0]["result"]
    for key in list(result):
        if key not in ("slide", "mask"):
            result[key] = {"strange": [1]} if isinstance(result[key], (int, float, str, type(None))) else 5
    result["warnings"] = [{"code": 3, "value": "x", "file": []}, "x", {"code": "W-FILE-SKIPPED", "why": "it is shown"}]
    (folder / "masks/manifest.json").write_text(json.dumps(manifest))
    assert run("report", "masks", "-o", "page.html", "--json", cwd=folder).json["slides"] == 3
    assert [warning["code"] for warning in Page(folder / "page.html").data["slides"][0]["warnings"]] == ["W-FILE-SKIPPED"]
    assert run("status", "masks", "--json", cwd=folder).json["done"] == 3
    assert "W-FILE-SKIPPED" in run("label", "slides", "-o", "masks", *WORDS, "--json", cwd=folder).codes


def test_slides_of_one_name(folder):
    """measure --slide TABLE takes the pairs of its rows; report shows none of several that may be meant."""
    shutil.copytree(folder / "slides", folder / "others")
    write_slide(folder / "others/a.tif", numpy.full((64, 64, 3), 7, numpy.uint8))
    write_slide(folder / "m.tif", blobs(64, 64, 1))
    write_slide(folder / "a.pyramid.tif", blobs(64, 64, 1))
    table = write_table(folder / "pairs.csv", ["mask", "slide"], ["m.tif", "slides/a.tif"], ["a.pyramid.tif", "others/a.tif"])
    run("measure", table, "--slide", table, "-o", folder / "figures.csv")
    with open(folder / "figures.csv") as file:
        slides = {row["mask"]: (row["slide"], row["red_mean"]) for row in csv.DictReader(file) if row["component"] == "0"}
    assert {os.path.basename(mask): os.path.basename(os.path.dirname(slide)) for mask, (slide, _) in slides.items()} == {
        "m.tif": "slides",
        "a.pyramid.tif": "others",
    }
    assert [float(mean) for slide, mean in slides.values() if "others" in slide] == [7]

    run("label", "slides", "-o", "masks", *WORDS, cwd=folder)
    (folder / "masks/manifest.json").unlink()
    words = ["report", "masks", "-o", "page.html", "--overwrite", "--json", "--slides"]
    assert run(*words, "slides", cwd=folder).json["missing"] == 0
    assert run(*words, "slides", "--slides", "slides/*.tif", cwd=folder).json["missing"] == 0
    assert run(*words, "slides", "--slides", "others", cwd=folder).json["missing"] == 3


def test_report_finds_slides_by_pattern(folder):
    run("label", "slides", "-o", "masks", *WORDS, cwd=folder)
    (folder / "masks/manifest.json").unlink()
    for place in ("slides/*.tif", write_table(folder / "list.csv", ["slide"], ["slides/a.tif"], ["slides/b.tif"], ["slides/c.tif"])):
        result = run("report", "masks", "--slides", place, "-o", "page.html", "--overwrite", "--json", cwd=folder).json
        assert (result["slides"], result["missing"]) == (3, 0)


def test_what_is_named_does_not_vanish(folder):
    """Beside one whole DICOM slide, damaged and missing files are slides that fail. In its own folder they would be parts of it."""
    pixels = numpy.random.default_rng(1).integers(0, 255, (80, 112, 3), numpy.uint8)
    for place in ("d", "e"):
        (folder / place).mkdir()
    write_slide_file(folder / "d/good.dcm", pixels)
    (folder / "e/broken.dcm").write_bytes((folder / "d/good.dcm").read_bytes()[:700])
    table = write_table(folder / "list.csv", ["slide"], ["d/good.dcm"], ["e/broken.dcm"], ["e/missing.dcm"])
    results = run("info", table, "--json", code=1).json
    assert get_names(results) == ["good.dcm", "broken.dcm", "missing.dcm"]
    assert ["error" in each for each in results] == [False, True, True]
    assert get_names(run("info", "[de]/*.dcm", "--json", code=1, cwd=folder).json) == ["good.dcm", "broken.dcm"]


def test_pipes_are_no_slides(folder):
    os.mkfifo(folder / "slides/pipe.tif")
    results = run("label", "slides/[ap]*.tif", "-o", "masks", *WORDS, "--json", code=1, cwd=folder).json
    assert [each.get("error", {}).get("code") for each in results] == [None, "E-FILE-KIND"]
    os.mkfifo(folder / "manifest.json")
    assert fails("info", folder / "manifest.json").code == "E-FILE-KIND"
    # A manifest that is none of ours is not replaced, whatever it is.
    assert fails("label", folder / "slides/a.tif", "-o", f"{folder}/", *WORDS[:2]).code == "E-OUTPUT-EXISTS"


def test_tables_that_name_inputs_are_not_replaced(folder):
    run("label", "slides/*.tif", "-o", "masks", *WORDS, cwd=folder)
    table = write_table(folder / "list.csv", ["slide", "mask"], ["slides/a.tif", "masks/a.pyramid.tif"])
    before = table.read_bytes()
    assert fails("measure", table, "-o", table, "--overwrite").code == "E-OUTPUT-INPUT"
    assert fails("measure", folder / "masks/a.pyramid.tif", "--slide", table, "-o", table, "--overwrite").code == "E-OUTPUT-INPUT"
    assert table.read_bytes() == before


def test_names_with_commas_and_links_to_manifests(folder):
    shutil.copy(folder / "slides/a.tif", folder / "slides/x,y.tif")
    run("label", "slides", "-o", "masks", *WORDS, cwd=folder)
    (folder / "links").mkdir()
    os.symlink(folder / "masks/manifest.json", folder / "links/manifest.json")
    for manifest, place in (("masks/manifest.json", folder), (folder / "links/manifest.json", "/")):
        results = run("info", manifest, "--json", cwd=place).json
        assert get_names(results) == ["a.tif", "b.tif", "c.tif", "x,y.tif"] and all(each["width"] == 64 for each in results)


def test_a_manifest_nested_too_deeply_is_none(folder):
    deep = '{"a":' * 100000 + "1" + "}" * 100000
    (folder / "manifest.json").write_text(f'{{"format": "gigapixel manifest 1", "slides": [{deep}]}}')
    assert fails("info", folder / "manifest.json").code == "E-FILE-KIND"
    assert fails("status", folder).code == "E-OUTPUT-EXISTS"


def test_folders_that_may_not_be_read(folder):
    (folder / "no").mkdir(mode=0)
    for pattern in ("*/a*.tif", "no/*.tif"):
        assert fails("info", pattern, cwd=folder, preexec_fn=obey_permissions).code == "E-FILE-ACCESS"


def test_folders_of_other_things_match_patterns(folder):
    (folder / "notes").mkdir()
    (folder / "notes/read.txt").write_text("no slide")
    assert get_names(run("info", "[ns]*", "--json", cwd=folder).json) == ["a.tif", "b.tif", "c.tif"]
