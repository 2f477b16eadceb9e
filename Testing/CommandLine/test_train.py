# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""train: runs, their options, and how they go on; skipped where the engine was not built."""

import os
import pathlib
import re
import shutil
import signal
import subprocess

import numpy
import pytest
import tifffile

from conftest import CHAIN, PROGRAM, TRAIN, UNSANITIZED, fails, find_memory_of_segments, run, segment, settings, weights, write_nrrd, write_slide
from test_terminal import read_until, start_on_terminal

pytestmark = pytest.mark.usefixtures("network")


def test_training_writes_a_run_and_says_how_it_went(trained):
    folder, result = trained
    assert {"best.safetensors", "last.safetensors", "history.csv"} <= {path.name for path in folder.iterdir()}
    assert result.json["epochs"] == 3 and result.json["trainingSamples"] == result.json["validationSamples"] == 1
    assert result.json["peakBytes"] > 0 and result.json["estimatedPeakBytes"] > 0
    assert len(re.findall(r"^epoch \d/3: loss [\d.]+, validation loss [\d.]+, validation Dice", result.err, re.M)) == 3
    seconds = result.json["cpuSeconds"]
    assert min(seconds.values()) > 0
    assert seconds["pixels"] + seconds["labels"] + seconds["network"] <= seconds["all"]


def test_default_for_masks_is_a_unet_in_rgb(tmp_path):
    """What it learns is what the preset does by its name, in the same memory."""
    run("synthesize", tmp_path / "a.tif", "--size", "160x128", "--truth", tmp_path / "m.tif")
    (tmp_path / "c.csv").write_text("slide,mask,split\na.tif,m.tif,train\n")
    told = {}
    for name, words in (("default", []), ("named", ["--network", "unet"])):
        told[name] = run("train", "--cohort", tmp_path / "c.csv", "-o", tmp_path / name, "--epochs", 1, *words, "--json").json
    network = settings(tmp_path / "default")["network"]
    assert (network["name"], network["input"]["channels"]) == ("unet", 3)
    assert settings(tmp_path / "default") == settings(tmp_path / "named") and weights(tmp_path / "default") == weights(tmp_path / "named")
    assert told["default"]["plan"] == told["named"]["plan"]
    plan = run("plan", "--size", "160x128", "--json").json
    assert (plan["network"], plan["parameters"]) == ("unet", 1942577)


def test_default_says_what_fits_gray_slides(tmp_path):
    write_slide(tmp_path / "a.tif", numpy.full((128, 160), 200, numpy.uint8))
    write_slide(tmp_path / "m.tif", numpy.eye(128, 160, dtype=numpy.uint8))
    (tmp_path / "c.csv").write_text("slide,mask,split\na.tif,m.tif,train\n")
    words = ["train", "--cohort", tmp_path / "c.csv", "-o", tmp_path / "run", "--epochs", 1]
    refused = fails(*words)
    assert (refused.code, refused.value) == ("E-MODEL-INPUT", "1") and "unet:channels=1" in refused.do and not (tmp_path / "run").exists()
    run(*words, "--network", "unet:channels=1")


def test_time_is_estimated_where_it_takes_minutes(tmp_path):
    """Before the first step, which is not waited for."""
    run("synthesize", tmp_path / "a.tif", "--size", "512x512", "--truth", tmp_path / "m.tif")
    (tmp_path / "c.csv").write_text("slide,mask,split\na.tif,m.tif,train\n")
    words = ["train", "--cohort", tmp_path / "c.csv", "-o", tmp_path / "run", "--threads", 1, "--epochs", 10000]
    process = subprocess.Popen([PROGRAM, *map(str, words)], stderr=subprocess.PIPE, text=True)
    while "estimated peak memory" not in (line := process.stderr.readline()):
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)
    epoch, hours, minutes = map(float, re.search(r"estimated time ([\d.]+) s an epoch, (\d+) h (\d+) min for 10000 epochs", line).groups())
    assert process.returncode == 130 and 3600 * hours + 60 * minutes == pytest.approx(10000 * epoch, rel=0.1)


