# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""evaluate of predicted findings, grades and values: against plain definitions, scikit-learn and SciPy where they are
installed."""

import pathlib

import numpy as np
import pytest

from conftest import fails, run
from test_evaluate_predictions import average_precision, calibration_error, delong

try:
    import sklearn.metrics
except ImportError:  # of Debian's packages the tests take only what they must
    sklearn = None
try:
    import scipy.stats
except ImportError:
    scipy = None


def write(path, columns):
    """\\param columns name and values of each"""
    rows = [",".join(["slide", *columns])]
    for i, values in enumerate(zip(*columns.values())):
        rows.append(",".join([f"{i}.svs", *(value if isinstance(value, str) else f"{value:.17g}" for value in values)]))
    path.write_text("\n".join(rows) + "\n")
    return path


def findings(seed, number, names=("tumor", "ink")):
    """Columns of truths, a tenth of which is not known, and of probabilities of two digits, many of which are equal."""
    random = np.random.default_rng(seed)
    truth = random.integers(0, 2, (number, len(names)))
    p = np.round(1 / (1 + np.exp(-random.normal(0, 1, truth.shape) - 1.2 * (2 * truth - 1))), 2)
    known = random.random(truth.shape) > 0.1
    columns = {f"label:{n}": [str(t) if k else "" for t, k in zip(truth[:, i], known[:, i])] for i, n in enumerate(names)}
    columns.update({f"p_label:{n}": p[:, i] for i, n in enumerate(names)})
    return truth, p, known, columns


@pytest.mark.parametrize("seed, number", [(1, 12), (2, 400)])
def test_findings(tmp_path, seed, number):
    truth, p, known, columns = findings(seed, number)
    told = run("evaluate", write(tmp_path / "p.csv", columns), "--json").json
    assert told["objective"] == "findings" and told["cases"] == number
    for k, of in enumerate(told["perFinding"]):
        positive, scores = truth[known[:, k], k] == 1, p[known[:, k], k]
        value, error = delong(scores, positive)
        called = scores >= 0.5
        expected = {
            "cases": len(scores),
            "positive": positive.sum(),
            "rocAUC": value,
            "rocAUCLower": max(0, value - 1.959963984540054 * error),
            "rocAUCUpper": min(1, value + 1.959963984540054 * error),
            "prAUC": average_precision(scores, positive),
            "sensitivity": called[positive].mean(),
            "specificity": (~called[~positive]).mean(),
            "expectedCalibrationError": calibration_error(scores, positive),
        }
        for key, figure in expected.items():
            assert of[key] == pytest.approx(figure, rel=1e-12, abs=1e-12), key
        if sklearn:
            assert of["rocAUC"] == pytest.approx(sklearn.metrics.roc_auc_score(positive, scores), rel=1e-12)
            assert of["prAUC"] == pytest.approx(sklearn.metrics.average_precision_score(positive, scores), rel=1e-12)
    for key in ("rocAUC", "prAUC"):
        assert told[key] == pytest.approx(np.mean([of[key] for of in told["perFinding"]]), rel=1e-12)
    text = run("evaluate", tmp_path / "p.csv").out
    assert f"{told['perFinding'][1]['rocAUCLower']:.4f} to " in text and "ink" in text


def grades(seed, number):
    random = np.random.default_rng(seed)
    names = np.array([1, 2, 3, 5])
    truth = random.integers(0, 4, number)
    p = random.dirichlet(np.ones(4), number) * 0.5 + 0.5 * np.eye(4)[np.clip(truth + random.integers(-1, 2, number), 0, 3)]
    columns = {"grade": [str(names[t]) for t in truth], **{f"p_grade:{name}": p[:, i] for i, name in enumerate(names)}}
    above = 1 - np.cumsum(p[:, :-1], axis=1)
    return names, truth, (above > 0.5).sum(axis=1), columns


@pytest.mark.parametrize("seed, number", [(1, 9), (2, 500)])
def test_grades(tmp_path, seed, number):
    names, truth, predicted, columns = grades(seed, number)
    told = run("evaluate", write(tmp_path / "p.csv", columns), "--json").json
    confusion = [[int(((truth == t) & (predicted == q)).sum()) for q in range(4)] for t in range(4)]
    chance = np.mean((truth[:, None] - predicted[None, :]) ** 2)
    assert told["grades"] == [str(name) for name in names] and told["confusion"] == confusion
    assert told["quadraticKappa"] == pytest.approx(1 - np.mean((truth - predicted) ** 2) / chance, rel=1e-12)
    assert told["meanAbsoluteError"] == pytest.approx(np.abs(names[truth] - names[predicted]).mean(), rel=1e-12)
    assert told["accuracy"] == pytest.approx((truth == predicted).mean(), rel=1e-12)
    if sklearn:
        expected = sklearn.metrics.cohen_kappa_score(truth, predicted, weights="quadratic")
        assert told["quadraticKappa"] == pytest.approx(expected, rel=1e-12)
    assert f"quadratic kappa     {told['quadraticKappa']:.4f}" in run("evaluate", tmp_path / "p.csv").out


def values(seed, number):
    random = np.random.default_rng(seed)
    truth = np.round(random.normal(30, 12, number), 1)
    said = np.round(0.8 * truth + random.normal(5, 4, number), 1)  # with ties
    return truth, said, {"value:TIL (%)": truth, "predicted_value:TIL (%)": said}


def ranks(numbers):
    """Equal ones share the mean of theirs."""
    return np.array([(numbers < x).sum() + ((numbers == x).sum() - 1) / 2 for x in numbers])


@pytest.mark.parametrize("seed, number", [(1, 5), (2, 300)])
def test_values(tmp_path, seed, number):
    truth, said, columns = values(seed, number)
    (told,) = run("evaluate", write(tmp_path / "p.csv", columns), "--json").json["perValue"]
    expected = {
        "cases": number,
        "rootMeanSquaredError": np.sqrt(np.mean((truth - said) ** 2)),
        "meanAbsoluteError": np.abs(truth - said).mean(),
        "determination": 1 - ((truth - said) ** 2).sum() / ((truth - truth.mean()) ** 2).sum(),
        "pearson": np.corrcoef(truth, said)[0, 1],
        "spearman": np.corrcoef(ranks(truth), ranks(said))[0, 1],
    }
    assert told["value"] == "TIL (%)"
    for key, figure in expected.items():
        assert told[key] == pytest.approx(figure, rel=1e-11), key
    if scipy:
        assert told["pearson"] == pytest.approx(scipy.stats.pearsonr(truth, said)[0], rel=1e-11)
        assert told["spearman"] == pytest.approx(scipy.stats.spearmanr(truth, said)[0], rel=1e-11)
    if sklearn:
        assert told["determination"] == pytest.approx(sklearn.metrics.r2_score(truth, said), rel=1e-11)
    assert "TIL (%)" in run("evaluate", tmp_path / "p.csv").out


# E. J. Freireich et al., Blood 21:699, 1963: weeks of remission with 6-mercaptopurine and with placebo; + is not seen to end.
REMISSION = [
    "6 6 6 6+ 7 9+ 10 10+ 11+ 13 16 17+ 19+ 20+ 22 23 25+ 32+ 32+ 34+ 35+".split(),
    "1 1 2 2 3 4 4 5 5 8 8 8 8 11 11 12 12 15 17 22 23".split(),
]


def test_survival(tmp_path):
    """Groups, their medians and the test of a data set of textbooks (chi squared 16.79); the index and its jackknife by their definitions."""
    rows = [(float(weeks.rstrip("+")), int(weeks[-1] != "+"), group) for group, times in enumerate(REMISSION) for weeks in times]
    random = np.random.default_rng(2)
    first = np.array([0.9 - 0.5 * group for _, _, group in rows]) + random.uniform(-0.05, 0.05, len(rows))
    table = write(
        tmp_path / "p.csv",
        {
            "event": [event for _, event, _ in rows],
            "time": [time for time, _, _ in rows],
            "p_survival:8": first,
            "p_survival:15": first / 2,
        },
    )
    told = run("evaluate", table, "--json", "--pictures", tmp_path / "pictures").json
    assert (told["objective"], told["cases"], told["events"]) == ("survival", 42, 30)
    assert [(each["cases"], each["events"], each["medianTime"]) for each in told["groups"]] == [(21, 9, 23), (21, 21, 8)]
    assert told["logRankChi2"] == pytest.approx(16.79, abs=0.005)

    def index(kept):
        pairs = [(i, j) for i in kept for j in kept if rows[i][1] and (rows[i][0] < rows[j][0] or (rows[i][0] == rows[j][0] and not rows[j][1]))]
        return np.mean([(first[i] < first[j]) + 0.5 * (first[i] == first[j]) for i, j in pairs])

    whole = list(range(len(rows)))
    without = np.array([index([i for i in whole if i != one]) for one in whole])
    error = np.sqrt(np.sum((without - index(whole)) ** 2) * (len(rows) - 1) / len(rows))
    assert told["cIndex"] == pytest.approx(index(whole), abs=1e-12)
    assert told["cIndexLower"] == pytest.approx(index(whole) - 1.96 * error, abs=1e-9)
    assert told["cIndexUpper"] == pytest.approx(min(1, index(whole) + 1.96 * error), abs=1e-9)
    assert (tmp_path / "pictures/survival.png").read_bytes()[:4] == b"\x89PNG"
    censored = write(tmp_path / "c.csv", {"time": [1, 2], "event": [0, 0], "p_survival:8": [0.1, 0.2]})
    assert fails("evaluate", censored).code == "E-PREDICTIONS-FORMAT"
    few = write(tmp_path / "few.csv", {"time": ["1", "2", "", "3"], "event": ["1", "0", "1", ""], "p_survival:8": [0.1, 0.2, 0.3, 0.4]})
    told = run("evaluate", few, "--json").json  # of one pair, without which nothing is known
    assert (told["cases"], told["events"], told["cIndex"], told["cIndexLower"]) == (2, 1, 1, None)
    columns = {"time": [1, 2, 3, 4], "event": [1, 1, 1, 1], "p_survival:8": [0.1, 0.2, 0.3, 0.4]}
    told = run("evaluate", write(tmp_path / "sure.csv", columns), "--json").json
    assert (told["cIndexLower"], told["cIndexUpper"]) == (1, 1) and [each["code"] for each in told["warnings"]] == ["W-COHORT"]
    assert fails("evaluate", table, "--bins", 5, code=2).code == "E-OPTION-APPLIES"


def test_truths_of_the_cohort(tmp_path):
    """As of the table, for the slides of a split."""
    truth, said, columns = values(3, 40)
    table = write(tmp_path / "p.csv", {"predicted_value:TIL (%)": columns["predicted_value:TIL (%)"]})
    refused = fails("evaluate", table)
    assert refused.code == "E-PREDICTIONS-FORMAT" and refused.file == str(table) and '"value:TIL (%)"' in refused.do
    split = ["test" if i % 3 == 0 else "train" for i in range(40)]
    cohort = write(tmp_path / "c.csv", {"value:TIL (%)": truth, "split": split})
    (told,) = run("evaluate", table, "--cohort", cohort, "--split", "test", "--json").json["perValue"]
    assert told["cases"] == 14
    assert told["meanAbsoluteError"] == pytest.approx(np.abs(truth - said)[::3].mean(), rel=1e-12)


def test_patients_have_the_means_of_their_slides(tmp_path):
    columns = {
        "patient": list("aabbcc"),
        "label:x": list("110011"),
        "p_label:x": [0.9, 0.1, 0.2, 0.6, 0.8, 0.8],
    }
    told = run("evaluate", write(tmp_path / "p.csv", columns), "--case", "patient", "--json").json
    assert told["cases"] == 3 and told["perFinding"][0]["positive"] == 2
    assert told["rocAUC"] == 1 and told["perFinding"][0]["sensitivity"] == 1, "means are 0.5, 0.4 and 0.8"
    columns["label:x"] = list("100011")
    refused = fails("evaluate", write(tmp_path / "q.csv", columns), "--case", "patient")
    assert refused.code == "E-PREDICTIONS-MATCH" and refused.value == "3" and "patient a" in refused.why and "x=1" in refused.why and "x=0" in refused.why


def test_what_is_unknown_contradicts_nothing(tmp_path):
    """Of a patient's slides one tells of one finding, and one of the other; so do a table and its cohort."""
    columns = {
        "patient": list("aabb"),
        "label:x": ["1", "", "", "0"],
        "label:y": ["", "0", "1", ""],
        "p_label:x": [0.9, 0.7, 0.2, 0.2],
        "p_label:y": [0.1, 0.3, 0.8, 0.8],
    }
    told = run("evaluate", write(tmp_path / "p.csv", columns), "--case", "patient", "--json").json
    assert [row["cases"] for row in told["perFinding"]] == [2, 2] and told["rocAUC"] == 1
    cohort = write(tmp_path / "c.csv", {"label:x": list("1100"), "label:y": ["", "0", "1", "1"]})
    told = run("evaluate", tmp_path / "p.csv", "--cohort", cohort, "--json").json
    assert [row["cases"] for row in told["perFinding"]] == [4, 3]
    write(tmp_path / "d.csv", {"label:x": list("0100"), "label:y": list("0011")})
    refused = fails("evaluate", tmp_path / "p.csv", "--cohort", tmp_path / "d.csv")
    assert refused.code == "E-PREDICTIONS-MATCH" and refused.value == "2" and "0.svs" in refused.why


