# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Networks on channels of slides: what they are trained on, and which channels they find on other slides. References are slides
that hold the same values, without any choice."""

import csv
import json

import numpy
import pytest
import tifffile
from conftest import fails, run, weights
from test_channels import NAMES, draw, show, write

pytestmark = pytest.mark.usefixtures("network")

WINDOW = (100, 2000)
CHOICE = ["--channel", "CD3", "--channel", "DAPI", "--window", "100,2000"]
SIZE = (200, 300)
EPOCHS = 60


def describe(channels, name="nuclei"):
    layer = {"name": "S", "type": "convolution", "in": channels, "out": 1, "kernel": 3, "padding": 1, "activation": "none"}
    return json.dumps({"name": name, "input": {"channels": channels}, "layers": [layer]})


def write_plain(path, samples):
    """A slide of 8 bit whose pixels are these, (y, x, channels) or (y, x), with nothing to choose."""
    if samples.ndim == 3:
        return write(path, numpy.moveaxis(samples, -1, 0), ["first", "second"])
    tifffile.imwrite(path, samples, tile=(64, 64), photometric="minisblack", resolution=(20000, 20000), resolutionunit="CENTIMETER", metadata=None)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """slide.ome.tif with three channels, plain.tif with what two of them become, and runs of both."""
    folder = tmp_path_factory.mktemp("channels")
    planes = draw(SIZE[1], SIZE[0])
    write(folder / "slide.ome.tif", planes)
    write_plain(folder / "plain.tif", numpy.stack([show(planes[c], WINDOW) for c in (1, 0)], -1))
    write_plain(folder / "mask.tif", (planes[1] > 1200).astype(numpy.uint8) * 255)
    (folder / "two.json").write_text(describe(2))
    for name, choice in (("slide.ome.tif", CHOICE), ("plain.tif", [])):
        train(folder, name, folder / f"{name}.run", "two.json", *choice)
    return folder


def train(folder, slide, target, network, *words):
    table = target.with_suffix(".csv")
    table.write_text(f"slide,mask,split\n{folder / slide},{folder / 'mask.tif'},train\n")
    words = ["--network", folder / network, "--epochs", EPOCHS, "--learning-rate", 0.1, "--no-augmentation", *words]
    return run("train", "--cohort", table, "-o", target, "--mpp", 0.5, *words, "--json")


def segment(slide, model, target, *words):
    result = run("segment", slide, "--model", model, "-o", target, "--json", "--overwrite", *words)
    return tifffile.imread(target, key=0), result


def test_training_sees_the_channels(folder):
    assert weights(folder / "slide.ome.tif.run") == weights(folder / "plain.tif.run")
    model = run("info", folder / "slide.ome.tif.run", "--json").json
    assert (model["slideChannels"], model["window"]) == (["CD3", "DAPI"], "100,2000")
    assert run("info", folder / "plain.tif.run", "--json").json["slideChannels"] == ["first", "second"]


def test_one_channel_is_gray(folder, tmp_path):
    planes = draw(SIZE[1], SIZE[0])
    write_plain(tmp_path / "gray.tif", show(planes[1], WINDOW))
    (tmp_path / "one.json").write_text(describe(1))
    train(folder, "slide.ome.tif", tmp_path / "chosen", tmp_path / "one.json", "--channel", "2", "--window", "100,2000")
    train(folder, tmp_path / "gray.tif", tmp_path / "gray", tmp_path / "one.json")
    assert weights(tmp_path / "chosen") == weights(tmp_path / "gray")
    assert run("info", tmp_path / "chosen", "--json").json["slideChannels"] == ["CD3"]


def test_segment_finds_channels_by_name(folder, tmp_path):
    wanted, _ = segment(folder / "plain.tif", folder / "plain.tif.run", tmp_path / "plain.mask.tif")
    assert 0.05 < (wanted > 0).mean() < 0.95
    planes = draw(SIZE[1], SIZE[0])
    for number, order in enumerate(([0, 1, 2], [2, 1, 0], [1, 2, 0])):
        slide = write(tmp_path / f"{number}.ome.tif", planes[order], [NAMES[c] for c in order])
        mask, result = segment(slide, folder / "slide.ome.tif.run", tmp_path / "mask.tif")
        assert numpy.array_equal(mask, wanted)
        assert result.json["channels"] == ["CD3 100,2000", "DAPI 100,2000"]
        assert run("plan", slide, "--network", folder / "slide.ome.tif.run", "--json").json["plans"][0]["fits"]


def test_channels_of_the_model_in_another_order(folder, tmp_path):
    """They are told of, since the network would see one for the other; others are the user's business."""
    words = ["--model", folder / "slide.ome.tif.run", "-o", tmp_path / "m.tif"]
    refused = fails("segment", folder / "slide.ome.tif", *words, "--channel", "DAPI", "--channel", "CD3")
    assert (refused.code, refused.option) == ("E-SLIDE-CHANNEL", "--channel")
    run("segment", folder / "slide.ome.tif", *words, "--channel", "CD3", "--channel", "DAPI")


