# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Cross-validation of networks that label slides, and patients."""

import shutil

import numpy as np
import pytest

from conftest import fails, run
from labeled_slides import WORDS, arrays, read, write_slide, write_table

pytestmark = pytest.mark.usefixtures("network")


@pytest.fixture(scope="module")
def slides(tmp_path_factory):
    """Fourteen slides of nine patients, of which every second is positive, and the rows of their table."""
    folder = tmp_path_factory.mktemp("study")
    rows = []
    for i in range(14):
        positive = i % 9 % 2 == 1
        write_slide(folder / f"{i}.tif", i, positive)
        rows.append(f"{i}.tif,{'tumor' if positive else 'normal'},P{i % 9}")
    return folder, rows


@pytest.fixture(scope="module")
def study(slides, tmp_path_factory):
    """Three folds of two epochs: (folder, result, words)."""
    folder, rows = slides
    table = write_table(folder / "cohort.csv", rows)
    out = tmp_path_factory.mktemp("folds") / "study"
    words = ["train", "--cohort", table, "-o", out, *WORDS, "--epochs", 2, "--folds", 3]
    return out, run(*words, "--json"), words


def test_every_slide_is_held_back_once(slides, study):
    folder, rows = slides
    out, result, _ = study
    told = read(out / "predictions.csv")
    assert list(told[0]) == ["slide", "patient", "label", "fold", "predicted", "p_normal", "p_tumor"]
    assert sorted(f"{row['slide'].split('/')[-1]},{row['label']},{row['patient']}" for row in told) == sorted(rows)
    foldsOf = {}
    for row in told:
        foldsOf.setdefault(row["patient"], set()).add(row["fold"])
    assert all(len(folds) == 1 for folds in foldsOf.values()) and set.union(*foldsOf.values()) == {"1", "2", "3"}
    assert [fold["fold"] for fold in result.json["folds"]] == [1, 2, 3]
    for fold in result.json["folds"]:
        assert fold["heldBack"] == sum(row["fold"] == str(fold["fold"]) for row in told)
        assert fold["trainingSamples"] == 14 - fold["heldBack"] and fold["validationSamples"] == 0


def test_predictions_are_those_of_a_run_without_the_fold(slides, study, tmp_path):
    """A fold is an ordinary training on the other slides, in the order of the table."""
    folder, rows = slides
    out, _, _ = study
    held = {row["slide"].split("/")[-1]: row for row in read(out / "fold-2/predictions.csv")}
    others = [row.replace(",P", ",train,P") for row in rows if row.split(",")[0] not in held]
    table = write_table(folder / "others.csv", others, "slide,label,split,patient")
    run("train", "--cohort", table, "-o", tmp_path / "run", *WORDS, "--epochs", 2)
    assert np.array_equal(arrays(tmp_path / "run/best.safetensors"), arrays(out / "fold-2/best.safetensors"))
    run("classify", *[folder / name for name in held], "--model", tmp_path / "run", "-o", tmp_path / "p.csv")
    for row in read(tmp_path / "p.csv"):
        assert row["p_tumor"] == held[row["slide"].split("/")[-1]]["p_tumor"]


def test_evaluate_takes_the_table(study):
    out, _, _ = study
    told = run("evaluate", out / "predictions.csv", "--json").json
    assert told["cases"] == 14 and told["classes"] == ["normal", "tumor"]
    assert run("evaluate", out / "predictions.csv", "--case", "patient", "--json").json["cases"] == 9


def test_order_of_rows_does_not_count(slides, study, tmp_path):
    folder, rows = slides
    table = write_table(folder / "turned.csv", rows[::-1])
    run("train", "--cohort", table, "-o", tmp_path / "study", *WORDS, "--epochs", 1, "--folds", 3, "--fold", 1)
    assert {row["slide"] for row in read(tmp_path / "study/fold-1/predictions.csv")} == {
        row["slide"] for row in read(study[0] / "fold-1/predictions.csv")
    }


