# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Runs of an earlier version go on as they began."""

import csv
import shutil
from pathlib import Path

import pytest

from conftest import fails, run

BEGUN = {
    "plateau": ["--network", "remedios2023", "--learning-rate-schedule", "plateau", "--learning-rate-decay", 0.5, "--plateau-patience", 1, "--seed", 7],
    "graph": ["--network", "unet:base=2,depth=1", "--optimizer", "adamw", "--weight-decay", 0.02, "--clip-gradient", 0.5, "--jitter", 0.1]
    + ["--images-per-step", 2, "--calibrate", 1],
}
COSINE = ["--epochs", 2, "--learning-rate-schedule", "cosine", "--warmup", 1, "--optimizer", "sgd", "--momentum", 0.8, "--learning-rate", 0.01]
COSINE += ["--freeze", "L1", "--no-augmentation", "--network", "remedios2023"]


@pytest.fixture
def train(tmp_path):
    shutil.copytree(Path(__file__).parent / "runs", tmp_path, dirs_exist_ok=True)
    return ["train", "--cohort", tmp_path / "cohort.csv", "-o"]


def read_losses(folder):
    with open(folder / "history.csv") as file:
        return [float(row[name]) for row in csv.DictReader(file) for name in ("training_loss", "validation_loss", "learning_rate")]


@pytest.mark.parametrize("name", BEGUN)
def test_run_goes_on(train, tmp_path, name):
    """It comes to what a run of two epochs comes to; in float precision, since it may have begun on another processor."""
    run(*train, tmp_path / name, "--resume", "--epochs", 2)
    run(*train, tmp_path / "new", *BEGUN[name], "--epochs", 2)
    assert read_losses(tmp_path / name) == pytest.approx(read_losses(tmp_path / "new"), rel=1e-4)
    assert len(read_losses(tmp_path / name)) == 6


@pytest.mark.parametrize("name", BEGUN)
def test_same_options_may_be_given_again(train, tmp_path, name):
    run(*train, tmp_path / name, "--resume", *BEGUN[name], "--epochs", 2)


def test_finished_run_is_finished(train, tmp_path):
    before = (tmp_path / "cosine/last.safetensors").read_bytes()
    run(*train, tmp_path / "cosine", "--resume")
    run(*train, tmp_path / "cosine", "--resume", *COSINE)
    assert (tmp_path / "cosine/last.safetensors").read_bytes() == before


@pytest.mark.parametrize(
    "name, words, value",
    [
        ("plateau", ["--learning-rate-decay", 0.1], "learning-rate-decay"),
        ("plateau", ["--plateau-patience", 2], "plateau-patience"),
        ("plateau", ["--learning-rate-schedule", "constant"], "learning-rate-schedule"),
        ("plateau", ["--optimizer", "sgd"], "optimizer"),
        ("plateau", ["--warmup", 2], "warmup"),
        ("cosine", ["--epochs", 3], "epochs"),
        ("cosine", ["--momentum", 0.9], "momentum"),
        ("cosine", ["--freeze", "L2"], "freeze"),
        ("graph", ["--weight-decay", 0.1], "weight-decay"),
        ("graph", ["--clip-gradient", 0], "clip-gradient"),
        ("graph", ["--images-per-step", 1], "images-per-step"),
        ("graph", ["--calibrate", 0], "calibrate"),
        ("graph", ["--balance"], "balance"),
        ("graph", ["--no-augmentation"], "augmentation"),
    ],
)
def test_other_values_are_refused(train, tmp_path, name, words, value):
    before = (tmp_path / name / "last.safetensors").read_bytes()
    epochs = [] if "--epochs" in words or name == "cosine" else ["--epochs", 2]
    refused = fails(*train, tmp_path / name, "--resume", *epochs, *words)
    assert (refused.code, refused.value) == ("E-OPTION-APPLIES", None) if value == "balance" else ("E-RUN-CONFLICT", value)
    assert (tmp_path / name / "last.safetensors").read_bytes() == before
