# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Training on labels of whole slides: classes of unequal size, and the figures of the validation slides."""

import shutil

import numpy as np
import pytest

from conftest import TRAIN, fails, run
from labeled_slides import WORDS, arrays, read, write_slide, write_table

pytestmark = pytest.mark.usefixtures("network")


@pytest.fixture(scope="module")
def unequal(tmp_path_factory):
    """Slides, a model to begin with, and rows of three normal slides and one positive one for training and validation each."""
    folder = tmp_path_factory.mktemp("slides")
    for i in range(10):
        write_slide(folder / f"{i}.tif", i, i in (1, 3))
    table = write_table(folder / "start.csv", ["0.tif,normal,train", "1.tif,tumor,train"], "slide,label,split")
    start = tmp_path_factory.mktemp("start") / "run"
    run("train", "--cohort", table, "-o", start, *WORDS, "--epochs", 1)
    rows = [f"{i}.tif,{label},{split}" for i, label, split in [
        (0, "normal", "train"), (2, "normal", "train"), (4, "normal", "train"), (1, "tumor", "train"),
        (6, "normal", "validation"), (8, "normal", "validation"), (9, "normal", "validation"), (3, "tumor", "validation"),
    ]]  # fmt: skip
    return folder, start, rows


def test_balanced_classes_are_those_of_slides_shown_more_often(unequal, tmp_path):
    """One step of gradient descent on three normal slides and one positive one, balanced, is that on the positive one
    three times: (2/3 (a + b + c) + 2 d) / 4 = (a + b + c + 3 d) / 6."""
    folder, start, rows = unequal
    for name in ("1-again.tif", "1-once-more.tif"):
        shutil.copy(folder / "1.tif", folder / name)
    words = [*WORDS, "--weights", start, "--optimizer", "sgd", "--momentum", 0, "--learning-rate", 0.01, "--no-augmentation"]
    words += ["--epochs", 1]
    few = write_table(folder / "few.csv", rows, "slide,label,split")
    many = write_table(
        folder / "many.csv", rows + ["1-again.tif,tumor,train", "1-once-more.tif,tumor,train"], "slide,label,split"
    )
    losses = [
        run("train", "--cohort", few, "-o", tmp_path / "b", *words, "--images-per-step", 4, "--balance", "--json").json["loss"],
        run("train", "--cohort", many, "-o", tmp_path / "m", *words, "--images-per-step", 6, "--json").json["loss"],
        run("train", "--cohort", few, "-o", tmp_path / "u", *words, "--images-per-step", 4, "--json").json["loss"],
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-6) and losses[0] != pytest.approx(losses[2], rel=1e-3)
    before = arrays(start / "best.safetensors")
    balanced, repeated, plain = (arrays(tmp_path / name / "last.safetensors") - before for name in "bmu")
    assert np.linalg.norm(balanced - repeated) < 1e-4 * np.linalg.norm(repeated), "floats near 1 keep 1e-7"
    assert np.linalg.norm(plain - repeated) > 1e-2 * np.linalg.norm(repeated)


def test_validation_is_balanced_as_well_and_has_an_area(unequal, tmp_path):
    """Against the probabilities that classify writes, of the weights after the epoch."""
    folder, start, rows = unequal
    table = write_table(folder / "few.csv", rows, "slide,label,split")
    words = [*WORDS, "--weights", start, "--learning-rate", 0.001, "--epochs", 1]
    told = {
        name: run("train", "--cohort", table, "-o", tmp_path / name, *words, *more)
        for name, more in (("plain", []), ("balanced", ["--balance"]))
    }
    for name in told:
        validation = [folder / row.split(",")[0] for row in rows if row.endswith("validation")]
        run("classify", *validation, "--model", tmp_path / name / "last.safetensors", "-o", tmp_path / f"{name}.csv")
        labels = np.array([row.split(",")[1] for row in rows if row.endswith("validation")])
        p = np.array([[float(row["p_normal"]), float(row["p_tumor"])] for row in read(tmp_path / f"{name}.csv")])
        losses = -np.log(np.where(labels == "tumor", p[:, 1], p[:, 0]))
        by_class = [losses[labels == label].mean() for label in ("normal", "tumor")]
        history = read(tmp_path / name / "history.csv")
        assert list(history[0]) == ["epoch", "training_loss", "validation_loss", "validation_auc", "learning_rate"]
        expected = np.mean(by_class) if name == "balanced" else losses.mean()
        assert float(history[0]["validation_loss"]) == pytest.approx(expected, rel=1e-5)
        a, b = p[labels == "tumor", 1], p[labels == "normal", 1]
        area = np.mean((a[:, None] > b) + 0.5 * (a[:, None] == b))
        assert float(history[0]["validation_auc"]) == pytest.approx(area, abs=1e-9)
        assert f"(AUC {area:.4f}) in epoch 1" in told[name].out


def test_area_of_one_class_is_left_out(unequal, tmp_path):
    folder, _, rows = unequal
    table = write_table(folder / "onesided.csv", [row for row in rows if row != "3.tif,tumor,validation"], "slide,label,split")
    told = run("train", "--cohort", table, "-o", tmp_path / "run", *WORDS, "--epochs", 1, "--json")
    assert ("W-COHORT", "tumor") in [(warning["code"], warning["value"]) for warning in told.json["warnings"]]
    assert read(tmp_path / "run/history.csv")[0]["validation_auc"] == "" and told.json["bestValidationAUC"] is None
    again = run("train", "--cohort", table, "-o", tmp_path / "run", *WORDS, "--epochs", 2, "--resume", "--json").json
    assert again["epochs"] == 2 and again["validationAUC"] is None


def test_balance_is_of_labels_and_of_the_run(unequal, cohort, tmp_path):
    folder, _, rows = unequal
    table = write_table(folder / "few.csv", rows, "slide,label,split")
    assert fails(*TRAIN, "--cohort", cohort, "-o", tmp_path / "x", "--epochs", 1, "--balance").code == "E-OPTION-APPLIES"
    words = ["train", "--cohort", table, *WORDS, "-o"]
    run(*words, tmp_path / "resumed", "--epochs", 1, "--balance")
    run(*words, tmp_path / "resumed", "--epochs", 2, "--resume")
    run(*words, tmp_path / "whole", "--epochs", 2, "--balance")
    assert np.array_equal(arrays(tmp_path / "resumed/last.safetensors"), arrays(tmp_path / "whole/last.safetensors"))
    run(*words, tmp_path / "plain", "--epochs", 1)
    assert "balance" in fails(*words, tmp_path / "plain", "--epochs", 2, "--resume", "--balance")
