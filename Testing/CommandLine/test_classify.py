# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Networks that label slides: training on one label for each, and what they say of others."""

import csv
import json
import math
import os
import pathlib
import struct
import subprocess
import sys
import time

import numpy as np
import pytest
import tifffile

from conftest import PROGRAM, fails, run, write_png
from test_ranks import run_ranks

pytestmark = pytest.mark.usefixtures("network")

NETWORK = "resnet18:width=4"


def write_slide(path, seed, positive):
    """Gray noise; where it is positive, with a few dark spots, by which the mean color hardly changes."""
    random = np.random.default_rng(seed)
    pixels = random.integers(150, 250, (210, 330, 3), dtype=np.uint8)
    if positive:
        for y, x in zip(random.integers(0, 180, 4), random.integers(0, 300, 4)):
            pixels[y : y + 30, x : x + 30] = random.integers(0, 60, (30, 30, 3), dtype=np.uint8)
    tifffile.imwrite(path, pixels, tile=(64, 64), photometric="rgb", resolution=(20000, 20000), resolutionunit="CENTIMETER")


@pytest.fixture(scope="module")
def cohort(tmp_path_factory):
    """Twelve slides, of which four are for validation."""
    folder = tmp_path_factory.mktemp("labels")
    rows = ["slide,label,split"]
    for i in range(12):
        write_slide(folder / f"{i}.tif", i, i % 2 == 1)
        rows.append(f"{i}.tif,{'tumor' if i % 2 else 'normal'},{'validation' if i >= 8 else 'train'}")
    (folder / "cohort.csv").write_text("\n".join(rows) + "\n")
    return folder


@pytest.fixture(scope="module")
def model(cohort, tmp_path_factory):
    folder = tmp_path_factory.mktemp("model") / "run"
    words = ["--network", NETWORK, "--epochs", 12, "--learning-rate", 0.003, "--tile-size", 128]
    told = run("train", "--cohort", cohort / "cohort.csv", "-o", folder, *words, "--json").json
    assert told["bestValidationLoss"] < 0.3, "it has learnt what spots are"
    return folder


