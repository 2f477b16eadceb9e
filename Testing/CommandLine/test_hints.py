# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""label --hints: what a person says of places where a mask is wrong."""

import json

import numpy
import pytest
import tifffile

from conftest import fails, run, write_slide

SIDE, GRID = 2048, 8


def outline(name, left, top, right, bottom):
    ring = [[left, top], [right, top], [right, bottom], [left, bottom], [left, top]]
    properties = {"classification": {"name": name}} if name else {}
    return {"type": "Feature", "geometry": {"type": "Polygon", "coordinates": [ring]}, "properties": properties}


def write(path, *outlines):
    path.write_text(json.dumps({"type": "FeatureCollection", "features": list(outlines)}))
    return path


def refuses(expected, *words, **options):
    assert fails(*words, **options).code == expected


@pytest.fixture
def slide(tmp_path):
    """Two pieces of rough pink on glass, far apart."""
    rng = numpy.random.default_rng(0)
    pixels = rng.integers(238, 248, (SIDE, SIDE, 3), dtype=numpy.uint8)
    for left in (200, 1300):
        rough = rng.integers(-40, 40, (75, 75)).repeat(8, 0).repeat(8, 1)[..., None]
        pixels[300:900, left : left + 600] = numpy.clip(numpy.array([195, 120, 180]) + rough, 0, 255)
    return write_slide(tmp_path / "slide.tif", pixels, 0.5)


def label(slide, output, *words):
    told = run("label", slide, "-o", output, "--preset", "model", "--overwrite", "--json", *words).json
    return tifffile.imread(output, key=0), told


def part(mask, left, top, right, bottom):
    return mask[top // GRID : bottom // GRID, left // GRID : right // GRID]


def test_what_lies_in_them_is_what_they_say_and_what_is_far_away_stays(tmp_path, slide):
    before, told = label(slide, tmp_path / "before.tif")
    assert told["hints"] is None
    places = {"Glass": (400, 400, 640, 640), "tissue": (400, 1400, 480, 1480)}
    hints = write(tmp_path / "h.geojson", *(outline(name, *place) for name, place in places.items()))
    after, told = label(slide, tmp_path / "after.tif", "--hints", hints)
    assert told["hints"] == str(hints)
    # The hole is far smaller than those that are filled, and the speck than those that go: both stay.
    assert not part(after, *places["Glass"]).any() and (part(after, *places["tissue"]) == 255).all()
    assert numpy.array_equal(part(after, 1200, 0, SIDE, SIDE), part(before, 1200, 0, SIDE, SIDE))


def test_what_looks_like_them_nearby_is_judged_anew(tmp_path, slide):
    before, _ = label(slide, tmp_path / "before.tif")
    piece = (200, 300, 800, 900)
    say = "Glass" if part(before, *piece).mean() > 127 else "Tissue"
    hints = write(tmp_path / "h.geojson", outline(say, 230, 330, 770, 480))
    after, _ = label(slide, tmp_path / "after.tif", "--hints", hints)
    said = 255 if say == "Tissue" else 0
    is_so, was_so = (part(mask, 200, 488, 800, 600) == said for mask in (after, before))
    assert is_so.mean() > was_so.mean() + 0.3


def test_classes_and_threads(tmp_path, slide):
    hints = write(tmp_path / "h.geojson", outline("Pen", 300, 400, 500, 600), outline("Artifact", 1500, 1500, 1700, 1700))
    masks = [label(slide, tmp_path / f"{n}.tif", "--classes", "--hints", hints, "--threads", n)[0] for n in (1, 3)]
    assert numpy.array_equal(*masks)
    assert (part(masks[0], 300, 400, 500, 600) == 2).all() and (part(masks[0], 1500, 1500, 1700, 1700) == 3).all()


def test_other_hints_make_a_mask_anew(tmp_path, slide):
    hints = write(tmp_path / "h.geojson", outline("Glass", 300, 400, 500, 600))
    words = ("label", slide, "-o", tmp_path / "m.tif", "--preset", "model", "--hints", hints, "--json")
    assert not run(*words).json["skipped"] and run(*words).json["skipped"]
    write(hints, outline("Tissue", 300, 400, 500, 600))
    refuses("E-OUTPUT-EXISTS", *words, code=1)


def test_a_folder_has_hints_of_some_slides(tmp_path, slide):
    slides = tmp_path / "slides"
    slides.mkdir()
    for name in ("a.tif", "b.tif"):
        (slides / name).write_bytes(slide.read_bytes())
    folder = tmp_path / "hints"
    folder.mkdir()
    words = ("label", slides, "-o", tmp_path / "masks", "--preset", "model", "--json")
    refuses("E-ANNOTATION-EMPTY", *words, "--hints", folder)
    write(folder / "b.geojson", outline("Glass", 200, 300, 800, 900))
    told = {row["slide"].rsplit("/", 1)[1]: row["hints"] for row in run(*words, "--hints", folder).json}
    assert told == {"a.tif": None, "b.tif": str(folder / "b.geojson")}
    refuses("E-OPTION-CONFLICT", *words, "--overwrite", "--hints", folder / "b.geojson", code=2)


def test_what_says_nothing_is_refused(tmp_path, slide):
    words = ("label", slide, "-o", tmp_path / "m.tif")
    good = write(tmp_path / "good.geojson", outline("Glass", 300, 400, 500, 600))
    refuses("E-OPTION-APPLIES", *words, "--preset", "robust", "--hints", good, code=2)
    for name in ("Tumor", ""):
        refuses("E-ANNOTATION-CLASS", *words, "--hints", write(tmp_path / "h.geojson", outline(name, 300, 400, 500, 600)))
    refuses("E-ANNOTATION-EMPTY", *words, "--hints", write(tmp_path / "h.geojson"))
    refuses("E-ANNOTATION-EMPTY", *words, "--hints", write(tmp_path / "h.geojson", outline("Glass", 9000, 9000, 9900, 9900)))
    refuses("E-FILE-MISSING", *words, "--hints", tmp_path / "none.geojson")
    refuses("E-OPTION-NEEDS", *words, "--origin", "bounds", code=2)
    assert not (tmp_path / "m.tif").exists()