def test_loss_is_chosen(trained, cohort, tmp_path):
    options = [*TRAIN, "--cohort", cohort, "--epochs", 1, "--learning-rate", 0.01, "--json", "-o"]
    entropy = run(*options, tmp_path / "entropy").json
    weighted = run(*options, tmp_path / "weighted", "--class-weights", "1,3").json
    dice = run(*options, tmp_path / "dice", "--loss", "dice").json
    assert len({result["validationLoss"] for result in (entropy, weighted, dice)}) == 3
    assert 0 < dice["validationLoss"] < 1
    refused = fails(*options, tmp_path / "dice", "--loss", "cross-entropy", "--resume")
    assert (refused.code, refused.file, refused.value) == ("E-RUN-CONFLICT", str(tmp_path / "dice"), "loss")
    run("train", *options[3:], tmp_path / "dice", "--resume")  # the run knows its network, and what it minimizes
    assert fails(*options, tmp_path / "new", "--class-weights", "1,2,3").code == "E-NETWORK-FORMAT"
    refused = fails(*options, tmp_path / "new", "--class-weights", "1;2", code=2)
    assert (refused.code, refused.option, refused.value) == ("E-OPTION-VALUE", "--class-weights", "1;2")


def test_options_of_training_are_kept_in_the_run(cohort, tmp_path):
    options = [*TRAIN, "--cohort", cohort, "--epochs", 2, "--json", "-o", tmp_path / "run"]
    options += ["--optimizer", "sgd", "--learning-rate", 0.05, "--momentum", 0.8, "--weight-decay", 1e-4, "--clip-gradient", 0.5]
    options += ["--learning-rate-schedule", "cosine", "--warmup", 1, "--freeze", "L1", "--freeze", "L2.bias", "--jitter", 0.1]
    options += ["--loss", "dice+cross-entropy"]
    run(*options)
    kept = settings(tmp_path / "run")
    wanted = {"optimizer": "sgd", "weight-decay": 1e-4, "momentum": 0.8, "clip-gradient": 0.5, "jitter": 0.1}
    wanted |= {"learning-rate-schedule": "cosine", "warmup": 1, "epochs": 2, "freeze": ["L1.bias", "L1.weight", "L2.bias"]}
    assert {name: kept[name] for name in wanted} == wanted
    assert "plateau-patience" not in kept and kept["loss"]["type"] == "dice+cross-entropy"
    rates = [float(line.split(",")[-1]) for line in (tmp_path / "run" / "history.csv").read_text().splitlines()[1:]]
    assert rates == [0.05, 0.05]  # of the warmup's only step, and of the first one behind it
    before = weights(tmp_path / "run")
    run(*options, "--resume")
    assert weights(tmp_path / "run") == before
    for changed, name in (
        (["--momentum", 0.9], "momentum"),
        (["--learning-rate-schedule", "constant"], "learning-rate-schedule"),
        (["--clip-gradient", 0], "clip-gradient"),
        (["--jitter", 0], "jitter"),
    ):
        at = options.index(changed[0])
        others = [*options[:at], *changed, *options[at + 2 :]]
        refused = fails(*others, "--resume")
        assert (refused.code, refused.value) == ("E-RUN-CONFLICT", name)
    refused = fails(*options, "--freeze", "L3", "--resume")
    assert (refused.code, refused.value) == ("E-RUN-CONFLICT", "freeze") and "L3.weight" in refused.why


