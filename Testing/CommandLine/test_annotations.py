# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""rasterize and outline: GeoJSON as QuPath writes and reads it."""

import json
import os

import numpy
import pytest
import tifffile
from PIL import Image, ImageDraw

from conftest import blobs, fails, run, write_nrrd, write_slide


def write_outlines(path, *outlines):
    """(class, rings) each."""
    features = [
        {
            "type": "Feature",
            "geometry": {"type": "Polygon", "coordinates": [[*ring, ring[0]] for ring in rings]},
            "properties": {"objectType": "annotation", "classification": {"name": name}},
        }
        for name, rings in outlines
    ]
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return path


@pytest.fixture
def slide(tmp_path):
    return write_slide(tmp_path / "slide.tif", numpy.full((500, 700, 3), 240, numpy.uint8))


def test_filled_as_another_program_fills(tmp_path, slide):
    outer, hole = [(100, 60), (600, 110), (560, 440), (80, 400)], [(200, 150), (300, 160), (250, 300)]
    outlines = write_outlines(tmp_path / "a.geojson", ("Tissue", [outer, hole]))
    result = run("rasterize", outlines, "--like", slide, "-o", tmp_path / "m.tif", "--downsample", 1, "--json").json
    assert result["drawn"] == {"Tissue": 1}
    picture = Image.new("L", (700, 500))
    draw = ImageDraw.Draw(picture)
    draw.polygon(outer, fill=255)
    draw.polygon(hole, fill=0)
    mask = tifffile.imread(tmp_path / "m.tif", key=0)
    # Pillow paints the line itself, too: a pixel along about 2000 pixels of it.
    assert mask.shape == (500, 700) and numpy.sum(mask != numpy.asarray(picture)) < 2000
    coarse = run("rasterize", outlines, "--like", slide, "-o", tmp_path / "c.tif", "--json").json
    assert (coarse["width"], coarse["height"]) == (88, 63)
    evaluation = run("evaluate", tmp_path / "c.tif", tmp_path / "m.tif", "--json").json
    assert evaluation["dice"] > 0.98 and evaluation["matchedBy"] == "millimeters"
    os.utime(outlines)  # when they were written does not matter
    assert run("rasterize", outlines, "--like", slide, "-o", tmp_path / "c.tif", "--json").json["skipped"]
    outlines.write_text(outlines.read_text() + "\n")
    assert "made in another way" in fails("rasterize", outlines, "--like", slide, "-o", tmp_path / "c.tif")


def test_classes_become_labels(tmp_path, slide):
    def square(x):
        return [[(x, 100), (x + 80, 100), (x + 80, 180), (x, 180)]]

    outlines = write_outlines(
        tmp_path / "a.geojson",
        ("Tumor", square(100)),
        ("Stroma", square(200)),
        ("Ignore*", square(300)),
        ("Necrosis", square(400)),
    )
    common = ["rasterize", outlines, "--like", slide, "--downsample", 1, "--json"]
    result = run(*common, "-o", tmp_path / "2.tif", "--class", "Stroma", "--class", "Tumor").json
    mask = tifffile.imread(tmp_path / "2.tif", key=0)
    assert [mask[140, x] for x in (140, 240, 340, 440, 600)] == [2, 1, 255, 0, 0]
    assert result["left out"] == {"Necrosis": 1}
    run(*common, "-o", tmp_path / "1.tif", "--class", "Tumor")
    mask = tifffile.imread(tmp_path / "1.tif", key=0)
    assert [mask[140, x] for x in (140, 240, 340, 440)] == [255, 0, 0, 0]
    run(*common, "-o", tmp_path / "all.tif")
    mask = tifffile.imread(tmp_path / "all.tif", key=0)
    assert [mask[140, x] for x in (140, 240, 340, 440)] == [255, 255, 0, 255]


def test_mask_to_outlines_and_back(tmp_path):
    slide = write_slide(tmp_path / "slide.tif", numpy.full((611, 701, 3), 240, numpy.uint8))
    mask = blobs(77, 88, seed=4)
    write_slide(tmp_path / "mask.tif", mask, 4.0)
    result = run("outline", tmp_path / "mask.tif", "--like", slide, "-o", tmp_path / "o.geojson", "--json").json
    features = json.loads((tmp_path / "o.geojson").read_text())["features"]
    assert len(features) == result["pieces"] > 0
    assert features[0]["properties"]["classification"]["name"] == "Tissue"
    corners = numpy.concatenate([ring for f in features for ring in f["geometry"]["coordinates"]])
    assert numpy.array_equal(corners % 8, numpy.zeros_like(corners))  # level-0 pixels
    run("rasterize", tmp_path / "o.geojson", "--like", slide, "-o", tmp_path / "back.tif")
    assert numpy.array_equal(tifffile.imread(tmp_path / "back.tif", key=0), mask)
    assert "--overwrite" in fails("outline", tmp_path / "mask.tif", "--like", slide, "-o", tmp_path / "o.geojson")
    flipped = write_nrrd(tmp_path / "mask.nrrd", mask, 4.0, flips=(-1, -1), corner=(0.00175, 0.00175))
    run("outline", flipped, "--like", slide, "-o", tmp_path / "flipped.geojson")
    assert (tmp_path / "flipped.geojson").read_text() == (tmp_path / "o.geojson").read_text()


