# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""evaluate of predictions: against plain definitions, scikit-learn where it is installed, and figures that it gave."""

import json
import math
import re
import struct
import xml.etree.ElementTree
import zlib

import numpy as np
import pytest

from conftest import fails, run

try:
    import sklearn.calibration
    import sklearn.metrics
except ImportError:  # of Debian's packages the tests take only what they must
    sklearn = None


def draw(seed, number, classes):
    """Probabilities that say something of the truth, of two digits: many of them are equal."""
    random = np.random.default_rng(seed)
    truth = random.integers(0, classes, number)
    logits = random.normal(0, 1, (number, classes)) + 1.2 * np.eye(classes)[truth]
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    p = np.round(p, 2)
    p[:, -1] = np.round(1 - p[:, :-1].sum(axis=1), 2)
    return truth, np.clip(p, 0, 1)


def write(path, names, truth, p, more=()):
    """\\param more columns of their own: (name, values)"""
    rows = [",".join(["slide", "label", *(name for name, _ in more), *(f"p_{name}" for name in names)])]
    for i, row in enumerate(p):
        rows.append(",".join([f"{i}.svs", names[truth[i]], *(values[i] for _, values in more), *(f"{v:.17g}" for v in row)]))
    path.write_text("\n".join(rows) + "\n")
    return path


def delong(scores, positive):
    """Area and standard error by all pairs."""
    a, b = scores[positive], scores[~positive]
    kernel = (a[:, None] > b[None, :]) + 0.5 * (a[:, None] == b[None, :])
    components = kernel.mean(axis=1), kernel.mean(axis=0)
    return kernel.mean(), math.sqrt(sum(c.var(ddof=1) / len(c) for c in components))


def average_precision(scores, positive):
    """Threshold by threshold."""
    total, recall = 0.0, 0.0
    for threshold in sorted(set(scores), reverse=True):
        called = scores >= threshold
        now = (called & positive).sum() / positive.sum()
        total += (now - recall) * (called & positive).sum() / called.sum()
        recall = now
    return total


def calibration_error(p, came_true, bins=10):
    total = 0.0
    for i in range(bins):
        inside = (p > i / bins) & (p <= (i + 1) / bins) | ((p == 0) & (i == 0))
        if inside.any():
            total += inside.sum() * abs(p[inside].mean() - came_true[inside].mean())
    return total / len(p)


def check_class(told, scores, positive, predicted):
    area, error = delong(scores, positive)
    expected = {
        "cases": positive.sum(),
        "predicted": predicted.sum(),
        "sensitivity": (predicted & positive).sum() / positive.sum(),
        "specificity": (~predicted & ~positive).sum() / (~positive).sum(),
        "precision": (predicted & positive).sum() / predicted.sum(),
        "f1": 2 * (predicted & positive).sum() / (predicted.sum() + positive.sum()),
        "rocAUC": area,
        "rocAUCLower": max(0, area - 1.959963984540054 * error),
        "rocAUCUpper": min(1, area + 1.959963984540054 * error),
        "prAUC": average_precision(scores, positive),
    }
    for key, value in expected.items():
        assert told[key] == pytest.approx(value, rel=1e-12, abs=1e-12), key


@pytest.mark.parametrize("seed, number", [(1, 8), (2, 60), (3, 500)])
def test_two_classes(tmp_path, seed, number):
    truth, p = draw(seed, number, 2)
    told = run("evaluate", write(tmp_path / "p.csv", ["benign", "tumor"], truth, p), "--json").json
    assert told["cases"] == number and told["classes"] == ["benign", "tumor"] and told["positive"] == "tumor"
    predicted = p.argmax(axis=1)
    for c in range(2):
        check_class(told["perClass"][c], p[:, c], truth == c, predicted == c)
    for key in ("rocAUC", "rocAUCLower", "rocAUCUpper", "prAUC"):
        assert told[key] == told["perClass"][1][key]
    assert told["rocAUCStandardError"] == pytest.approx(delong(p[:, 1], truth == 1)[1], rel=1e-12)
    assert told["confusion"] == [[int(((truth == t) & (predicted == q)).sum()) for q in range(2)] for t in range(2)]
    assert told["accuracy"] == pytest.approx((predicted == truth).mean(), rel=1e-12)
    assert told["balancedAccuracy"] == pytest.approx(np.mean([(predicted[truth == c] == c).mean() for c in range(2)]), rel=1e-12)
    assert told["expectedCalibrationError"] == pytest.approx(calibration_error(p[:, 1], truth == 1), rel=1e-12)
    assert sum(bin["cases"] for bin in told["reliability"]) == number and len(told["reliability"]) == 10