def test_what_is_chosen_counts(folder, tmp_path):
    """Of a slide with other names for the same channels, and with another window."""
    planes = draw(SIZE[1], SIZE[0])
    slide = write(tmp_path / "other.ome.tif", planes, ["Hoechst", "CD3", "CD8"])
    refused = fails("segment", slide, "--model", folder / "slide.ome.tif.run", "-o", tmp_path / "mask.tif")
    assert (refused.code, refused.file, refused.value) == ("E-SLIDE-CHANNEL", str(slide), "DAPI")
    assert not (tmp_path / "mask.tif").exists()
    wanted, _ = segment(folder / "plain.tif", folder / "plain.tif.run", tmp_path / "plain.mask.tif")
    words = ["--channel", "CD3", "--channel", "Hoechst"]
    assert numpy.array_equal(segment(slide, folder / "slide.ome.tif.run", tmp_path / "mask.tif", *words)[0], wanted)
    plain = write_plain(tmp_path / "wide.tif", numpy.stack([show(planes[c], (0, 4000)) for c in (1, 0)], -1))
    wanted, _ = segment(plain, folder / "plain.tif.run", tmp_path / "wide.mask.tif")
    words += ["--window", "0,4000"]
    assert numpy.array_equal(segment(slide, folder / "slide.ome.tif.run", tmp_path / "mask.tif", *words)[0], wanted)


def test_a_number_is_no_name(folder, tmp_path):
    """A model's channel 2 is none of a slide that has a second channel of another name."""
    planes = draw(SIZE[1], SIZE[0])
    write(tmp_path / "numbers.ome.tif", planes, ["1", "2", "3"])
    train(folder, tmp_path / "numbers.ome.tif", tmp_path / "run", "two.json", "--channel", "1", "--channel", "2", "--window", "100,2000")
    refused = fails("segment", folder / "slide.ome.tif", "--model", tmp_path / "run", "-o", tmp_path / "mask.tif")
    assert (refused.code, refused.value) == ("E-SLIDE-CHANNEL", "1")


def test_slides_of_a_training_have_the_same_names(folder, tmp_path):
    planes = draw(SIZE[1], SIZE[0])
    write(tmp_path / "other.ome.tif", planes, ["CD3", "DAPI", "CD8"])
    rows = [f"{slide},{folder / 'mask.tif'},train\n" for slide in (folder / "slide.ome.tif", tmp_path / "other.ome.tif")]
    (tmp_path / "cohort.csv").write_text("slide,mask,split\n" + "".join(rows))
    words = ["train", "--cohort", tmp_path / "cohort.csv", "--network", folder / "two.json", "--epochs", 1, "--window", "100,2000"]
    refused = fails(*words, "-o", tmp_path / "places", "--channel", "1", "--channel", "2")
    assert (refused.code, refused.file) == ("E-SLIDE-CHANNELS", str(tmp_path / "other.ome.tif"))
    run(*words, "-o", tmp_path / "names", "--channel", "DAPI", "--channel", "CD3")


def test_a_run_goes_on_with_its_channels(folder, tmp_path):
    train(folder, "slide.ome.tif", tmp_path / "run", "two.json", *CHOICE)
    words = ["train", "--cohort", tmp_path / "run.csv", "-o", tmp_path / "run", "--mpp", 0.5, "--resume", "--epochs", EPOCHS + 1]
    other = ["--channel", "DAPI", "--channel", "CD3", "--window", "100,2000"]
    assert fails(*words, *other).code == "E-RUN-CONFLICT"
    assert run(*words, *CHOICE, "--json").json["epochs"] == EPOCHS + 1
    assert run("info", tmp_path / "run", "--json").json["slideChannels"] == ["CD3", "DAPI"]


