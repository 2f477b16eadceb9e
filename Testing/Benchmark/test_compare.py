# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""The statistics of `compare` against closed forms and tables, and runs of it: a program against itself, failures."""

import importlib.machinery
import importlib.util
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("compare")
loader = importlib.machinery.SourceFileLoader("compare", str(SCRIPT))
compare = importlib.util.module_from_spec(importlib.util.spec_from_loader("compare", loader))
loader.exec_module(compare)

PROGRAM = Path(os.environ.get("GIGAPIXEL_PROGRAM", "gigapixel"))


# 1 - 2 P(X < k), X binomial of n tosses: numerators of 2^n by hand, e.g. for 15: 1 + 15 + 105 + 455 = 576.
@pytest.mark.parametrize(
    "number, rank, coverage",
    [
        (6, 1, 1 - 2 * 1 / 64),
        (8, 1, 1 - 2 * 1 / 256),
        (9, 2, 1 - 2 * 10 / 512),
        (10, 2, 1 - 2 * 11 / 1024),
        (15, 4, 1 - 2 * 576 / 32768),
        (20, 6, 1 - 2 * 21700 / 1048576),
    ],
)
def test_ranks_of_the_interval(number, rank, coverage):
    assert compare.get_rank(number) == rank
    assert compare.get_coverage(number, rank) == pytest.approx(coverage, rel=1e-12)
    assert compare.get_coverage(number, rank) >= 0.95 > compare.get_coverage(number, rank + 1)


def test_fifteen_pairs_give_ranks_4_and_12_with_96_percent():
    assert compare.LEAST_PAIRS == 15  # fewer have an interval that one or two runs decide
    assert 15 + 1 - compare.get_rank(15) == 12
    assert round(100 * compare.get_coverage(15, 4), 1) == 96.5


def test_fewer_than_six_have_no_interval():
    assert [compare.get_rank(number) for number in range(1, 6)] == [0] * 5


def test_whole_range_of_many_covers_all():
    assert compare.get_coverage(60, 1) == pytest.approx(1, abs=1e-17)
    assert compare.get_coverage(4, 3) < 0  # beyond the middle: not an interval


@pytest.mark.parametrize("values, median", [([3], 3), ([1, 9, 2], 2), ([4, 1, 3, 2], 2.5)])
def test_median(values, median):
    assert compare.get_median(values) == median


def test_summary_is_of_paired_ratios():
    """Ratios 1.01 to 1.15 in any order, from pairs of which each has another size: medians of both sides would not tell."""
    order = [7, 1, 15, 3, 11, 5, 9, 13, 2, 14, 4, 12, 6, 10, 8]
    pairs = [(2.0**i, 2.0**i * (1 + i / 100)) for i in order]
    found = compare.summarize(pairs)
    assert found["ratio"] == pytest.approx(1.08, rel=1e-12)
    assert (found["low"], found["high"]) == pytest.approx((1.04, 1.12), rel=1e-12)
    assert found["a"] == 2.0**8 and found["b"] == pytest.approx(2.0**8 * 1.08)


def test_limit_is_about_the_upper_end():
    results = {"step": {"cpu": compare.summarize([(1.0, 1 + i / 100) for i in range(1, 16)])}}
    assert compare.find_excess(results, 1.13) == []
    (sentence,) = compare.find_excess(results, 1.11)
    assert "step" in sentence and "1.120" in sentence and "1.11" in sentence


def write_program(path, lines):
    path.write_text("#!/bin/sh\n" + lines)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_figures_of_a_process_and_its_children(tmp_path):
    """A child that holds 128 MiB, below a shell that does nothing. No figure is below the memory of who measures."""
    work = "data = bytearray(128 << 20)\nsum(range(3000000))"
    shell = write_program(tmp_path / "shell", f"{sys.executable} -c '{work}'\nexit 0\n")
    idle = compare.measure([write_program(tmp_path / "idle", "exit 0\n")])
    busy = compare.measure([shell])
    assert busy["memory"] > 128 > idle["memory"]
    assert busy["cpu"] > idle["cpu"]


def test_pairs_alternate_and_the_first_is_not_counted(monkeypatch):
    runs = []

    def note(command):
        runs.append(command[:2])
        return {"cpu": 1.0, "wall": 1.0, "memory": 1.0}

    monkeypatch.setattr(compare, "measure", note)
    pairs = compare.run_pairs(["A", "B"], {"x": ["x"], "y": ["y"]}, 2)
    assert [len(pairs["x"]), len(pairs["y"])] == [2, 2]
    words = ["".join(run) for run in runs]
    assert words == ["Ax", "Bx", "Ay", "By", "Bx", "Ax", "By", "Ay", "Ax", "Bx", "Ay", "By"]


@pytest.fixture
def commands():
    """Those that this program has."""
    report = json.loads(subprocess.run([PROGRAM, "doctor", "--json"], capture_output=True, check=True).stdout)
    return "info,convert,label" + (",segment,step" if report["network"]["installed"] else "")


def test_a_program_against_itself(commands, tmp_path, capsys):
    kept = tmp_path / "kept.json"
    words = ["--size", "300x200", "--pairs", "15", "--commands", commands, "--json", str(kept), "--limit", "1e9"]
    assert compare.main([str(PROGRAM), str(PROGRAM.parent.parent), *words]) == 0
    results = json.loads(kept.read_text())["results"]
    assert list(results) == commands.split(",")
    for figures in results.values():
        assert list(figures) == ["cpu", "wall", "memory"]
        for found in figures.values():
            assert 0 < found["low"] <= found["ratio"] <= found["high"]
            assert found["a"] > 0 and found["b"] > 0 and found["coverage"] == 1 - 2 * 576 / 32768
    assert len(capsys.readouterr().out.splitlines()) == 2 + 3 * len(results)


def test_an_upper_end_above_the_limit_gives_exit_code_1(capsys):
    words = ["--size", "300x200", "--pairs", "15", "--commands", "info", "--figures", "memory", "--limit", "0.01"]
    assert compare.main([str(PROGRAM), str(PROGRAM), *words]) == 1
    assert "info" in (said := capsys.readouterr().err) and "0.01" in said


def test_a_run_that_fails_is_named(tmp_path, capsys):
    failing = write_program(tmp_path / "failing", 'echo "first" >&2\necho "no slide today" >&2\nexit 3\n')
    kept = tmp_path / "kept.json"
    words = ["--size", "300x200", "--pairs", "15", "--commands", "info", "--json", str(kept)]
    assert compare.main([str(PROGRAM), str(failing), *words]) == 1
    said = capsys.readouterr()
    assert said.out == "" and not kept.exists()
    (sentence,) = said.err.strip().splitlines()
    assert sentence.startswith("compare: ") and f"{failing} info" in sentence
    assert "no slide today" in sentence, "what it said itself"


def test_what_is_no_program_is_refused(tmp_path, capsys):
    assert compare.main([str(tmp_path), str(PROGRAM)]) == 1
    assert f"{tmp_path}/bin/gigapixel" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words, sentence",
    [
        (["--pairs", "14"], "at least 15"),
        (["--commands", "info,fly"], "some of info,convert"),
        (["--figures", "speed"], "some of cpu,wall,memory"),
    ],
)
def test_usage_errors(words, sentence, capsys):
    with pytest.raises(SystemExit) as left:
        compare.main(["A", "B", *words])
    assert left.value.code == 2
    assert sentence in capsys.readouterr().err


def test_help_has_an_example(capsys):
    with pytest.raises(SystemExit) as left:
        compare.main(["--help"])
    assert left.value.code == 0
    assert "--limit 1.03" in capsys.readouterr().out
