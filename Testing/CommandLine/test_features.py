# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Vectors of slides: what is written, for whom, and that nothing is computed twice."""

import csv
import json
import os
import struct

import numpy as np
import pytest
import tifffile

from conftest import UNSANITIZED, fails, run
from labeled_slides import WORDS, write_slide, write_table

pytestmark = pytest.mark.usefixtures("network")

SIZE = (170, 140)  # of write_slide()'s


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Slides, and a model of labels in run/."""
    folder = tmp_path_factory.mktemp("features")
    for i in range(4):
        write_slide(folder / f"{i}.tif", i, i % 2 == 1)
    rows = [f"{i}.tif,{'tumor' if i % 2 else 'normal'},train" for i in range(4)]
    table = write_table(folder / "cohort.csv", rows, "slide,label,split")
    run("train", "--cohort", table, "-o", folder / "run", *WORDS, "--epochs", 1)
    return folder


def read(path):
    """Features, coordinates, their attributes, the slide's vector, attributes of the file."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(path) as file:
        assert sorted(file) == ["coords", "features", "slide_features"]
        return file["features"][:], file["coords"][:], dict(file["coords"].attrs), file["slide_features"][:], dict(file.attrs)


def array(model, name):
    data = model.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    begin, end = json.loads(data[8 : 8 + size])[name]["data_offsets"]
    return np.frombuffer(data[8 + size + begin : 8 + size + end], "<f4")


def test_files_are_those_of_trident_and_clam(folder, tmp_path):
    told = run("features", folder / "1.tif", "--model", folder / "run", "-o", tmp_path / "1.h5", "--json").json
    features, coordinates, attributes, pooled, ofFile = read(tmp_path / "1.h5")
    columns, rows = 6, 5  # pixels of a map with a stride of 32
    assert features.dtype == np.float32 and features.shape == (columns * rows, 16)
    assert coordinates.dtype == np.int64
    assert sorted(map(tuple, coordinates)) == sorted((32 * x - 16, 32 * y - 16) for x in range(columns) for y in range(rows))
    sizes = {"patch_size": 32, "patch_size_level0": 32, "overlap": 0, "level0_width": SIZE[0], "level0_height": SIZE[1]}
    resolution = {"mpp": 0.5, "level0_magnification": 20, "target_magnification": 20}
    assert attributes == {**sizes, **{name: pytest.approx(value) for name, value in resolution.items()}}
    assert told["positions"] == 30 and told["channels"] == 16 and told["step"] == 32 and told["skipped"] is False
    assert ofFile["made_by"].decode().startswith("features model=") and ofFile["damaged_tiles"] == b"0"
    assert np.ptp(features, axis=0).max() > 0
    assert np.abs(features.astype(float).mean(0) - pooled).max() <= 1e-6 * np.abs(features).max(), "its pooling is the mean"


@UNSANITIZED
def test_coordinates_and_vectors_are_planned(folder, tmp_path):
    """Of all positions where they are, and of the tile's that is computed, 3 x 3 of 16 floats, the vectors twice."""
    words = [folder / "1.tif", "--model", folder / "run", "--memory", "2G", "--threads", 1, "--json", "-o"]
    features, classify = run("features", *words, tmp_path / "1.h5").json, run("classify", *words, tmp_path / "p.csv").json
    more = features["estimatedPeakBytes"] - classify["estimatedPeakBytes"]
    assert more == 16 * features["positions"] + 2 * 3 * 3 * 16 * 4


def test_the_last_layer_makes_of_them_what_classify_says(folder, tmp_path):
    run("features", folder / "1.tif", "--model", folder / "run", "-o", tmp_path / "1.h5")
    run("classify", folder / "1.tif", "--model", folder / "run", "-o", tmp_path / "p.csv")
    pooled = read(tmp_path / "1.h5")[3].astype(float)
    best = folder / "run" / "best.safetensors"
    logit = array(best, "fc.weight") @ pooled + array(best, "fc.bias")[0]
    with open(tmp_path / "p.csv", newline="") as file:
        said = float(next(csv.DictReader(file))["p_tumor"])
    assert said == pytest.approx(1 / (1 + np.exp(-logit)), abs=1e-6)


def test_tiles_and_threads_change_nothing(folder, tmp_path):
    for name, words in (("one", ["--threads", 1]), ("two", ["--threads", 2])):
        run("features", folder / "1.tif", "--model", folder / "run", "-o", tmp_path / f"{name}.h5", *words)
    assert (tmp_path / "one.h5").read_bytes() == (tmp_path / "two.h5").read_bytes()
    run("features", folder / "1.tif", "--model", folder / "run", "-o", tmp_path / "image.h5", "--tile-size", "image")
    tiled, whole = read(tmp_path / "one.h5"), read(tmp_path / "image.h5")
    assert [tuple(each) for each in whole[1]] == [(32 * x - 16, 32 * y - 16) for y in range(5) for x in range(6)], "row by row"
    byPlace = {tuple(place): row for place, row in zip(tiled[1], tiled[0])}
    assert len(byPlace) == len(whole[1])
    difference = max(np.abs(byPlace[tuple(place)] - row).max() for place, row in zip(whole[1], whole[0]))
    assert difference <= 1e-5 * np.abs(whole[0]).max()