def square(x, y, side=80):
    return [[(x, y), (x + side, y), (x + side, y + side), (x, y + side)]]


def test_class_that_is_not_there(tmp_path, slide):
    outlines = write_outlines(tmp_path / "a.geojson", ("Tumor", square(100, 100)), ("Stroma", square(300, 100)), ("Tumor", square(0, 0)))
    common = ["rasterize", outlines, "--like", slide, "-o", tmp_path / "m.tif"]
    message = fails(*common, "--class", "tumor")
    assert "a.geojson has no outlines of the class tumor; its classes are Stroma (1), Tumor (2)" in message
    assert "class tumor, stroma;" in fails(*common, "--class", "tumor", "--class", "stroma")
    assert not (tmp_path / "m.tif").exists()
    assert "no outlines of the class tumor;" in run(*common, "--class", "tumor", "--class", "Stroma").err
    assert "of the class" not in run(*common, "--class", "Tumor", "--class", "Stroma", "--overwrite").err


def test_outlines_that_miss_the_slide(tmp_path, slide):
    far = write_outlines(tmp_path / "far.geojson", ("Tumor", square(5000, 40)), ("Tumor", square(-90, 40)))
    message = fails("rasterize", far, "--like", slide, "-o", tmp_path / "m.tif")
    for part in ("far.geojson", "all outlines (2) lie outside", "from (-90, 40) to (5080, 120)", "(704, 504)"):
        assert part in message
    assert not (tmp_path / "m.tif").exists()
    some = write_outlines(tmp_path / "some.geojson", ("Tumor", square(5000, 40)), ("Tumor", square(-40, 40)), ("Tumor", square(9, 9, 1)))
    result = run("rasterize", some, "--like", slide, "-o", tmp_path / "m.tif")
    assert "1 of 3 outlines outside of the slide" in result.err
    assert "1 of 3 outlines smaller than a pixel of the mask" in result.err
    assert tifffile.imread(tmp_path / "m.tif", key=0).any()


def test_outlines_whose_box_alone_meets_the_slide(tmp_path, slide):
    corner = write_outlines(tmp_path / "corner.geojson", ("Tumor", [[(-300, 200), (200, -300), (-300, -300)]]))
    message = fails("rasterize", corner, "--like", slide, "-o", tmp_path / "m.tif")
    assert "corner.geojson" in message and "all outlines (1) lie outside" in message
    assert not (tmp_path / "m.tif").exists()


def test_features_without_geometry(tmp_path, slide):
    feature = {"type": "Feature", "geometry": None, "properties": {"classification": {"name": "Tumor"}}}
    outlines = write_outlines(tmp_path / "a.geojson", ("Tumor", square(100, 100)))
    run("rasterize", outlines, "--like", slide, "-o", tmp_path / "one.tif")
    content = json.loads(outlines.read_text())
    content["features"] += [feature, feature]
    outlines.write_text(json.dumps(content))
    result = run("rasterize", outlines, "--like", slide, "-o", tmp_path / "m.tif")
    assert "2 features without a geometry" in result.err
    masks = [tifffile.imread(tmp_path / name, key=0) for name in ("one.tif", "m.tif")]
    assert masks[0].any() and numpy.array_equal(*masks)
    outlines.write_text(json.dumps({"type": "FeatureCollection", "features": [feature]}))
    result = run("rasterize", outlines, "--like", slide, "-o", tmp_path / "empty.tif")
    assert "1 feature without a geometry" in result.err and "holds no outlines" in result.err


def test_empty_mask_has_no_outlines_with_a_word(tmp_path, slide):
    write_slide(tmp_path / "mask.tif", numpy.zeros((63, 88), numpy.uint8), 4.0)
    result = run("outline", tmp_path / "mask.tif", "--like", slide, "-o", tmp_path / "o.geojson")
    assert "mask.tif has no object" in result.err
    assert "holds no outlines" in run("rasterize", tmp_path / "o.geojson", "--like", slide, "-o", tmp_path / "back.tif").err
    only = write_outlines(tmp_path / "i.geojson", ("Ignore*", square(100, 100)))
    assert "only outlines of the class Ignore*" in run("rasterize", only, "--like", slide, "-o", tmp_path / "i.tif").err