def test_options_of_training_that_cannot_be(cohort, tmp_path):
    options = [*TRAIN, "--cohort", cohort, "-o", tmp_path / "new", "--epochs", 2]
    refused = fails(*options, "--freeze", "L8")
    assert (refused.code, refused.value) == ("E-OPTION-VALUE", "L8")
    for words in (
        [word for i in range(1, 8) for word in ("--freeze", f"L{i}")],
        ["--learning-rate-schedule", "plateau"],
        ["--learning-rate-schedule", "cosine", "--warmup", 2],
    ):
        assert fails(*options, *words).code == "E-OPTION-VALUE"
    assert fails(*options, "--learning-rate-decay", 0.5, code=2).code == "E-OPTION-NEEDS"
    words = ["--learning-rate-schedule", "cosine", "--learning-rate", 0.01, "--minimum-learning-rate", 0.02]
    assert fails(*options, *words).code == "E-OPTION-CONFLICT"
    refused = fails(*options, "--optimizer", "rprop", code=2)
    assert (refused.code, refused.option, refused.value) == ("E-OPTION-VALUE", "--optimizer", "rprop")
    assert not (tmp_path / "new").exists()


def test_tile_sizes_that_are_no_multiples(cohort, tmp_path):
    words = [[*TRAIN, "--cohort", cohort], ["segment", cohort.parent / "a.tif", "--model", "tissue"]]
    for command in ([*word, "-o", tmp_path / "out.tif"] for word in words):
        for side, near in ((33, ("32", "64")), (95, ("64", "96"))):
            refused = fails(*command, "--tile-size", side)
            assert (refused.code, refused.value) == ("E-OPTION-VALUE", str(side))
            assert all(size in refused.do for size in near)
    plan = fails("plan", "--size", "900x900", *CHAIN, "--tile-size", 33)
    assert (plan.code, plan.value) == ("E-OPTION-VALUE", "33") and not (tmp_path / "out.tif").exists()


def test_rates_have_digits(tmp_path):
    run("synthesize", tmp_path / "a.tif", "--size", "64x64", "--truth", tmp_path / "m.tif")
    (tmp_path / "c.csv").write_text("slide,mask,split\na.tif,m.tif,train\n")
    said = run("train", "--cohort", tmp_path / "c.csv", "-o", tmp_path / "run", "--epochs", 1, "--network", "unet:base=16,depth=3").err
    rate = re.search(r"^train: .*, ([\d.]+) Mpx/s", said, re.M)[1]
    assert re.fullmatch(r"0\.0*[1-9]\d|\d\.\d|\d\d+", rate), said


def test_training_begins_with_given_weights(trained, cohort, tmp_path):
    options = ["train", "--cohort", cohort, "--epochs", 1, "--learning-rate", 1e-9, "--json", "-o"]
    given = run(*options, tmp_path / "given", "--network", trained[0], "--weights", trained[0] / "best.safetensors").json
    drawn = run(*options, tmp_path / "drawn", *CHAIN).json
    assert abs(given["validationLoss"] - trained[1].json["validationLoss"]) < 1e-4 < abs(given["validationLoss"] - drawn["validationLoss"])
    refused = fails(*options, tmp_path / "drawn", "--weights", trained[0], "--resume")
    assert (refused.code, refused.value) == ("E-RUN-CONFLICT", "first weights")
    assert fails(*options, tmp_path / "new", "--weights", tmp_path / "nowhere").file == str(tmp_path / "nowhere")