def test_more_classes_are_set_against_the_rest(tmp_path):
    truth, p = draw(7, 240, 4)
    names = ["a", "b", "c", "d"]
    told = run("evaluate", write(tmp_path / "p.csv", names, truth, p), "--json", "--bins", 15).json
    predicted = p.argmax(axis=1)
    for c in range(4):
        check_class(told["perClass"][c], p[:, c], truth == c, predicted == c)
    assert told["positive"] is None and "rocAUCLower" not in told
    assert told["rocAUC"] == pytest.approx(np.mean([delong(p[:, c], truth == c)[0] for c in range(4)]), rel=1e-12)
    assert told["prAUC"] == pytest.approx(np.mean([average_precision(p[:, c], truth == c) for c in range(4)]), rel=1e-12)
    assert told["expectedCalibrationError"] == pytest.approx(calibration_error(p.max(axis=1), predicted == truth, 15), rel=1e-12)


# By scikit-learn 1.9.1, of draw(11, 300, 2) and draw(12, 300, 3).
SCIKIT = {
    2: {
        "balancedAccuracy": 0.8005869014272375,
        "accuracy": 0.8,
        "confusion": [[118, 35], [25, 122]],
        "rocAUC": 0.8774843270641589,
        "prAUC": 0.8757111397226044,
        "f1": [0.7972972972972973, 0.8026315789473685],
        "precision": [0.8251748251748252, 0.7770700636942676],
        "sensitivity": [0.7712418300653595, 0.8299319727891157],
        "share": [
            0.023809523809523808, 0.06896551724137931, 0.2222222222222222, 0.4166666666666667, 0.2857142857142857,
            0.6551724137931034, 0.6071428571428571, 0.7, 0.8484848484848485, 1.0,
        ],
        "meanProbability": [
            0.05714285714285715, 0.15241379310344827, 0.25259259259259254, 0.36125, 0.45142857142857146,
            0.5551724137931032, 0.6542857142857142, 0.7623333333333334, 0.8472727272727273, 0.9421621621621623,
        ],
    },
    3: {
        "balancedAccuracy": 0.6597413286302176,
        "accuracy": 0.6666666666666666,
        "confusion": [[66, 17, 17], [19, 49, 13], [16, 18, 85]],
        "rocAUC": 0.8458502179556114,
        "prAUC": 0.7466695276663566,
        "f1": [0.6567164179104478, 0.593939393939394, 0.7264957264957265],
        "precision": [0.6534653465346535, 0.5833333333333334, 0.7391304347826086],
        "sensitivity": [0.66, 0.6049382716049383, 0.7142857142857143],
    },
}


def scikit(truth, p):
    """The same figures by scikit-learn."""
    m, two = sklearn.metrics, p.shape[1] == 2
    figures = {
        "balancedAccuracy": m.balanced_accuracy_score(truth, p.argmax(axis=1)),
        "accuracy": m.accuracy_score(truth, p.argmax(axis=1)),
        "confusion": m.confusion_matrix(truth, p.argmax(axis=1)).tolist(),
        "rocAUC": np.mean([m.roc_auc_score(truth == c, p[:, c]) for c in range(p.shape[1])]),
        "prAUC": np.mean([m.average_precision_score(truth == c, p[:, c]) for c in range(p.shape[1])]),
        "f1": m.f1_score(truth, p.argmax(axis=1), average=None).tolist(),
        "precision": m.precision_score(truth, p.argmax(axis=1), average=None).tolist(),
        "sensitivity": m.recall_score(truth, p.argmax(axis=1), average=None).tolist(),
    }
    if two:
        figures["rocAUC"] = m.roc_auc_score(truth, p[:, 1])
        figures["prAUC"] = m.average_precision_score(truth, p[:, 1])
        share, mean = sklearn.calibration.calibration_curve(truth, p[:, 1], n_bins=10, strategy="uniform")
        figures["share"], figures["meanProbability"] = share.tolist(), mean.tolist()
    return figures


