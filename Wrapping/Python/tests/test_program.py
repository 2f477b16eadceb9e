# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""The program gigapixel lies on PATH, with all its commands."""

import json
import pathlib
import subprocess
import sys
import time

import itkgigapixel as gp
import numpy as np

PROGRAM = pathlib.Path(sys.executable).parent / "gigapixel"


def gigapixel(*arguments: str) -> str:
    result = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_info_and_label(slide, tmp_path):
    """Of a pyramid, and of a JPEG slide without levels, which the codec reduces."""
    assert json.loads(gigapixel("info", slide, "--json"))
    mask = tmp_path / "mask.pyramid.tif"
    gigapixel("label", slide, "-o", mask, "--preset", "remedios2023", "--quiet")
    ours = gp.Slide(gp.label(slide, tmp_path / "python.pyramid.tif"))
    assert np.array_equal(gp.Slide(mask).read(gray=True), ours.read(gray=True))


def test_train_and_segment(drawn, tmp_path):
    cohort = tmp_path / "cohort.csv"
    cohort.write_text(f"slide,mask,split\n{drawn[0]},{drawn[1]},train\n")
    gigapixel("train", "--cohort", cohort, "-o", tmp_path / "run", "--epochs", 1, "--seed", 4, "--quiet")
    gigapixel("segment", drawn[0], "--model", tmp_path / "run", "-o", tmp_path / "program.pyramid.tif", "--quiet")
    # The same run from Python has the same bits.
    gp.train(cohort, tmp_path / "again", epochs=1, seed=4)
    segmented = gp.segment(drawn[0], tmp_path / "again", tmp_path / "python.pyramid.tif")
    assert np.array_equal(gp.Slide(segmented).read(gray=True), gp.Slide(tmp_path / "program.pyramid.tif").read(gray=True))


def test_a_wrong_file_is_a_sentence(tmp_path):
    result = subprocess.run([PROGRAM, "info", tmp_path / "nothing.svs"], capture_output=True, text=True)
    assert result.returncode == 1 and "nothing.svs" in result.stderr


def test_a_training_that_is_told_to_end_does(drawn, tmp_path):
    """By SIGTERM, as batch systems do: after the epochs so far, with what resumes them."""
    cohort, history = tmp_path / "cohort.csv", tmp_path / "run" / "history.csv"
    cohort.write_text(f"slide,mask,split\n{drawn[0]},{drawn[1]},train\n")
    words = [PROGRAM, "train", "--cohort", cohort, "-o", tmp_path / "run", "--epochs", "100000"]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and not history.exists():
            time.sleep(0.05)
        process.terminate()
        told = process.communicate()[1]
    assert process.returncode == 130 and "--resume" in told, told