def read(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_slides_are_told_apart(cohort, model, tmp_path):
    """Of slides that the training has not seen."""
    for i in range(20, 26):
        write_slide(tmp_path / f"{i}.tif", i, i % 2 == 1)
    told = run("classify", tmp_path, "--model", model, "-o", tmp_path / "p.csv", "--json").json
    rows = read(tmp_path / "p.csv")
    assert [row["predicted"] for row in rows] == ["normal", "tumor"] * 3
    for row, item in zip(rows, told):
        assert float(row["p_normal"]) + float(row["p_tumor"]) == pytest.approx(1, abs=1e-6)
        assert float(row["p_tumor"]) == pytest.approx(item["probabilities"]["tumor"], rel=1e-6)
        assert row["slide"] == item["slide"] and (item["width"], item["height"]) == (330, 210)


def test_info_names_the_classes(model):
    told = run("info", model, "--json").json
    assert told["labels"] == "images" and told["classNames"] == ["normal", "tumor"]
    assert "2, of whole images: normal, tumor" in run("info", model).out


def test_no_division_changes_a_bit(cohort, model, tmp_path):
    tables = []
    for threads in (1, 2):
        path = tmp_path / f"{threads}.csv"
        run("classify", cohort / "3.tif", "--model", model, "-o", path, "--threads", threads)
        tables.append(path.read_text())
    assert tables[0] == tables[1]
    run("classify", cohort / "3.tif", "--model", model, "-o", tmp_path / "one.csv", "--tile-size", "image")
    one, tiled = read(tmp_path / "one.csv")[0], read(tmp_path / "1.csv")[0]
    assert float(one["p_tumor"]) == pytest.approx(float(tiled["p_tumor"]), abs=1e-5)


def write_mask(path, right):
    """Of the size of write_slide()'s; what lies left of a column is tissue."""
    mask = np.zeros((210, 330), np.uint8)
    mask[:, :right] = 255
    tifffile.imwrite(path, mask, tile=(64, 64), photometric="minisblack", resolution=(20000, 20000), resolutionunit="CENTIMETER")
    return path


def test_labels_are_made_of_tissue(model, tmp_path):
    """Spots that are none of the tissue make no tumor."""
    random = np.random.default_rng(7)
    pixels = random.integers(150, 250, (210, 330, 3), dtype=np.uint8)
    for y, x in ((10, 210), (60, 280), (120, 220), (160, 270)):
        pixels[y : y + 30, x : x + 30] = random.integers(0, 60, (30, 30, 3), dtype=np.uint8)

    def classify(*words):
        slide = tmp_path / "slide.tif"
        tifffile.imwrite(slide, pixels, tile=(64, 64), photometric="rgb", resolution=(20000, 20000), resolutionunit="CENTIMETER")
        run("classify", slide, "--model", model, "-o", tmp_path / "p.csv", "--overwrite", *words)
        return float(read(tmp_path / "p.csv")[0]["p_tumor"])

    left = write_mask(tmp_path / "left.tif", 160)
    whole, of_left = classify(), classify("--tissue", left)
    assert whole > 0.5 > of_left
    assert classify("--tissue", write_mask(tmp_path / "all.tif", 330)) == whole
    told = run("classify", tmp_path / "slide.tif", "--model", model, "-o", tmp_path / "p.csv", "--overwrite", "--tissue", left)
    assert str(model) in told.err
    pixels[:, 160:] = 7  # which nobody sees
    assert classify("--tissue", left) == of_left
    words = ["classify", tmp_path / "slide.tif", "--model", model, "-o", tmp_path / "none.csv"]
    refused = fails(*words, "--tissue", write_mask(tmp_path / "none.tif", 0))
    assert refused.code == "E-MASK-EMPTY" and refused.file == str(tmp_path / "slide.tif")


def test_a_model_of_tissue_asks_for_it(cohort, model, tmp_path):
    mask, masks = write_mask(tmp_path / "mask.tif", 330), tmp_path / "masks"
    masks.mkdir()
    for i in range(12):
        (masks / f"{i}.pyramid.tif").write_bytes(mask.read_bytes())
    words = ["--network", "resnet18:width=2", "--epochs", 1, "--tile-size", 128, "--tissue", masks]
    run("train", "--cohort", cohort / "cohort.csv", "-o", tmp_path / "run", *words)
    for command, file in (("classify", "p.csv"), ("features", "f.h5")):
        words = [command, cohort / "1.tif", "--model", tmp_path / "run", "-o", tmp_path / file, "--overwrite"]
        told = run(*words)
        assert told.codes == ["W-MODEL"] and str(tmp_path / "run") in told.err and "--tissue" in told.err
        assert run(*words, "--tissue", mask).codes == ["W-DOUBT-MASK-FULL"]  # it leaves nothing out
    assert run("info", tmp_path / "run", "--json").json["tissueOnly"] is True
    assert run("info", model, "--json").json["tissueOnly"] is False


@pytest.mark.parametrize("pool", ["max", "lse", "attention"])
def test_poolings_train_and_classify(cohort, pool, tmp_path):
    words = ["--network", f"{NETWORK},pool={pool}", "--epochs", 1, "--tile-size", 128]
    told = run("train", "--cohort", cohort / "cohort.csv", "-o", tmp_path / "run", *words, "--json").json
    assert np.isfinite(told["bestValidationLoss"])
    run("classify", cohort / "3.tif", "--model", tmp_path / "run", "-o", tmp_path / "p.csv")
    assert 0 <= float(read(tmp_path / "p.csv")[0]["p_tumor"]) <= 1


def make_spotted(path):
    """One spot, whose middle is returned: x, y."""
    pixels = np.random.default_rng(5).integers(150, 250, (640, 960, 3), dtype=np.uint8)
    pixels[400:440, 700:740] = np.random.default_rng(6).integers(0, 60, (40, 40, 3), dtype=np.uint8)
    tifffile.imwrite(path, pixels, tile=(64, 64), photometric="rgb", resolution=(20000, 20000), resolutionunit="CENTIMETER")
    return 720, 420


def test_maps_show_where_labels_come_from(model, tmp_path):
    slide = tmp_path / "spot.tif"
    x, y = make_spotted(slide)
    told = run("classify", slide, "--model", model, "-o", tmp_path / "p.csv", "--maps", tmp_path / "maps", "--json").json
    assert told["map"]["kind"] == "activation" and told["map"]["class"] == "tumor"
    with tifffile.TiffFile(tmp_path / "maps" / "spot.pyramid.tif") as file:
        values = file.asarray()
        assert values.dtype == np.float32 and values.shape == (20, 30)
        tags = file.pages[0].tags
        per_cm = tags["XResolution"].value[0] / tags["XResolution"].value[1]
        assert per_cm == pytest.approx(20000 / 32, rel=1e-4), "a pixel of the map is 32 of the slide"
    row, column = np.unravel_index(values.argmax(), values.shape)
    assert abs(32 * column - x) <= 48 and abs(32 * row - y) <= 48, "the spot is where it comes from"
    assert values.min() >= 0 and values.max() == pytest.approx(told["map"]["greatest"])
    width, height = struct.unpack(">II", (tmp_path / "maps" / "spot.png").read_bytes()[16:24])
    assert width == 960 and 640 < height < 720, "the slide, and a legend below it"
    # What is shown does not change what is said.
    run("classify", slide, "--model", model, "-o", tmp_path / "q.csv")
    assert (tmp_path / "p.csv").read_text() == (tmp_path / "q.csv").read_text()
    words = ["classify", slide, "--model", model, "-o", tmp_path / "r.csv", "--maps"]
    refused = fails(*words, tmp_path / "maps")
    assert refused.code == "E-OUTPUT-EXISTS" and refused.file == str(tmp_path / "maps" / "spot.pyramid.tif")
    refused = fails(*words, tmp_path / "other", "--map-class", "cancer")
    assert (refused.code, refused.option, refused.value) == ("E-OPTION-VALUE", "--map-class", "cancer")
    run(*words, tmp_path / "normal", "--map-class", "normal")
    other = tifffile.imread(tmp_path / "normal" / "spot.pyramid.tif")
    assert not np.any((other > 0) & (values > 0)), "what speaks for one of two classes speaks against the other"


def test_interrupted_training_goes_on_bit_for_bit(cohort, tmp_path):
    words = ["--cohort", cohort / "cohort.csv", "--network", NETWORK, "--tile-size", 96, "--epochs"]
    run("train", *words, 2, "-o", tmp_path / "whole")
    run("train", *words, 1, "-o", tmp_path / "parts")
    run("train", "--cohort", cohort / "cohort.csv", "--epochs", 2, "-o", tmp_path / "parts", "--resume")
    for name in ("best.safetensors", "last.safetensors", "history.csv"):
        assert (tmp_path / "parts" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_default_network_has_as_many_classes(cohort, tmp_path):
    text = (cohort / "cohort.csv").read_text().replace("10.tif,normal", "10.tif,other")
    (cohort / "three.csv").write_text(text)
    told = run("train", "--cohort", cohort / "three.csv", "-o", tmp_path / "run", "--epochs", 1, "--memory", "3G").err
    assert "network resnet18:classes=3" in told
    run("classify", cohort / "0.tif", "--model", tmp_path / "run", "-o", tmp_path / "p.csv")
    assert list(read(tmp_path / "p.csv")[0])[2:] == ["p_normal", "p_other", "p_tumor"]


def test_what_does_not_fit_is_refused(cohort, model, tmp_path):
    slide, table = cohort / "0.tif", cohort / "cohort.csv"
    out = ["-o", tmp_path / "x"]
    refused = fails("train", "--cohort", table, *out, "--network", "unet", "--epochs", 1)
    assert refused.code == "E-SAMPLE-TRUTH" and refused.file == str(slide)
    refused = fails("train", "--cohort", table, *out, "--network", "resnet18:classes=3,width=4", "--epochs", 1)
    assert (refused.code, refused.value) == ("E-MODEL-OUTPUT", "3") and "classes=2" in refused.do
    (cohort / "one.csv").write_text("slide,label,split\n0.tif,normal,train\n")
    refused = fails("train", "--cohort", cohort / "one.csv", *out, "--epochs", 1)
    assert (refused.code, refused.value) == ("E-SAMPLE-TRUTH", "normal")
    (cohort / "none.csv").write_text("slide,label,split\n0.tif,,train\n")
    refused = fails("train", "--cohort", cohort / "none.csv", *out, "--epochs", 1)
    assert (refused.code, refused.file, refused.value) == ("E-COHORT-FORMAT", str(cohort / "none.csv"), "2")
    refused = fails("segment", slide, "--model", model, "-o", tmp_path / "m.tif")
    assert refused.code == "E-MODEL-OUTPUT" and refused.file == str(model)
    refused = fails("classify", slide, "--model", "tissue", "-o", tmp_path / "p.csv")
    assert refused.code == "E-MODEL-OUTPUT" and refused.file == "tissue"
    refused = fails("classify", slide, "--model", model, "-o", tmp_path / "p.txt", code=2)
    assert refused.code == "E-OUTPUT-ENDING" and ".csv" in refused.do
    same = ["--cohort", table, "--per-patient", tmp_path / "p.csv"]
    refused = fails("classify", slide, "--model", model, "-o", tmp_path / "p.csv", *same, code=2)
    assert refused.code == "E-OUTPUT-TWICE" and (refused.option, refused.value) == ("--per-patient", f"{tmp_path}/p.csv")
    (tmp_path / "there.csv").write_text("mine")
    refused = fails("classify", slide, "--model", model, "-o", tmp_path / "there.csv")
    assert refused.code == "E-OUTPUT-EXISTS" and refused.file == str(tmp_path / "there.csv")
    assert (tmp_path / "there.csv").read_text() == "mine"
    assert sorted(os.listdir(tmp_path)) == ["there.csv"]


def test_a_slide_that_fails_costs_its_row(cohort, model, tmp_path):
    (tmp_path / "broken.tif").write_bytes((cohort / "0.tif").read_bytes()[:3000])
    (tmp_path / "text.svs").write_text("no slide")
    slides = [tmp_path / "broken.tif", cohort / "1.tif", tmp_path / "text.svs"]
    words = ["--model", model, "-o", tmp_path / "p.csv"]
    result = run("classify", *slides, *words, "--quiet", code=1)
    said = result.err.splitlines()
    assert said[0].startswith(f"gigapixel: {slides[0]}: ") and said[1].startswith(f"gigapixel: {slides[2]}: ")
    assert said[2] == "gigapixel: 2 of 3 slides failed." and "\\x0a" not in result.err and ".cxx" not in result.err
    assert [row["slide"] for row in read(tmp_path / "p.csv")] == [str(slides[1])]
    told = run("classify", *slides, *words, "--overwrite", "--json", code=1).json
    assert [each["slide"] for each in told] == [str(slide) for slide in slides]
    assert ["error" in each for each in told] == [True, False, True]
    assert told[0]["error"]["file"] == str(slides[0]) and said[0].endswith(f"[{told[0]['error']['code']}]")
    refused = fails("classify", slides[2], "--model", model, "-o", tmp_path / "none.csv", "--json")
    assert refused.code == "E-SLIDE-FORMAT" and refused.file == str(slides[2])
    assert not (tmp_path / "none.csv").exists()


def test_a_batch_goes_on_where_it_was(cohort, model, tmp_path):
    """Of three slides one is broken; when it is mended, the others are not computed again."""
    slides = [tmp_path / f"{name}.tif" for name in ("first", "second", "third")]
    for i, slide in enumerate(slides):
        slide.write_bytes((cohort / f"{i}.tif").read_bytes())
    content = slides[1].read_bytes()
    slides[1].write_bytes(content[:3000])
    words = ["classify", *slides, "--model", model, "-o", tmp_path / "p.csv", "--maps", tmp_path / "maps"]
    run(*words, code=1)
    kept = tmp_path / ".p.csv.unfinished"
    assert kept.exists() and len(read(tmp_path / "p.csv")) == 2
    with open(kept, "a") as file:
        file.write('{"madeBy": "cut o')  # when the program was killed
    slides[1].write_bytes(content)
    refused = fails(*words)
    assert refused.code == "E-OUTPUT-EXISTS" and refused.file == str(tmp_path / "p.csv") and "--overwrite" in refused.do
    run("classify", slides[2], "--model", model, "-o", tmp_path / "p.csv", "--overwrite")
    assert kept.exists(), "what a batch has done is not one slide's to remove"
    changed = os.stat(tmp_path / "maps" / "first.pyramid.tif").st_mtime_ns
    told = run(*words, "--overwrite", "--json").json
    assert [each["skipped"] for each in told] == [True, False, True]
    assert os.stat(tmp_path / "maps" / "first.pyramid.tif").st_mtime_ns == changed
    assert not kept.exists()
    run("classify", *slides, "--model", model, "-o", tmp_path / "whole.csv")
    assert (tmp_path / "whole.csv").read_text() == (tmp_path / "p.csv").read_text()


def test_slides_are_dealt_to_ranks(cohort, model, tmp_path):
    """One table of them all, in their order, and the maps of one process."""
    slides = [cohort / f"{i}.tif" for i in (3, 1, 2)]

    def words(folder):
        return ["classify", *slides, "--model", model, "-o", folder / "p.csv", "--maps", folder / "maps", "--json"]

    for name in ("alone", "ranks"):
        (tmp_path / name).mkdir()
    alone = run(*words(tmp_path / "alone")).json
    outputs = run_ranks(2, *words(tmp_path / "ranks"))
    together = json.loads(outputs[0])
    assert outputs[1] == ""
    assert [row["probabilities"] for row in together] == [row["probabilities"] for row in alone]
    assert [row["slide"] for row in together] == list(map(str, slides))
    for file in ("p.csv", *(f"maps/{slide.stem}.{ending}" for slide in slides for ending in ("pyramid.tif", "png"))):
        assert (tmp_path / "ranks" / file).read_bytes() == (tmp_path / "alone" / file).read_bytes()
    assert sorted(path.name for path in (tmp_path / "ranks").iterdir()) == ["maps", "p.csv"]


def test_a_map_is_no_mask(cohort, model, tmp_path):
    slide, maps = cohort / "1.tif", tmp_path / "maps"
    run("classify", slide, "--model", model, "-o", tmp_path / "p.csv", "--maps", maps)
    for words in (["overlay", slide, maps / "1.pyramid.tif", "-o", tmp_path / "o.png"], ["evaluate", *[maps / "1.pyramid.tif"] * 2]):
        refused = fails(*words)
        assert refused.code == "E-MASK-FORMAT" and refused.file == str(maps / "1.pyramid.tif")


def test_pictures_of_somebody_else_stay(cohort, model, tmp_path):
    maps, slide = tmp_path / "maps", cohort / "1.tif"
    maps.mkdir()
    mask = maps / "1.png"
    write_png(mask, np.full((210, 330), 255, np.uint8))
    before = mask.read_bytes()
    words = ["classify", slide, "--model", model, "-o", tmp_path / "p.csv", "--maps", maps]
    refused = fails(*words, "--tissue", mask, "--overwrite")
    assert refused.code == "E-OUTPUT-INPUT" and refused.file == str(mask)
    # As it lies there where a batch ends between the announcement of a map and its picture.
    (tmp_path / ".p.csv.unfinished").write_text(json.dumps({"map": str(maps / "1.pyramid.tif")}) + '\n{"map": 5}\n{"madeBy": 5, "said": 1}\n')
    refused = fails(*words)
    assert refused.code == "E-OUTPUT-EXISTS" and refused.file == str(mask)
    assert mask.read_bytes() == before and not (tmp_path / "p.csv").exists()


def test_refusals_leave_no_folder_of_maps(cohort, model, tmp_path):
    (tmp_path / "broken.svs").write_bytes(b"nothing of a slide" * 100)
    words = ["--model", model, "-o", tmp_path / "p.csv", "--maps", tmp_path / "maps"]
    assert fails("classify", tmp_path / "broken.svs", *words).code == "E-SLIDE-FORMAT"
    refused = fails("classify", cohort / "1.tif", *words, "--memory", "1M")
    assert refused.code == "E-MEMORY-BUDGET" and (refused.option, refused.value) == ("--memory", "1M")
    assert [path.name for path in tmp_path.iterdir()] == ["broken.svs"]
    run("classify", cohort / "1.tif", tmp_path / "broken.svs", *words, code=1)
    assert sorted(path.name for path in (tmp_path / "maps").iterdir()) == ["1.png", "1.pyramid.tif"]


@pytest.mark.parametrize("same", [True, False])
def test_another_process_writes_the_table_meanwhile(cohort, model, tmp_path, same):
    """The same one: nothing is left to go on with. Another one is kept, and so is what was said."""
    slides = [cohort / f"{i}.tif" for i in range(6)]
    words = ["classify", *slides, "--model", model, "--quiet", "-o"]
    run(*words, tmp_path / "expected.csv")
    table, kept = tmp_path / "p.csv", tmp_path / ".p.csv.unfinished"
    process = subprocess.Popen([PROGRAM, *map(str, words), table], stderr=subprocess.PIPE, text=True)
    while not kept.exists():
        assert process.poll() is None
        time.sleep(0.001)
    content = (tmp_path / "expected.csv").read_text() if same else "mine"
    table.write_text(content)
    said = process.communicate(timeout=300)[1]
    assert process.returncode == 1 and str(table) in said and table.read_text() == content
    assert kept.exists() != same
    told = run(*words, table, "--overwrite", "--json").json
    assert [each["skipped"] for each in told] == [not same] * 6 and not kept.exists()
    assert table.read_text() == (tmp_path / "expected.csv").read_text()


def test_what_was_said_otherwise_is_said_anew(cohort, model, tmp_path):
    (tmp_path / "broken.tif").write_bytes((cohort / "0.tif").read_bytes()[:3000])
    slides = [cohort / "1.tif", tmp_path / "broken.tif"]
    words = ["classify", *slides, "--model", model, "-o", tmp_path / "p.csv", "--overwrite", "--json"]
    run(*words, code=1)
    assert [each.get("skipped") for each in run(*words, code=1).json] == [True, None]
    kept = tmp_path / ".p.csv.unfinished"
    kept.write_text(kept.read_text().replace('"damagedTiles":0', '"damagedTiles":3'))
    assert [each.get("skipped") for each in run(*words, code=1).json] == [True, None]
    assert [each.get("skipped") for each in run(*words, "--strict", code=1).json] == [False, None]
    assert [each.get("skipped") for each in run(*words, "--tile-size", 64, code=1).json] == [False, None]


def test_a_map_is_trusted_by_what_is_in_it(cohort, model, tmp_path):
    """A batch goes on: a map that has changed since is made again, and what somebody put in its place stays."""
    (tmp_path / "broken.tif").write_bytes((cohort / "0.tif").read_bytes()[:3000])
    slides = [cohort / "1.tif", cohort / "2.tif", tmp_path / "broken.tif"]
    words = ["classify", *slides, "--model", model, "-o", tmp_path / "p.csv", "--maps", tmp_path / "maps"]
    run(*words, code=1)
    first, second = tmp_path / "maps" / "1.pyramid.tif", tmp_path / "maps" / "2.pyramid.tif"
    content, picture = first.read_bytes(), first.with_name("1.png").read_bytes()
    assert content != second.read_bytes()
    first.write_bytes(second.read_bytes())
    (tmp_path / "p.csv").unlink()
    told = run(*words, "--json", code=1).json
    assert [each.get("skipped") for each in told] == [False, True, None]
    assert "map identity" not in json.dumps(told)
    assert (first.read_bytes(), first.with_name("1.png").read_bytes()) == (content, picture)
    first.write_bytes((cohort / "0.tif").read_bytes())
    (tmp_path / "p.csv").unlink()
    refused = fails(*words)
    assert refused.code == "E-OUTPUT-EXISTS" and refused.file == str(first)
    assert first.read_bytes() == (cohort / "0.tif").read_bytes()


@pytest.mark.parametrize("preset, published", [("resnet18", 11_689_512), ("resnet34", 21_797_672), ("resnet50", 25_557_032)])
def test_presets_are_torchvisions(preset, published):
    """By the number of their weights, which is published for 1000 classes."""
    features = 2048 if preset == "resnet50" else 512
    told = run("networks", f"{preset}:classes=254", "--json").json
    told = told[0] if isinstance(told, list) else told
    assert told["parameters"] == published - (1000 - 254) * (features + 1)


def test_neurons_of_pytorch_are_taken(cohort, model, tmp_path):
    """Which has a matrix where the network has a convolution of one pixel."""
    data = (model / "best.safetensors").read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    assert header["fc.weight"]["shape"] == [1, 32, 1, 1]
    header["fc.weight"]["shape"] = [1, 32]
    text = json.dumps({key: value for key, value in header.items() if key != "__metadata__"}).encode()
    text += b" " * (-len(text) % 8)
    (tmp_path / "module.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data[8 + size :])
    words = ["--network", NETWORK, "--epochs", 1, "--learning-rate", 1e-9]
    losses = [
        run("train", "--cohort", cohort / "cohort.csv", "-o", tmp_path / str(i), *words, "--weights", weights, "--json").json["validationLoss"]
        for i, weights in enumerate([tmp_path / "module.safetensors", model])
    ]
    assert losses[0] == losses[1]


def test_the_example_of_a_network_in_python(tmp_path):
    """Its parameters are counted by the paper's table, with the biases of Keras' example: it is the network of that name. A
    step does not depend on its tiles."""
    example = pathlib.Path(__file__).parents[2] / "Examples/Python/resnet110v2.py"
    network = tmp_path / "resnet110v2.json"
    subprocess.run([sys.executable, example, network], check=True)

    def count(inputs, outputs, kernel):
        return inputs * outputs * kernel**2 + outputs

    trained, norms, layers, inputs = count(3, 16, 3), 16, 1, 16
    for inner, outer in ((16, 64), (64, 128), (128, 256)):
        trained += count(inputs, outer, 1)  # of the shortcut
        for _ in range(12):
            trained += count(inputs, inner, 1) + count(inner, inner, 3) + count(inner, outer, 1)
            norms += inputs + 2 * inner
            layers += 3
            inputs = outer
    norms += inputs - 16  # the last one; the first block has none before it
    assert layers + 1 == 110
    found = run("networks", network, "--json").json
    assert found["parameters"] == trained + 2 * norms + count(inputs, 1, 1)
    assert found["keptParameters"] == 2 * norms
    losses = []
    for label in "ab":
        pixels = np.random.default_rng(ord(label)).integers(0, 256, (64, 64, 3), dtype=np.uint8)
        tifffile.imwrite(tmp_path / f"{label}.tif", pixels, tile=(64, 64), photometric="rgb")
    (tmp_path / "cohort.csv").write_text("slide,label,split\na.tif,a,train\nb.tif,b,train\n")
    for side in (32, "image"):
        words = ["--epochs", 1, "--tile-size", side, "--learning-rate", 1e-9, "--no-augmentation", "--quiet"]
        run("train", "--cohort", tmp_path / "cohort.csv", "-o", tmp_path / f"run-{side}", "--network", network, *words)
        losses.append(float(read(tmp_path / f"run-{side}/history.csv")[0]["training_loss"]))
    assert losses[0] == pytest.approx(losses[1], rel=1e-3) and math.isfinite(losses[0])