def test_precision_tiles_and_memory_are_chosen(trained, cohort, tmp_path):
    options = [*TRAIN, "--cohort", cohort, "--epochs", 3, "--learning-rate", 0.01, "--json", "-o"]
    run(*options, tmp_path / "shared", "--shared-memory")
    assert (tmp_path / "shared" / "best.safetensors").read_bytes() == (trained[0] / "best.safetensors").read_bytes()
    run(*options[:5], "--learning-rate", 0.01, "-o", tmp_path / "other", "--shared-memory", "--epochs", 1)
    run(*options, tmp_path / "other", "--resume")
    assert (tmp_path / "other" / "best.safetensors").read_bytes() == (trained[0] / "best.safetensors").read_bytes()
    assert fails(*options, tmp_path / "other", "--tile-size", "image", "--resume").value == "tile size"
    # The slides have less than a tile's side.
    run(*options, tmp_path / "piece", "--tile-size", "image")
    assert (tmp_path / "piece" / "best.safetensors").read_bytes() == (trained[0] / "best.safetensors").read_bytes()
    loss = run(*options, tmp_path / "bf16", "--precision", "bf16").json["validationLoss"]
    assert loss != trained[1].json["validationLoss"] == pytest.approx(loss, rel=0.1)
    for name in ("tf32", "fp16"):
        refused = fails(*options, tmp_path / "new", "--precision", name)
        assert (refused.code, refused.value) == ("E-PRECISION", name)
    assert fails(*options, tmp_path / "bf16", "--precision", "fp32", "--resume").value == "precision"
    assert fails(*options, tmp_path / "new", "--tile-size", "image", "--memory", "20M").code == "E-MEMORY-BUDGET"
    refused = fails(*options, tmp_path / "new", "--precision", "fp8", code=2)
    assert (refused.code, refused.option, refused.value) == ("E-OPTION-VALUE", "--precision", "fp8")
    assert not (tmp_path / "new").exists()


def test_device_that_is_not_there(trained, cohort, tmp_path):
    for command in (["segment", cohort.parent / "a.tif", "--model", trained[0]], [*TRAIN, "--cohort", cohort]):
        refused = fails(*command, "-o", tmp_path / "none.tif", "--device", "gpu", code=2)
        assert (refused.code, refused.option, refused.value) == ("E-OPTION-VALUE", "--device", "gpu")
    refused = fails("segment", cohort.parent / "a.tif", "--model", trained[0], "-o", tmp_path / "mask.tif", "--device", "mps")
    assert (refused.code, refused.value) == ("E-DEVICE-MISSING", "mps") and "--device cpu" in refused.do
    if "none" not in run("doctor", "--json").json["network"]["gpu"]:
        pytest.skip("there is a GPU")
    folder, mask = tmp_path / "run", tmp_path / "mask.tif"
    for words in ([*TRAIN, "--cohort", cohort, "-o", folder, "--device", "cuda"], ["segment", cohort.parent / "a.tif", "--model", trained[0], "-o", mask, "--device", "cuda:1"]):
        refused = fails(*words)
        assert (refused.code, refused.value) == ("E-DEVICE-MISSING", words[-1]) and "--device cpu" in refused.do
    assert not folder.exists() and not mask.exists()


def test_run_is_not_trained_over(trained, cohort):
    folder, _ = trained
    before = (folder / "best.safetensors").read_bytes()
    refused = fails("train", "--cohort", cohort, "-o", folder, "--epochs", 5)
    assert (refused.code, refused.file) == ("E-OUTPUT-EXISTS", str(folder))
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
    assert process.returncode == 130 and "--resume" not in said and not (tmp_path / "run").exists()


def test_interrupted_training_resumes_to_the_same_bits(trained, cohort, tmp_path):
    folder, _ = trained
    options = [*TRAIN, "--cohort", cohort, "-o", tmp_path / "run", "--learning-rate", 0.01]
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
    run(*TRAIN, "--cohort", cohort, "-o", tmp_path / "straight", "--learning-rate", 0.01, "--epochs", epochs)
    assert weights(tmp_path / "run") == weights(tmp_path / "straight")


@pytest.mark.skipif("avx512bw" not in pathlib.Path("/proc/cpuinfo").read_text(), reason="this CPU has no AVX-512")
def test_graphs_are_computed_in_bf16(cohort, tmp_path):
    options = ["train", "--cohort", cohort, "--network", "unet:base=4,depth=3", "--epochs", 2, "--learning-rate", 0.01, "--json", "-o"]
    results = {name: run(*options, tmp_path / name, "--precision", name).json for name in ("fp32", "bf16")}
    exact, rounded = (result["validationLoss"] for result in results.values())
    assert exact != rounded == pytest.approx(exact, rel=0.05)
    assert rb'\"precision\":\"bf16\"' in (tmp_path / "bf16" / "last.safetensors").read_bytes()
    assert fails(*options, tmp_path / "bf16", "--precision", "fp32", "--resume").value == "precision"
    assert fails(*options, tmp_path / "new", "--precision", "fp16").code == "E-PRECISION"
    masks = [tmp_path / "fp32.tif", tmp_path / "bf16.tif"]
    for mask in masks:
        run("segment", cohort.parent / "b.tif", "--model", tmp_path / "bf16", "-o", mask, "--precision", mask.stem)
    labels = [tifffile.imread(mask) for mask in masks]
    assert numpy.mean(labels[0] != labels[1]) < 0.01


