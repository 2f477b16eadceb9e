# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Findings, grades, values and survival of whole slides: from the table to what evaluate tells of them."""

import re

import numpy as np
import pytest

from conftest import fails, run
from labeled_slides import WORDS, arrays, read, write_slide, write_table
from test_ranks import run_ranks

pytestmark = pytest.mark.usefixtures("network")

# Of each kind: the columns of its truth, a truth for each of eight slides, and the columns of its predictions.
KINDS = {
    "findings": (
        ["label:tumor", "label:ink"],
        ["1,0", "0,1", "1,", "0,0", "1,1", ",0", "0,1", "1,0"],
        ["p_label:tumor", "p_label:ink"],
    ),
    "grades": (["grade"], ["1", "2", "4", "1", "4", "2", "1", "4"], ["p_grade:1", "p_grade:2", "p_grade:4"]),
    "values": (
        ["value:TIL (%)", "value:age (a)"],
        ["12.5,60", "30,", "1,71", "8,44", "55,62.5", "0.1,58", "20,49", "33,"],
        ["predicted_value:TIL (%)", "predicted_value:age (a)"],
    ),
    # The ends are the quartiles of the events among the first four.
    "survival": (["time", "event"], ["5,1", "10,1", "20,1", "30,0", "7,1", "12,0", "25,1", "3,0"], ["p_survival:5", "p_survival:10", "p_survival:20"]),
}
SCORES = {"findings": ("AUC", "validation_auc"), "grades": ("kappa", "validation_kappa"), "values": ("R2", "validation_r2"), "survival": ("C-index", "validation_c_index")}


@pytest.fixture(scope="module")
def slides(tmp_path_factory):
    """Eight slides, and for each kind a table, the last four of whose slides validate."""
    folder = tmp_path_factory.mktemp("slides")
    for i in range(8):
        write_slide(folder / f"{i}.tif", i, i % 2 == 1)
    for kind, (columns, truths, _) in KINDS.items():
        rows = [f"{i}.tif,{'train' if i < 4 else 'validation'},{truth}" for i, truth in enumerate(truths)]
        write_table(folder / f"{kind}.csv", rows, ",".join(["slide", "split", *columns]))
    return folder


@pytest.fixture(scope="module", params=KINDS)
def trained(request, slides, tmp_path_factory):
    """A run of one epoch, and the predictions of its last weights: (kind, run, result, predictions)."""
    kind = request.param
    out = tmp_path_factory.mktemp(kind)
    words = ["train", "--cohort", slides / f"{kind}.csv", "-o", out / "run", *WORDS, "--epochs", 1]
    result = run(*words, "--json")
    files = [slides / f"{i}.tif" for i in range(8)]
    words = ["--model", out / "run/last.safetensors", "--cohort", slides / f"{kind}.csv"]
    run("classify", *files, "-o", out / "p.csv", *words)
    return kind, out / "run", result, out / "p.csv"


def truth_of(kind):
    """A row for each slide; NaN: not known."""
    return np.array([[float(field) if field else np.nan for field in truth.split(",")] for truth in KINDS[kind][1]])


def numbers_of(kind, table):
    return np.array([[float(row[column]) for column in KINDS[kind][2]] for row in read(table)])


def area(scores, positive):
    a, b = scores[positive], scores[~positive]
    return np.mean((a[:, None] > b) + 0.5 * (a[:, None] == b))


def kappa(truth, predicted, ranks):
    """1 - mean squared distance / that of all pairs of a truth and a prediction, in ranks."""
    t, p = np.searchsorted(ranks, truth), np.searchsorted(ranks, predicted)
    return 1 - np.mean((t - p) ** 2) / np.mean((t[:, None] - p[None, :]) ** 2)


