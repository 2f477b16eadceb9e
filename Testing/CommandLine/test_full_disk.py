# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Every command that writes, on a disk where one call after the other fails: one sentence, nothing half written, and the
same command succeeds when there is room again."""

import itertools
import os
import subprocess

import numpy
import pytest

from conftest import PROGRAM, find_codes, run
from volumes import write_nifti, write_threshold_model
from writing_commands import COMMANDS, begin, get_outputs, get_unfinished, get_words_again

# Environment variable GIGAPIXEL_FAILING_DISK: The library that makes writing fail, for tests of full disks.
LIBRARY = os.environ.get("GIGAPIXEL_FAILING_DISK")
EVERY_CALL = os.environ.get("GIGAPIXEL_EVERY_CALL")  # else the first few, and ever fewer behind them

pytestmark = pytest.mark.skipif(not LIBRARY, reason="FailingDisk was not built")


def get_calls():
    return itertools.count(1) if EVERY_CALL else itertools.accumulate(itertools.repeat(0), lambda n, _: n + max(1, n // 3), initial=1)


def run_failing(words, which, cwd, marker):
    """\\return the result, and which calls failed"""
    marker.unlink(missing_ok=True)
    env = {**os.environ, "LD_PRELOAD": LIBRARY, "GIGAPIXEL_FAILING_CALL": which, "GIGAPIXEL_FAILED": str(marker)}
    result = subprocess.run([PROGRAM, *words], capture_output=True, text=True, cwd=cwd, env=env, timeout=300)
    return result, marker.read_text().split() if marker.exists() else []


@pytest.mark.parametrize("ending", ["", "-"], ids=["one-call", "all-further-calls"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_disk_that_fails(command, ending, inputs, tmp_path):
    words = begin(command, inputs, tmp_path / "whole")
    run(*words, cwd=inputs)
    whole = get_outputs(tmp_path / "whole")
    assert whole
    for call in get_calls():
        folder = tmp_path / str(call)
        words = begin(command, inputs, folder)
        result, failed = run_failing(words, f"{call}{ending}", inputs, tmp_path / "failed")
        case = f"call {call}{ending}: {failed}, exit code {result.returncode}\n{result.stderr}"
        if not failed:
            assert result.returncode == 0 and get_outputs(folder) == whole, case
            assert call > 3  # something was written
            return
        assert result.returncode == 1 and len(result.stderr.splitlines()) == 1, case
        assert find_codes(result.stderr) == ["E-DISK-FULL"], case
        assert str(folder) in result.stderr and get_unfinished(folder, failed=True) == [], case
        if command != "train":  # which keeps what is finished
            assert get_outputs(folder).items() <= whole.items(), case
        run(*get_words_again(command, words, folder), cwd=inputs)
        assert get_outputs(folder) == whole and get_unfinished(folder) == [], case


@pytest.mark.usefixtures("network")
def test_labels_of_a_volume_that_cannot_be_written(tmp_path):
    """The disk has room, so that what failed is told, not how many bytes are free."""
    volume = write_nifti(tmp_path / "v.nii", numpy.random.default_rng(1).integers(0, 100, (30, 40, 50)).astype("<i2"))
    model = write_threshold_model(tmp_path / "m.safetensors", threshold=50)
    folder = tmp_path / "out"
    folder.mkdir()
    words = ["segment", str(volume), "--model", str(model), "-o", str(folder / "l.nii"), "--quiet"]
    for call in itertools.count(1):
        result, failed = run_failing(words, f"{call}-", tmp_path, tmp_path / "failed")
        if not failed:
            assert result.returncode == 0 and call > 3
            return
        last = result.stderr.strip().splitlines()[-1]  # niftilib says something before
        assert result.returncode == 1 and str(folder) in last, result
        assert "bytes free" not in last and "get it again" not in last and list(folder.iterdir()) == [], result