def test_run_that_goes_on_keeps_its_tiles_and_segments(tmp_path):
    """What is told of a run is the plan that it has, not the one that it would have if it began now."""
    run("synthesize", tmp_path / "a.tif", "--size", "1200x1000", "--seed", 1, "--truth", tmp_path / "m.tif")
    (tmp_path / "c.csv").write_text("slide,mask,split\na.tif,m.tif,train\n")
    network = ["--network", "unet:base=4,depth=5", "--threads", 1]
    memory = find_memory_of_segments(*network)
    options = ["train", "--cohort", tmp_path / "c.csv", *network, "-o"]
    plan = r"estimated peak memory .*? \((.*)\)"
    segments, tiles = [*options, tmp_path / "segments"], [*options, tmp_path / "tiles"]
    begun = run(*segments, "--epochs", 1, "--memory", f"{memory}M", "--json")
    told = re.search(plan, begun.err)[1]
    assert re.fullmatch(r"\d+ tiles, 1 at a time in \d segments with [\d.]+ MiB of maps between them", told)
    assert begun.json["estimatedPeakBytes"] <= memory * 1024**2
    again = run(*segments, "--epochs", 2, "--memory", f"{memory}M", "--resume", "--json")
    assert re.search(plan, again.err)[1] == told and again.json["estimatedPeakBytes"] <= memory * 1024**2
    assert re.search(plan, run(*segments, "--epochs", 3, "--memory", "4G", "--resume").err)[1] == told
    told = re.search(plan, run(*tiles, "--epochs", 1, "--tile-size", 256).err)[1]
    assert told == "20 tiles of 256 x 256, 1 at a time"
    assert re.search(plan, run(*tiles, "--epochs", 2, "--memory", f"{memory}M", "--resume").err)[1] == told
    refused = fails(*segments, "--epochs", 4, "--memory", "200M", "--resume")
    assert (refused.code, refused.option, refused.value) == ("E-MEMORY-BUDGET", "--memory", "200M") and "--scratch" in refused
    fails(*options, tmp_path / "new", "--memory", "200M")
    assert not (tmp_path / "new").exists()


def test_bad_models_and_cohorts(trained, cohort, tmp_path):
    slide = cohort.parent / "a.tif"
    out = tmp_path / "out"
    out.mkdir()
    (tmp_path / "broken.safetensors").write_bytes((trained[0] / "best.safetensors").read_bytes()[:500])
    (tmp_path / "norun").mkdir()
    for model, code in (("missing", "E-FILE-MISSING"), ("broken.safetensors", "E-FILE-DAMAGED"), ("norun", "E-RUN-FORMAT")):
        refused = fails("segment", slide, "--model", tmp_path / model, "-o", out / "m.tif")
        assert (refused.code, refused.file) == (code, str(tmp_path / model))
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
        refused = fails(*TRAIN, "--cohort", folder / name, "-o", out / "run")
        assert refused.file == str(folder / name), refused
        assert refused.code == {"missing.csv": "E-FILE-MISSING", "empty.csv": "E-FILE-DAMAGED"}.get(name, "E-COHORT-FORMAT"), refused
    assert list(out.iterdir()) == []