def hazard_terms(truth, survival):
    """-log of the likelihood of each interval that a slide is known to have passed, or to have its event in."""
    terms, ends = [], [0, 5, 10, 20]
    for (time, event), said in zip(truth, survival):
        for begin, end, before, after in zip(ends, ends[1:], [1, *said], said):
            if event and begin < time <= end:
                terms.append(-np.log(1 - after / before))
            elif time > end or (not event and time >= (begin + end) / 2):
                terms.append(-np.log(after / before))
    return terms


def concordance(truth, risk):
    """Harrell's: of the pairs in which one is known to have its event first, those in which it has the greater risk."""
    pairs = [(i, j) for i, (a, event) in enumerate(truth) for j, (b, other) in enumerate(truth) if event and (a < b or (a == b and not other))]
    return np.mean([(risk[i] > risk[j]) + 0.5 * (risk[i] == risk[j]) for i, j in pairs])


def determination(truth, predicted):
    return 1 - np.sum((truth - predicted) ** 2) / np.sum((truth - truth.mean()) ** 2)


def predicted_grades(p):
    """The number of ranks with a probability above 1/2 of being exceeded."""
    return np.array([1, 2, 4])[(1 - np.cumsum(p[:, :-1], axis=1) > 0.5).sum(axis=1)]


def test_the_loss_of_validation_is_that_of_predictions(trained):
    """Over all truths that are known; of grades rank by rank, over the slides that reach it."""
    kind, folder, _, table = trained
    truth, said = truth_of(kind)[4:], numbers_of(kind, table)[4:]
    if kind == "findings":
        known = ~np.isnan(truth)
        expected = -np.log(np.where(truth == 1, said, 1 - said))[known].mean()
    elif kind == "grades":
        above = 1 - np.cumsum(said, axis=1)
        reached, terms = np.ones(4), []
        for k, grade in enumerate((1, 2)):
            conditional = above[:, k] / reached
            reach = truth[:, 0] >= grade
            terms += list(-np.log(np.where(truth[:, 0] > grade, conditional, 1 - conditional))[reach])
            reached = above[:, k]
        expected = np.mean(terms)
    elif kind == "survival":
        expected = np.mean(hazard_terms(truth, said))
    else:
        training = truth_of(kind)[:4]
        errors = (said - truth) / np.nanstd(training, axis=0)
        expected = np.nanmean(errors**2)
    assert float(read(folder / "history.csv")[0]["validation_loss"]) == pytest.approx(expected, rel=2e-5)


def test_the_score_of_validation_is_that_of_predictions(trained):
    kind, folder, result, table = trained
    truth, said = truth_of(kind)[4:], numbers_of(kind, table)[4:]
    if kind == "findings":
        known = ~np.isnan(truth)
        expected = np.mean([area(said[known[:, k], k], truth[known[:, k], k] == 1) for k in range(2)])
    elif kind == "grades":
        expected = kappa(truth[:, 0], predicted_grades(said), [1, 2, 4])
    elif kind == "survival":
        expected = concordance(truth, -said.sum(axis=1))
    else:
        known = ~np.isnan(truth)
        expected = np.mean([determination(truth[known[:, k], k], said[known[:, k], k]) for k in range(2)])
    name, column = SCORES[kind]
    history = read(folder / "history.csv")
    assert list(history[0]) == ["epoch", "training_loss", "validation_loss", column, "learning_rate"]
    if np.isnan(expected):
        assert history[0][column] == ""
    else:
        assert float(history[0][column]) == pytest.approx(expected, rel=1e-5, abs=1e-6)
        assert result.json["bestValidationScore"] == pytest.approx(expected, rel=1e-5, abs=1e-6)
    assert result.json["scoreName"] == name


def test_tables_have_truths_and_predictions(trained):
    kind, _, _, table = trained
    columns, truths, predictions = KINDS[kind]
    rows = read(table)
    found = ["predicted_grade"] if kind == "grades" else []
    assert list(rows[0]) == ["slide", *columns, *found, *predictions]
    assert [",".join(row[column] for column in columns) for row in rows] == truths
    if kind == "grades":
        said = numbers_of(kind, table)
        assert np.abs(said.sum(axis=1) - 1).max() < 1e-6
        assert [int(row["predicted_grade"]) for row in rows] == list(predicted_grades(said))


