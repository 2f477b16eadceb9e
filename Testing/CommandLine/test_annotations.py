# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""rasterize and outline: annotations as QuPath, ASAP, ImageScope and HALO write them."""

import gzip
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
    assert fails("rasterize", outlines, "--like", slide, "-o", tmp_path / "c.tif").code == "E-OUTPUT-EXISTS"


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
    assert fails("outline", tmp_path / "mask.tif", "--like", slide, "-o", tmp_path / "o.geojson").code == "E-OUTPUT-EXISTS"
    flipped = write_nrrd(tmp_path / "mask.nrrd", mask, 4.0, flips=(-1, -1), corner=(0.00175, 0.00175))
    run("outline", flipped, "--like", slide, "-o", tmp_path / "flipped.geojson")
    assert (tmp_path / "flipped.geojson").read_text() == (tmp_path / "o.geojson").read_text()


def test_outlines_become_numbers_and_outlines_again(tmp_path, slide):
    """The numbers of overlapping outlines, in the order of the file, at 16 bit and in an OME-TIFF."""
    corners = [(20 * (i % 34), 16 * (i // 34)) for i in range(1000)]
    squares = [(name, [[(x, y), (x + 24, y), (x + 24, y + 12), (x, y + 12)]]) for name, (x, y) in zip(["A", "B"] * 500, corners)]
    squares.insert(3, ("Ignore*", [[(0, 400), (99, 400), (99, 499)]]))
    outlines = write_outlines(tmp_path / "a.geojson", *squares)
    truth = numpy.zeros((500, 700), numpy.uint16)
    for number, (x, y) in enumerate(corners, 1):
        truth[y : y + 12, x : x + 24] = number
    common = ["rasterize", outlines, "--like", slide, "--instances"]
    for name in ("m.tif", "m.ome.tif"):
        run(*common, "-o", tmp_path / name)  # small objects: of full resolution
        found = tifffile.imread(tmp_path / name, key=0)
        assert found.dtype == numpy.uint16 and numpy.array_equal(found, truth)
        levels = tifffile.TiffFile(tmp_path / name).series[0].levels
        assert numpy.array_equal(levels[-1].asarray(), truth[:: 2 ** (len(levels) - 1), :: 2 ** (len(levels) - 1)])
        assert run(*common, "-o", tmp_path / name, "--downsample", 1, "--json").json["skipped"]
    only = run(*common, "-o", tmp_path / "b.tif", "--downsample", 1, "--class", "B", "--json").json
    assert only["drawn"] == {"B": 500} and tifffile.imread(tmp_path / "b.tif", key=0).max() == 500
    told = run("outline", tmp_path / "m.tif", "--like", slide, "-o", tmp_path / "o.geojson", "--instances", "--json").json
    assert told["pieces"] == len(numpy.unique(truth)) - 1 == 1000
    run("rasterize", tmp_path / "o.geojson", "--like", slide, "-o", tmp_path / "back.tif", "--instances", "--downsample", 1)
    assert numpy.array_equal(tifffile.imread(tmp_path / "back.tif", key=0), truth)


def test_an_object_of_two_pieces_is_one_outline(tmp_path, slide):
    mask = numpy.zeros((125, 175), numpy.uint32)
    mask[10:30, 20:60], mask[15:20, 30:40], mask[50:52, 100:120] = 70000, 0, 70000
    mask[60:70, 5:15] = 4294967295
    write_slide(tmp_path / "m.tif", mask, 2.0)
    words = ["--like", slide, "--instances"]
    run("outline", tmp_path / "m.tif", *words, "-o", tmp_path / "o.geojson", "--class-name", "Nucleus")
    features = json.loads((tmp_path / "o.geojson").read_text())["features"]
    assert [f["geometry"]["type"] for f in features] == ["MultiPolygon", "Polygon"]
    assert [len(part) for part in features[0]["geometry"]["coordinates"]] == [2, 1]
    assert {f["properties"]["classification"]["name"] for f in features} == {"Nucleus"}
    run("rasterize", tmp_path / "o.geojson", *words, "-o", tmp_path / "back.tif", "--downsample", 4)
    assert [f["properties"]["name"] for f in features] == ["70000", "4294967295"]
    assert numpy.array_equal(tifffile.imread(tmp_path / "back.tif", key=0), mask)
    # Numbers follow outlines that were reordered, as other programs do, and are places where one is no number.
    for name, numbers in (("7", {70000: 7, 4294967295: 4294967295}), ("x", {70000: 2, 4294967295: 1}), ("4294967295", {70000: 2, 4294967295: 1})):
        features[0]["properties"]["name"] = name
        (tmp_path / "p.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": features[::-1]}))
        run("rasterize", tmp_path / "p.geojson", *words, "-o", tmp_path / "p.tif", "--downsample", 4, "--overwrite")
        expected = numpy.select([mask == label for label in numbers], list(numbers.values()))
        assert numpy.array_equal(tifffile.imread(tmp_path / "p.tif", key=0), expected)
    assert fails("outline", tmp_path / "m.tif", *words, "-o", tmp_path / "o.seg.nrrd", code=2).code == "E-OPTION-APPLIES"


def test_more_outlines_than_16_bits_have(tmp_path):
    slide = write_slide(tmp_path / "wide.tif", numpy.full((256, 300, 3), 240, numpy.uint8))
    outlines = [("A", [[(x, y), (x + 1, y), (x + 1, y + 1), (x, y + 1)]]) for y in range(256) for x in range(257)]
    write_outlines(tmp_path / "a.geojson", *outlines)
    run("rasterize", tmp_path / "a.geojson", "--like", slide, "-o", tmp_path / "m.tif", "--instances", "--downsample", 1)
    found = tifffile.imread(tmp_path / "m.tif", key=0)
    assert found.dtype == numpy.uint32 and found[:, 257:].max() == 0
    assert numpy.array_equal(found[:, :257], numpy.arange(1, 256 * 257 + 1).reshape(256, 257))


def read_nrrd(path):
    """Fields, keys and pixels (y, x) of an attached gzip NRRD of bytes, https://teem.sourceforge.net/nrrd/format.html."""
    header, data = path.read_bytes().split(b"\n\n", 1)
    lines = header.decode().splitlines()[1:]
    keys = dict(line.split(":=", 1) for line in lines if ":=" in line)
    fields = dict(line.split(": ", 1) for line in lines if ":=" not in line and not line.startswith("#"))
    assert fields["encoding"] in ("gz", "gzip") and fields["type"] in ("unsigned char", "uchar", "uint8")
    width, height, depth = map(int, fields["sizes"].split())
    return fields, keys, numpy.frombuffer(gzip.decompress(data), numpy.uint8).reshape(depth, height, width)[0]


def test_mask_to_segmentation(tmp_path, slide):
    """Where the mask lies on the slide (700 x 500, 0.5 um), at a quarter of its resolution."""
    mask = blobs(125, 175)
    write_slide(tmp_path / "mask.tif", mask, 2.0)
    file = tmp_path / "mask.seg.nrrd"
    assert run("outline", tmp_path / "mask.tif", "--like", slide, "-o", file, "--class-name", "Tumor", "--json").json["segments"] == 1
    fields, keys, labels = read_nrrd(file)
    assert (labels == mask // 255).all() and fields["space"] == "left-posterior-superior"
    numbers = [float(number) for number in fields["space directions"].replace("(", "").replace(")", "").replace(",", " ").split()]
    assert numbers == pytest.approx([0.002, 0, 0, 0, 0.002, 0, 0, 0, 1])
    # Centers of pixels: four pixels of the slide end where one of the mask does.
    corner = [float(number) for number in fields["space origin"].strip("()").split(",")]
    assert corner == pytest.approx([1.5 * 0.0005, 1.5 * 0.0005, 0])  # the slide's first pixel is at 0
    assert (keys["Segment0_Name"], keys["Segment0_LabelValue"], keys.get("Segment1_Name")) == ("Tumor", "1", None)
    # As a mask it is the same again.
    assert run("evaluate", file, tmp_path / "mask.tif", "--json").json["dice"] == 1
    assert fails("outline", tmp_path / "mask.tif", "--like", slide, "-o", file).code == "E-OUTPUT-EXISTS"
    assert fails("outline", tmp_path / "mask.tif", "--like", slide, "-o", tmp_path / "m.seg.nrrd", "--origin", "bounds", code=2).code == "E-OPTION-APPLIES"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([slide.name, "mask.tif", "mask.seg.nrrd"])


def test_classes_become_segments(tmp_path, synthetic):
    """With the names and colors that label writes."""
    run("label", synthetic[0], "-o", tmp_path / "classes.tif", "--classes")
    run("outline", tmp_path / "classes.tif", "--like", synthetic[0], "-o", tmp_path / "c.seg.nrrd")
    _, keys, labels = read_nrrd(tmp_path / "c.seg.nrrd")
    pixels = tifffile.imread(tmp_path / "classes.tif")
    assert (labels == pixels).all()
    present = [int(value) for value in numpy.unique(pixels) if value]
    assert [int(keys[f"Segment{i}_LabelValue"]) for i in range(len(present))] == present
    assert keys["Segment0_Name"] == "tissue" and f"Segment{len(present)}_Name" not in keys
    for output in ("d.seg.nrrd", "d.geojson"):
        words = ["outline", tmp_path / "classes.tif", "--like", synthetic[0], "-o", tmp_path / output]
        assert fails(*words, "--class-name", "Tumor").code == "E-OPTION-APPLIES"
    run(*words)
    features = json.loads((tmp_path / "d.geojson").read_text())["features"]
    names = [feature["properties"]["classification"]["name"] for feature in features]
    assert sorted(set(names)) == sorted(keys[f"Segment{i}_Name"] for i in range(len(present)))
    run("rasterize", tmp_path / "d.geojson", "--like", synthetic[0], "-o", tmp_path / "back.tif", "--class", "tissue")
    assert (tifffile.imread(tmp_path / "back.tif", key=0) == 255 * (pixels == 1)).all()


def test_labels_without_names(tmp_path, slide):
    """Numbers are classes, 255 beside them is ignored; 0 and 1 show one object, and so do grays."""
    mask = numpy.zeros((125, 175), numpy.uint8)
    mask[10:20, 10:20], mask[10:20, 30:40], mask[10:20, 50:60] = 1, 4, 255
    grays = numpy.arange(125 * 175).reshape(125, 175).astype(numpy.uint8)
    found = {}
    for name, pixels in (("numbers", mask), ("one", mask == 1), ("grays", grays)):
        write_slide(tmp_path / f"{name}.tif", pixels.astype(numpy.uint8), 2.0)
        run("outline", tmp_path / f"{name}.tif", "--like", slide, "-o", tmp_path / f"{name}.geojson")
        features = json.loads((tmp_path / f"{name}.geojson").read_text())["features"]
        found[name] = [(f["properties"]["classification"]["name"], min(f["geometry"]["coordinates"][0])) for f in features]
        run("outline", tmp_path / f"{name}.tif", "--like", slide, "-o", tmp_path / f"{name}.seg.nrrd")
    assert found["numbers"] == [("Class 1", [40, 40]), ("Class 4", [120, 40])] and found["one"] == [("Tissue", [40, 40])]
    assert {name for name, _ in found["grays"]} == {"Tissue"}
    assert (read_nrrd(tmp_path / "numbers.seg.nrrd")[2] == numpy.where(mask == 255, 0, mask)).all()
    assert (read_nrrd(tmp_path / "one.seg.nrrd")[2] == (mask == 1)).all()
    assert (read_nrrd(tmp_path / "grays.seg.nrrd")[2] == (grays > 0)).all()


def test_labels_that_a_segmentation_cannot_have(tmp_path, slide):
    labels = (blobs(125, 175) > 0).astype(numpy.uint16) * 300
    labels[0, 0] = 1
    write_slide(tmp_path / "l.tif", labels, 2.0)
    assert fails("outline", tmp_path / "l.tif", "--like", slide, "-o", tmp_path / "l.seg.nrrd").code == "E-LABEL-VALUE"
    assert not (tmp_path / "l.seg.nrrd").exists()


def test_segmentation_of_a_slide_without_resolution(tmp_path):
    write_slide(tmp_path / "s.tif", numpy.full((80, 64, 3), 200, numpy.uint8), None)
    write_slide(tmp_path / "m.tif", blobs(80, 64), None)
    words = ["outline", tmp_path / "m.tif", "--like", tmp_path / "s.tif", "-o", tmp_path / "m.seg.nrrd"]
    assert run(*words).codes == ["W-MASK-RESOLUTION"]
    assert "W-MASK-RESOLUTION" not in run(*words, "--overwrite", "--slide-mpp", 0.5).codes
    assert read_nrrd(tmp_path / "m.seg.nrrd")[0]["space directions"].startswith("(0.0005")


def codes(*arguments):
    """Codes and values of the warnings."""
    return [(w["code"], w["value"]) for w in run(*arguments, "--json").json.get("warnings", [])]


def square(x, y, side=80):
    return [[(x, y), (x + side, y), (x + side, y + side), (x, y + side)]]


def test_class_that_is_not_there(tmp_path, slide):
    outlines = write_outlines(tmp_path / "a.geojson", ("Tumor", square(100, 100)), ("Stroma", square(300, 100)), ("Tumor", square(0, 0)))
    common = ["rasterize", outlines, "--like", slide, "-o", tmp_path / "m.tif"]
    refused = fails(*common, "--class", "tumor")
    assert (refused.code, refused.file, refused.option, refused.value) == ("E-ANNOTATION-CLASS", str(outlines), "--class", "tumor")
    assert "Stroma (1), Tumor (2)" in refused
    assert fails(*common, "--class", "tumor", "--class", "stroma").value == "tumor, stroma"
    assert fails(*common, "--class", "Tumor", "--class", "Tumor", code=2).code == "E-OPTION-REPEATED"
    assert not (tmp_path / "m.tif").exists()
    warnings = run(*common, "--class", "tumor", "--class", "Stroma", "--json").json["warnings"]
    assert [(w["code"], w["file"], w["value"]) for w in warnings] == [("W-ANNOTATION-CLASS", str(outlines), "tumor")]
    assert "warnings" not in run(*common, "--class", "Tumor", "--class", "Stroma", "--overwrite", "--json").json


def test_outlines_that_miss_the_slide(tmp_path, slide):
    far = write_outlines(tmp_path / "far.geojson", ("Tumor", square(5000, 40)), ("Tumor", square(-90, 40)))
    refused = fails("rasterize", far, "--like", slide, "-o", tmp_path / "m.tif")
    assert (refused.code, refused.file) == ("E-ANNOTATION-EMPTY", str(far))
    for part in ("from (-90, 40) to (5080, 120)", "(704, 504)"):
        assert part in refused
    assert not (tmp_path / "m.tif").exists()
    some = write_outlines(tmp_path / "some.geojson", ("Tumor", square(5000, 40)), ("Tumor", square(-40, 40)), ("Tumor", square(9, 9, 1)))
    result = run("rasterize", some, "--like", slide, "-o", tmp_path / "m.tif", "--json").json
    assert [(w["code"], w["value"]) for w in result["warnings"]] == [("W-ANNOTATION-OUTSIDE", "1"), ("W-ANNOTATION-SMALL", "1")]
    assert result["doubts"] == [{"code": "W-ANNOTATION-OUTSIDE", "file": str(some), "value": 1, "limit": 0}]
    assert tifffile.imread(tmp_path / "m.tif", key=0).any()


def test_outlines_whose_box_alone_meets_the_slide(tmp_path, slide):
    corner = write_outlines(tmp_path / "corner.geojson", ("Tumor", [[(-300, 200), (200, -300), (-300, -300)]]))
    refused = fails("rasterize", corner, "--like", slide, "-o", tmp_path / "m.tif")
    assert (refused.code, refused.file) == ("E-ANNOTATION-EMPTY", str(corner))
    assert not (tmp_path / "m.tif").exists()


def test_features_without_geometry(tmp_path, slide):
    feature = {"type": "Feature", "geometry": None, "properties": {"classification": {"name": "Tumor"}}}
    outlines = write_outlines(tmp_path / "a.geojson", ("Tumor", square(100, 100)))
    run("rasterize", outlines, "--like", slide, "-o", tmp_path / "one.tif")
    content = json.loads(outlines.read_text())
    content["features"] += [feature, feature]
    outlines.write_text(json.dumps(content))
    assert codes("rasterize", outlines, "--like", slide, "-o", tmp_path / "m.tif") == [("W-ANNOTATION-SHAPE", "2")]
    masks = [tifffile.imread(tmp_path / name, key=0) for name in ("one.tif", "m.tif")]
    assert masks[0].any() and numpy.array_equal(*masks)
    outlines.write_text(json.dumps({"type": "FeatureCollection", "features": [feature]}))
    told = codes("rasterize", outlines, "--like", slide, "-o", tmp_path / "empty.tif")
    assert [code for code, _ in told] == ["W-ANNOTATION-SHAPE", "W-ANNOTATION-EMPTY"]


def test_empty_mask_has_no_outlines_with_a_word(tmp_path, slide):
    write_slide(tmp_path / "mask.tif", numpy.zeros((63, 88), numpy.uint8), 4.0)
    assert codes("outline", tmp_path / "mask.tif", "--like", slide, "-o", tmp_path / "o.geojson")[0][0] == "W-DOUBT-MASK-EMPTY"
    told = codes("rasterize", tmp_path / "o.geojson", "--like", slide, "-o", tmp_path / "back.tif")
    assert [code for code, _ in told] == ["W-ANNOTATION-EMPTY"]
    only = write_outlines(tmp_path / "i.geojson", ("Ignore*", square(100, 100)))
    assert codes("rasterize", only, "--like", slide, "-o", tmp_path / "i.tif")[0] == ("W-ANNOTATION-EMPTY", "Ignore*")


def test_bad_annotations(tmp_path, slide):
    bad = tmp_path / "bad.geojson"
    bad.write_text('{"type": "FeatureCollection", "features": [{"type": "Feature"')
    refused = fails("rasterize", bad, "--like", slide, "-o", tmp_path / "m.tif")
    assert (refused.code, refused.file) == ("E-ANNOTATION-FORMAT", str(bad))
    assert not (tmp_path / "m.tif").exists()
    ring = [[[10, 10], [90, 10], [90, 90], [10, 10]]]
    for kind in ("Polygonn", "polygon", "x" * 1000, 7):
        feature = {"type": "Feature", "geometry": {"type": kind, "coordinates": ring}}
        bad.write_text(json.dumps({"type": "FeatureCollection", "features": [feature]}))
        refused = fails("rasterize", bad, "--like", slide, "-o", tmp_path / "m.tif")
        assert refused.code == "E-ANNOTATION-FORMAT" and json.dumps(kind)[:60] in refused and len(refused) < 500
    assert not (tmp_path / "m.tif").exists()
    other = write_slide(tmp_path / "other.tif", blobs(40, 90), 4.0)
    refused = fails("outline", other, "--like", slide, "-o", tmp_path / "o.geojson")
    assert (refused.code, refused.file) == ("E-MASK-GRID", str(other))


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
    assert fails(*arguments, 0.5).code == "E-OUTPUT-EXISTS"
    arguments[3] = slide
    assert not run(*arguments, 0.5, "--overwrite").json["skipped"]
    refused = fails(*arguments, 0.25)
    assert (refused.code, refused.file, refused.option) == ("E-OPTION-CONFLICT", str(slide), "--slide-mpp")
    assert "0.5000" in refused and "0.2500" in refused


ASAP = """<?xml version="1.0"?><ASAP_Annotations><Annotations><Annotation Name="A" Type="Polygon" PartOfGroup="Tumor"
Color="#F4FA58"><Coordinates>%s</Coordinates></Annotation></Annotations></ASAP_Annotations>"""
IMAGESCOPE = """<Annotations MicronsPerPixel="0.5"><Annotation Id="1" Name="Tumor"><Regions><Region Type="0"
NegativeROA="0"><Vertices>%s</Vertices></Region></Regions></Annotation></Annotations>"""


def write_as(kind, path, ring):
    """One outline of the class Tumor, as programs write it."""
    geometry = {"type": "Polygon", "coordinates": [[*ring, ring[0]]]}
    feature = {"type": "Feature", "geometry": geometry, "properties": {"classification": {"name": "Tumor"}}}
    if kind == "not a number":
        feature["properties"]["measurements"] = {"a": float("nan"), "b": float("inf"), "c": -float("inf")}
    elif kind == "class as text":
        feature["properties"]["classification"] = "Tumor"
    elif kind == "class as JSON in text":
        feature["properties"]["classification"] = json.dumps({"name": "Tumor", "color": [200, 0, 0]})
    text = json.dumps(geometry if kind == "geometry" else {"type": "FeatureCollection", "features": [feature]})
    if kind == "ASAP":
        text = ASAP % "".join(f'<Coordinate Order="{i}" X="{x}" Y="{y}"/>' for i, (x, y) in enumerate(ring))
    elif kind == "ImageScope":
        text = IMAGESCOPE % "".join(f'<Vertex X="{x}" Y="{y}" Z="0"/>' for x, y in ring)
    elif kind == "HALO":
        vertices = "".join(f'<V X="{x}" Y="{y}" />' for x, y in ring)
        text = (IMAGESCOPE % vertices).replace('Type="0"', 'Type="Polygon"')
    path.write_bytes(gzip.compress(text.encode()) if kind == "gzip" else text.encode())
    return path


KINDS = ["not a number", "class as text", "class as JSON in text", "geometry", "gzip", "ASAP", "ImageScope", "HALO"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["a.geojson", "a.xml"])
def test_what_other_programs_write(kind, name, tmp_path, slide):
    """The area is the polygon's; what the file is says its content, not its name."""
    outlines = write_as(kind, tmp_path / name, [(100, 100), (300, 100), (300, 300), (100, 300)])
    words = [] if kind == "geometry" else ["--class", "Tumor"]
    result = run("rasterize", outlines, "--like", slide, "-o", tmp_path / "m.tif", "--downsample", 1, "--json", *words).json
    assert result["drawn"] == {"" if kind == "geometry" else "Tumor": 1} and "warnings" not in result
    mask = tifffile.imread(tmp_path / "m.tif", key=0) > 0
    assert mask[100:300, 100:300].all() and mask.sum() == 200 * 200


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_texts_of_any_unicode(encoding, tmp_path, slide):
    for text in (write_as("", tmp_path / "a.geojson", square(100, 100)[0]), write_as("ImageScope", tmp_path / "a.xml", square(100, 100)[0])):
        content = text.read_text().replace("Tumor", "\u00c4\u4e2d\U0001f9ec")
        declared = '<?xml version="1.0" encoding="utf-16"?>' if text.suffix == ".xml" and "16" in encoding else ""
        text.write_bytes((declared + content).encode(encoding))
        result = run("rasterize", text, "--like", slide, "-o", tmp_path / "m.tif", "--overwrite", "--json").json
        assert result["drawn"] == {"\u00c4\u4e2d\U0001f9ec": 1}


def turn(points, angle):
    """The points turned around (300, 200)."""
    c, s = numpy.cos(angle), numpy.sin(angle)
    return [(300 + c * (x - 300) - s * (y - 200), 200 + s * (x - 300) + c * (y - 200)) for x, y in points]


BOX = [(200, 140), (400, 140), (400, 260), (200, 260)]


TWO, CROSS = BOX[::2], [(300, 140), (400, 200), (300, 260), (200, 200)]


@pytest.mark.parametrize(
    "kind, number, points, angle",
    [
        ("Rectangle", 1, TWO, 0),
        ("Rectangle", 1, BOX[1::2], 0),
        ("Rectangle", 1, BOX, 0),
        ("Rectangle", 1, turn(BOX, 0.5), 0.5),
        ("Ellipse", 2, TWO, 0),
        ("Ellipse", 2, BOX[1::2], 0),
        ("Ellipse", 2, BOX, 0),
        ("Ellipse", 2, [BOX[0], BOX[1], BOX[3], BOX[2]], 0),
        ("Ellipse", 2, CROSS, 0),
        ("Ellipse", 2, turn(BOX, 0.5), 0.5),
        ("Ellipse", 2, turn(BOX, numpy.pi / 4), numpy.pi / 4),
    ],
)
def test_ellipses_and_rectangles(kind, number, points, angle, tmp_path, slide):
    y, x = numpy.mgrid[:500, :700] + 0.5
    c, s = numpy.cos(angle), numpy.sin(angle)
    along, across = ((x - 300) * c + (y - 200) * s) / 100, ((y - 200) * c - (x - 300) * s) / 60
    truth = along**2 + across**2 < 1 if kind == "Ellipse" else (abs(along) < 1) & (abs(across) < 1)
    for type_, element in ((number, "Vertex"), (kind, "V")):
        vertices = "".join(f'<{element} X="{px:.2f}" Y="{py:.2f}" />' for px, py in points)
        (tmp_path / "a.annotations").write_text((IMAGESCOPE % vertices).replace('Type="0"', f'Type="{type_}"'))
        words = ["--downsample", 1, "--overwrite", "--json"]
        result = run("rasterize", tmp_path / "a.annotations", "--like", slide, "-o", tmp_path / "m.tif", *words).json
        assert "warnings" not in result
        mask = tifffile.imread(tmp_path / "m.tif", key=0) > 0
        assert (mask != truth).sum() <= 0.005 * truth.sum()


def test_holes_and_layers_of_halo(tmp_path, slide):
    def region(kind, negative, ring):
        vertices = "".join(f'<V X="{x}" Y="{y}" />' for x, y in ring)
        return f'<Region Type="{kind}" HasEndcaps="0" NegativeROA="{negative}"><Vertices>{vertices}</Vertices><Comments /></Region>'

    regions = region("Polygon", 0, square(100, 100, 100)[0]) + region("Ellipse", "True", [(120, 120), (180, 180)])
    (tmp_path / "a.annotations").write_text(
        f'<Annotations><Annotation LineColor="65280" Name="" Visible="True"><Attributes><Attribute Name="Description" Value="Tumor"/>'
        f'</Attributes><Regions>{regions}{region("Ruler", 0, [(5, 5), (50, 50)])}</Regions></Annotation></Annotations>'
    )
    result = run("rasterize", tmp_path / "a.annotations", "--like", slide, "-o", tmp_path / "m.tif", "--downsample", 1, "--json").json
    assert result["drawn"] == {"Tumor": 1}
    assert [(w["code"], w["value"]) for w in result["warnings"]] == [("W-ANNOTATION-SHAPE", "1")]  # the ruler
    mask = tifffile.imread(tmp_path / "m.tif", key=0) > 0
    assert abs(mask.sum() - (100 * 100 - numpy.pi * 30**2)) < 20 and not mask[150, 150]


def test_files_that_are_no_annotations(tmp_path, slide):
    for content, code in (
        (b"PK\x03\x04 and more", "E-ANNOTATION-FORMAT"),
        (b"<html><body/></html>", "E-ANNOTATION-FORMAT"),
        (b"x,y\n1,2\n", "E-ANNOTATION-FORMAT"),
        (gzip.compress(b"{}" * 10000)[:-9], "E-FILE-DAMAGED"),
        (gzip.compress(b" " * (80 << 20)), "E-FILE-LIMIT"),
    ):
        (tmp_path / "a.geojson").write_bytes(content)
        refused = fails("rasterize", tmp_path / "a.geojson", "--like", slide, "-o", tmp_path / "m.tif")
        assert (refused.code, refused.file) == (code, str(tmp_path / "a.geojson"))
    assert not (tmp_path / "m.tif").exists()


@pytest.fixture
def bounded(tmp_path):
    """A slide with a scanned area that begins at (200, 400): a Leica SCN of 4000 x 6000 pixels."""
    pixels = numpy.full((768, 1024, 3), 240, numpy.uint8)
    description = """<?xml version="1.0"?><scn xmlns="http://www.leica-microsystems.com/scn/2010/10/01">
<collection name="c" sizeX="2000000" sizeY="3000000"><image name="i" uuid="u">
<pixels sizeX="1024" sizeY="768"><dimension sizeX="1024" sizeY="768" r="0" ifd="0"/></pixels>
<view sizeX="512000" sizeY="384000" offsetX="100000" offsetY="200000"/>
<scanSettings><objectiveSettings><objective>20</objective></objectiveSettings>
<illuminationSettings><illuminationSource>brightfield</illuminationSource></illuminationSettings></scanSettings>
</image></collection></scn>"""
    path = tmp_path / "bounded.scn"
    tifffile.imwrite(path, pixels, tile=(256, 256), compression="zlib", photometric="rgb", description=description, metadata=None)
    info = run("info", path, "--json").json
    assert info["bounds"] == {"x": 200, "y": 400, "width": 1024, "height": 768} and info["width"] == 4000
    return path


def test_outlines_of_qupath_begin_at_the_scanned_area(tmp_path, bounded):
    outlines = write_outlines(tmp_path / "a.geojson", ("Tumor", [[(0, 0), (512, 0), (512, 384), (0, 384)]]))

    def draw(*words):
        out = tmp_path / "m.tif"
        result = run("rasterize", outlines, "--like", bounded, "-o", out, "--downsample", 4, "--overwrite", "--json", *words).json
        y, x = numpy.nonzero(tifffile.imread(out, key=0))
        return result, [int(v) * 4 for v in (x.min(), y.min(), x.max() + 1, y.max() + 1)]

    result, box = draw()
    assert box == [0, 0, 512, 384] and result["origin"] == [0, 0]
    assert [(w["code"], w["option"]) for w in result["warnings"]] == [("W-ANNOTATION-ORIGIN", "--origin")]
    result, box = draw("--origin", "slide")
    assert box == [0, 0, 512, 384] and "warnings" not in result
    result, box = draw("--origin", "bounds")
    assert box == [200, 400, 712, 784] and result["origin"] == [200, 400] and "warnings" not in result
    mask = tifffile.imread(tmp_path / "m.tif", key=0)
    for origin, corner in (("bounds", [0, 0]), ("slide", [200, 400])):
        words = ["--like", bounded, "--origin", origin]
        run("outline", tmp_path / "m.tif", "-o", tmp_path / "o.geojson", "--overwrite", *words)
        ring = json.loads((tmp_path / "o.geojson").read_text())["features"][0]["geometry"]["coordinates"][0]
        assert numpy.min(ring, 0).tolist() == corner
        run("rasterize", tmp_path / "o.geojson", "-o", tmp_path / "back.tif", "--downsample", 4, "--overwrite", *words)
        assert numpy.array_equal(tifffile.imread(tmp_path / "back.tif", key=0), mask)
    # Another origin is another mask.
    assert fails("rasterize", outlines, "--like", bounded, "-o", tmp_path / "m.tif", "--downsample", 4, "--origin", "slide").code == "E-OUTPUT-EXISTS"


def test_origins_are_one_where_a_slide_has_no_bounds(tmp_path, slide):
    outlines = write_outlines(tmp_path / "a.geojson", ("Tumor", square(100, 100)))
    for origin, codes in (("slide", []), ("bounds", ["W-OPTION-NO-EFFECT"])):
        result = run("rasterize", outlines, "--like", slide, "-o", tmp_path / f"by-{origin}.tif", "--origin", origin, "--json").json
        assert [warning["code"] for warning in result.get("warnings", [])] == codes
    assert numpy.array_equal(*(tifffile.imread(tmp_path / f"by-{o}.tif", key=0) for o in ("slide", "bounds")))


@pytest.mark.parametrize("name", ["m.jpg", "m.jpeg", "m.webp", "m.png"])
def test_names_that_masks_cannot_have(name, tmp_path, slide):
    outlines = write_outlines(tmp_path / "a.geojson", ("Tumor", square(100, 100)))
    for words in (["rasterize", outlines, "--like", slide, "-o"], ["label", slide, "-o"]):
        refused = fails(*words, tmp_path / name, code=2)
        assert (refused.code, refused.option, refused.value) == ("E-OUTPUT-ENDING", "--output", str(tmp_path / name))
    assert not (tmp_path / name).exists()