def test_bad_annotations(tmp_path, slide):
    bad = tmp_path / "bad.geojson"
    bad.write_text('{"type": "FeatureCollection", "features": [{"type": "Feature"')
    assert "bad.geojson" in fails("rasterize", bad, "--like", slide, "-o", tmp_path / "m.tif")
    assert not (tmp_path / "m.tif").exists()
    ring = [[[10, 10], [90, 10], [90, 90], [10, 10]]]
    for kind in ("Polygonn", "polygon", "x" * 1000, 7):
        feature = {"type": "Feature", "geometry": {"type": kind, "coordinates": ring}}
        bad.write_text(json.dumps({"type": "FeatureCollection", "features": [feature]}))
        sentence = fails("rasterize", bad, "--like", slide, "-o", tmp_path / "m.tif")
        assert f"bad.geojson is no GeoJSON of annotations: a geometry is of the type {json.dumps(kind)[:60]}" in sentence and len(sentence) < 400
    assert not (tmp_path / "m.tif").exists()
    other = write_slide(tmp_path / "other.tif", blobs(40, 90), 4.0)
    assert "not of the same slide" in fails("outline", other, "--like", slide, "-o", tmp_path / "o.geojson")


def test_outlines_of_a_mask_that_begins_beside_the_slides_edge(tmp_path, slide):
    mask = numpy.zeros((63, 88), numpy.uint8)
    mask[10:20, 30:50] = 255
    # Its first pixel's corner lies at (4, -2) pixels of level 0, less than a pixel of it away.
    write_nrrd(tmp_path / "mask.nrrd", mask, 4.0, corner=((4 + 3.5) * 0.0005, (-2 + 3.5) * 0.0005))
    run("outline", tmp_path / "mask.nrrd", "--like", slide, "-o", tmp_path / "o.geojson")
    ring = json.loads((tmp_path / "o.geojson").read_text())["features"][0]["geometry"]["coordinates"][0]
    assert {tuple(point) for point in ring} == {(x, y) for x in (244, 404) for y in (78, 158)}


def test_parts_that_overlap_are_united(tmp_path, slide):
    parts = [square(100, 100), square(150, 150)]
    polygons = [[[*ring, ring[0]] for ring in rings] for rings in parts]
    collection = {"type": "GeometryCollection", "geometries": [{"type": "Polygon", "coordinates": p} for p in polygons]}
    for geometry in (collection, {"type": "MultiPolygon", "coordinates": polygons}):
        outlines = tmp_path / "o.geojson"
        outlines.write_text(json.dumps({"type": "Feature", "geometry": geometry, "properties": {}}))
        arguments = ["--like", slide, "--downsample", 1, "--json", "--overwrite"]
        result = run("rasterize", outlines, "-o", tmp_path / "m.tif", *arguments).json
        assert result["drawn"] == {"": 1}
        united = numpy.zeros((500, 700), bool)
        for ring in (rings[0] for rings in parts):
            (left, top), (right, bottom) = numpy.min(ring, 0), numpy.max(ring, 0)
            united[top:bottom, left:right] = True
        assert ((tifffile.imread(tmp_path / "m.tif", key=0) > 0) == united).all()


def test_outlines_outside_of_the_slide_are_not_drawn(tmp_path, slide):
    outlines = write_outlines(tmp_path / "o.geojson", ("A", square(100, 100)), ("A", square(5000, 100)), ("B", square(5000, 9)))
    result = run("rasterize", outlines, "--like", slide, "-o", tmp_path / "m.tif", "--json").json
    assert result["drawn"] == {"A": 1} and result["outside"] == {"A": 1, "B": 1}


def test_a_stated_resolution(tmp_path, slide):
    outlines = write_outlines(tmp_path / "o.geojson", ("A", square(100, 100)))
    blind = write_slide(tmp_path / "blind.tif", numpy.full((500, 700, 3), 240, numpy.uint8), None)
    arguments = ["rasterize", outlines, "--like", blind, "-o", tmp_path / "m.tif", "--json", "--slide-mpp"]
    assert not run(*arguments, 0.25).json["skipped"]
    assert run(*arguments, 0.25).json["skipped"]
    assert "made in another way" in fails(*arguments, 0.5)
    arguments[3] = slide
    assert not run(*arguments, 0.5, "--overwrite").json["skipped"]
    message = fails(*arguments, 0.25)
    assert f"{slide} says that its level 0 has 0.5000" in message and "--slide-mpp 0.2500 contradicts" in message