def test_info_names_what_is_said(trained):
    kind, folder, _, _ = trained
    told = run("info", folder, "--json").json
    names = {"findings": ["tumor", "ink"], "grades": ["1", "2", "4"], "values": ["TIL (%)", "age (a)"], "survival": ["5", "10", "20"]}[kind]
    assert told["labels"] == "images" and told["objective"]["type"] == kind and told["objective"]["names"] == names
    assert f"{len(names)}, of whole images: {', '.join(names)}" in run("info", folder).out
    if kind == "values":
        training = truth_of(kind)[:4]
        assert told["objective"]["means"] == pytest.approx(np.nanmean(training, axis=0), rel=1e-12)
        assert told["objective"]["deviations"] == pytest.approx(np.nanstd(training, axis=0), rel=1e-12)


def test_json_and_text_of_a_slide(trained, slides, tmp_path):
    kind, folder, _, table = trained
    words = ["classify", slides / "3.tif", "--model", folder / "last.safetensors", "-o", tmp_path / "p.csv"]
    told = run(*words, "--json").json
    said = told["values" if kind == "values" else "probabilities"]
    assert list(said.values()) == pytest.approx(numbers_of(kind, table)[3], rel=1e-6)
    out = run(*words, "--overwrite").out
    if kind == "findings":
        assert told["predicted"] == [name for name, p in said.items() if p >= 0.5]
        assert all((f"{name} ({p:.4f})" in out) == (p >= 0.5) for name, p in said.items())
    elif kind == "grades":
        assert told["predicted"] == read(table)[3]["predicted_grade"] and f": {told['predicted']} (" in out
    else:
        assert "predicted" not in told and all(f"{name} {value:.4f}" in out for name, value in said.items())


def test_maps_are_of_any_name(trained, slides, tmp_path):
    kind, folder, _, _ = trained
    words = ["classify", slides / "3.tif", "--model", folder, "-o", tmp_path / "p.csv", "--maps", tmp_path / "maps"]
    told = run(*words, "--json").json
    name = {"findings": "ink", "grades": "1", "values": "age (a)", "survival": "10"}[kind]
    other = run(*words, "--map-class", name, "--overwrite", "--json").json
    assert other["map"]["class"] == name and (tmp_path / "maps/3.png").exists()
    if kind == "findings":
        assert told["map"]["class"] == max(told["probabilities"], key=told["probabilities"].get)
    elif kind == "grades":
        assert told["map"]["class"] == told["predicted"]
    elif kind == "survival":
        assert told["map"]["class"] == "20"  # all hazards
    assert 'has no class "x"' in fails(*words, "--map-class", "x", "--overwrite")


def test_a_run_goes_on_bit_for_bit(trained, slides, tmp_path):
    kind, _, _, _ = trained
    words = ["train", "--cohort", slides / f"{kind}.csv", *WORDS, "-o"]
    more = [] if kind in ("values", "survival") else ["--balance"]
    run(*words, tmp_path / "resumed", "--epochs", 1, *more, "--threads", 1)
    run("train", "--cohort", slides / f"{kind}.csv", "-o", tmp_path / "resumed", "--epochs", 2, "--resume", "--threads", 2)
    run(*words, tmp_path / "whole", "--epochs", 2, *more, "--threads", 2)
    assert np.array_equal(arrays(tmp_path / "resumed/last.safetensors"), arrays(tmp_path / "whole/last.safetensors"))
    assert (tmp_path / "resumed/history.csv").read_text() == (tmp_path / "whole/history.csv").read_text()


