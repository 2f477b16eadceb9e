# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""train: runs that go on, options that cannot be, and folders that cannot be written."""

import os
import pathlib
import shutil
import subprocess

import pytest

from conftest import CHAIN, PROGRAM, TRAIN, fails, find_codes, find_memory_of_segments, obey_permissions, run, settings, weights

pytestmark = pytest.mark.usefixtures("network")

NETWORKS = pathlib.Path(__file__).parents[2] / "Modules/Network/networks"


@pytest.fixture(scope="module")
def begun(cohort, tmp_path_factory):
    """A run of an epoch, with weights by chance."""
    folder = tmp_path_factory.mktemp("begun") / "run"
    run(*TRAIN, "--cohort", cohort, "-o", folder, "--epochs", 1)
    return folder


def test_run_knows_its_first_weights(begun, cohort, tmp_path):
    other = tmp_path / "other"
    words = [*TRAIN, "--cohort", cohort, "--learning-rate", 0.01, "-o"]
    given = tmp_path / "given.safetensors"
    shutil.copy(begun / "best.safetensors", given)
    run(*words, tmp_path / "run", "--epochs", 1, "--weights", given)
    kept = settings(tmp_path / "run")["first weights"]
    run(*words, tmp_path / "run", "--epochs", 2, "--resume")
    assert settings(tmp_path / "run")["first weights"] == kept
    run(*words, tmp_path / "run", "--epochs", 3, "--resume", "--weights", begun)  # of the same content
    run(*words, tmp_path / "straight", "--epochs", 3, "--weights", given)
    assert settings(tmp_path / "run") == settings(tmp_path / "straight")
    assert weights(tmp_path / "run") == weights(tmp_path / "straight")
    run(*words, other, "--epochs", 1, "--seed", 5)
    refused = fails(*words, tmp_path / "run", "--epochs", 4, "--resume", "--weights", other)
    assert (refused.code, refused.value) == ("E-RUN-CONFLICT", "first weights") and "--weights" in refused.do
    refused = fails(*words, other, "--epochs", 2, "--seed", 5, "--resume", "--weights", given)
    assert (refused.code, refused.file, refused.value) == ("E-RUN-CONFLICT", str(other), "first weights")
    given.unlink()
    assert fails(*words, tmp_path / "run", "--epochs", 4, "--resume", "--weights", given).file == str(given)
    run(*words, tmp_path / "run", "--epochs", 4, "--resume")


def test_ready_model_gives_first_weights(cohort, tmp_path, monkeypatch):
    """By its name, as its file does, also where there is a folder of the same name, which is said."""
    monkeypatch.chdir(tmp_path)
    words = ["train", "--cohort", cohort, "--network", "tissue", "--epochs", 1, "-o"]
    file = NETWORKS.parent / "models" / "tissue.safetensors"
    run(*words, "file", "--weights", file)
    run(*words, "name", "--weights", "tissue")
    assert weights(tmp_path / "name") == weights(tmp_path / "file") and settings(tmp_path / "name") == settings(tmp_path / "file")
    (tmp_path / "tissue").mkdir()
    said = run(*words, "name", "--resume", "--weights", "tissue").err
    assert said.count("tissue is taken for the ready model of this name; the file or folder is meant by ./tissue") == 2
    assert fails(*words, "other", "--weights", "./tissue").file == "./tissue"
    run("import", "tissue", "--weights", "tissue", "-o", "imported.safetensors")
    assert run("info", "imported.safetensors", "--json").json["provenance"]["weights"] == "tissue"


def test_resume_begins_a_run_where_there_is_none(begun, cohort, tmp_path):
    """So that a script may always give it; and a misspelt folder is seen."""
    words = [*TRAIN, "--cohort", cohort, "-o", tmp_path / "run", "--epochs", 1, "--resume", "--json"]
    (warning,) = run(*words).json["warnings"]
    assert (warning["code"], warning["file"]) == ("W-TRAINING", str(tmp_path / "run"))
    assert weights(tmp_path / "run") == weights(begun)
    assert not run(*words).json.get("warnings")