def test_folds(tmp_path):
    """Of each value its error, and how much that differs from fold to fold."""
    columns = {"fold": list("112233"), "value:age": [1, 2, 3, 4, 5, 6], "predicted_value:age": [1.5, 2.5, 3.25, 4.25, 5, 6.5]}
    told = run("evaluate", write(tmp_path / "p.csv", columns), "--json").json
    over = told["overFolds"]["meanAbsoluteError of age"]
    assert over["mean"] == pytest.approx(1 / 3) and over["standardDeviation"] == pytest.approx(np.std([0.5, 0.25, 0.25], ddof=1))


def test_pictures(tmp_path):
    for name, columns, files in (
        ("findings", findings(1, 30)[3], {"roc.svg", "roc.png"}),
        ("grades", grades(1, 30)[3], {"confusion.svg", "confusion.png"}),
        ("values", values(1, 30)[2], {"scatter-1.svg", "scatter-1.png"}),
        ("survival", {"time": [1, 2, 3], "event": [1, 1, 0], "p_survival:2": [0.4, 0.2, 0.7]}, {"survival.svg", "survival.png"}),
    ):
        table = write(tmp_path / f"{name}.csv", columns)
        run("evaluate", table, "--pictures", tmp_path / name)
        assert {file.name for file in (tmp_path / name).iterdir()} == files
        refused = fails("evaluate", table, "--pictures", tmp_path / name)
        assert refused.code == "E-OUTPUT-EXISTS" and pathlib.Path(refused.file).parent == tmp_path / name
    svg = (tmp_path / "values/scatter-1.svg").read_text()
    assert "TIL (%)" in svg and svg.count("<rect") >= 30