def test_folds_are_resumed(study, tmp_path):
    """What is finished stays; what is missing is made, with the same bits."""
    out, _, words = study
    copy = tmp_path / "copy"
    shutil.copytree(out, copy)
    shutil.rmtree(copy / "fold-3")
    (copy / "predictions.csv").unlink()
    (copy / "fold-2/predictions.csv").unlink()
    kept = (copy / "fold-1/predictions.csv").stat().st_mtime_ns
    words = [copy if word == out else word for word in words]
    refused = fails(*words)
    assert refused.code == "E-OUTPUT-EXISTS" and refused.file == str(copy / "fold-1")
    run(*words, "--resume")
    assert (copy / "fold-1/predictions.csv").stat().st_mtime_ns == kept
    assert (copy / "predictions.csv").read_text() == (out / "predictions.csv").read_text()
    assert np.array_equal(arrays(copy / "fold-3/last.safetensors"), arrays(out / "fold-3/last.safetensors"))


def test_what_learns_on_predicts_anew(study, tmp_path):
    out, _, words = study
    copy = tmp_path / "copy"
    shutil.copytree(out, copy)
    words = [copy if word == out else 3 if word == 2 and words[i - 1] == "--epochs" else word for i, word in enumerate(words)]
    run(*words, "--resume", "--fold", 1)
    assert (copy / "fold-1/predictions.csv").read_text() != (out / "fold-1/predictions.csv").read_text()
    assert (copy / "fold-2/predictions.csv").read_text() == (out / "fold-2/predictions.csv").read_text()


def test_one_fold_by_itself(slides, study, tmp_path):
    out, _, words = study
    words = [tmp_path / "alone" if word == out else word for word in words]
    for fold in (2, 1):
        told = run(*words, "--fold", fold)
        assert "the other folds are missing yet" in told.out and not (tmp_path / "alone/predictions.csv").exists()
    run(*words, "--fold", 3)
    assert (tmp_path / "alone/predictions.csv").read_text() == (out / "predictions.csv").read_text()


@pytest.mark.parametrize("isCohort", [True, False])
def test_a_table_of_somebody_else_stays(slides, isCohort, tmp_path):
    folder, rows = slides
    table = write_table(tmp_path / "predictions.csv", [f"{folder}/{row}" for row in rows])
    cohort = table if isCohort else write_table(tmp_path / "cohort.csv", [f"{folder}/{row}" for row in rows])
    before = table.read_bytes()
    refused = fails("train", "--cohort", cohort, "-o", tmp_path, *WORDS, "--epochs", 1, "--folds", 2)
    assert (refused.code, refused.file) == ("E-OUTPUT-INPUT" if isCohort else "E-RUN-CONFLICT", str(table))
    assert table.read_bytes() == before and not (tmp_path / "fold-1").exists()


def test_a_model_is_that_of_a_fold(slides, study, tmp_path):
    refused = fails("classify", slides[0] / "0.tif", "--model", study[0], "-o", tmp_path / "p.csv")
    assert refused.code == "E-RUN-FORMAT" and refused.file == str(study[0]) and "fold-1" in refused.do


def test_other_folds_are_refused(slides, study, tmp_path):
    out, _, words = study
    shutil.copytree(out, tmp_path / "copy")
    words = [tmp_path / "copy" if word == out else word for word in words]
    refused = fails(*[4 if word == 3 else word for word in words], "--resume")
    assert refused.code == "E-RUN-CONFLICT" and refused.file.startswith(str(tmp_path / "copy/fold-"))


def test_validation_and_test_slides_stay_out(slides, tmp_path):
    folder, rows = slides
    split = {"P7": "validation", "P0": "validation", "P8": "test"}
    table = write_table(
        folder / "split.csv", [f"{row},{split.get(row.split(',')[2], 'train')}" for row in rows], "slide,label,patient,split"
    )
    told = run("train", "--cohort", table, "-o", tmp_path / "s", *WORDS, "--epochs", 1, "--folds", 2, "--json").json
    names = {row["patient"] for row in read(tmp_path / "s/predictions.csv")}
    assert names == {f"P{i}" for i in range(1, 7)}
    validation = sum(row.split(",")[2] in ("P7", "P0") for row in rows)
    assert [fold["validationSamples"] for fold in told["folds"]] == [validation] * 2
    assert all(fold["bestValidationAUC"] is not None for fold in told["folds"])