@pytest.mark.parametrize("seed, classes", [(11, 2), (12, 3)])
def test_scikit_learn_says_the_same(tmp_path, seed, classes):
    truth, p = draw(seed, 300, classes)
    told = run("evaluate", write(tmp_path / "p.csv", ["a", "b", "c"][:classes], truth, p), "--json").json
    references = [SCIKIT[classes]] + ([scikit(truth, p)] if sklearn else [])
    for reference in references:
        for key, value in reference.items():
            if key in ("f1", "precision", "sensitivity"):
                mine = [row[key] for row in told["perClass"]]
            elif key in ("share", "meanProbability"):
                mine = [bin[key] for bin in told["reliability"] if bin["cases"] > 0]
            else:
                mine = told[key]
            np.testing.assert_allclose(mine, value, rtol=1e-12, atol=0, err_msg=key)


@pytest.mark.skipif(sklearn is None, reason="scikit-learn is not installed")
def test_mean_of_classes_is_that_of_scikit_learn(tmp_path):
    truth, p = draw(13, 200, 4)
    p /= p.sum(axis=1, keepdims=True)  # scikit-learn wants sums of 1 but for rounding
    told = run("evaluate", write(tmp_path / "p.csv", list("abcd"), truth, p), "--json").json
    assert told["rocAUC"] == pytest.approx(sklearn.metrics.roc_auc_score(truth, p, multi_class="ovr", average="macro"), rel=1e-9)


def test_folds_are_judged_each_by_itself(tmp_path):
    """The last fold has one class alone, and no area."""
    truth, p = draw(5, 90, 2)
    fold = np.arange(90) % 3 + 1
    truth[fold == 3] = 1
    table = write(tmp_path / "p.csv", ["a", "b"], truth, p, [("fold", [str(number) for number in fold])])
    told = run("evaluate", table, "--json").json
    areas = [delong(p[fold == number, 1], truth[fold == number] == 1)[0] for number in (1, 2)]
    right = [(p[fold == number].argmax(axis=1) == truth[fold == number]).mean() for number in (1, 2)]
    assert [(row["fold"], row["cases"]) for row in told["perFold"]] == [(1, 30), (2, 30), (3, 30)]
    assert [row.get("rocAUC") for row in told["perFold"]] == [*map(pytest.approx, areas), None]
    right.append((p[fold == 3].argmax(axis=1) == 1).mean())
    for name, each in (("rocAUC", areas), ("accuracy", right)):
        over = told["overFolds"][name]
        assert over["mean"] == pytest.approx(np.mean(each)) and over["folds"] == len(each)
        assert over["standardDeviation"] == pytest.approx(np.std(each, ddof=1))
    result = run("evaluate", table)
    assert result.codes == ["W-COHORT"]
    text = result.out
    assert f"{np.mean(areas):.4f} \u00b1 {np.std(areas, ddof=1):.4f}" in text and f"{areas[0]:.4f}, {areas[1]:.4f}, -" in text
    assert "perFold" not in run("evaluate", write(tmp_path / "q.csv", ["a", "b"], truth, p), "--json").json


def test_the_positive_class_is_chosen(tmp_path):
    truth, p = draw(4, 80, 2)
    table = write(tmp_path / "p.csv", ["malignant", "normal"], truth, p)
    told = run("evaluate", table, "--positive-class", "malignant", "--json").json
    assert told["positive"] == "malignant" and told["prAUC"] == told["perClass"][0]["prAUC"] != told["perClass"][1]["prAUC"]
    assert told["expectedCalibrationError"] == pytest.approx(calibration_error(p[:, 0], truth == 0), rel=1e-12)
    refused = fails("evaluate", table, "--positive-class", "Malignant", code=2)
    assert refused.code == "E-OPTION-VALUE" and (refused.option, refused.value) == ("--positive-class", "Malignant")


