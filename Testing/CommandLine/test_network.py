# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""plan, train, segment, doctor: the commands that need LibTorch, skipped where it was not built."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess

import numpy
import pytest
import tifffile

from conftest import PROGRAM, fails, run, segment, settings, weights, write_nrrd, write_slide
from test_terminal import read_until, start_on_terminal

pytestmark = pytest.mark.usefixtures("network")


@pytest.fixture(scope="module")
def trained(cohort, tmp_path_factory):
    """A run of a few epochs: (folder, result)."""
    folder = tmp_path_factory.mktemp("run") / "run"
    result = run("train", "--cohort", cohort, "-o", folder, "--epochs", 3, "--learning-rate", 0.01, "--json")
    return folder, result


def test_doctor_finds_the_module():
    report = run("doctor", "--json").json
    assert report["healthy"] and report["network"]["loads"] and re.match(r"\d+\.\d+", report["network"]["torch"])
    assert report["writeTest"]["passed"] and report["itk"] and report["openslide"] and "JPEG 2000" in report["codecs"]
    assert "All is well" in run("doctor").out


def test_plan():
    plan = run("plan", "--size", "16000x64000", "--memory", "2G", "--json").json
    assert plan["parameters"] == 4492 and plan["stride"] == 32 and plan["halo"] == 64
    rows = {(row["purpose"], row["options"]): row for row in plan["plans"]}
    assert len(rows) == 6
    streamed = rows["training", ""]
    assert streamed["fits"] and streamed["peakBytes"] <= 2 * 1024**3
    assert 0 < rows["inference", ""]["seconds"] < streamed["seconds"]
    side = streamed["tileSize"]
    assert streamed["tiles"] == -(-16000 // side) * -(-64000 // side)
    whole = rows["training", "--tile-size image"]
    assert not whole["fits"] and "without --tile-size image" in whole["reason"]
    assert "training" in run("plan", "--size", "16000x64000").out
    small = run("plan", "--size", "2000x2000", "--precision", "bf16", "--json").json["plans"]
    rows = {(row["purpose"], row["options"]): row for row in small}
    extra = rows["training", "--shared-memory"]["peakBytes"] - rows["training", ""]["peakBytes"]
    assert extra == pytest.approx(2 * 2000 * 2000, abs=1e6)
    assert 2 * 2000 * 2000 < rows["training", ""]["deviceBytes"] < streamed["deviceBytes"]
    rows = run("plan", "--size", "2000x1500", "--tile-size", "image", "--json").json["plans"]
    assert [row["options"] for row in rows[:2]] == ["--tile-size image", "--tile-size image --shared-memory"]
    assert {(row["tileSize"], row["tiles"]) for row in rows} == {(2016, 1)}
    assert '32 to 65536 px' in run("plan", "--size", "9x9", "--tile-size", "8", code=2).err
    small = run("plan", "--size", "9x9", "--memory", "1").out
    assert "the memory limit of 1 byte is too small" in small and "0 bytes" not in small
    assert "less than 0.1 s" in run("plan", "--size", "9x9").out
    slow = run("plan", "--size", "400000x200000", "--network", "unet:base=64", "--memory", "64G").out
    assert re.search(r"about \d+ days \d\d h ", slow)
    assert 'a whole number or image, not "whole"' in run("plan", "--size", "9x9", "--tile-size", "whole", code=2).err
    assert "--size" in run("plan", code=2).err


@pytest.mark.parametrize("name", ["remedios2023", "resnet18-unet"])
def test_plan_of_images_that_nobody_has(name):
    plan = run("plan", "--size", "1000000000x1000000000", "--network", name, "--memory", "8G", "--json").json
    for row in plan["plans"]:
        assert row["peakBytes"] > 0 if row["fits"] else "is too small" in row["reason"] and "-" not in row["reason"].split("TB")[0]


def test_plan_of_patches():
    arguments = ["plan", "--size", "16000x64000", "--semantics", "patch", "--memory"]
    inference = [row for row in run(*arguments, "2G", "--patch", 1024, "--overlap", 0.5, "--json").json["plans"] if row["purpose"] == "inference"]
    assert [row["options"] for row in inference] == ["--semantics patch --patch 1024 --overlap 0.50"]
    row = inference[0]
    assert row["fits"] and row["tileSize"] == 1024 and row["tiles"] == 31 * 124  # ceil((16000 - 1024) / 512) + 1 ...
    sums = 16000 * 1024 * 2 * 4
    assert sums < row["peakBytes"] < 2 * 1024**3
    text = run(*arguments, "2G", "--mirror").out
    assert "--semantics patch --patch 512 --overlap 0.25 --mirror" in text and "patches of 512 px" in text
    refused = [row for row in run(*arguments, "1G", "--patch", 8192, "--json").json["plans"] if "reason" in row]
    assert any("smaller patches (--patch) need less" in row["reason"] for row in refused)


def test_plan_tells_segments_and_where_their_maps_lie(tmp_path):
    arguments = ["plan", "--size", "32768x32768", "--network", "resnet18-unet", "--memory", "3G"]
    row = run(*arguments, "--scratch", tmp_path, "--json").json["plans"][0]
    assert row["fits"] and row["keptInFiles"] and row["keptBytes"] > 3 * 1024**3 > row["peakBytes"]
    assert 2 <= len(row["segments"]) <= 5 and row["segments"][-1]["passes"] == 2
    text = run(*arguments, "--scratch", tmp_path).out
    assert f"segment up to {row['segments'][0]['map']}: 3 passes" in text and "in the scratch folder" in text
    refused = run(*arguments, "--json").json["plans"][0]
    assert not refused["fits"] and "with a scratch folder (--scratch) that has room for" in refused["reason"]


def test_networks_lists_presets_and_describes_one(tmp_path):
    presets = {network["name"]: network for network in run("networks", "--json").json}
    assert list(presets)[:2] == ["remedios2023", "unet"] and "resnet18-unet" in presets
    assert {option["name"]: option["default"] for option in presets["unet"]["options"]}["base"] == "16"
    assert (presets["remedios2023"]["parameters"], presets["remedios2023"]["halo"]) == (4492, 64)
    text = run("networks").out
    assert "base=16 (1 to 512)" in text and "halo 94 px" in text and "learning rate 0.0001\n" in text
    assert [presets[name]["learningRate"] for name in ("remedios2023", "resnet18-unet")] == [0.003, 0.0001]
    one = run("networks", "unet:base=32,classes=3", "--json").json
    assert (one["name"], one["classes"], one["halo"]) == ("unet:base=32,classes=3", 3, 94)
    assert [tile["side"] for tile in one["tiles"]] == [512, 1024, 2048]
    # Twice the channels: four times the products of all convolutions but the first and the last.
    assert 3.5 < one["multiplyAddsPerPixel"] / presets["unet"]["multiplyAddsPerPixel"] < 4
    operations = [{"name": "x", "type": "input", "channels": 1}]
    operations += [{"name": "y", "type": "conv2d", "inputs": ["x"], "out_channels": 1, "kernel_size": 3, "padding": 1}]
    file = tmp_path / "mine.json"
    file.write_text(json.dumps({"name": "mine", "operations": operations, "output": "y"}))
    mine = run("networks", file, "--json").json
    assert (mine["parameters"], mine["multiplyAddsPerPixel"], mine["halo"]) == (10, 9, 1)
    assert mine["learningRate"] == 0.003  # it says what a chain of layers says
    operations[1]["padding"] = 0
    file.write_text(json.dumps({"name": "mine", "operations": operations, "output": "y"}))
    message = fails("networks", file)
    assert str(file) in message and "not of the input's size" in message
    gray = run("networks", "resnet18-unet:channels=1", "--json").json
    assert presets["resnet18-unet"]["parameters"] - gray["parameters"] == 2 * 64 * 7 * 7
    assert [option["name"] for option in presets["resnet18-unet"]["options"]] == ["channels", "classes"]
    assert "it has: base" in fails("networks", "unet:levels=3")
    assert "resnet18-unet" in fails("networks", "nosuch")


def test_plan_of_a_slide(cohort):
    plan = run("plan", cohort.parent / "a.tif", "--level", 1, "--json").json
    assert (plan["width"], plan["height"]) == (400, 350)


def test_training_writes_a_run_and_says_how_it_went(trained):
    folder, result = trained
    assert {"best.safetensors", "last.safetensors", "history.csv"} <= {path.name for path in folder.iterdir()}
    assert result.json["epochs"] == 3 and result.json["trainingSamples"] == result.json["validationSamples"] == 1
    assert result.json["peakBytes"] > 0 and result.json["estimatedPeakBytes"] > 0
    assert len(re.findall(r"^epoch \d/3: loss [\d.]+, validation loss [\d.]+, validation Dice", result.err, re.M)) == 3
    assert "estimated peak memory" in result.err and "measured" in result.err
    seconds = result.json["cpuSeconds"]
    assert min(seconds.values()) > 0
    assert seconds["pixels"] + seconds["labels"] + seconds["network"] <= seconds["all"]


def test_loss_is_chosen(trained, cohort, tmp_path):
    options = ["train", "--cohort", cohort, "--epochs", 1, "--learning-rate", 0.01, "--json", "-o"]
    entropy = run(*options, tmp_path / "entropy").json
    weighted = run(*options, tmp_path / "weighted", "--class-weights", "1,3").json
    dice = run(*options, tmp_path / "dice", "--loss", "dice").json
    assert len({result["validationLoss"] for result in (entropy, weighted, dice)}) == 3
    assert 0 < dice["validationLoss"] < 1
    assert "cannot be resumed with another loss" in fails(*options, tmp_path / "dice", "--loss", "cross-entropy", "--resume")
    run(*options, tmp_path / "dice", "--resume")  # the run knows its network, and what it minimizes
    assert "3 class weights" in fails(*options, tmp_path / "new", "--class-weights", "1,2,3")
    assert "numbers separated by commas" in run(*options, tmp_path / "new", "--class-weights", "1;2", code=2).err


def test_options_of_training_are_kept_in_the_run(cohort, tmp_path):
    options = ["train", "--cohort", cohort, "--epochs", 2, "--json", "-o", tmp_path / "run"]
    options += ["--optimizer", "sgd", "--learning-rate", 0.05, "--momentum", 0.8, "--weight-decay", 1e-4, "--clip-gradient", 0.5]
    options += ["--learning-rate-schedule", "cosine", "--warmup", 1, "--freeze", "L1", "--freeze", "L2.bias", "--jitter", 0.1]
    options += ["--loss", "dice+cross-entropy"]
    run(*options)
    kept = settings(tmp_path / "run")
    assert kept["optimizer"] == {"type": "sgd", "weight decay": 1e-4, "momentum": 0.8}
    assert kept["learning-rate schedule"] == {"type": "cosine", "warmup": 1, "epochs": 2}
    assert kept["frozen"] == ["L1.bias", "L1.weight", "L2.bias"]
    assert (kept["clip gradient"], kept["jitter"], kept["loss"]["type"]) == (0.5, 0.1, "dice+cross-entropy")
    rates = [float(line.split(",")[-1]) for line in (tmp_path / "run" / "history.csv").read_text().splitlines()[1:]]
    assert rates == [0.05, 0.05]  # of the warmup's only step, and of the first one behind it
    before = weights(tmp_path / "run")
    run(*options, "--resume")
    assert weights(tmp_path / "run") == before
    for changed, name in (
        (["--momentum", 0.9], "optimizer"),
        (["--learning-rate-schedule", "constant"], "learning-rate schedule"),
        (["--clip-gradient", 0], "clip gradient"),
        (["--jitter", 0], "jitter"),
    ):
        at = options.index(changed[0])
        others = [*options[:at], *changed, *options[at + 2 :]]
        assert f"cannot be resumed with another {name} (" in fails(*others, "--resume")
    assert "cannot be resumed with other frozen arrays" in fails(*options, "--freeze", "L3", "--resume")


def test_options_of_training_that_cannot_be(cohort, tmp_path):
    options = ["train", "--cohort", cohort, "-o", tmp_path / "new", "--epochs", 2]
    assert 'no array and no module "L8" to freeze; the nearest are "L1"' in fails(*options, "--freeze", "L8")
    assert "leave something to train" in fails(*options, *[word for i in range(1, 8) for word in ("--freeze", f"L{i}")])
    assert "needs a learning-rate decay below 1, such as 0.1" in fails(*options, "--learning-rate-schedule", "plateau")
    assert "is of the learning-rate schedule plateau" in fails(*options, "--learning-rate-decay", 0.5)
    assert "leaves none of the run's 2" in fails(*options, "--learning-rate-schedule", "cosine", "--warmup", 2)
    assert "adam, adamw or sgd" in run(*options, "--optimizer", "lion", code=2).err
    assert not (tmp_path / "new").exists()


def test_training_begins_with_given_weights(trained, cohort, tmp_path):
    options = ["train", "--cohort", cohort, "--epochs", 1, "--learning-rate", 1e-9, "--json", "-o"]
    given = run(*options, tmp_path / "given", "--network", trained[0], "--weights", trained[0] / "best.safetensors").json
    drawn = run(*options, tmp_path / "drawn").json
    assert abs(given["validationLoss"] - trained[1].json["validationLoss"]) < 1e-4 < abs(given["validationLoss"] - drawn["validationLoss"])
    assert "cannot be resumed with other first weights" in fails(*options, tmp_path / "drawn", "--weights", trained[0], "--resume")
    assert "nowhere" in fails(*options, tmp_path / "new", "--weights", tmp_path / "nowhere")


def test_precision_tiles_and_memory_are_chosen(trained, cohort, tmp_path):
    options = ["train", "--cohort", cohort, "--epochs", 3, "--learning-rate", 0.01, "--json", "-o"]
    run(*options, tmp_path / "shared", "--shared-memory")
    assert (tmp_path / "shared" / "best.safetensors").read_bytes() == (trained[0] / "best.safetensors").read_bytes()
    run(*options[:3], "--learning-rate", 0.01, "-o", tmp_path / "other", "--shared-memory", "--epochs", 1)
    run(*options, tmp_path / "other", "--resume")
    assert (tmp_path / "other" / "best.safetensors").read_bytes() == (trained[0] / "best.safetensors").read_bytes()
    assert "another tile size" in fails(*options, tmp_path / "other", "--tile-size", "image", "--resume")
    # The slides have less than a tile's side.
    run(*options, tmp_path / "piece", "--tile-size", "image")
    assert (tmp_path / "piece" / "best.safetensors").read_bytes() == (trained[0] / "best.safetensors").read_bytes()
    losses = {run(*options, tmp_path / name, "--precision", name).json["validationLoss"] for name in ("bf16", "fp16")}
    assert len(losses) == 2
    assert list(losses) == pytest.approx([trained[1].json["validationLoss"]] * 2, rel=0.1)
    assert "another precision" in fails(*options, tmp_path / "bf16", "--precision", "fp32", "--resume")
    assert "without --tile-size image" in fails(*options, tmp_path / "new", "--tile-size", "image", "--memory", "20M")
    assert "fp8" in run(*options, tmp_path / "new", "--precision", "fp8", code=2).err
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("word", ["streamed", "unified", "whole", "automatic"])
def test_strategies_are_refused_with_what_took_their_place(word, tmp_path):
    for command in (["train", "--cohort", "c.csv", "-o"], ["segment", "a.tif", "--model", "tissue", "-o"]):
        sentence = run(*command, tmp_path / "new", "--strategy", word, code=2).err
        assert "has no option --strategy any more" in sentence
        assert "--tile-size image" in sentence and "--shared-memory" in sentence


def test_cache_is_refused_with_what_took_its_place(tmp_path):
    for option in (["--cache", "none"], ["--cache-limit", "2G"]):
        sentence = run("train", "--cohort", "c.csv", "-o", tmp_path / "new", *option, code=2).err
        assert f"has no option {option[0]} any more" in sentence and "gigapixel convert" in sentence


def test_segment_writes_the_same_mask_from_shared_memory_and_in_one_piece(trained, cohort, tmp_path):
    slide = cohort.parent / "a.tif"
    arguments = ["segment", slide, "--model", trained[0], "-o"]
    run(*arguments, tmp_path / "tiles.tif", "--tile-size", 256)
    said = run(*arguments, tmp_path / "shared.tif", "--tile-size", 256, "--shared-memory").err
    assert "its memory is one anyway" in said and "12 tiles of 256 x 256" in said and "from shared memory)" in said
    assert (tmp_path / "shared.tif").read_bytes() == (tmp_path / "tiles.tif").read_bytes()
    assert "in one piece" in run(*arguments, tmp_path / "whole.tif", "--tile-size", "image").err
    tiles, whole = (tifffile.imread(tmp_path / name) for name in ("tiles.tif", "whole.tif"))
    assert numpy.mean(tiles != whole) < 1e-4 and 0 < numpy.mean(whole == 255) < 1
    refused = fails(*arguments, tmp_path / "new.tif", "--tile-size", "image", "--region", "0,0,64,64")
    assert "as a whole" in refused
    assert "no multiple of the network's stride 32" in fails(*arguments, tmp_path / "new.tif", "--tile-size", 100)
    assert not (tmp_path / "new.tif").exists()


def test_device_that_is_not_there(trained, cohort, tmp_path):
    for command in (["segment", cohort.parent / "a.tif", "--model", trained[0]], ["train", "--cohort", cohort]):
        assert '"gpu": auto, cpu, cuda' in run(*command, "-o", tmp_path / "none.tif", "--device", "gpu", code=2).err
    sentence = fails("segment", cohort.parent / "a.tif", "--model", trained[0], "-o", tmp_path / "mask.tif", "--device", "mps")
    assert "Apple" in sentence and "--device cpu" in sentence
    if "none" not in run("doctor", "--json").json["network"]["gpu"]:
        pytest.skip("there is a GPU")
    folder, mask = tmp_path / "run", tmp_path / "mask.tif"
    assert "--device cpu" in fails("train", "--cohort", cohort, "-o", folder, "--device", "cuda")
    assert "--device cpu" in fails("segment", cohort.parent / "a.tif", "--model", trained[0], "-o", mask, "--device", "cuda:1")
    assert not folder.exists() and not mask.exists()


def test_run_is_not_trained_over(trained, cohort):
    folder, _ = trained
    before = (folder / "best.safetensors").read_bytes()
    assert str(folder) in fails("train", "--cohort", cohort, "-o", folder, "--epochs", 5)
    assert (folder / "best.safetensors").read_bytes() == before


def test_best_epoch_may_lie_before_the_resume(trained, cohort, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(trained[0], folder)
    result = run("train", "--cohort", cohort, "-o", folder, "--epochs", 4, "--learning-rate", 0.01, "--resume", "--json").json
    rows = [line.split(",") for line in (folder / "history.csv").read_text().splitlines()[1:]]
    best = min(rows, key=lambda row: float(row[2]))
    assert result["epochs"] == len(rows) == 4
    assert result["bestEpoch"] == int(best[0])
    assert result["bestValidationLoss"] == pytest.approx(float(best[2]), rel=1e-6)
    # Nothing was left to do: the best one is one from before.
    again = run("train", "--cohort", cohort, "-o", folder, "--epochs", 4, "--learning-rate", 0.01, "--resume", "--json").json
    assert again["bestEpoch"] == int(best[0]) and again["epochs"] == 4


def test_interrupted_before_the_first_step(cohort, tmp_path):
    """Of a step of many tiles, which ends after the tile that is computed: nothing is kept, and no folder is named."""
    words = ["train", "--cohort", cohort, "-o", tmp_path / "run", "--network", "unet:base=16,depth=3,channels=1", "--tile-size", 64]
    process = subprocess.Popen([PROGRAM, *map(str, words)], stderr=subprocess.PIPE, text=True)
    while "estimated peak memory" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130 and "No step was done yet, so that nothing is kept." in said
    assert "--resume" not in said and not (tmp_path / "run").exists()


def test_interrupted_training_resumes_to_the_same_bits(trained, cohort, tmp_path):
    folder, _ = trained
    options = ["train", "--cohort", cohort, "-o", tmp_path / "run", "--learning-rate", 0.01]
    process, terminal = start_on_terminal([*options, "--epochs", 100000])
    read_until(terminal, r"epoch 1/")
    process.send_signal(signal.SIGINT)
    shown = read_until(terminal, r"--resume")
    assert process.wait(timeout=120) == 130
    os.close(terminal)
    assert "--resume" in shown
    done = len((tmp_path / "run" / "history.csv").read_text().splitlines()) - 1
    epochs = done + 2
    run(*options, "--epochs", epochs, "--resume")
    run("train", "--cohort", cohort, "-o", tmp_path / "straight", "--learning-rate", 0.01, "--epochs", epochs)
    assert weights(tmp_path / "run") == weights(tmp_path / "straight")


@pytest.mark.skipif("avx512bw" not in pathlib.Path("/proc/cpuinfo").read_text(), reason="this CPU has no AVX-512")
def test_graphs_are_computed_in_bf16(cohort, tmp_path):
    options = ["train", "--cohort", cohort, "--network", "unet:base=4,depth=3", "--epochs", 2, "--learning-rate", 0.01, "--json", "-o"]
    results = {name: run(*options, tmp_path / name, "--precision", name).json for name in ("fp32", "bf16")}
    exact, rounded = (result["validationLoss"] for result in results.values())
    assert exact != rounded == pytest.approx(exact, rel=0.05)
    assert rb'\"precision\":\"bf16\"' in (tmp_path / "bf16" / "last.safetensors").read_bytes()
    assert "another precision" in fails(*options, tmp_path / "bf16", "--precision", "fp32", "--resume")
    assert "in fp32 or bf16 only" in fails(*options, tmp_path / "new", "--precision", "fp16")
    masks = [tmp_path / "fp32.tif", tmp_path / "bf16.tif"]
    for mask in masks:
        run("segment", cohort.parent / "b.tif", "--model", tmp_path / "bf16", "-o", mask, "--precision", mask.stem)
    labels = [tifffile.imread(mask) for mask in masks]
    assert numpy.mean(labels[0] != labels[1]) < 0.01


def test_plan_knows_the_precision_of_graphs():
    arguments = ["plan", "--size", "4096x4096", "--network", "unet", "--tile-size", 512, "--threads", 1, "--json", "--precision"]
    rows = [run(*arguments, precision).json["plans"][0] for precision in ("fp32", "bf16")]
    assert rows[1]["peakBytes"] < rows[0]["peakBytes"] - 100e6
    slow = "avx512_bf16" not in pathlib.Path("/proc/cpuinfo").read_text()
    assert [("no instructions for bf16" in row["remark"]) for row in rows] == [False, slow]


def test_run_that_goes_on_keeps_its_tiles_and_segments(tmp_path):
    """What is told of a run is the plan that it has, not the one that it would have if it began now."""
    run("synthesize", tmp_path / "a.tif", "--size", "1200x1000", "--seed", 1, "--truth", tmp_path / "m.tif")
    (tmp_path / "c.csv").write_text("slide,mask,split\na.tif,m.tif,train\n")
    options = ["train", "--cohort", tmp_path / "c.csv", "--network", "unet:base=4,depth=5", "--threads", 1, "-o"]
    plan = r"estimated peak memory .*? \((.*)\)"
    segments, tiles = [*options, tmp_path / "segments"], [*options, tmp_path / "tiles"]
    begun = run(*segments, "--epochs", 1, "--memory", "340M", "--json")
    told = re.search(plan, begun.err)[1]
    assert re.fullmatch(r"\d+ tiles, 1 at a time in \d segments with [\d.]+ MB of maps between them", told)
    assert begun.json["estimatedPeakBytes"] <= 340 * 1024**2
    again = run(*segments, "--epochs", 2, "--memory", "340M", "--resume", "--json")
    assert re.search(plan, again.err)[1] == told and again.json["estimatedPeakBytes"] <= 340 * 1024**2
    assert re.search(plan, run(*segments, "--epochs", 3, "--memory", "4G", "--resume").err)[1] == told
    told = re.search(plan, run(*tiles, "--epochs", 1, "--tile-size", 256).err)[1]
    assert told == "20 tiles of 256 x 256, 1 at a time"
    assert re.search(plan, run(*tiles, "--epochs", 2, "--memory", "340M", "--resume").err)[1] == told
    refused = fails(*segments, "--epochs", 4, "--memory", "200M", "--resume")
    assert "the memory limit of 200.0 MB is too small: at least" in refused and "for the slide on its way" in refused
    assert "--scratch" in refused
    fails(*options, tmp_path / "new", "--memory", "200M")
    assert not (tmp_path / "new").exists()


def test_segment_patch_by_patch(trained, cohort, tmp_path):
    slide = cohort.parent / "a.tif"
    common = ["segment", slide, "--model", trained[0], "--probability"]
    patch = ["--semantics", "patch", "--patch", 256, "--overlap", 0.3]
    read = lambda name: tifffile.imread(tmp_path / name).astype(int)
    run(*common, tmp_path / "whole.p.tif", "-o", tmp_path / "whole.tif")
    run(*common, tmp_path / "one.p.tif", "-o", tmp_path / "one.tif", *patch, "--threads", 1)
    said = run(*common, tmp_path / "three.p.tif", "-o", tmp_path / "three.tif", *patch, "--threads", 3).err
    assert "patches of 256 x 256" in said
    for name in ("{}.tif", "{}.p.tif"):
        assert numpy.array_equal(read(name.format("one")), read(name.format("three")))
    # Farther from a patch's borders than the halo it is as in the whole slide, which shows at them.
    run(*common, tmp_path / "alone.p.tif", "-o", tmp_path / "alone.tif", "--semantics", "patch", "--patch", 256, "--overlap", 0)
    difference = numpy.abs(read("alone.p.tif") - read("whole.p.tif"))[:256, :256]
    assert difference.max() > 1 >= difference[64:192, 64:192].max()
    # A region has the bits of the whole slide; another patch is another mask.
    run(*common, tmp_path / "part.p.tif", "-o", tmp_path / "part.tif", *patch, "--region", "101,50,300,401")
    assert numpy.array_equal(read("part.p.tif"), read("one.p.tif")[50:451, 101:401])
    assert run("segment", slide, "--model", trained[0], "-o", tmp_path / "one.tif", *patch, "--json").json["skipped"]
    assert "made in another way" in fails("segment", slide, "--model", trained[0], "-o", tmp_path / "one.tif", *patch, "--mirror")
    for wrong, words in (
        (["--overlap", 0.5], "--overlap is of --semantics patch"),
        ([*patch, "--tile-size", 256], "leave out --tile-size"),
        ([*patch, "--shared-memory"], "leave out --tile-size"),
        (["--semantics", "patch", "--patch", 100], "take 128"),
        (["--semantics", "patch", "--overlap", 1], "0.95"),
    ):
        assert words in run("segment", slide, "--model", trained[0], "-o", tmp_path / "x.tif", *wrong, code=2).err
    assert not (tmp_path / "x.tif").exists()


def test_segmentation_with_probability(trained, cohort, tmp_path):
    slide = cohort.parent / "b.tif"
    result = run("segment", slide, "--model", trained[0], "-o", tmp_path / "m.tif", "--probability", tmp_path / "p.tif", "--json")
    assert (result.json["width"], result.json["height"], result.json["level"]) == (800, 700, 0)
    assert result.json["mpp"] == pytest.approx(0.5, rel=1e-6)
    seconds = result.json["cpuSeconds"]
    assert seconds["pixels"] > 0 and seconds["network"] > 0
    assert seconds["pixels"] + seconds["network"] <= seconds["all"]
    mask, probability = tifffile.imread(tmp_path / "m.tif"), tifffile.imread(tmp_path / "p.tif")
    assert mask.shape == probability.shape == (700, 800) and set(numpy.unique(mask)) <= {0, 255}
    # Rounded to 255ths, a probability on the one side of 0.5 is never on the other.
    assert (probability[mask > 0] >= 127).all() and (probability[mask == 0] <= 128).all()
    run("segment", slide, "--model", trained[0], "-o", tmp_path / "alone.tif")
    assert (tmp_path / "alone.tif").read_bytes() == (tmp_path / "m.tif").read_bytes()
    threshold = float(numpy.median(probability)) / 255
    run("segment", slide, "--model", trained[0], "-o", tmp_path / "t.tif", "--threshold", threshold)
    cut = tifffile.imread(tmp_path / "t.tif")
    assert (probability[cut > 0] >= 255 * threshold - 1).all() and (probability[cut == 0] <= 255 * threshold + 1).all()


def test_ready_model_segments_another_specimen(cohort, tmp_path):
    """The model that comes with the program, on a slide that it was not trained on, against the mask of `label`."""
    slide = cohort.parent / "other.tif"
    run("synthesize", slide, "--size", "1500x1200", "--seed", 77)
    run("label", slide, "-o", tmp_path / "label.tif")
    run("segment", slide, "--model", "tissue", "-o", tmp_path / "mask.tif")
    result = run("evaluate", tmp_path / "mask.tif", tmp_path / "label.tif", "--json").json
    assert result["dice"] > 0.95 and result["specificity"] > 0.9 and result["diceAllForeground"] < 0.8
    assert "tissue" in fails("segment", slide, "--model", "nosuch", "-o", tmp_path / "x.tif")


def test_holes_are_filled_as_scipy_fills_them(trained, cohort, tmp_path):
    ndimage = pytest.importorskip("scipy.ndimage")
    slide = tmp_path / "ring.tif"
    rows, columns = numpy.ogrid[:700, :900]
    radius = numpy.hypot(rows - 350, columns - 400)
    tissue = ((radius < 300) & (radius > 180)) | (radius < 60)
    tissue[:, 690:] = False
    pixels = numpy.where(tissue[..., None], [190, 110, 160], 245).astype(numpy.uint8)
    write_slide(slide, pixels, 0.5)
    common = ["segment", slide, "--model", "tissue"]
    run(*common, "-o", tmp_path / "open.tif")
    run(*common, "-o", tmp_path / "filled.tif", "--fill-holes")
    mask, filled = (tifffile.imread(tmp_path / name) for name in ("open.tif", "filled.tif"))
    assert numpy.array_equal(filled > 0, ndimage.binary_fill_holes(mask > 0))
    assert numpy.sum(filled > 0) > numpy.sum(mask > 0) + 50000 and set(numpy.unique(filled)) == {0, 255}
    assert "--overwrite" in fails(*common, "-o", tmp_path / "open.tif", "--fill-holes")
    both = run(*common, "-o", tmp_path / "x.tif", "--fill-holes", "--probability", tmp_path / "p.tif", code=2)
    assert "--probability" in both.err and not (tmp_path / "x.tif").exists()


def test_region_has_the_bits_of_the_whole(trained, cohort, tmp_path):
    slide = cohort.parent / "b.tif"
    run("segment", slide, "--model", trained[0], "-o", tmp_path / "any.tif", "--probability", tmp_path / "any.p.tif")
    # A threshold that splits the pixels: a mask of one value would say nothing about its place.
    threshold = ["--threshold", numpy.median(tifffile.imread(tmp_path / "any.p.tif")) / 255]
    common = ["segment", slide, "--model", trained[0], *threshold]
    run(*common, "-o", tmp_path / "whole.tif", "--probability", tmp_path / "whole.p.tif")
    region = run(*common, "-o", tmp_path / "part.tif", "--probability", tmp_path / "part.p.tif", "--region", "200,100,300,400", "--json")
    assert region.json["region"] == [200, 100, 300, 400]
    for name in ("", ".p"):
        whole, part = (tifffile.imread(tmp_path / f"{kind}{name}.tif") for kind in ("whole", "part"))
        assert numpy.array_equal(part, whole[100:500, 200:500])
    # The part knows its place: compared with the truth there, and laid over the slide there.
    truth = cohort.parent / "b.truth.tif"
    result = run("evaluate", tmp_path / "part.tif", truth, "--partial", "--json").json
    predicted, true = tifffile.imread(tmp_path / "part.tif") > 0, tifffile.imread(truth)[100:500, 200:500] > 0
    assert (result["tp"], result["fp"]) == (numpy.sum(predicted & true), numpy.sum(predicted & ~true))
    assert "not of the same slide" in fails("evaluate", tmp_path / "part.tif", truth)
    run("overlay", slide, tmp_path / "part.tif", "-o", tmp_path / "o.png", "--partial")
    message = fails(*common, "-o", tmp_path / "x.tif", "--region", "900,0,10,10")
    assert f"The region 900,0,10,10 lies outside of {slide}, which has 800 x 700 pixels" in message
    assert not (tmp_path / "x.tif").exists()


def test_region_beyond_the_slide(trained, cohort, tmp_path):
    """A mask is smaller than what was asked for, which is said; a slide is learnt or converted as asked for, or not at all."""
    slide = cohort.parent / "b.tif"
    segment = ["segment", slide, "--model", trained[0], "-o"]
    result = run(*segment, tmp_path / "cut.tif", "--region", "500,600,400,400", "--json")
    said = f"the region 500,600,400,400 reaches beyond {slide}, which has 800 x 700 pixels: only 500,600,300,100 of it is segmented"
    assert said in result.err and result.json["region"] == [500, 600, 300, 100]
    run(*segment, tmp_path / "inside.tif", "--region", "500,600,300,100")
    assert numpy.array_equal(tifffile.imread(tmp_path / "cut.tif"), tifffile.imread(tmp_path / "inside.tif"))
    assert "reaches beyond" not in run(*segment, tmp_path / "edge.tif", "--region", "0,0,800,700").err
    assert "which has 800 x 700 pixels" in fails("convert", slide, tmp_path / "c.tif", "--region", "500,600,400,400")
    table = tmp_path / "c.csv"
    table.write_text(f'slide,mask,split,region\n{slide},{cohort.parent / "b.truth.tif"},train,"500,600,400,400"\n')
    for level in (0, 1):
        assert "the region" in fails("train", "--cohort", table, "-o", tmp_path / "run", "--epochs", 1, "--level", level)
    assert not (tmp_path / "c.tif").exists() and not (tmp_path / "run").exists()


def test_several_slides_resume(trained, cohort, tmp_path):
    slides = [cohort.parent / "a.tif", cohort.parent / "b.tif"]
    first = run("segment", *slides, "--model", trained[0], "-o", tmp_path / "masks", "--json").json
    assert [entry["skipped"] for entry in first] == [False, False]
    (tmp_path / "masks" / "a.pyramid.tif").unlink()
    again = run("segment", *slides, "--model", trained[0], "-o", tmp_path / "masks", "--json").json
    assert [entry["skipped"] for entry in again] == [False, True]


def test_mask_of_another_threshold_region_or_model_is_not_kept(trained, cohort, tmp_path):
    slide = cohort.parent / "a.tif"
    common = ["segment", slide, "-o", tmp_path / "m.tif"]
    run(*common, "--model", trained[0], "--region", "0,0,64,64")
    before = (tmp_path / "m.tif").read_bytes()
    assert run(*common, "--model", trained[0], "--region", "0,0,64,64", "--json").json["skipped"]
    # As after another training: one weight differs.
    model = bytearray((trained[0] / "best.safetensors").read_bytes())
    model[-2] ^= 1
    (tmp_path / "other.safetensors").write_bytes(model)
    for options, difference in (
        (["--model", trained[0], "--region", "0,0,64,64", "--threshold", 0.4], "--threshold 0.5 then, 0.4"),
        (["--model", trained[0], "--region", "64,0,64,64"], "--region 0,0,64,64 then, 64,0,64,64 now"),
        (["--model", trained[0], "--region", "0,0,64,32"], "--region 0,0,64,64 then, 0,0,64,32 now"),
        (["--model", tmp_path / "other.safetensors", "--region", "0,0,64,64"], "another model, or one that has changed since"),
    ):
        message = fails(*common, *options)
        assert "made in another way" in message and difference in message and "--overwrite" in message, message
        assert "hash" not in message and message.count(" then, ") <= 1, message
    assert (tmp_path / "m.tif").read_bytes() == before
    run(*common, *options, "--overwrite")
    assert (tmp_path / "m.tif").read_bytes() != before


def test_resolution_has_to_be_the_models(trained, tmp_path):
    pixels = numpy.full((700, 900, 3), 200, numpy.uint8)
    coarse = write_slide(tmp_path / "coarse.tif", pixels, 1.0)
    for level in ([], ["--level", 0]):
        message = fails("segment", coarse, "--model", trained[0], "-o", tmp_path / "m.tif", *level)
        assert "0.500 µm/px" in message and "1.000 µm/px" in message and "()" not in message
        assert ("leave the level out (--level)" in message) == bool(level)
    blind = write_slide(tmp_path / "blind.tif", pixels, None)
    assert "--slide-mpp" in fails("segment", blind, "--model", trained[0], "-o", tmp_path / "m.tif")
    run("segment", blind, "--model", trained[0], "-o", tmp_path / "m.tif", "--slide-mpp", 0.51)
    # Another resolution is another mask, though its pixels are the same.
    again = ["segment", blind, "--model", trained[0], "-o", tmp_path / "m.tif", "--json", "--slide-mpp"]
    assert run(*again, 0.51).json["skipped"]
    assert "made in another way" in fails(*again, 0.5)
    run("synthesize", tmp_path / "fine.tif", "--size", "1600x1200", "--mpp", 0.25)
    assert run("segment", tmp_path / "fine.tif", "--model", trained[0], "-o", tmp_path / "f.tif", "--json").json["level"] == 1


def change_weights(source, target, tensor, value):
    """The model with all numbers of one tensor replaced."""
    data = bytearray((source / "best.safetensors").read_bytes())
    size = int.from_bytes(data[:8], "little")
    begin, end = json.loads(data[8 : 8 + size])[tensor]["data_offsets"]
    data[8 + size + begin : 8 + size + end] = numpy.full((end - begin) // 4, value, "<f4").tobytes()
    target.write_bytes(data)
    return target


FOUR = {"name": "sum", "input": {"channels": 4}, "layers": [{"name": "S", "type": "convolution", "in": 4, "out": 1, "kernel": 1, "activation": "none"}]}


def write_model_of_four_channels(path, bias, weights):
    header = {"__metadata__": {"gigapixel": "2", "network": json.dumps(FOUR), "tile_size": "64", "microns_per_pixel": "0.5"}}
    header["S.bias"] = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}
    header["S.weight"] = {"dtype": "F32", "shape": [1, 4, 1, 1], "data_offsets": [4, 20]}
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + numpy.array([bias, *weights], "<f4").tobytes())
    return path


def write_channels(path, planes):
    """An OME-TIFF of a page for each channel, as microscopes of fluorescence write it."""
    sizes = {f"PhysicalSize{axis}": 0.5 for axis in "XY"} | {f"PhysicalSize{axis}Unit": "µm" for axis in "XY"}
    tifffile.imwrite(path, planes, ome=True, tile=(128, 128), compression="zlib", photometric="minisblack", metadata={"axes": "CYX", **sizes})
    return path


def test_slides_of_four_channels(tmp_path):
    """A network of as many channels is trained on them and segments them; in which order they come counts."""
    planes = numpy.random.default_rng(1).integers(0, 256, (4, 300, 421), numpy.uint8)
    slide = write_channels(tmp_path / "four.ome.tif", planes)
    weights = (1.0, -2.0, 0.5, 0.75)
    model = write_model_of_four_channels(tmp_path / "four.safetensors", -0.1, weights)
    logits = numpy.tensordot(weights, (255.0 - planes) / 255, 1) - 0.1
    certain = abs(logits) > 1e-6
    run("segment", slide, "--model", model, "-o", tmp_path / "m.tif")
    assert (((tifffile.imread(tmp_path / "m.tif") > 0) == (logits > 0)) | ~certain).all() and 0.1 < (logits > 0).mean() < 0.9
    mask = (logits > 0).astype(numpy.uint8) * 255
    write_slide(tmp_path / "truth.tif", mask)
    (tmp_path / "four.json").write_text(json.dumps(FOUR))
    (tmp_path / "cohort.csv").write_text("slide,mask,split\nfour.ome.tif,truth.tif,train\n")
    run("train", "--cohort", tmp_path / "cohort.csv", "--network", tmp_path / "four.json", "-o", tmp_path / "run", "--epochs", 60, "--learning-rate", 0.1,
        "--mpp", 0.5, "--no-augmentation")
    run("segment", slide, "--model", tmp_path / "run", "-o", tmp_path / "learned.tif")
    assert ((tifffile.imread(tmp_path / "learned.tif") > 0) == (mask > 0)).mean() > 0.9
    tissue = numpy.zeros_like(mask)
    tissue[100:200, 50:400] = 255
    write_slide(tmp_path / "tissue.tif", tissue)
    run("segment", slide, "--model", model, "-o", tmp_path / "inside.tif", "--tissue", tmp_path / "tissue.tif")
    assert ((tifffile.imread(tmp_path / "inside.tif") == numpy.where(tissue > 0, mask, 0)) | ~certain).all()


def test_networks_of_other_channels_than_slides_have_are_refused(cohort, tmp_path):
    folder = tmp_path / "run"
    message = fails("train", "--cohort", cohort, "--network", "unet:base=1,depth=1,channels=4", "-o", folder)
    assert "a.tif has 3 channels where 4 are needed" in message and not folder.exists()
    model = write_model_of_four_channels(tmp_path / "four.safetensors", 1, (1, 1, 1, 1))
    message = fails("segment", cohort.parent / "a.tif", "--model", model, "-o", tmp_path / "m.tif")
    assert "a.tif has 3 channels where 4 are needed: convert it, or take a network of as many input channels" in message
    for kind, count, words in ((numpy.uint8, 5, "has 5 channels where 4 are needed"), (numpy.uint16, 4, "has samples of unsigned_short, and networks take those of 8 bits")):
        slide = write_channels(tmp_path / f"{count}.ome.tif", numpy.zeros((count, 200, 300), kind))
        assert f"{slide} {words}" in fails("segment", slide, "--model", model, "-o", tmp_path / "m.tif")
    assert "has 5 channels where 1 is needed" in fails("plan", tmp_path / "5.ome.tif", "--network", "remedios2023")
    assert not (tmp_path / "m.tif").exists()


def test_model_that_overflows_is_refused(trained, cohort, tmp_path):
    """Finite weights, but infinite logits: its masks would be full or empty without a word."""
    for tensor, value in (("L1.weight", 1e38), ("L7.weight", 1e38), ("L4.weight", -3e38), ("L7.bias", 3e38)):
        model = change_weights(trained[0], tmp_path / "bad.safetensors", tensor, value)
        message = fails("segment", cohort.parent / "a.tif", "--model", model, "-o", tmp_path / "m.tif")
        assert "bad.safetensors" in message and f'the layer "{tensor[:2]}"' in message
        assert "beyond what a float holds" in message
    assert not (tmp_path / "m.tif").exists()


def test_model_of_zeros_is_warned_of(trained, cohort, tmp_path):
    """Its probability of 0.5 reaches the threshold: the mask is full."""
    model = change_weights(trained[0], tmp_path / "zeros.safetensors", "L7.weight", 0)
    done = run("segment", cohort.parent / "a.tif", "--model", model, "-o", tmp_path / "m.tif")
    assert 'the weights "L7.weight" of the model are all 0' in done.err


def test_masks_of_one_class_are_warned_of(cohort, tmp_path):
    for name in ("a", "b"):
        shutil.copy(cohort.parent / f"{name}.tif", tmp_path)
        write_slide(tmp_path / f"{name}.truth.tif", numpy.zeros((700, 800), numpy.uint8), 0.5)
    shutil.copy(cohort, tmp_path)
    said = run("train", "--cohort", tmp_path / cohort.name, "-o", tmp_path / "run", "--epochs", 1).err
    assert "no pixel of the class 1 was found in the training masks" in said
    assert "no pixel of the class 1 was found in the validation masks" in said


def test_bad_models_and_cohorts(trained, cohort, tmp_path):
    slide = cohort.parent / "a.tif"
    out = tmp_path / "out"
    out.mkdir()
    (tmp_path / "broken.safetensors").write_bytes((trained[0] / "best.safetensors").read_bytes()[:500])
    (tmp_path / "norun").mkdir()
    for model in ("missing", "broken.safetensors", "norun"):
        assert model in fails("segment", slide, "--model", tmp_path / model, "-o", out / "m.tif")
    tables = {
        "columns.csv": "slide,split\na.tif,train\n",
        "split.csv": "slide,mask,split\na.tif,a.truth.tif,training\n",
        "notrain.csv": "slide,mask,split\na.tif,a.truth.tif,validation\n",
        "missing.csv": "slide,mask,split\nnowhere.tif,a.truth.tif,train\n",
        "empty.csv": "",
    }
    for name, text in tables.items():
        folder = tmp_path / name
        folder.mkdir()
        for file in ("a.tif", "a.truth.tif"):
            shutil.copy(cohort.parent / file, folder)
        (folder / name).write_text(text)
        message = fails("train", "--cohort", folder / name, "-o", out / "run")
        assert name in message or "nowhere.tif" in message, message
    assert list(out.iterdir()) == []


def test_masks_of_3d_slicer(cohort, tmp_path):
    """train reads them as evaluate does: the same weights as with the pyramid of the same mask, to the bit."""
    truth = tifffile.imread(cohort.parent / "a.truth.tif") // 255
    masks = {
        "same": cohort.parent / "a.truth.tif",
        "segmentation": write_nrrd(tmp_path / "a.seg.nrrd", truth, **segment(0, "Tissue", 1)),
        "another value": write_nrrd(tmp_path / "b.seg.nrrd", truth * 5, **segment(0, "Tissue", 5)),
        "flipped": write_nrrd(tmp_path / "flipped.nrrd", truth, flips=(-1, -1), encoding="raw"),
        "layers": write_nrrd(tmp_path / "l.seg.nrrd", numpy.stack([truth, truth], -1), **segment(0, "Tissue", 1)),
        "away": write_nrrd(tmp_path / "away.nrrd", truth, corner=(0.1, 0)),
    }
    sentences = {"layers": "its segments are in 2 layers, as 3D Slicer", "away": "their edges lie 0.100000 mm apart"}
    trained = []
    for name, mask in masks.items():
        table = tmp_path / f"{name}.csv"
        table.write_text(f"slide,mask,split\n{cohort.parent / 'a.tif'},{mask},train\n")
        words = ["train", "--cohort", table, "-o", tmp_path / name, "--epochs", 1]
        if name in sentences:
            message = fails(*words)
            assert str(mask) in message and sentences[name] in message and not (tmp_path / name).exists()
        else:
            run(*words)
            trained.append(weights(tmp_path / name))
            same = run("evaluate", mask, masks["same"], "--json").json
            assert same["dice"] == 1
    assert len(trained) == 4 and all(each == trained[0] for each in trained)


@pytest.mark.parametrize("command", ["evaluate", "train"])
def test_damaged_masks_are_told_of_in_a_sentence(cohort, tmp_path, command):
    start = "NRRD0004\ntype: unsigned char\ndimension: 2\nencoding: gzip\n"
    files = {
        "short.nrrd": (start + "sizes: 800 700\n\nno gzip", "expected 560000 bytes but received"),
        "alone.nhdr": (start + "sizes: 800 700\ndata file: gone.raw\n", "gone.raw, which is not there"),
        "size.nrrd": (start + "sizes: 400 x\n\n", "axis 1 size is zero"),
    }
    for name, (text, reason) in files.items():
        mask = tmp_path / name
        mask.write_text(text)
        table = tmp_path / "c.csv"
        table.write_text(f"slide,mask,split\n{cohort.parent / 'a.tif'},{mask},train\n")
        words = [mask, cohort.parent / "a.truth.tif"] if command == "evaluate" else ["--cohort", table, "-o", tmp_path / "run"]
        message = fails(command, *words)
        assert message.startswith((f"gigapixel: Error reading {mask}: ", f"gigapixel: {mask}: ")) and reason in message
        assert "nrrd]" not in message and ".cxx" not in message and "0x" not in message


def test_labels_of_segments_are_classes(cohort, tmp_path):
    """Of a segmentation with two segments as of any mask with their label values; a label that is no class is named."""
    truth = tifffile.imread(cohort.parent / "a.truth.tif") // 255
    truth[:350] *= 2
    text = (pathlib.Path(__file__).parents[2] / "Modules/Network/networks/remedios2023.json").read_text()
    text = text.replace('"out": 1,', '"out": 3,').replace("binary cross-entropy", "softmax cross-entropy")
    (tmp_path / "three.json").write_text(text)
    segments = {**segment(0, "Tumor", 1), **segment(1, "Stroma", 2)}
    masks = {
        "plain": write_slide(tmp_path / "plain.tif", truth),
        "segmentation": write_nrrd(tmp_path / "a.seg.nrrd", truth, **segments),
        "wrong": write_nrrd(tmp_path / "wrong.seg.nrrd", truth * 2, **segments),
    }
    for name, mask in masks.items():
        table = tmp_path / f"{name}.csv"
        table.write_text(f"slide,mask,split\n{cohort.parent / 'a.tif'},{mask},train\n")
        words = ["train", "--cohort", table, "-o", tmp_path / name, "--epochs", 1, "--network", tmp_path / "three.json"]
        if name == "wrong":
            assert f"{mask} has the value 4; for 3 classes it may have 0 to 2" in fails(*words)
        else:
            run(*words)
    assert weights(tmp_path / "plain") == weights(tmp_path / "segmentation")


def test_mask_of_another_slide(cohort, tmp_path):
    run("synthesize", tmp_path / "s.tif", "--size", "600x300", "--seed", 9)
    shutil.copy(cohort.parent / "a.truth.tif", tmp_path)
    table = tmp_path / "c.csv"
    table.write_text("slide,mask,split\ns.tif,a.truth.tif,train\n")
    message = fails("train", "--cohort", table, "-o", tmp_path / "run", "--epochs", 1)
    assert "a.truth.tif" in message