def test_damaged_runs(begun, cohort, tmp_path):
    """What is wrong with which file, how to go on, and nothing is changed."""
    words = ["train", "--cohort", cohort, "-o", tmp_path / "run", "--epochs", 2, "--resume"]
    for name, other in (("last.safetensors", "best.safetensors"), ("best.safetensors", "last.safetensors")):
        content = (begun / name).read_bytes()
        for damaged in (b"", content[:100], content[: len(content) // 2], content[:-1], content.replace(b"L1.bias", b"L9.bias"), None):
            shutil.copytree(begun, tmp_path / "run")
            (tmp_path / "run" / name).unlink()
            if damaged is not None:
                (tmp_path / "run" / name).write_bytes(damaged)
            for more in ([], ["--network", "remedios2023", "--precision", "fp32"]):
                refused = fails(*words, *more)
                assert refused.code not in ("E-OTHER", "E-INTERNAL") and name in refused and "--weights" in refused.do, refused
                assert damaged is None or refused.file == str(tmp_path / "run" / name) and str(tmp_path / "run" / other) in refused.do
            assert (begun / other).read_bytes() == (tmp_path / "run" / other).read_bytes()
            assert not (tmp_path / "run" / name).exists() if damaged is None else (tmp_path / "run" / name).read_bytes() == damaged
            shutil.rmtree(tmp_path / "run")
    shutil.copytree(begun, tmp_path / "run")
    content = (begun / "last.safetensors").read_bytes()
    rate = content.index(rb'\"learning rate\":0.00') + len(rb'\"learning rate\":0.00')
    (tmp_path / "run" / "last.safetensors").write_bytes(content[:rate] + b"4" + content[rate + 1 :])
    assert fails(*words).code == "E-RUN-FORMAT"  # and does not go on with another rate


def test_resume_with_another_network(begun, cohort, tmp_path):
    words = ["train", "--cohort", cohort, "-o", begun, "--epochs", 2, "--resume"]
    for more in ([], ["--freeze", "L1"], ["--loss", "dice"], ["--tile-size", 64]):
        refused = fails(*words, "--network", "unet:base=2", *more)
        assert (refused.code, refused.file, refused.value) == ("E-RUN-CONFLICT", str(begun), "network")
    text = (NETWORKS / "remedios2023.json").read_text()
    mine = tmp_path / "mine.json"
    mine.write_text(text.replace('"channels": 1', '"channels": 3').replace('"in": 1,', '"in": 3,', 1))
    assert fails(*words, "--network", mine).value == "network"
    mine.write_text(text.replace('"invert": true', '"invert": false'))
    assert fails(*words, "--network", mine).value == "network"
    assert fails(*words, "--loss", "dice").value == "loss"
    assert fails(*words, "--optimizer", "sgd").value == "optimizer"


def test_resume_knows_its_network_and_precision(cohort, tmp_path):
    mine = tmp_path / "mine.json"
    mine.write_text((NETWORKS / "remedios2023.json").read_text().replace('"remedios2023"', '"mine"', 1))
    words = ["train", "--cohort", cohort, "--learning-rate", 0.01, "--epochs"]
    begun = ["--network", mine, "--precision", "bf16", "--loss", "dice"]
    run(*words, 2, "-o", tmp_path / "straight", *begun)
    run(*words, 1, "-o", tmp_path / "run", *begun)
    mine.unlink()
    for other, named in ((["--network", "unet:base=2,depth=2,channels=1"], "network"), (["--precision", "fp32"], "precision")):
        refused = fails(*words, 2, "-o", tmp_path / "run", "--resume", *other)
        assert (refused.code, refused.value) == ("E-RUN-CONFLICT", named)
    run(*words, 2, "-o", tmp_path / "run", "--resume")
    assert weights(tmp_path / "run") == weights(tmp_path / "straight")
    assert settings(tmp_path / "run") == settings(tmp_path / "straight")


def test_a_run_with_the_former_default_goes_on_with_it(cohort, tmp_path):
    words = ["train", "--cohort", cohort, "-o"]
    run(*words, tmp_path / "run", *CHAIN, "--epochs", 1)
    run(*words, tmp_path / "straight", *CHAIN, "--epochs", 2)
    run(*words, tmp_path / "run", "--resume", "--epochs", 2)
    assert settings(tmp_path / "run") == settings(tmp_path / "straight") and weights(tmp_path / "run") == weights(tmp_path / "straight")
    refused = fails(*words, tmp_path / "run", "--resume", "--network", "unet", "--epochs", 3)
    assert (refused.code, refused.value) == ("E-RUN-CONFLICT", "network")


def test_resume_knows_its_options(cohort, tmp_path):
    """What decides on the bits need not be given again, and others are refused; how long to train is none of it."""
    words = [*TRAIN, "--cohort", cohort]
    begun = ["--learning-rate", 0.01, "--optimizer", "sgd", "--momentum", 0.5, "--weight-decay", 0.001, "--clip-gradient", 0.3, "--warmup", 2,
             "--freeze", "L1", "--jitter", 0.1, "--seed", 7, "--no-augmentation", "--learning-rate-schedule", "plateau",
             "--learning-rate-decay", 0.5, "--plateau-patience", 1]
    run(*words, "-o", tmp_path / "straight", *begun, "--epochs", 2)
    run(*words, "-o", tmp_path / "run", *begun, "--epochs", 1)
    again = ["train", "--cohort", cohort, "-o", tmp_path / "run", "--resume", "--epochs", 2]
    for other, named in ((["--optimizer", "adam"], "optimizer"), (["--seed", 8], "seed"), (["--jitter", 0.2], "jitter"),
                         (["--learning-rate-schedule", "constant"], "learning-rate-schedule"), (["--freeze", "L2"], "freeze")):
        refused = fails(*again, *other)
        assert (refused.code, refused.value) == ("E-RUN-CONFLICT", named)
    refused = fails(*again, "--optimizer", "adam", "--momentum", 0.9, code=2)
    assert (refused.code, refused.option) == ("E-OPTION-NEEDS", "--momentum")
    run(*again)
    assert settings(tmp_path / "run") == settings(tmp_path / "straight")
    assert weights(tmp_path / "run") == weights(tmp_path / "straight")
    run(*TRAIN, "--cohort", cohort, "-o", tmp_path / "cosine", "--epochs", 2, "--learning-rate-schedule", "cosine")
    run("train", "--cohort", cohort, "-o", tmp_path / "cosine", "--resume")
    assert len((tmp_path / "cosine" / "history.csv").read_text().splitlines()) == 3
    assert fails("train", "--cohort", cohort, "-o", tmp_path / "cosine", "--resume", "--epochs", 3).value == "epochs"


def test_weights_of_a_part_are_asked_for(cohort, tmp_path):
    """An encoder, say: silence would begin the rest by chance where the file is of another network."""
    words = ["train", "--cohort", cohort, "--epochs", 1, "--network"]
    run(*words, "unet:base=2,depth=2,channels=1", "-o", tmp_path / "one")
    taken = [*words, "unet:base=2,depth=2,channels=1,classes=3", "--weights", tmp_path / "one", "-o", tmp_path / "other"]
    error = run(*taken, "--json", code=1).json["error"]  # beside a warning of classes that no mask has
    file = str(tmp_path / "one/best.safetensors")
    assert error["code"] == "E-WEIGHTS-MISMATCH" and error["file"] in (str(tmp_path / "one"), file)
    assert "last.weight" in error["why"] and "--partial-weights" in error["do"] and not (tmp_path / "other").exists()
    of_weights = [each for each in run(*taken, "--partial-weights", "--json").json["warnings"] if each["file"] == str(tmp_path / "one")]
    assert [each["code"] for each in of_weights] == ["W-TRAINING"]
    same = run(*words, tmp_path / "one", "--weights", tmp_path / "one", "-o", tmp_path / "same", "--partial-weights", "--json").json
    assert not [each for each in same.get("warnings", []) if each["file"] == str(tmp_path / "one")]


def test_options_without_effect(cohort, tmp_path):
    words = [*TRAIN, "--cohort", cohort, "-o", tmp_path / "run", "--epochs", 2]
    for option, code in ((["--momentum", 0.9], "E-OPTION-NEEDS"), (["--plateau-patience", 3], "E-OPTION-NEEDS"), (["--ignored-label", 255], "E-OPTION-VALUE")):
        refused = fails(*words, *option, code=2)
        assert (refused.code, refused.option) == (code, option[0])
    for option in (["--level", 1], ["--mpp", 1], ["--slide-mpp", 1]):
        refused = fails("plan", "--size", "100x100", *option, code=2)
        assert (refused.code, refused.option) == ("E-OPTION-APPLIES", option[0])
    assert not (tmp_path / "run").exists()
    (warning,) = run(*words, "--warmup", 3, "--json").json["warnings"]
    assert warning["code"] == "W-TRAINING"
    shutil.rmtree(tmp_path / "run")
    assert not run(*words, "--warmup", 2, "--json").json.get("warnings")


def test_scratch_folder_without_effect(cohort, tmp_path):
    said = "--scratch changes nothing here"
    words = ["train", "--cohort", cohort, "--epochs", 1, "-o"]
    assert run(*words, tmp_path / "run", *CHAIN, "--scratch", tmp_path).err.count(said) == 1
    slide = cohort.parent / "a.tif"
    segment = ["segment", slide, "--model", tmp_path / "run", "-o", tmp_path / "m.tif", "--overwrite"]
    assert run(*segment, "--scratch", tmp_path).err.count(said) == 1
    assert said not in run(*segment).err
    plan = ["plan", "--size", "400x300", "--scratch", tmp_path]
    assert run(*plan, *CHAIN).err.count(said) == 1
    norms = ["--network", "unet:base=2,depth=2,norm=instance"]
    assert said not in run(*words, tmp_path / "norms", *norms, "--scratch", tmp_path).err
    assert said not in run(*plan, *norms).err


def test_folders_that_are_not_there(cohort, tmp_path):
    words = [*TRAIN, "--cohort", cohort, "-o", tmp_path / "run", "--epochs", 1]
    file = tmp_path / "file"
    file.write_text("")
    for command in (words, ["plan", "--size", "100x100"]):
        for folder, code in ((tmp_path / "scratch", "E-FILE-MISSING"), (file, "E-FILE-KIND"), ("a\nb", "E-FILE-MISSING"), ("/proc", "E-OUTPUT-WRITE")):
            refused = fails(*command, "--scratch", folder)
            assert refused.code == code and refused.file in (str(folder), "a\\x0ab")
    refused = fails(*words, "--tissue", tmp_path / "tissue")
    assert (refused.code, refused.file) == ("E-FILE-MISSING", str(tmp_path / "tissue"))
    slide = cohort.parent / "a.tif"
    refused = fails("segment", slide, "--model", "tissue", "-o", tmp_path / "m.tif", "--tissue", tmp_path / "tissue")
    assert (refused.code, refused.file) == ("E-FILE-MISSING", str(tmp_path / "tissue"))
    assert sorted(os.listdir(tmp_path)) == ["file"]


def test_folders_that_are_read_only(cohort, tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir()
    closed.chmod(0o555)
    slide = cohort.parent / "a.tif"
    for words in (
        [*TRAIN, "--cohort", cohort, "-o", closed / "run", "--epochs", 1],
        [*TRAIN, "--cohort", cohort, "-o", closed, "--epochs", 1],
        [*TRAIN, "--cohort", cohort, "-o", tmp_path / "run", "--epochs", 1, "--scratch", closed],
        ["segment", slide, "--model", "tissue", "-o", closed / "m.tif"],
        ["segment", slide, "--model", "tissue", "-o", f"{closed}/masks/"],
        ["label", slide, "-o", closed / "m.tif"],
    ):
        command = [PROGRAM, *[str(word) for word in words], "--quiet"]
        finished = subprocess.run(command, capture_output=True, text=True, preexec_fn=obey_permissions)
        assert finished.returncode == 1 and len(finished.stderr.splitlines()) == 1, finished.stderr
        assert str(closed) in finished.stderr and find_codes(finished.stderr) in (["E-FILE-ACCESS"], ["E-OUTPUT-WRITE"]), finished.stderr
    assert os.listdir(closed) == [] and os.listdir(tmp_path) == ["closed"]


def test_scratch_folder_without_room(tmp_path):
    """Is said before the first slide is read."""
    if os.geteuid() != 0:
        pytest.skip("a small disk can only be mounted by root")
    run("synthesize", tmp_path / "a.tif", "--size", "1200x1000", "--truth", tmp_path / "m.tif")
    (tmp_path / "c.csv").write_text("slide,mask,split\na.tif,m.tif,train\n")
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], capture_output=True).returncode != 0:
        pytest.skip("no disk can be mounted here")
    try:
        network = ["--network", "unet:base=4,depth=5", "--threads", 1, "--scratch", disk]
        words = ["train", "--cohort", tmp_path / "c.csv", "--epochs", 1, *network]
        words += ["--memory", f"{find_memory_of_segments(*network)}M"]
        refused = run(*words, "-o", tmp_path / "run", code=1).err
        assert str(disk) in refused and "[E-DISK-FULL]" in refused
        assert not (tmp_path / "run").exists()
    finally:
        subprocess.run(["umount", disk], check=True)


def test_examples_of_the_help_run(tmp_path):
    """As they stand there but for the network, which is a fast one, one after the other, in a folder with a cohort: the second
    goes on with the run of the first. Folds, which want labels, are in test_cross_validation.py."""
    for name, seed in (("a", 1), ("b", 2)):
        run("synthesize", tmp_path / f"{name}.tif", "--size", "160x128", "--seed", seed, "--truth", tmp_path / f"{name}.m.tif")
    (tmp_path / "cohort.csv").write_text("slide,mask,split\na.tif,a.m.tif,train\nb.tif,b.m.tif,validation\n")
    lines = [line.split() for line in run("train", "--help-all").out.splitlines() if line.startswith("  gigapixel train --cohort cohort.csv")]
    assert len(lines) == 4
    for words in lines:
        if "--resume" not in words:
            shutil.rmtree(tmp_path / "run", ignore_errors=True)
        run(*TRAIN, *words[2:], "--quiet", cwd=tmp_path)
        assert (tmp_path / "run" / "best.safetensors").exists()
