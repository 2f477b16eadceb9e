# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Results that a person would question are flagged: as a list in --json, by a mark in the text, and as a warning."""

import numpy
import pytest

from conftest import run, write_slide, write_tissue_model


def draw(path, tissue, size=400):
    """A white slide with a pink square, which has the share `tissue` of its area."""
    random = numpy.random.default_rng(1)
    pixels = numpy.full((size, size, 3), 243, numpy.uint8)
    side = round(size * tissue**0.5)
    pixels[:side, :side] = numpy.clip((190, 110, 160) + random.normal(0, 12, (side, side, 1)), 0, 255)
    return write_slide(path, pixels)


def mask(path, share, size=100):
    """A mask whose left part is object, which has this share of its width."""
    pixels = numpy.zeros((size, size), numpy.uint8)
    pixels[:, : round(size * share)] = 255
    return write_slide(path, pixels, 2.0)


def doubts(result):
    """Codes of the doubts, each of which is a warning as well."""
    found = result.get("doubts", [])
    assert all(set(d) == {"code", "file", "value", "limit"} for d in found)
    warned = [(w["code"], w["file"]) for w in result.get("warnings", [])]
    assert all(any(d["code"] == code and d["file"] in (None, file) for code, file in warned) for d in found)
    return [d["code"] for d in found]


@pytest.mark.parametrize("share, code", [(0, "W-DOUBT-MASK-EMPTY"), (0.008, "W-DOUBT-TISSUE-LITTLE"), (0.4, None), (0.98, "W-DOUBT-TISSUE-MUCH")])
def test_how_much_tissue(share, code, tmp_path):
    slide = draw(tmp_path / "s.tif", share, 1600)
    words = ["label", slide, "-o", tmp_path / "m.tif", "--preset", "remedios2023", "--downsample", 4]
    result = run(*words, "--json").json
    assert doubts(result) == ([code] if code else []), result
    if code:
        found = result["doubts"][0]
        assert found["value"] == pytest.approx(result["tissueFraction"]) and found["limit"] in (0, 0.01, 0.95)
    again = run(*words)  # it is there already, and as doubtful
    assert (f"(doubtful: {code})" in again.out) == bool(code)


def test_a_batch_marks_its_slides(tmp_path):
    (tmp_path / "slides").mkdir()
    for name, share in (("good", 0.4), ("glass", 0)):
        draw(tmp_path / "slides" / f"{name}.tif", share)
    words = ["label", tmp_path / "slides", "-o", tmp_path / "masks/", "--preset", "remedios2023"]
    results = {r["slide"].rpartition("/")[2]: r for r in run(*words, "--json").json}
    assert doubts(results["good.tif"]) == [] and doubts(results["glass.tif"]) == ["W-DOUBT-MASK-EMPTY"]
    lines = run(*words).out.splitlines()
    assert [line.endswith("(doubtful: W-DOUBT-MASK-EMPTY)") for line in sorted(lines)] == [True, False]  # glass, good


def test_masks_without_content(tmp_path):
    slide = draw(tmp_path / "s.tif", 0.4)
    none, half, full = (mask(tmp_path / f"{name}.tif", share) for name, share in (("none", 0), ("half", 0.5), ("full", 1)))
    assert doubts(run("evaluate", half, half, "--json").json) == []
    assert doubts(run("evaluate", none, half, "--json").json) == ["W-DOUBT-MASK-EMPTY"]
    assert doubts(run("evaluate", half, full, "--json").json) == ["W-DOUBT-MASK-FULL"]
    for path, codes in ((none, ["W-DOUBT-MASK-EMPTY"]), (half, []), (full, ["W-DOUBT-MASK-FULL"])):
        assert doubts(run("overlay", slide, path, "-o", tmp_path / "o.png", "--overwrite", "--json").json) == codes
        if codes != ["W-DOUBT-MASK-EMPTY"]:
            drawn = run("outline", path, "--like", slide, "-o", tmp_path / "o.geojson", "--overwrite", "--json")
            assert doubts(drawn.json) == codes
            drawn = run("rasterize", tmp_path / "o.geojson", "--like", slide, "-o", tmp_path / "m.tif", "--overwrite", "--json")
            assert doubts(drawn.json) == codes