def test_order_of_rows_does_not_count(tmp_path):
    truth, p = draw(5, 90, 3)
    forth = run("evaluate", write(tmp_path / "a.csv", list("abc"), truth, p), "--json").json
    back = run("evaluate", write(tmp_path / "b.csv", list("abc"), truth[::-1], p[::-1]), "--json").json
    for key in ("rocAUC", "prAUC", "expectedCalibrationError"):
        assert forth[key] == pytest.approx(back[key], rel=1e-13)
    assert forth["confusion"] == back["confusion"]


def test_text_tells_the_figures(tmp_path):
    truth, p = draw(6, 120, 2)
    table = write(tmp_path / "p.csv", ["benign", "tumor"], truth, p)
    told, text = run("evaluate", table, "--json").json, run("evaluate", table).out
    for key in ("rocAUC", "rocAUCLower", "rocAUCUpper", "prAUC", "balancedAccuracy", "accuracy", "expectedCalibrationError"):
        assert f"{told[key]:.4f}" in text, key
    assert re.search(r"positive +tumor\n", text) and f"{told['confusion'][1][0]} benign, {told['confusion'][1][1]} tumor" in text


def test_truth_comes_from_the_cohort(tmp_path):
    """Slides are known by the ends of their paths, wherever the program was called; those of the cohort are not there."""
    table = "slide,predicted,p_n,p_t\nslides/p1/HE.svs,n,0.8,0.2\n/data/slides/p2/HE.svs,t,0.1,0.9\n../x.svs,n,0.6,0.4\n./y.svs,t,0.3,0.7\n"
    cohort = "label,slide,split,stain\nn,p1/HE.svs,test,HE\nt,p2/HE.svs,test,HE\nn,../slides/x.svs,test,HE\nt,/d/y.svs,test,HE\nt,z.svs,train,HE\n"
    (tmp_path / "p.csv").write_text(table)
    (tmp_path / "c.csv").write_text(cohort)
    told = run("evaluate", tmp_path / "p.csv", "--cohort", tmp_path / "c.csv", "--json")
    assert told.json["confusion"] == [[2, 0], [0, 2]] and told.json["rocAUC"] == 1
    assert [warning["code"] for warning in told.json["warnings"]] == ["W-COHORT"]


def test_slides_that_were_trained_on_are_told_of(tmp_path):
    rows = [f"{i}.svs,{'nt'[i % 2]},{'train' if i < 4 else 'test'}" for i in range(10)]
    (tmp_path / "c.csv").write_text("\n".join(["slide,label,split", *rows]) + "\n")
    truth = np.arange(10) % 2
    p = np.where(truth[:, None] == np.arange(2), 0.7, 0.3)
    p[9] = p[9][::-1]
    write(tmp_path / "p.csv", ["n", "t"], truth, p)
    words = ["evaluate", tmp_path / "p.csv", "--cohort", tmp_path / "c.csv"]
    (warning,) = run(*words, "--json").json["warnings"]
    assert warning["code"] == "W-COHORT" and warning["file"] == str(tmp_path / "c.csv") and "4 of 10" in warning["why"]
    told = run(*words, "--split", "test", "--json")
    assert told.json["cases"] == 6 and told.err == "" and told.json["confusion"] == [[3, 0], [1, 2]]
    refused = fails(*words, "--split", "validation")
    assert refused.code == "E-PREDICTIONS-FORMAT" and refused.file == str(tmp_path / "p.csv")
    assert (refused.option, refused.value) == ("--split", "validation")