def test_only_tissue_has_vectors(folder, tmp_path):
    mask = np.zeros(SIZE[::-1], np.uint8)
    mask[20:70, 90:150] = 255
    resolution = {"resolution": (20000, 20000), "resolutionunit": "CENTIMETER"}
    tifffile.imwrite(tmp_path / "mask.tif", mask, tile=(64, 64), photometric="minisblack", **resolution)
    words = ["features", folder / "1.tif", "--model", folder / "run", "--tissue", tmp_path / "mask.tif"]
    run(*words, "-o", tmp_path / "1.h5")
    coordinates = [tuple(each) for each in read(tmp_path / "1.h5")[1]]
    wanted = [(32 * x - 16, 32 * y - 16) for x in range(3, 6) for y in range(1, 3)]  # of pixels 90..149, 20..69
    assert sorted(coordinates) == sorted(wanted)


def test_what_is_there_is_not_computed_again(folder, tmp_path):
    out = tmp_path / "out"
    words = ["features", "--model", folder / "run", "-o", f"{out}/", "--json"]
    slides = [folder / f"{i}.tif" for i in range(3)]
    assert [each["skipped"] for each in run(*words, *slides[:2]).json] == [False, False]
    content = (out / "0.h5").read_bytes()
    changed = os.stat(out / "0.h5").st_mtime_ns
    assert [each["skipped"] for each in run(*words, *slides).json] == [True, True, False]
    assert os.stat(out / "0.h5").st_mtime_ns == changed
    assert "was there already" in run(*words[:-1], *slides).out
    run(*words, "--overwrite", *slides)
    assert (out / "0.h5").read_bytes() == content and os.stat(out / "0.h5").st_mtime_ns != changed
    assert sorted(os.listdir(out)) == ["0.h5", "1.h5", "2.h5", "manifest.json", "timings.jsonl"]


def test_what_is_something_else_is_kept(folder, tmp_path):
    out, slide = tmp_path / "1.h5", folder / "1.tif"
    words = ["features", slide, "--model", folder / "run", "-o", out]
    run(*words)
    for changed in ([*words, "--tile-size", 64], ["features", folder / "0.tif", *words[2:]]):
        refused = fails(*changed)
        assert refused.code == "E-OUTPUT-EXISTS" and refused.file == str(out)
    content = out.read_bytes()
    for content_of_another in (content[:-100], b"mine"):
        out.write_bytes(content_of_another)
        refused = fails(*words)
        assert refused.code == "E-OUTPUT-EXISTS" and refused.file == str(out)
    assert out.read_bytes() == b"mine"
    run(*words, "--overwrite")
    assert out.read_bytes() == content


def test_pixels_that_are_not_square(folder, tmp_path):
    """Each side is the model's, but for 10 %; else pixels are resampled."""
    slide = tmp_path / "slide.tif"
    pixels = np.full((240, 320, 3), 200, np.uint8)
    for sides, read in (((0.46, 0.54), (0.46, 0.54)), ((0.3, 0.4), (0.5, 0.5))):
        words = {"resolution": (1e4 / sides[0], 1e4 / sides[1]), "resolutionunit": "CENTIMETER"}
        tifffile.imwrite(slide, pixels, tile=(64, 64), photometric="rgb", **words)
        expected = tuple(pytest.approx(mpp, rel=1e-4) for mpp in (*read, 0.5))
        for command, output in (("features", "1.h5"), ("classify", "1.csv")):
            result = run(command, slide, "--model", folder / "run", "-o", tmp_path / output, "--json", "--overwrite").json
            assert (result["mppX"], result["mppY"], result["mpp"]) == expected


def test_refusals_leave_no_folder(folder, tmp_path):
    words = ["features", folder / "1.tif", "--model", folder / "run", "-o", f"{tmp_path}/out/"]
    refused = fails(*words, "--memory", "1M")
    assert refused.code == "E-MEMORY-BUDGET" and (refused.option, refused.value) == ("--memory", "1M")
    assert not (tmp_path / "out").exists()
    run(*words)
    assert sorted(os.listdir(tmp_path / "out")) == ["1.h5", "manifest.json", "timings.jsonl"]


def test_a_slide_that_fails_leaves_the_others(folder, tmp_path):
    (tmp_path / "broken.tif").write_bytes((folder / "0.tif").read_bytes()[:3000])
    words = ["features", tmp_path / "broken.tif", folder / "1.tif", "--model", folder / "run", "-o", f"{tmp_path}/out/"]
    told = run(*words, "--json", code=1).json
    assert [(each["error"]["code"], each["error"]["file"]) for each in told if "error" in each] == [("E-FILE-DAMAGED", str(tmp_path / "broken.tif"))]
    assert sorted(os.listdir(tmp_path / "out")) == ["1.h5", "failed.csv", "manifest.json", "timings.jsonl"]


def test_what_does_not_fit_is_refused(folder, tmp_path):
    refused = fails("features", folder / "0.tif", "--model", "tissue", "-o", tmp_path / "0.h5")
    assert refused.code == "E-MODEL-OUTPUT" and refused.file == "tissue"
    refused = fails("features", folder / "0.tif", "--model", folder / "run", "-o", tmp_path / "0.csv", code=2)
    assert refused.code == "E-OUTPUT-ENDING" and ".h5" in refused.do
    assert not os.listdir(tmp_path)