def test_pixels_that_are_not_square_are_resampled_or_refused(tmp_path):
    pixels = numpy.random.default_rng(1).integers(0, 255, (300, 400, 3), numpy.uint8)
    words = {"resolution": (1e4 / 0.5, 1e4 / 0.25), "resolutionunit": "CENTIMETER", "tile": (256, 256)}
    tifffile.imwrite(tmp_path / "a.tif", pixels, photometric="rgb", **words)
    tifffile.imwrite(tmp_path / "t.tif", (pixels[..., 0] > 128).astype(numpy.uint8), **words)
    (tmp_path / "c.csv").write_text("slide,mask,split\na.tif,t.tif,train\n")
    refused = fails(*TRAIN, "--cohort", tmp_path / "c.csv", "-o", tmp_path / "run", "--epochs", 1)
    assert (refused.code, refused.file) == ("E-SLIDE-RESOLUTION", str(tmp_path / "a.tif")) and "--mpp" in refused.do
    run(*TRAIN, "--cohort", tmp_path / "c.csv", "-o", tmp_path / "run", "--epochs", 1, "--mpp", 0.5)


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
    codes = {"layers": "E-MASK-FORMAT", "away": "E-MASK-GRID"}
    trained = []
    for name, mask in masks.items():
        table = tmp_path / f"{name}.csv"
        table.write_text(f"slide,mask,split\n{cohort.parent / 'a.tif'},{mask},train\n")
        words = [*TRAIN, "--cohort", table, "-o", tmp_path / name, "--epochs", 1]
        if name in codes:
            refused = fails(*words)
            assert (refused.code, refused.file) == (codes[name], str(mask)) and not (tmp_path / name).exists()
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
        "short.nrrd": (start + "sizes: 800 700\n\nno gzip", "E-FILE-DAMAGED"),
        "alone.nhdr": (start + "sizes: 800 700\ndata file: gone.raw\n", "E-FILE-MISSING"),
        "size.nrrd": (start + "sizes: 400 x\n\n", "E-FILE-DAMAGED"),
    }
    for name, (text, code) in files.items():
        mask = tmp_path / name
        mask.write_text(text)
        table = tmp_path / "c.csv"
        table.write_text(f"slide,mask,split\n{cohort.parent / 'a.tif'},{mask},train\n")
        words = {"evaluate": ["evaluate", mask, cohort.parent / "a.truth.tif"], "train": [*TRAIN, "--cohort", table, "-o", tmp_path / "run"]}
        refused = fails(*words[command])
        assert (refused.code, refused.file) == (code, str(mask))
        assert "nrrd]" not in refused and ".cxx" not in refused and "0x" not in refused


def test_a_region_outside_of_its_slide_is_told_with_its_line(cohort, tmp_path):
    slide, mask = cohort.parent / "a.tif", cohort.parent / "a.truth.tif"
    (tmp_path / "c.csv").write_text(f"slide,mask,split,region\n{slide},{mask},train,\n{slide},{mask},train,90000 0 50 60\n")
    refused = fails(*TRAIN, "--cohort", tmp_path / "c.csv", "-o", tmp_path / "run")
    assert (refused.code, refused.file, refused.value) == ("E-REGION", str(tmp_path / "c.csv"), "3")
    assert "90000,0,50,60" in refused.why and str(slide) in refused.why and "800 x 700" in refused.why
    assert not (tmp_path / "run").exists()


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
            refused = fails(*words)
            assert (refused.code, refused.file, refused.value) == ("E-LABEL-VALUE", str(mask), "4")
        else:
            run(*words)
    assert weights(tmp_path / "plain") == weights(tmp_path / "segmentation")


def test_mask_of_another_slide(cohort, tmp_path):
    run("synthesize", tmp_path / "s.tif", "--size", "600x300", "--seed", 9)
    shutil.copy(cohort.parent / "a.truth.tif", tmp_path)
    table = tmp_path / "c.csv"
    table.write_text("slide,mask,split\ns.tif,a.truth.tif,train\n")
    refused = fails(*TRAIN, "--cohort", table, "-o", tmp_path / "run", "--epochs", 1)
    assert (refused.code, refused.file) == ("E-MASK-GRID", str(tmp_path / "a.truth.tif"))


