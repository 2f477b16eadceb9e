# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""label: mask pyramids as other programs see them, batches, and no LibTorch in sight."""

import json
import os
import subprocess
from pathlib import Path

import numpy
import openslide
import PIL.Image
import pytest
import tifffile

from conftest import PROGRAM, blobs, fails, run, write_slide, write_tissue_model


def tissue_slide(path, width=1111, height=905, mpp=0.5, seed=1):
    """Pink discs on white: their mask is known but for the borders that the morphology rounds."""
    mask = blobs(height, width, seed)
    pixels = numpy.where(mask[..., None] > 0, numpy.array([200, 100, 150], numpy.uint8), numpy.uint8(245))
    return write_slide(path, pixels, mpp), mask


def test_pyramid_opens_elsewhere_with_right_levels_and_resolution(tmp_path, synthetic):
    mask = tmp_path / "mask.tif"
    result = run("label", synthetic[0], "-o", mask, "--full-resolution", "--json").json
    assert (result["width"], result["height"]) == (1300, 1100)
    slide = openslide.OpenSlide(str(mask))
    assert slide.level_dimensions[:2] == ((1300, 1100), (650, 550)) and slide.level_count == 3
    with tifffile.TiffFile(mask) as file:
        levels = [page.asarray() for page in file.pages]
        x, unit = file.pages[0].tags["XResolution"].value, file.pages[0].tags["ResolutionUnit"].value
    assert [level.shape[::-1] for level in levels] == list(slide.level_dimensions)
    assert unit == 3 and 1e4 * x[1] / x[0] == pytest.approx(0.5, rel=1e-6)
    assert set(numpy.unique(levels[0])) == {0, 255}
    for k, level in enumerate(levels):
        # Labels are reduced to the upper left pixel of each block.
        assert numpy.array_equal(level, levels[0][:: 2**k, :: 2**k])
        seen = slide.read_region((0, 0), k, slide.level_dimensions[k])
        assert numpy.array_equal(numpy.asarray(seen)[..., 0], level)