def test_another_truth_is_another_sample(trained, slides, tmp_path):
    kind, _, _, _ = trained
    columns, truths, _ = KINDS[kind]
    other = [truths[3], *truths[1:3], truths[0], *truths[4:]] if kind != "grades" else ["2", "1", *truths[2:]]
    rows = [f"{i}.tif,{'train' if i < 4 else 'validation'},{truth}" for i, truth in enumerate(other)]
    run("train", "--cohort", slides / f"{kind}.csv", "-o", tmp_path / "r", *WORDS, "--epochs", 1)
    table = write_table(slides / f"other-{kind}.csv", rows, ",".join(["slide", "split", *columns]))
    refused = fails("train", "--cohort", table, "-o", tmp_path / "r", *WORDS, "--epochs", 2, "--resume")
    # The means and deviations of values are the network's, and may differ by the order of the slides.
    assert refused.code == "E-RUN-CONFLICT" and refused.value in ("training samples", *(["network"] if kind == "values" else []))


def test_folds(trained, slides, tmp_path):
    kind, _, _, _ = trained
    columns, truths, predictions = KINDS[kind]
    rows = [f"{i}.tif,P{i // 2 if kind == 'values' else i},{truth}" for i, truth in enumerate(truths)]
    table = write_table(slides / f"folds-{kind}.csv", rows, ",".join(["slide", "patient", *columns]))
    words = ["train", "--cohort", table, "-o", tmp_path / "s", *WORDS, "--epochs", 1, "--folds", 2]
    run(*words)
    told = read(tmp_path / "s/predictions.csv")
    found = ["predicted_grade"] if kind == "grades" else []
    if kind == "survival":  # at the quartiles of the events of all folds
        predictions = ["p_survival:7", "p_survival:10", "p_survival:20"]
    assert list(told[0]) == ["slide", "patient", *columns, "fold", *found, *predictions]
    assert sorted(row["slide"].split("/")[-1] for row in told) == [f"{i}.tif" for i in range(8)]
    assert len({(row["patient"], row["fold"]) for row in told}) == len({row["patient"] for row in told})
    assert run("evaluate", tmp_path / "s/predictions.csv", "--json").json["cases"] == 8
    before = (tmp_path / "s/predictions.csv").read_text()
    run(*words, "--resume")
    assert (tmp_path / "s/predictions.csv").read_text() == before


def test_balanced_findings_are_those_of_slides_shown_more_often(slides, tmp_path):
    """One step on three slides without it and one with it, balanced, is that on the latter three times."""
    start = tmp_path / "start"
    rows = ["0.tif,0,train", "1.tif,1,train"]
    table = write_table(slides / "start.csv", rows, "slide,label:tumor,split")
    run("train", "--cohort", table, "-o", start, *WORDS, "--epochs", 1)
    for name in ("1-again.tif", "1-more.tif"):
        (slides / name).write_bytes((slides / "1.tif").read_bytes())
    rows = ["0.tif,0,train", "2.tif,0,train", "4.tif,0,train", "1.tif,1,train"]
    few = write_table(slides / "few.csv", rows, "slide,label:tumor,split")
    many = write_table(slides / "many.csv", rows + ["1-again.tif,1,train", "1-more.tif,1,train"], "slide,label:tumor,split")
    words = [*WORDS, "--weights", start, "--optimizer", "sgd", "--momentum", 0, "--learning-rate", 0.01, "--no-augmentation"]
    words += ["--epochs", 1, "--json"]
    losses = [
        run("train", "--cohort", few, "-o", tmp_path / "b", *words, "--images-per-step", 4, "--balance").json["loss"],
        run("train", "--cohort", many, "-o", tmp_path / "m", *words, "--images-per-step", 6).json["loss"],
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)
    before = arrays(start / "best.safetensors")
    balanced, repeated = (arrays(tmp_path / name / "last.safetensors") - before for name in "bm")
    assert np.linalg.norm(balanced - repeated) < 1e-4 * np.linalg.norm(repeated)


