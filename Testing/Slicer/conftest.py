# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Where the modules and the program lie, and a slide with something on it."""

import os
import pathlib
import subprocess

import numpy
import openslide
import pytest

MODULES = pathlib.Path(os.environ.get("GIGAPIXEL_MODULES", "build/lib/ITKGigapixel/cli-modules"))
PROGRAM = os.environ.get("GIGAPIXEL_PROGRAM", "gigapixel")
NAMES = ["SlideInfo", "SlideRegion", "TissueLabel", "GigapixelUNetTrain", "GigapixelUNetSegment"]


def module(name):
    """The program of a module; skips where it was built without LibTorch."""
    program = MODULES / name
    if not program.exists():
        assert name.startswith("GigapixelUNet"), f"{program} is not there"
        pytest.skip(f"{name} was not built (no LibTorch)")
    return program


def run(name, code=0, **arguments):
    """Runs a module with --name value for each argument, checks its exit code."""
    words = [str(word) for key, value in arguments.items() for word in (f"--{key}", value)]
    result = subprocess.run([module(name), *words], capture_output=True, text=True, timeout=300)
    assert result.returncode == code, f"{name} {words}: {result.returncode}\n{result.stdout}\n{result.stderr}"
    return result


def synthesize(folder, size, seed=5):
    slide, truth = folder / "slide.tif", folder / "truth.tif"
    subprocess.run(
        [PROGRAM, "synthesize", slide, "--size", size, "--seed", str(seed), "--truth", truth, "--quiet"], check=True
    )
    return slide, truth


def read_level(slide, level=0):
    """A level's pixels as OpenSlide reads them: (y, x, 3)."""
    with openslide.OpenSlide(str(slide)) as opened:
        return numpy.array(opened.read_region((0, 0), level, opened.level_dimensions[level]))[..., :3]


@pytest.fixture(scope="session")
def slide(tmp_path_factory):
    """2600 x 2200 pixels at 0.5 um: (slide, mask of its tissue)."""
    return synthesize(tmp_path_factory.mktemp("slide"), "2600x2200")


@pytest.fixture(scope="session")
def cohort(slide, tmp_path_factory):
    """Rows of (slide, mask, split): one to train on, another to validate on."""
    other = synthesize(tmp_path_factory.mktemp("other"), "1300x1100", seed=6)
    return [(*slide, "train"), (*other, "validation")]


@pytest.fixture(scope="session")
def large(tmp_path_factory):
    """144 megapixels: long enough at work to be stopped."""
    return synthesize(tmp_path_factory.mktemp("large"), "12000x12000")