def test_what_cannot_be_judged_is_said(tmp_path):
    p = [0.2, 0.8]
    both = write(tmp_path / "both.csv", {"label:x": ["0", "1"], "p_label:x": p, "predicted_value:y": p})
    refused = fails("evaluate", both)
    assert refused.code == "E-PREDICTIONS-FORMAT" and refused.file == str(both) and refused.why.startswith("line 1: ")
    one = write(tmp_path / "one.csv", {"label:x": ["1", "1"], "p_label:x": p})
    refused = fails("evaluate", one)
    assert refused.code == "E-PREDICTIONS-FORMAT" and refused.file == str(one)
    columns = {"label:x": ["0", "1"], "p_label:x": p, "label:y": ["1", ""], "p_label:y": p}
    told = run("evaluate", write(tmp_path / "y.csv", columns), "--json")
    (warning,) = told.json["warnings"]
    assert warning["code"] == "W-COHORT" and "finding y" in warning["why"] and told.json["perFinding"][1]["rocAUC"] is None
    other = {"grade": ["3", "1"], "p_grade:1": p, "p_grade:2": [0.8, 0.2]}
    refused = fails("evaluate", write(tmp_path / "g.csv", other))
    assert refused.code == "E-PREDICTIONS-FORMAT" and refused.value == "2" and "grade 3" in refused.why
    other = {"p_grade:2": p, "p_grade:1": [0.8, 0.2]}
    refused = fails("evaluate", write(tmp_path / "o.csv", other))
    assert refused.code == "E-PREDICTIONS-FORMAT" and refused.why.startswith("line 1: ")
    same = {"value:v": ["2", "2"], "predicted_value:v": p}
    (told,) = run("evaluate", write(tmp_path / "v.csv", same), "--json").json["perValue"]
    assert told["determination"] is None and told["pearson"] is None and told["rootMeanSquaredError"] > 0
    refused = fails("evaluate", tmp_path / "v.csv", "--positive-class", "v", code=2)
    assert refused.code == "E-OPTION-APPLIES" and refused.option == "--positive-class" and refused.file == str(tmp_path / "v.csv")
    refused = fails("evaluate", write(tmp_path / "n.csv", {"value:v": ["2"], "predicted_value:v": ["x"]}))
    assert refused.code == "E-PREDICTIONS-FORMAT" and refused.value == "2" and '"x"' in refused.why