def test_one_finding_is_learnt(tmp_path):
    """Of slides that the training has not seen."""
    rows = []
    for i in range(16):
        write_slide(tmp_path / f"{i}.tif", i, i % 2 == 1)
        rows.append(f"{i}.tif,{i % 2},{'train' if i < 12 else 'test'}")
    table = write_table(tmp_path / "spots.csv", rows, "slide,label:spots,split")
    words = ["--network", "resnet18:width=4", "--tile-size", 96, "--epochs", 12, "--learning-rate", 0.003]
    run("train", "--cohort", table, "-o", tmp_path / "run", *words)
    run("classify", *[tmp_path / f"{i}.tif" for i in range(12, 16)], "--model", tmp_path / "run", "-o", tmp_path / "p.csv")
    assert [float(row["p_label:spots"]) >= 0.5 for row in read(tmp_path / "p.csv")] == [False, True] * 2


def test_survival_is_learnt(tmp_path):
    """Slides with spots have their event early: those that the training has not seen get the greater risk."""
    rows, random = [], np.random.default_rng(3)
    for i in range(20):
        write_slide(tmp_path / f"{i}.tif", i, i % 2 == 1)
        time = random.uniform(1, 4) if i % 2 else random.uniform(6, 12)
        rows.append(f"{i}.tif,{time:.3f},{int(i % 5 != 0)},{'train' if i < 14 else 'test'}")
    table = write_table(tmp_path / "survival.csv", rows, "slide,time,event,split")
    words = ["--network", "resnet18:width=4", "--tile-size", 96, "--epochs", 15, "--learning-rate", 0.003]
    run("train", "--cohort", table, "-o", tmp_path / "run", *words)
    run("classify", *[tmp_path / f"{i}.tif" for i in range(14, 20)], "--model", tmp_path / "run", "-o", tmp_path / "p.csv")
    survival = [[float(value) for name, value in row.items() if name.startswith("p_survival:")] for row in read(tmp_path / "p.csv")]
    assert all(np.diff(one).max() <= 0 for one in survival)
    risks = -np.sum(survival, axis=1)
    assert risks[1::2].min() > risks[::2].max()
    judged = run("evaluate", tmp_path / "p.csv", "--cohort", table, "--split", "test", "--json").json
    truth = [[float(number) for number in row.split(",")[1:3]] for row in rows[14:]]
    assert judged["objective"] == "survival" and judged["cIndex"] == pytest.approx(concordance(truth, risks))


def test_there_is_an_event_to_learn_from(slides, tmp_path):
    table = write_table(slides / "censored.csv", [f"{i}.tif,{i + 1},0,train" for i in range(4)], "slide,time,event,split")
    assert fails("train", "--cohort", table, "-o", tmp_path / "x", *WORDS).code == "E-COHORT-LABELS"
    refused = fails("train", "--cohort", slides / "survival.csv", "-o", tmp_path / "x", *WORDS, "--balance")
    assert refused.code == "E-OPTION-APPLIES"


def test_which_kind_is_learnt(slides, tmp_path):
    """Labels go before what else a table has; of several other kinds one is to be named."""
    words = ["train", *WORDS, "--epochs", 1, "-o", tmp_path / "x", "--cohort"]
    rows = [f"{i}.tif,train,{i % 2},{i % 3},{i}" for i in range(4)]
    several = write_table(slides / "several.csv", rows, "slide,split,label:a,grade,value:b")
    refused = fails(*words, several)
    assert (refused.code, refused.file, refused.value) == ("E-COHORT-FORMAT", str(several), "1")
    assert "label:NAME" in refused.why and "(grade)" in refused.why and "--objective" in refused.do
    run(*words, several, "--objective", "grades")
    assert run("info", tmp_path / "x", "--json").json["objective"] == {"type": "grades", "names": ["0", "1", "2"]}
    labels = write_table(slides / "labels.csv", [f"{row},{'ab'[i % 2]}" for i, row in enumerate(rows)], "slide,split,label:a,grade,value:b,label")
    words[words.index(tmp_path / "x")] = tmp_path / "y"
    told = run(*words, labels, "--json").json
    unread = [warning for warning in told["warnings"] if (warning["code"], warning["file"]) == ("W-COHORT", str(labels))]
    assert any('"label:a"' in warning["why"] for warning in unread)
    assert run("info", tmp_path / "y", "--json").json["objective"] == {"type": "classes", "names": ["a", "b"]}
    refused = fails(*words, slides / "grades.csv", "--objective", "findings")
    assert (refused.code, refused.file, refused.value) == ("E-COHORT-FORMAT", str(slides / "grades.csv"), "1")
    assert "label:NAME" in refused.why