def test_a_file_of_several_images_gives_its_main_one(tmp_path):
    """As segment reads it. A run that goes on is told again which image it is of."""
    run("synthesize", tmp_path / "a.tif", "--size", "160x128", "--truth", tmp_path / "m.tif")
    run("convert", tmp_path / "a.tif", tmp_path / "plain.tif", "--compression", "deflate")
    pixels = tifffile.imread(tmp_path / "plain.tif")
    with tifffile.TiffWriter(tmp_path / "several.ome.tif", ome=True) as file:
        for name, part in (("small", pixels[:64, :64]), ("large", pixels), ("other", pixels[::-1])):
            file.write(part, photometric="rgb", metadata={"Name": name, "PhysicalSizeX": 0.5, "PhysicalSizeY": 0.5})
    words = ["train", "--network", "unet:base=2,depth=1", "-o"]
    trained = {}
    for name, file, image in (("main", "several.ome.tif", []), ("large", "several.ome.tif", ["--image", "large"]), ("alone", "plain.tif", [])):
        (tmp_path / f"{name}.csv").write_text(f"slide,mask,split\n{file},m.tif,train\n")
        run(*words, tmp_path / name, "--cohort", tmp_path / f"{name}.csv", "--epochs", 1, *image)
        trained[name] = weights(tmp_path / name)
    assert trained["main"] == trained["large"] == trained["alone"]
    again = [*words, tmp_path / "other", "--cohort", tmp_path / "main.csv", "--resume"]
    run(*again, "--image", "other", "--epochs", 1)
    assert weights(tmp_path / "other") != trained["main"]
    assert run(*again, "--epochs", 2, code=1).codes == ["W-SLIDE-IMAGES", "E-RUN-CONFLICT"]
    run(*again, "--image", "other", "--epochs", 2)


@UNSANITIZED
def test_many_slides_take_what_is_planned(tmp_path):
    """What is decoded of a slide stays in memory, within a limit, while the next ones are read."""
    run("synthesize", tmp_path / "0.tif", "--size", "1024x1024", "--seed", 1, "--truth", tmp_path / "0.m.tif")
    for number in range(1, 32):
        for ending in ("tif", "m.tif"):
            shutil.copy(tmp_path / f"0.{ending}", tmp_path / f"{number}.{ending}")
    (tmp_path / "c.csv").write_text("slide,mask,split\n" + "".join(f"{i}.tif,{i}.m.tif,train\n" for i in range(32)))
    words = [*TRAIN, "--cohort", tmp_path / "c.csv", "--epochs", 1, "--no-augmentation", "--tile-size", 256, "--threads", 1, "--json"]
    for memory in (100, 300):
        told = run(*words, "-o", tmp_path / f"{memory}", "--memory", f"{memory}M").json
        assert told["peakBytes"] < 1.15 * told["estimatedPeakBytes"] < memory * 1024**2


def test_room_for_validation_is_not_told_where_there_is_none(tmp_path):
    run("synthesize", tmp_path / "a.tif", "--size", "1200x1000", "--seed", 1, "--truth", tmp_path / "m.tif")
    run("synthesize", tmp_path / "b.tif", "--size", "1200x1000", "--seed", 2, "--truth", tmp_path / "n.tif")
    network = ["--network", "unet:base=4,depth=5", "--threads", 1]
    options = [*network, "--epochs", 1, "--memory", f"{find_memory_of_segments(*network)}M", "--json"]
    told = {}
    for name, row in (("without", ""), ("with", "b.tif,n.tif,validation\n")):
        (tmp_path / "c.csv").write_text(f"slide,mask,split\na.tif,m.tif,train\n{row}")
        told[name] = run("train", "--cohort", tmp_path / "c.csv", "-o", tmp_path / name, *options).json
    assert told["with"]["estimatedPeakBytes"] == told["with"]["plan"]["peakBytes"]
    assert told["without"]["estimatedPeakBytes"] < told["without"]["plan"]["peakBytes"]