def test_a_window_of_its_own_for_each_slide(folder, tmp_path):
    """auto is kept as such: darker slides have darker windows."""
    table = ["--channel", "CD3", "--channel", "DAPI", "--window", "auto"]
    train(folder, "slide.ome.tif", tmp_path / "run", "two.json", *table)
    assert run("info", tmp_path / "run", "--json").json["window"] == "auto"
    bright, _ = segment(folder / "slide.ome.tif", tmp_path / "run", tmp_path / "bright.tif")
    slide = write(tmp_path / "double.ome.tif", 2 * draw(SIZE[1], SIZE[0]))
    doubled, _ = segment(slide, tmp_path / "run", tmp_path / "doubled.tif")
    assert numpy.array_equal(bright, doubled)


def test_plans_count_channels_that_are_chosen(folder):
    words = ["plan", folder / "slide.ome.tif", "--network", folder / "two.json", "--json"]
    assert fails(*words[:-1]).code == "E-SLIDE-CHANNELS"
    chosen = run(*words, *CHOICE).json
    plain = run("plan", folder / "plain.tif", "--network", folder / "two.json", "--json").json
    assert [plan["peakBytes"] for plan in chosen["plans"]] == pytest.approx([plan["peakBytes"] for plan in plain["plans"]], rel=0.01)


def test_models_of_labels_find_channels(tmp_path):
    """train, classify and features; the same as of slides that hold the values."""
    h5py = pytest.importorskip("h5py")
    rows = {"chosen": [], "plain": []}
    for number in range(2):
        planes = draw(170, 140, 2, seed=10 * number)
        planes[1] += 500 * number
        write(tmp_path / f"{number}.ome.tif", planes, ["A", "B"])
        write_plain(tmp_path / f"{number}.tif", numpy.stack([show(planes[c], WINDOW) for c in (1, 0)], -1))
        for kind, ending in (("chosen", "ome.tif"), ("plain", "tif")):
            rows[kind].append(f"{tmp_path / f'{number}.{ending}'},{'ab'[number]},train\n")
    found = {}
    for kind, choice in (("chosen", ["--channel", "B", "--channel", "A", "--window", "100,2000"]), ("plain", [])):
        table = tmp_path / f"{kind}.csv"
        table.write_text("slide,label,split\n" + "".join(rows[kind]))
        words = ["--network", "resnet18:width=2,channels=2", "--tile-size", 96, "--epochs", 1, *choice]
        run("train", "--cohort", table, "-o", tmp_path / kind, *words)
        slide = tmp_path / ("0.ome.tif" if kind == "chosen" else "0.tif")
        map_of = run("classify", slide, "--model", tmp_path / kind, "-o", tmp_path / f"{kind}.p.csv", "--maps", tmp_path / f"{kind}.maps", "--json")
        run("features", slide, "--model", tmp_path / kind, "-o", tmp_path / f"{kind}.h5")
        with open(tmp_path / f"{kind}.p.csv", newline="") as file:
            row = next(csv.DictReader(file))
        with h5py.File(tmp_path / f"{kind}.h5") as file:
            arrays = file["features"][:], tifffile.imread(map_of.json["map"]["file"], key=0)
        found[kind] = {name: value for name, value in row.items() if name != "slide"}, arrays
    assert found["chosen"][0] == found["plain"][0]
    for chosen, plain in zip(found["chosen"][1], found["plain"][1]):
        assert numpy.array_equal(chosen, plain) and numpy.ptp(plain) > 0
    slide = write(tmp_path / "other.ome.tif", draw(170, 140, 2), ["A", "C"])
    for command, target in (("classify", "n.csv"), ("features", "n.h5")):
        refused = fails(command, slide, "--model", tmp_path / "chosen", "-o", tmp_path / target)
        assert (refused.code, refused.file, refused.value) == ("E-SLIDE-CHANNEL", str(slide), "B")
        run(command, slide, "--model", tmp_path / "chosen", "-o", tmp_path / target, "--channel", "C", "--channel", "A")