@pytest.mark.parametrize(
    "header, row, line, what",
    [
        ("label:a", "2", 3, '"2" in the column label:a '),
        ("label:a", '""', 3, "findings"),
        ("grade", "G3", 3, '"G3" in the column grade '),
        ("grade", '""', 3, '"" in the column grade '),
        ("value:b (mm)", "12 mm", 3, '"12 mm" in the column value:b (mm) '),
        ("time,event", "-1,1", 3, '"-1" in the column time '),
        ("event,time", "2,1", 3, '"2" in the column event '),
        ("time,event", ",0", 3, '"" in the column time '),
        ("label:a,label:a", "1,0", 1, '"label:a"'),
    ],
)
def test_bad_tables_are_named(slides, tmp_path, header, row, line, what):
    good = ",".join(["1"] * len(header.split(",")))
    table = write_table(slides / "bad.csv", [f"0.tif,train,{good}", f"1.tif,train,{row}"], f"slide,split,{header}")
    refused = fails("train", "--cohort", table, "-o", tmp_path / "x", *WORDS)
    assert (refused.code, refused.file, refused.value) == ("E-COHORT-FORMAT", str(table), str(line))
    assert what in refused.why


def test_what_cannot_be_learnt_is_refused(slides, tmp_path):
    def refusal(header, truths, *words):
        rows = [f"{i}.tif,train,{truth}" for i, truth in enumerate(truths)]
        table = write_table(slides / "no.csv", rows, f"slide,split,{header}")
        return fails("train", "--cohort", table, "-o", tmp_path / "x", *words)

    refused = refusal("grade", "22", *WORDS)
    assert refused.code == "E-COHORT-LABELS" and "grade 2" in refused.why
    refused = refusal("value:b", "33", *WORDS)
    assert (refused.code, refused.value) == ("E-COHORT-LABELS", "b")
    assert refusal("value:b", "34", *WORDS, "--balance").code == "E-OPTION-APPLIES"
    refused = refusal("label:a", "01", "--network", "resnet18:width=2,outputs=3")
    assert refused.code == "E-MODEL-OUTPUT" and "resnet18:outputs=3,width=2" in refused.why


def test_findings_that_are_not_there_are_told(slides, tmp_path):
    table = write_table(slides / "few.csv", ["0.tif,train,1,0", "1.tif,train,1,1"], "slide,split,label:a,label:b")
    told = run("train", "--cohort", table, "-o", tmp_path / "x", *WORDS, "--epochs", 1, "--json").json
    (warning,) = [warning for warning in told["warnings"] if warning["code"] == "W-COHORT"]
    assert re.search(r"\b0\b.* a\b", warning["why"]), "the answer and the finding"


def test_ranks_make_the_same_bits(trained, slides, tmp_path):
    """What is known of a slide stays with it, whichever rank has it."""
    kind, _, _, _ = trained
    words = ["train", "--cohort", slides / f"{kind}.csv", *WORDS, "--epochs", 1, "--images-per-step", 3, "-o"]
    run(*words, tmp_path / "alone")
    run_ranks(2, *words, tmp_path / "ranks")
    assert np.array_equal(arrays(tmp_path / "ranks/last.safetensors"), arrays(tmp_path / "alone/last.safetensors"))
    assert (tmp_path / "ranks/history.csv").read_text() == (tmp_path / "alone/history.csv").read_text()