def test_what_cannot_be_folded_is_refused(slides, tmp_path):
    folder, rows = slides
    table = folder / "cohort.csv"
    write_table(table, rows)
    words = ["train", "--cohort", table, "-o", tmp_path / "x", *WORDS, "--epochs", 1]
    refused = fails(*words, "--folds", 3, "--fold", 4, code=2)
    assert refused.code == "E-OPTION-VALUE" and (refused.option, refused.value) == ("--fold", "4")
    refused = fails(*words, "--fold", 1, code=2)
    assert refused.code == "E-OPTION-NEEDS" and refused.option == "--fold"
    refused = fails(*words, "--folds", 10)
    assert (refused.code, refused.value) == ("E-COHORT-LABELS", "10")
    one = write_table(folder / "one.csv", [row.replace("tumor", "normal") if not row.endswith("P1") else row for row in rows])
    refused = fails("train", "--cohort", one, "-o", tmp_path / "x", *WORDS, "--folds", 3)
    assert (refused.code, refused.value) == ("E-COHORT-LABELS", "tumor")
    region = write_table(folder / "region.csv", [f"{row},0 0 64 64" for row in rows], "slide,label,patient,region")
    refused = fails("train", "--cohort", region, "-o", tmp_path / "x", "--folds", 3)
    assert refused.code == "E-COHORT-FORMAT" and refused.file == str(region) and refused.why.startswith("line 2: ")
    refused = fails("train", "--cohort", table, "-o", tmp_path / "x", "--network", "unet", "--folds", 3)
    assert refused.code == "E-OPTION-APPLIES" and refused.option == "--folds"
    assert not (tmp_path / "x").exists()


def test_a_patient_in_two_splits_is_refused(slides, tmp_path):
    folder, rows = slides
    table = write_table(
        folder / "cut.csv", [f"{row},{'validation' if i > 8 else 'train'}" for i, row in enumerate(rows)], "slide,label,patient,split"
    )
    refused = fails("train", "--cohort", table, "-o", tmp_path / "x", "--epochs", 1)
    assert refused.code == "E-COHORT-CONFLICT" and refused.file == str(table)
    assert refused.why.startswith("line 11: ") and "P0" in refused.why and "line 2" in refused.why


def test_predictions_of_patients(slides, study, tmp_path):
    folder, rows = slides
    table = folder / "patients.csv"
    write_table(table, rows)
    named = [folder / f"{i}.tif" for i in range(14)]
    words = ["classify", *named, "--model", study[0] / "fold-1", "-o", tmp_path / "p.csv", "--cohort", table]
    run(*words, "--per-patient", tmp_path / "patients.csv")
    told = read(tmp_path / "p.csv")
    assert list(told[0]) == ["slide", "patient", "label", "predicted", "p_normal", "p_tumor"]
    assert [f"{row['slide'].split('/')[-1]},{row['label']},{row['patient']}" for row in told] == rows
    patients = read(tmp_path / "patients.csv")
    assert [row["patient"] for row in patients] == [f"P{i}" for i in range(9)]
    for row in patients:
        mean = np.mean([float(one["p_tumor"]) for one in told if one["patient"] == row["patient"]])
        assert float(row["p_tumor"]) == pytest.approx(mean, abs=1e-8)
        assert row["predicted"] == ("tumor" if mean > 0.5 else "normal")
    refused = fails(*words)
    assert refused.code == "E-OUTPUT-EXISTS" and refused.file == str(tmp_path / "p.csv")
    mixed = [row.replace("normal", "tumor") if row.startswith("9.") else row for row in rows]  # of P0, as is slide 0
    write_table(table, mixed)
    run(*words, "--overwrite", "--per-patient", tmp_path / "mixed.csv")
    assert read(tmp_path / "mixed.csv") == patients and list(patients[0]) == ["patient", "predicted", "p_normal", "p_tumor"]
    write_table(table, [row.replace("P3", "") for row in rows])
    refused = fails(*words, "--overwrite", "--per-patient", tmp_path / "none.csv")
    assert refused.code == "E-COHORT-FORMAT" and refused.file == str(table) and refused.option == "--per-patient"
    write_table(table, rows[1:])
    refused = fails(*words, "--overwrite")
    assert refused.code == "E-PREDICTIONS-MATCH" and refused.value == str(named[0])
    bare = ["classify", named[0], "--model", study[0] / "fold-1", "-o", tmp_path / "q.csv", "--per-patient", tmp_path / "r.csv"]
    refused = fails(*bare, code=2)
    assert refused.code == "E-OPTION-NEEDS" and refused.option == "--per-patient"
