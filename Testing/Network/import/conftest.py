# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""The program that imports, and one that computes what was imported."""

import os
import pathlib
import subprocess

import numpy

PROGRAM, APPLY = os.environ["GIGAPIXEL_PROGRAM"], os.environ["GIGAPIXEL_APPLY_NETWORK"]
HERE = pathlib.Path(__file__).parent
DATA = pathlib.Path(os.environ.get("GIGAPIXEL_TEST_DATA") or HERE.parents[3] / "shared" / "data")


def run(*words, code=0):
    result = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True)
    assert result.returncode == code, f"{words}\n{result.returncode}\n{result.stdout}\n{result.stderr}"
    return result


def refuse(*words):
    """The one sentence."""
    result = run(*words, "--quiet", code=1)
    assert result.stdout == "" and len(result.stderr.strip().splitlines()) == 1, result.stderr
    return result.stderr


def compute(model, pixels, *tiles):
    """Probabilities for each side of tiles: height, width, channels. A side of 0 is the whole image."""
    height, width, _ = pixels.shape
    folder = model.parent
    pixels.tofile(folder / "pixels")
    sides = ",".join(map(str, tiles))
    subprocess.run([APPLY, model, folder / "pixels", str(width), str(height), sides, folder / "probabilities"], check=True)
    return numpy.fromfile(folder / "probabilities", numpy.float32).reshape(len(tiles), height, width, -1)