def test_label_grid_is_rounded_up_and_eight_times_coarser(tmp_path):
    slide, truth = tissue_slide(tmp_path / "a.tif")
    result = run("label", slide, "-o", tmp_path / "m.tif", "--preset", "remedios2023", "--json").json
    assert (result["width"], result["height"]) == (139, 114) == (-(-1111 // 8), -(-905 // 8))
    assert result["mpp"] == pytest.approx(4.0, rel=1e-6) and result["downsample"] == 8
    mask = tifffile.imread(tmp_path / "m.tif")
    assert mask.shape == (114, 139)
    assert result["tissueFraction"] == pytest.approx(numpy.mean(mask > 0), rel=1e-12)
    assert result["tissueMm2"] == pytest.approx(numpy.sum(mask > 0) * 0.004**2, rel=1e-6)
    # Discs: the rounding of erosion and dilation (at most two pixels along each border) is all that differs.
    blown = numpy.kron(mask, numpy.ones((8, 8), numpy.uint8))[:905, :1111]
    assert numpy.mean(blown != truth) < 0.05


def test_full_resolution_is_the_label_grid_enlarged(tmp_path):
    slide, _ = tissue_slide(tmp_path / "a.tif")
    run("label", slide, "-o", tmp_path / "grid.tif")
    run("label", slide, "-o", tmp_path / "full.tif", "--full-resolution")
    grid, full = tifffile.imread(tmp_path / "grid.tif"), tifffile.imread(tmp_path / "full.tif")
    assert numpy.array_equal(full, numpy.kron(grid, numpy.ones((8, 8), numpy.uint8))[:905, :1111])


def test_resolution_of_the_label_grid(tmp_path):
    slide, _ = tissue_slide(tmp_path / "a.tif")
    assert run("label", slide, "-o", tmp_path / "m1.tif", "--mpp", 2, "--json").json["downsample"] == 4
    assert run("label", slide, "-o", tmp_path / "m2.tif", "--downsample", 3, "--json").json["width"] == 371
    blind, _ = tissue_slide(tmp_path / "blind.tif", mpp=None)
    refused = fails("label", blind, "-o", tmp_path / "m3.tif", "--mpp", 2)
    assert (refused.code, refused.file, refused.option) == ("E-SLIDE-RESOLUTION", str(blind), "--mpp") and "--slide-mpp" in refused.do
    stated = run("label", blind, "-o", tmp_path / "m3.tif", "--mpp", 2, "--slide-mpp", 0.5, "--json").json
    assert stated["downsample"] == 4 and stated["mpp"] == pytest.approx(2.0)
    unknown = run("label", blind, "-o", tmp_path / "m4.tif", "--json").json
    assert unknown["mpp"] is None and unknown["tissueMm2"] is None


def test_coarsest_level_that_covers_the_label_grid_is_read(tmp_path, synthetic):
    # Its levels are 1, 1/2 and 1/4; the codec reduces its JPEG tiles to 1/8, numbered behind them.
    assert run("label", synthetic[0], "-o", tmp_path / "m.tif", "--json").json["level"] == 3
    assert run("label", synthetic[0], "-o", tmp_path / "m4.tif", "--downsample", 4, "--json").json["level"] == 2
    assert run("label", synthetic[0], "-o", tmp_path / "m5.tif", "--downsample", 5, "--json").json["level"] == 0
    slide, _ = tissue_slide(tmp_path / "flat.tif")
    assert run("label", slide, "-o", tmp_path / "n.tif", "--json").json["level"] == 0


@pytest.mark.parametrize("ground, stain, expected", [(245, (200, 100, 150), "robust"), (0, (10, 20, 220), "fluorescence")])
def test_preset_is_chosen_for_the_slide(tmp_path, ground, stain, expected):
    mask = blobs(905, 1111)
    pixels = numpy.where(mask[..., None] > 0, numpy.array(stain, numpy.uint8), numpy.uint8(ground))
    slide = write_slide(tmp_path / "a.tif", pixels)
    chosen = run("label", slide, "-o", tmp_path / "auto.tif", "--preset", "rules", "--json").json
    assert chosen["preset"] == expected
    # robust takes discs below 10000 um^2 for debris.
    assert chosen["tissueFraction"] == pytest.approx(numpy.mean(mask > 0), abs=0.06)
    named = run("label", slide, "-o", tmp_path / "auto.tif", "--preset", expected, "--json").json
    assert named["skipped"]  # the same mask


@pytest.mark.usefixtures("network")
def test_the_default_is_the_network_on_any_ground(tmp_path):
    mask = blobs(905, 1111)[..., None] > 0
    dark = write_slide(tmp_path / "dark.tif", numpy.where(mask, numpy.array([10, 20, 220], numpy.uint8), numpy.uint8(3)))
    bright, _ = tissue_slide(tmp_path / "bright.tif")
    for slide in (dark, bright):
        output = tmp_path / f"mask-of-{slide.name}"
        told = run("label", slide, "-o", output, "--json").json
        assert told["preset"] == "model"
        assert all(0 <= told[name] <= 1 for name in ("penFraction", "artifactFraction"))
        # Discs of one color on black, which nobody has seen under a microscope, may be artifacts: then nothing is expected.
        assert told["expectedIou"] is None if told["tissueFraction"] == 0 else 0 <= told["expectedIou"] <= 1
        again = run("label", slide, "-o", output, "--preset", "auto", "--json").json
        assert again == {**told, "skipped": True}  # shares and doubts too, which the file keeps
    rules = run("label", bright, "-o", tmp_path / "rules.tif", "--preset", "rules", "--json").json
    assert rules["penFraction"] is rules["artifactFraction"] is rules["expectedIou"] is None


@pytest.mark.usefixtures("network")
def test_classes_have_names_and_count_as_the_mask_does(tmp_path, synthetic):
    mask = run("label", synthetic[0], "-o", tmp_path / "m.tif", "--preset", "model", "--json").json
    told = run("label", synthetic[0], "-o", tmp_path / "c.tif", "--preset", "model", "--classes", "--json").json
    assert told["tissueFraction"] == mask["tissueFraction"] > 0.1
    classes = tifffile.imread(tmp_path / "c.tif", key=0)
    assert classes.max() <= 3
    assert numpy.array_equal(classes == 1, tifffile.imread(tmp_path / "m.tif", key=0) == 255)
    with tifffile.TiffFile(tmp_path / "c.tif") as file:
        description = file.pages[0].description
    assert all(name in description for name in ("glass", "tissue", "pen", "artifact"))
    for each in (mask, told):
        assert (each["penFraction"], each["artifactFraction"]) == ((classes == 2).mean(), (classes == 3).mean())
    rules = run("label", synthetic[0], "-o", tmp_path / "r.tif", "--preset", "robust", "--classes", "--json").json
    assert rules["penFraction"] is None and set(numpy.unique(tifffile.imread(tmp_path / "r.tif", key=0))) == {0, 1}


@pytest.mark.usefixtures("network")
def test_of_classes_tissue_is_the_object(tmp_path):
    """To evaluate: pen and artifacts are none. Its outlines are those of the mask of the same preset; the others have their own."""
    run("synthesize", tmp_path / "pen.tif", "--size", "3000x3000", "--seed", "213", "--artifacts")
    for name, more in (("m", ()), ("c", ("--classes",))):
        run("label", tmp_path / "pen.tif", "-o", tmp_path / f"{name}.tif", "--preset", "model", *more)
        run("outline", tmp_path / f"{name}.tif", "--like", tmp_path / "pen.tif", "-o", tmp_path / f"{name}.geojson")
    assert {2, 3} & set(numpy.unique(tifffile.imread(tmp_path / "c.tif", key=0)))
    assert run("evaluate", tmp_path / "c.tif", tmp_path / "m.tif", "--json").json["iou"] == 1
    shapes = {"c": {}, "m": {}}
    for name, of_class in shapes.items():
        for feature in json.loads((tmp_path / f"{name}.geojson").read_text())["features"]:
            of_class.setdefault(feature["properties"]["classification"]["name"], []).append(feature["geometry"])
    assert list(shapes["m"]) == ["Tissue"] and set(shapes["c"]) <= {"tissue", "pen", "artifact"}
    assert shapes["c"]["tissue"] == shapes["m"]["Tissue"] and len(shapes["c"]) > 1


def draw_overlay(picture, labels, colors):
    """A quarter of the color within a class, all of it at its border, with a 4-neighbor of another one."""
    drawn = picture.astype(float)
    padded = numpy.pad(labels, 1, constant_values=0)
    for label, color in colors.items():
        here = labels == label
        inner = here.copy()
        for y, x in ((0, 1), (2, 1), (1, 0), (1, 2)):
            inner &= padded[y : y + labels.shape[0], x : x + labels.shape[1]] == label
        drawn[inner] = 0.75 * drawn[inner] + 0.25 * numpy.array(color)
        drawn[here & ~inner] = color
    return drawn


@pytest.mark.usefixtures("network")
def test_overlay_of_classes_has_a_color_for_each(tmp_path):
    """Those that the file names, which viewers take from its color map as well, and their names below."""
    slide, mask, classes = (tmp_path / name for name in ("pen.tif", "m.tif", "c.tif"))
    run("synthesize", slide, "--size", "3000x3000", "--seed", "213", "--artifacts")

    def change(weights):  # so that there are artifacts, too
        weights["F.bias"][3] += 2

    model = write_tissue_model(tmp_path / "model.safetensors", change)
    for output, more in ((mask, ()), (classes, ("--classes",))):
        run("label", slide, "-o", output, "--model", model, *more)
    nothing = write_slide(tmp_path / "nothing.tif", numpy.zeros((375, 375), numpy.uint8), mpp=4)
    size = ["--picture-size", 375]  # pixels of the masks
    pictures = {}
    for name, labels in (("slide", nothing), ("m", mask), ("c", classes)):
        told = run("overlay", slide, labels, "-o", tmp_path / f"{name}.png", *size, "--json").json
        pictures[name] = numpy.asarray(PIL.Image.open(tmp_path / f"{name}.png"))
        assert pictures[name].shape == (told["height"], told["width"], 3)
    labels, ramp = tifffile.imread(classes, key=0), tifffile.TiffFile(classes).pages[0].tags["ColorMap"].value
    colors = {label: [channel // 257 for channel in numpy.reshape(ramp, (3, 256))[:, label]] for label in (1, 2, 3)}
    assert set(numpy.unique(labels)) == {0, 1, 2, 3} and len(set(map(tuple, colors.values()))) == 3
    assert abs(pictures["c"][:375] - draw_overlay(pictures["slide"], labels, colors)).max() <= 0.5
    tissue = draw_overlay(pictures["slide"], labels == 1, {1: (255, 176, 0)})
    assert pictures["m"].shape == (375, 375, 3) and abs(pictures["m"] - tissue).max() <= 0.5
    # The legend: white, a square of each color, and words.
    legend = pictures["c"][375:]
    assert 20 < len(legend) < 40 and (legend[0] == 255).all()
    for color in colors.values():
        y, x = numpy.nonzero((legend == color).all(axis=2))
        assert len(y) == 14 * 14 and y.max() - y.min() == x.max() - x.min() == 13
    assert 100 < (legend < 100).all(axis=2).sum() < 2000
    # Where there is no room in one line, there are more of them.
    told = run("overlay", slide, classes, "-o", tmp_path / "small.png", "--picture-size", 100, "--json").json
    assert told["width"] == 100 and told["height"] > 100 + len(legend)
    small = numpy.asarray(PIL.Image.open(tmp_path / "small.png"))[100:]
    assert all((small == color).all(axis=2).sum() == 14 * 14 for color in colors.values())
    # Another table of classes than label's, and after another program: convert keeps it.
    run("convert", classes, tmp_path / "converted.tif", "--compression", "zstd")
    run("overlay", slide, tmp_path / "converted.tif", "-o", tmp_path / "converted.png", *size)
    assert numpy.array_equal(numpy.asarray(PIL.Image.open(tmp_path / "converted.png")), pictures["c"])


@pytest.mark.usefixtures("network")
def test_other_model_must_tell_the_same_classes(tmp_path):
    slide, _ = tissue_slide(tmp_path / "a.tif")
    other = Path(__file__).parents[2] / "Modules/Network/models/tissue.safetensors"
    refused = fails("label", slide, "-o", tmp_path / "m.tif", "--preset", "model", "--model", other)
    assert (refused.code, refused.file) == ("E-MODEL-OUTPUT", str(other))
    assert not (tmp_path / "m.tif").exists()


def test_a_model_that_no_preset_uses_is_refused(tmp_path, synthetic):
    words = ["label", synthetic[0], "-o", tmp_path / "m.tif", "--model", tmp_path / "nosuch.safetensors"]
    for preset in ("remedios2023", "robust", "ihc", "fluorescence", "rules"):
        refused = fails(*words, "--preset", preset, code=2)
        assert (refused.code, refused.option) == ("E-OPTION-APPLIES", "--model") and preset in refused
    assert not (tmp_path / "m.tif").exists()


@pytest.mark.usefixtures("network")
@pytest.mark.parametrize("preset", ["model", "auto"])
def test_a_model_that_the_preset_may_use_is_read(tmp_path, synthetic, preset):
    missing = tmp_path / "nosuch.safetensors"
    words = ["label", synthetic[0], "-o", tmp_path / "m.tif", "--preset", preset, "--model", missing]
    refused = fails(*words)
    assert (refused.code, refused.file) == ("E-FILE-MISSING", str(missing))


def test_preset_that_does_not_suit_is_warned_of(tmp_path):
    mask = blobs(905, 1111)[..., None] > 0
    dark = write_slide(tmp_path / "dark.tif", numpy.where(mask, numpy.array([10, 20, 220], numpy.uint8), numpy.uint8(3)))
    dull = write_slide(
        tmp_path / "dull.tif", numpy.where(mask, numpy.array([200, 100, 150], numpy.uint8), numpy.uint8(226))
    )

    def advice(*words):
        warnings = run("label", *words, "--json").json.get("warnings", [])
        return [w["why"] for w in warnings if w["code"] == "W-TISSUE-PRESET" and w["file"] == str(words[0])]

    for slide, preset in ((dark, "remedios2023"), (dark, "robust"), (dull, "remedios2023"), (dull, "fluorescence")):
        assert "preset auto" in advice(slide, "-o", tmp_path / f"{slide.stem}-{preset}.tif", "--preset", preset)[0]
    assert advice(dull, "-o", tmp_path / "4.tif", "--preset", "robust") == advice(dark, "-o", tmp_path / "5.tif") == []


def test_threads_change_no_byte(tmp_path, synthetic):
    for threads in (1, 2, 4):
        run("label", synthetic[0], "-o", tmp_path / f"{threads}.tif", "--threads", threads)
    assert (tmp_path / "1.tif").read_bytes() == (tmp_path / "2.tif").read_bytes() == (tmp_path / "4.tif").read_bytes()


def test_no_tissue_is_a_result(tmp_path):
    slide = write_slide(tmp_path / "glass.tif", numpy.full((600, 700, 3), 250, numpy.uint8))
    result = run("label", slide, "-o", tmp_path / "m.tif", "--json").json
    assert result["tissueFraction"] == 0
    assert not tifffile.imread(tmp_path / "m.tif").any()


def test_gray_slide(tmp_path):
    pixels = 250 - blobs(500, 600) // 2
    words = ["label", write_slide(tmp_path / "g.tif", pixels), "-o", tmp_path / "m.tif", "--preset", "remedios2023"]
    result = run(*words, "--json").json
    assert 0.01 < result["tissueFraction"] < 0.9


def test_folder_in_folder_out_and_resume(tmp_path):
    slides, masks = tmp_path / "slides", tmp_path / "masks"
    slides.mkdir()
    for name in ("b", "a"):
        tissue_slide(slides / f"{name}.tif", 600, 500)
    results = run("label", slides, "-o", masks, "--json").json
    assert [os.path.basename(result["mask"]) for result in results] == ["a.pyramid.tif", "b.pyramid.tif"]
    before = {path.name: path.stat().st_mtime_ns for path in masks.iterdir()}
    again = run("label", slides, "-o", masks, "--json").json
    assert all(result["skipped"] for result in again)
    assert {path.name: path.stat().st_mtime_ns for path in masks.iterdir()} == before
    replaced = run("label", slides, "-o", masks, "--overwrite", "--json").json
    assert not any(result["skipped"] for result in replaced)
    assert {path.name: path.stat().st_mtime_ns for path in masks.iterdir()} != before


def test_masks_beside_their_slides_are_not_taken_for_slides(tmp_path):
    tissue_slide(tmp_path / "a.tif", 600, 500)
    run("label", tmp_path, "-o", tmp_path)
    assert len(run("label", tmp_path, "-o", tmp_path, "--json").json) == 1


def test_slash_means_a_folder(tmp_path):
    slide, _ = tissue_slide(tmp_path / "a.tif", 600, 500)
    run("label", slide, "-o", f"{tmp_path}/new/")
    assert (tmp_path / "new" / "a.pyramid.tif").exists()


def test_a_folder_of_slides_means_a_folder(tmp_path):
    """However many slides are in it."""
    slides, (masks, one, old) = tmp_path / "slides", (tmp_path / name for name in ("masks", "masks.tif", "old.tif"))
    slides.mkdir()
    old.mkdir()
    for number, name in enumerate("ab", 1):
        tissue_slide(slides / f"{name}.tif", 300, 300)
        for command, option in ((["label", slides, "-o", one], "--output"), (["convert", slides, one], "OUT")):
            refused = fails(*command, code=2)
            assert refused.code == "E-OUTPUT-KIND" and (refused.option, refused.value) == (option, str(one))
        for folder in (masks, old):
            assert len(run("label", slides, "-o", folder, "--json").json) == number
            assert len(list(folder.glob("*.tif"))) == number
    assert not one.exists()
    refused = fails("label", slides / "a.tif", slides / "b.tif", "-o", one, code=2)
    assert refused.code == "E-OUTPUT-KIND" and (refused.option, refused.value) == ("--output", str(one))


def test_refusals_leave_no_folder(tmp_path):
    slide, _ = tissue_slide(tmp_path / "a.tif", 300, 300)
    (tmp_path / "a.svs").write_bytes(slide.read_bytes())
    (tmp_path / "broken.svs").write_bytes(b"nothing of a slide" * 100)
    refused = fails("label", slide, tmp_path / "a.svs", "-o", tmp_path / "out")
    assert refused.code == "E-OUTPUT-TWICE" and refused.file == str(tmp_path / "out/a.pyramid.tif")
    for command in ("nothere.svs", "broken.svs"):
        fails("convert", tmp_path / command, f"{tmp_path}/out/")
        fails("label", tmp_path / command, "-o", f"{tmp_path}/out/deep/")
    assert not (tmp_path / "out").exists()
    run("label", slide, "-o", f"{tmp_path}/out/deep/")
    assert sorted(path.name for path in (tmp_path / "out" / "deep").iterdir()) == ["a.pyramid.tif", "manifest.json", "timings.jsonl"]


def test_what_is_passed_over_in_a_folder_is_said(tmp_path):
    slides = tmp_path / "slides"
    (slides / "sub").mkdir(parents=True)
    tissue_slide(slides / "sub" / "b.tif", 300, 300)
    slide, _ = tissue_slide(slides / "a.tif", 300, 300)
    for name in ("scan.czi", "scan.lif", "empty.dcm", "half.part", "notes.txt", "labels.csv", "look.png", ".hidden.czi"):
        (slides / name).write_bytes(b"")
    run("label", slide, "-o", f"{slides}/masks/")
    said = f"Passed over in {slides}: 3 files that are no slides (half.part, scan.czi, scan.lif) and 1 folder (sub); name a folder itself, too"
    names = {"files": 3, "folders": 1, "fileNames": ["half.part", "scan.czi", "scan.lif"], "folderNames": ["sub"]}
    for command in (["info", slides], ["convert", slides, tmp_path / "pyramids"], ["label", slides, "-o", tmp_path / "masks"]):
        result = run(*command, "--json", code=1)
        assert said in result.err and said not in run(*command, "--quiet", code=1).err
        assert [entry["passedOver"] for entry in result.json] == [{"folder": str(slides), **names}] * 2
        error = result.json[1]["error"]
        assert error["code"] == "E-FILE-DAMAGED" and error["file"] == str(slides / "empty.dcm")
    assert "passedOver" not in run("info", slides / "sub", "--json").json[0]
    above = fails("info", tmp_path)
    assert above.code == "E-FOLDER-EMPTY" and above.file == str(tmp_path) and "1 folder (slides)" in above.why


def test_failed_slide_stops_no_other(tmp_path):
    good, _ = tissue_slide(tmp_path / "good.tif", 600, 500)
    bad = tmp_path / "bad.tif"
    bad.write_bytes(good.read_bytes()[:3000])
    result = run("label", bad, good, "-o", tmp_path / "out", "--preset", "remedios2023", "--json", code=1)
    assert str(bad) in result.err and result.json[0]["error"]["code"] == "E-FILE-DAMAGED" and result.json[1]["tissueFraction"] > 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["failed.csv", "good.pyramid.tif", "manifest.json", "timings.jsonl"]


def test_damaged_slides_of_a_folder_are_reported(tmp_path):
    slides = tmp_path / "slides"
    slides.mkdir()
    good, _ = tissue_slide(slides / "good.tif", 600, 500)
    (slides / "cut.tif").write_bytes(good.read_bytes()[:3000])
    (slides / "garbage.svs").write_bytes(b"nothing of a slide" * 100)
    (slides / "notes.txt").write_text("no slide")
    tifffile.imwrite(slides / "plain.tif", numpy.zeros((40, 50), numpy.uint8))
    result = run("label", slides, "-o", tmp_path / "out", "--json", code=1)
    assert {os.path.basename(entry["slide"]): "error" in entry for entry in result.json} == {
        "cut.tif": True,
        "garbage.svs": True,
        "good.tif": False,
    }


def test_existing_output_of_another_kind_is_kept(tmp_path):
    slide, _ = tissue_slide(tmp_path / "a.tif", 600, 500)
    (tmp_path / "m.tif").write_text("somebody's")
    assert fails("label", slide, "-o", tmp_path / "m.tif").code == "E-OUTPUT-EXISTS"
    assert (tmp_path / "m.tif").read_text() == "somebody's"
    run("label", slide, "-o", tmp_path / "m.tif", "--overwrite")
    assert tifffile.imread(tmp_path / "m.tif").shape == (63, 75)


def test_mask_of_another_making_is_neither_kept_nor_replaced(tmp_path):
    slide, _ = tissue_slide(tmp_path / "a.tif", 600, 500)
    mask = tmp_path / "m.tif"
    common = ["label", slide, "-o", mask, "--preset", "remedios2023"]
    run(*common)
    before = mask.read_bytes()
    assert b"made-by = label preset=" in before
    # The mask would have the same size: only its making tells them apart.
    refused = fails(*common[:-1], "robust")
    assert refused.code == "E-OUTPUT-EXISTS" and all(word in refused.why for word in ("--preset", "remedios2023", "robust"))
    assert run(*common, "--json").json["skipped"]
    tissue_slide(tmp_path / "a.tif", 600, 500, seed=7)
    refused = fails(*common)
    assert (refused.code, refused.file) == ("E-OUTPUT-EXISTS", str(mask)) and "--preset" not in refused.why
    assert mask.read_bytes() == before
    run(*common, "--overwrite")
    assert mask.read_bytes() != before


def test_names_that_collide(tmp_path):
    for folder in ("1", "2"):
        (tmp_path / folder).mkdir()
        tissue_slide(tmp_path / folder / "a.tif", 300, 300)
    refused = fails("label", tmp_path / "1", tmp_path / "2", "-o", tmp_path / "out")
    assert refused.code == "E-OUTPUT-TWICE" and refused.file == str(tmp_path / "out/a.pyramid.tif")
    slide = tmp_path / "1" / "a.tif"
    before = slide.read_bytes()
    refused = fails("label", slide, "-o", slide, "--overwrite")
    assert refused.code == "E-OUTPUT-INPUT" and refused.file == str(slide)
    assert slide.read_bytes() == before
    refused = fails("label", slide, tmp_path / "2" / "a.tif", "-o", slide, code=2)
    assert refused.code == "E-OUTPUT-KIND" and (refused.option, refused.value) == ("--output", str(slide))


@pytest.mark.parametrize("command", ["label", "label --preset rules", "info", "evaluate", "synthesize", "overlay"])
def test_what_is_not_needed_is_not_loaded(command, tmp_path, synthetic, request):
    if command == "label":
        request.getfixturevalue("network")
    arguments = {
        "label": [synthetic[0], "-o", tmp_path / "m.tif"],
        "label --preset rules": [synthetic[0], "-o", tmp_path / "m.tif"],
        "info": [synthetic[0]],
        "evaluate": [synthetic[1], synthetic[1]],
        "synthesize": [tmp_path / "s.tif", "--size", "300x300"],
        "overlay": [synthetic[0], synthetic[1], "-o", tmp_path / "o.png"],
    }[command]
    # The loader itself lists every library that it maps, at start or later.
    finished = subprocess.run(
        [PROGRAM, *command.split(), *map(str, arguments)],
        env={**os.environ, "LD_DEBUG": "files"},
        capture_output=True,
        text=True,
    )
    assert finished.returncode == 0
    assert "libc.so" in finished.stderr  # the list is there
    libraries = ["libtorch", "libc10", "GigapixelTorchPasses", "libopenslide"]
    if command != "label":
        libraries += ["libhwy", "GigapixelFusedKernels"]
    for library in libraries:
        assert library not in finished.stderr


def test_a_mask_may_be_coarser_than_any_slide(tmp_path, synthetic):
    mask = tmp_path / "coarse.tif"
    run("label", synthetic[0], "-o", mask, "--downsample", 64)
    info = run("info", mask, "--json").json
    assert info["warnings"] == [] and info["mpp"] == pytest.approx(32.0, rel=1e-6)
    assert run("evaluate", mask, mask, "--json").json["iou"] == 1.0


def test_gray_slides_in_a_folder_that_are_named_as_masks_are(tmp_path):
    pixels = numpy.random.default_rng(1).integers(0, 256, (300, 300), numpy.uint8)
    folder = tmp_path / "in"
    folder.mkdir()
    write_slide(folder / "plain.tif", pixels)
    run("convert", folder / "plain.tif", folder / "converted.pyramid.tif")
    run("label", folder / "plain.tif", "-o", folder / "mask.pyramid.tif")
    write_slide(folder / "other.pyramid.tif", pixels)
    result = run("info", folder, "--json")
    assert [os.path.basename(each["slide"]) for each in result.json] == ["converted.pyramid.tif", "plain.tif"]
    # It is warned of before the first slide is read, so that the first result has the warning.
    warnings = [[(w["code"], w["file"]) for w in each["warnings"]] for each in result.json]
    assert warnings == [[("W-FILE-SKIPPED", str(folder / "other.pyramid.tif"))], []]
    labeled = run("label", folder, "-o", f"{tmp_path}/masks/", "--json")
    assert "W-FILE-SKIPPED" in [w["code"] for w in labeled.json[0]["warnings"]] and labeled.codes.count("W-FILE-SKIPPED") == 1