@pytest.mark.usefixtures("network")
def test_segmented_tissue(tmp_path):
    """Of the model for tissue, how much there is; of others, whether there is anything."""
    glass = draw(tmp_path / "glass.tif", 0)
    result = run("segment", glass, "--model", "tissue", "-o", tmp_path / "m.tif", "--json").json
    assert doubts(result) == ["W-DOUBT-MASK-EMPTY"]
    half = draw(tmp_path / "half.tif", 0.4)
    assert doubts(run("segment", half, "--model", "tissue", "-o", tmp_path / "h.tif", "--json").json) == []


@pytest.mark.usefixtures("network")
def test_a_tissue_mask_that_leaves_nothing_out(tmp_path):
    slide = draw(tmp_path / "s.tif", 0.4)
    masks = {share: mask(tmp_path / f"{share}.tif", share) for share in (0, 0.5, 1)}
    for share, code in ((0, "W-DOUBT-MASK-EMPTY"), (0.5, None), (1, "W-DOUBT-MASK-FULL")):
        path = masks[share]
        result = run("segment", slide, "--model", "tissue", "--tissue", path, "-o", tmp_path / "m.tif", "--overwrite", "--json").json
        assert code is None or code in doubts(result)  # and a warning
        found = [d for d in result.get("doubts", []) if d["file"] == str(path)]
        assert [(d["code"], d["value"], d["limit"]) for d in found] == ([(code, share, share)] if code else [])


@pytest.mark.usefixtures("network")
def test_more_pen_than_tissue(tmp_path):
    pixels = numpy.full((1000, 1000, 3), 243, numpy.uint8)
    for top in range(100, 900, 300):
        pixels[top : top + 80] = (20, 70, 190)
    slide = write_slide(tmp_path / "pen.tif", pixels)
    result = run("label", slide, "-o", tmp_path / "m.tif", "--preset", "model", "--json").json
    assert "W-DOUBT-ARTIFACTS" in doubts(result)
    found = next(d for d in result["doubts"] if d["code"] == "W-DOUBT-ARTIFACTS")
    assert found["value"] == pytest.approx(result["penFraction"] + result["artifactFraction"])
    assert found["value"] > found["limit"] == pytest.approx(result["tissueFraction"])


@pytest.mark.usefixtures("network")
@pytest.mark.parametrize("tissue, unsure", [(0.65, True), (0.97, False)])
def test_a_network_that_is_not_sure(tissue, unsure, tmp_path):
    """Which says of every pixel that its classes have the same probabilities; the rules see no tissue, so more than 1/2 is.
    All pixels have one color, whose votes are those of the whole slide: odds of tissue against what is foreign are raised
    to the power of 1 + 1.5 * (1 - 0.75), and those against glass to that of 1 + 0.25 * (1 - 0.75)."""
    slide, others = draw(tmp_path / "s.tif", 0), (1 - tissue) / 3
    both = (tissue + 2 * others) / (1 + (2 * others / tissue) ** (1 + 1.5 * 0.25))
    expected = (both + others) / (1 + others / both * (others / tissue) ** (0.25 * 0.25))

    def change(weights):
        for values in weights.values():
            values[:] = 0
        weights["F.bias"][:] = numpy.log([others, tissue, others, others])

    model = write_tissue_model(tmp_path / "c.safetensors", change)
    result = run("label", slide, "-o", tmp_path / "m.tif", "--model", model, "--json").json
    assert result["tissueFraction"] == 1 and result["expectedIou"] == pytest.approx(expected, abs=2 / 255)
    assert ("W-DOUBT-TISSUE-UNSURE" in doubts(result)) == unsure
    if unsure:
        found = next(d for d in result["doubts"] if d["code"] == "W-DOUBT-TISSUE-UNSURE")
        assert found["value"] > found["limit"]  # a chance
