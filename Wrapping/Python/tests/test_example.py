# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""The example runs, and what it says is good."""

import re
import subprocess
import sys

import itk
from conftest import ROOT


def test_slide_to_segmentation(tmp_path):
    script = ROOT / "Examples" / "Python" / "slide_to_segmentation.py"
    result = subprocess.run([sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    dice = float(re.search(r"Dice .*: ([0-9.]+)", result.stdout).group(1))
    assert dice > 0.9, result.stdout
    picture = itk.imread(str(tmp_path / "slide_to_segmentation" / "picture.png"))
    assert tuple(picture.GetLargestPossibleRegion().GetSize()) == (256, 192)
