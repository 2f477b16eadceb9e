# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""The example runs, and what it says is good. The README's block of Python and the tutorial run."""

import os
import pathlib
import re
import subprocess
import sys

import itk
import itkgigapixel as gp
import numpy as np
import pytest
from conftest import ROOT


def test_slide_to_segmentation(tmp_path):
    script = ROOT / "Examples" / "Python" / "slide_to_segmentation.py"
    result = subprocess.run([sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    dice = float(re.search(r"Dice .*: ([0-9.]+)", result.stdout).group(1))
    assert dice > 0.9, result.stdout
    picture = itk.imread(str(tmp_path / "slide_to_segmentation" / "picture.png"))
    assert tuple(picture.GetLargestPossibleRegion().GetSize()) == (256, 192)


def test_readme(tmp_path):
    source = itk.SyntheticSlideImageSource.New(Seed=2)
    source.SetSize(2048, 2048)
    itk.imwrite(source.GetOutput(), str(tmp_path / "slide.pyramid.tif"))
    (tmp_path / "slide.pyramid.tif").rename(tmp_path / "slide.svs")
    block = re.search(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), re.M | re.S).group(1)
    script = block + "assert pixels.shape == (128, 128, 3), pixels.shape\n"  # 0.5 um become 8 um
    result = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    mask = gp.Slide(str(tmp_path / "mask.pyramid.tif")).read(gray=True)
    assert mask.shape[:2] == (2048, 2048) and set(np.unique(mask)) <= {0, 255}


def test_tutorial_pytorch_network(tmp_path, monkeypatch):
    """Its blocks run one after the other. The network sees of a slide what PyTorch sees of it, and learns whole slides."""
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(pathlib.Path(sys.executable).parent), prepend=os.pathsep)
    names = {}
    page = (ROOT / "Documentation/tutorials/pytorch-network.md").read_text()
    for kind, block in re.findall(r"^```(sh|python)\n(.*?)^```", page, re.M | re.S):
        if kind == "sh":
            subprocess.run(["bash", "-euo", "pipefail", "-c", block], check=True)
        else:
            exec(block, names)
    assert names["different"] <= 20 and 0.2 < names["result"].float().mean() < 0.8
    assert gp.evaluate("result.pyramid.tif", "mask-2.tif")["dice"] > 0.9
    before, learned, there = gp.to_torch("network.safetensors").state_dict(), gp.to_torch("run").state_dict(), names["module"].state_dict()
    assert all(bool((learned[name] == there[name]).all()) for name in there if "num_batches" not in name)
    assert any(bool((learned[name] != before[name]).any()) for name in before)