def test_patients_are_the_means_of_their_slides(tmp_path):
    truth, p = draw(8, 60, 3)
    patients = [f"P{t}{i % 7}" for i, t in enumerate(truth)]
    table = write(tmp_path / "p.csv", list("abc"), truth, p, [("patient", patients)])
    told = run("evaluate", table, "--case", "patient", "--json").json
    names = sorted(set(patients))
    means = np.array([p[[q == name for q in patients]].mean(axis=0) for name in names])
    of = np.array([int(name[1]) for name in names])
    assert told["by"] == "patient" and told["cases"] == len(names)
    for c in range(3):
        check_class(told["perClass"][c], means[:, c], of == c, means.argmax(axis=1) == c)
    assert run("evaluate", table, "--json").json["cases"] == 60
    cohort = "slide,label,patient\n" + "".join(f"{i}.svs,{'abc'[t]},{patients[i]}\n" for i, t in enumerate(truth))
    (tmp_path / "c.csv").write_text(cohort)
    bare = write(tmp_path / "bare.csv", list("abc"), truth, p)
    again = run("evaluate", bare, "--cohort", tmp_path / "c.csv", "--case", "patient", "--json").json
    assert again["perClass"] == told["perClass"]


def read_png(path):
    """Size of a PNG, whose chunks are sound."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, kinds = 8, []
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        body = data[at + 4 : at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length : at + 12 + length])[0] == zlib.crc32(body)
        kinds.append(body[:4])
        at += 12 + length
    assert kinds[0] == b"IHDR" and kinds[-1] == b"IEND"
    return struct.unpack(">II", data[16:24])


@pytest.mark.parametrize("names", [["benign", "a & b <tumor>"], ["one", "two", "Grad III – schlecht differenziert, sehr lang", "4"]])
def test_pictures(tmp_path, names):
    truth, p = draw(9, 60, len(names))
    quoted = [f'"{name}"' if "," in name else name for name in names]
    rows = [",".join(["slide", "label", *(f'"p_{name}"' for name in names)])]
    rows += [",".join([f"{i}", quoted[t], *map(str, row)]) for i, (t, row) in enumerate(zip(truth, p))]
    (tmp_path / "p.csv").write_text("\n".join(rows))
    words = ["evaluate", tmp_path / "p.csv", "--pictures", tmp_path / "new/figures"]
    run(*words)
    folder = tmp_path / "new/figures"
    stems = ["confusion", "reliability", "roc"]
    assert sorted(path.name for path in folder.iterdir()) == [f"{stem}.{end}" for stem in stems for end in ("png", "svg")]
    for stem in stems:
        root = xml.etree.ElementTree.parse(folder / f"{stem}.svg").getroot()
        width, height = float(root.get("width")), float(root.get("height"))
        assert read_png(folder / f"{stem}.png") == (round(2 * width), round(2 * height))
        texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
        assert len(texts) > 5
        if stem == "confusion":
            for name in names:
                assert sum(text == name or text.endswith("..") and name.startswith(text[:-2]) for text in texts) >= 2
    roc = xml.etree.ElementTree.parse(folder / "roc.svg").getroot()
    curves = [e for e in roc.iter("{http://www.w3.org/2000/svg}polyline") if e.get("stroke-width") == "2"]
    assert len(curves) == (1 if len(names) == 2 else len(names))
    assert curves[0].get("points").split()[0] == "55,420" and curves[0].get("points").split()[-1] == "415,60", "from corner to corner"
    refused = fails(*words)
    assert refused.code == "E-OUTPUT-EXISTS" and refused.file == str(folder / "roc.svg")
    run(*words, "--overwrite")


HEADER = "slide,label,p_a,p_b\n"


@pytest.mark.parametrize(
    "text, line, what",
    [
        ("", 1, "slide"),
        ("slide,label\n", 1, "p_"),
        ("label,p_a,p_b\n", 1, "slide"),
        (HEADER, 1, ""),
        (HEADER + "1,a,0.5,0.6\n", 2, "1.100"),
        (HEADER + "1,a,0.2,nan\n", 2, "nan"),
        (HEADER + "1,a,-0.5,1.5\n", 2, "-0.5"),
        (HEADER + "1,a,x,0.5\n", 2, "x"),
        (HEADER + "1,a,0.4,0.6\n2,b,0.4,0.6\n./1,a,0.4,0.6\n", 4, "./1"),
        (HEADER + "1,a,0.4,0.6\n2,c,0.4,0.6\n", 3, "c"),
        (HEADER + "1,,0.4,0.6\n", 2, "label"),
        ("slide,p_a,p_b,p_a\n", 1, "p_a"),
        (HEADER + '1,"a,0.4,0.6\n', 2, ""),
    ],
)
def test_bad_tables(tmp_path, text, line, what):
    """A refusal names the line, and what is wrong on it."""
    (tmp_path / "p.csv").write_text(text)
    refused = fails("evaluate", tmp_path / "p.csv")
    assert refused.code == "E-PREDICTIONS-FORMAT" and refused.file == str(tmp_path / "p.csv")
    assert refused.value == str(line) and refused.why.startswith(f"line {line}: ") and what in refused.why


@pytest.mark.parametrize("text, value", [(HEADER + "1,a,0.4,0.6\n2,a,0.4,0.6\n", "a"), ("slide,p_a,p_b\n1,0.4,0.6\n", None)], ids=["one class", "no labels"])
def test_tables_without_a_wrong_line(tmp_path, text, value):
    (tmp_path / "p.csv").write_text(text)
    refused = fails("evaluate", tmp_path / "p.csv")
    assert (refused.code, refused.file, refused.value) == ("E-PREDICTIONS-FORMAT", str(tmp_path / "p.csv"), value)


def test_rows_have_as_many_fields_as_the_header(tmp_path):
    (tmp_path / "p.csv").write_text(HEADER + "1,a,0.5\n")
    refused = fails("evaluate", tmp_path / "p.csv")
    assert (refused.code, refused.file, refused.value) == ("E-PREDICTIONS-FORMAT", str(tmp_path / "p.csv"), "2")


@pytest.mark.parametrize(
    "cohort, code, file, line, what",
    [
        ("slide,label\n1,a\n", "E-PREDICTIONS-MATCH", "p.csv", 3, "2"),
        ("slide,label\nx/1,a\ny/1,b\n2,b\n", "E-PREDICTIONS-MATCH", "p.csv", 2, "1"),
        ("slide,split\n1,test\n", "E-COHORT-FORMAT", "c.csv", 1, "label"),
        ("path,label\n1,a\n", "E-COHORT-FORMAT", "c.csv", 1, "slide"),
        ("slide,label\n1,a\n2,b\n1,b\n", "E-COHORT-CONFLICT", "c.csv", 4, "1"),
        ("slide,label\n1,a\n2,\n", "E-COHORT-FORMAT", "c.csv", 3, "label"),
    ],
)
def test_bad_cohorts(tmp_path, cohort, code, file, line, what):
    (tmp_path / "p.csv").write_text("slide,p_a,p_b\n1,0.7,0.3\n2,0.4,0.6\n")
    (tmp_path / "c.csv").write_text(cohort)
    refused = fails("evaluate", tmp_path / "p.csv", "--cohort", tmp_path / "c.csv")
    assert refused.code == code and refused.file == str(tmp_path / file)
    assert refused.value == str(line) and refused.why.startswith(f"line {line}: ") and what in refused.why


def test_another_split_is_told_of(tmp_path):
    table = tmp_path / "p.csv"
    table.write_text("slide,p_a,p_b\na.tif,0.9,0.1\nb.tif,0.2,0.8\nc.tif,0.4,0.6\n")
    cohort = tmp_path / "cohort.csv"
    cohort.write_text("slide,label,split\na.tif,a,test\nb.tif,b,test\nc.tif,a,Test\n")
    refused = fails("evaluate", table, "--cohort", cohort, "--split", "test")
    assert refused.code == "E-COHORT-FORMAT" and refused.file == str(cohort) and refused.value == "Test"


def test_two_tables_that_disagree(tmp_path):
    (tmp_path / "p.csv").write_text("slide,label,p_a,p_b\nx/1,a,0.7,0.3\n2,b,0.4,0.6\n")
    (tmp_path / "c.csv").write_text("slide,label\n1,b\n2,b\n")
    words = ["evaluate", tmp_path / "p.csv", "--cohort", tmp_path / "c.csv"]
    refused = fails(*words)
    assert refused.code == "E-PREDICTIONS-MATCH" and refused.file == str(tmp_path / "p.csv") and refused.value == "2" and "x/1" in refused.why
    (tmp_path / "p.csv").write_text("slide,p_a,p_b\nx/1,0.7,0.3\ny/1,0.4,0.6\n")
    refused = fails(*words)
    assert refused.code == "E-PREDICTIONS-MATCH" and refused.file == str(tmp_path / "p.csv") and refused.value == "3" and "y/1" in refused.why


def test_patients_that_cannot_be_judged(tmp_path):
    words = ["evaluate", tmp_path / "p.csv", "--case", "patient"]
    (tmp_path / "p.csv").write_text("slide,label,p_a,p_b\n1,a,0.7,0.3\n2,b,0.4,0.6\n")
    refused = fails(*words)
    assert refused.code == "E-PREDICTIONS-FORMAT" and refused.file == str(tmp_path / "p.csv")
    (tmp_path / "p.csv").write_text("slide,patient,label,p_a,p_b\n1,P,a,0.7,0.3\n2,P,b,0.4,0.6\n")
    refused = fails(*words)
    assert refused.code == "E-PREDICTIONS-MATCH" and refused.value == "3" and "patient P" in refused.why and "line 2" in refused.why
    (tmp_path / "p.csv").write_text("slide,patient,label,p_a,p_b\n1,P,a,0.7,0.3\n2,,b,0.4,0.6\n")
    refused = fails(*words)
    assert refused.code == "E-PREDICTIONS-FORMAT" and refused.value == "3" and refused.why.startswith("line 3: ")


def test_a_table_of_patients_is_not_that_of_slides(tmp_path):
    table = tmp_path / "patients.csv"
    table.write_text("patient,p_a,p_b\nx,0.2,0.8\n")
    refused = fails("evaluate", table)
    assert refused.code == "E-PREDICTIONS-FORMAT" and refused.file == str(table) and "--case patient" in refused.do


def test_options_belong_to_what_is_judged(tmp_path):
    (tmp_path / "p.csv").write_text(HEADER + "1,a,0.7,0.3\n2,b,0.4,0.6\n")
    for words, code, option in (
        (["m.tif", "t.tif", "--case", "patient"], "E-OPTION-APPLIES", "--case"),
        ([tmp_path / "p.csv", "--partial"], "E-OPTION-APPLIES", "--partial"),
        ([tmp_path / "p.csv", "c.csv"], "E-OPTION-APPLIES", "TRUTH"),
        (["m.tif"], "E-OPTION-MISSING", "TRUTH"),
        ([tmp_path / "p.csv", "--split", "test"], "E-OPTION-NEEDS", "--split"),
    ):
        refused = fails("evaluate", *words, code=2)
        assert refused.code == code and refused.option == option
    assert "--cohort c.csv" in fails("evaluate", tmp_path / "p.csv", "c.csv", code=2).do
    refused = fails("evaluate", tmp_path / "none.csv")
    assert refused.code == "E-FILE-MISSING" and refused.file == str(tmp_path / "none.csv")


def test_one_class_does_not_occur(tmp_path):
    truth, p = draw(10, 50, 3)
    truth[truth == 1] = 2
    result = run("evaluate", write(tmp_path / "p.csv", list("abc"), truth, p), "--json")
    told = result.json
    assert [(warning["code"], warning["value"]) for warning in told["warnings"]] == [("W-COHORT", "b")]
    assert told["perClass"][1]["rocAUC"] is None and told["perClass"][1]["sensitivity"] is None
    assert told["rocAUC"] == pytest.approx(np.mean([delong(p[:, c], truth == c)[0] for c in (0, 2)]), rel=1e-12)
    predicted = p.argmax(axis=1)
    assert told["balancedAccuracy"] == pytest.approx(np.mean([(predicted[truth == c] == c).mean() for c in (0, 2)]), rel=1e-12)
    assert json.dumps(told["confusion"][1]) == "[0, 0, 0]"
