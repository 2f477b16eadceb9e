# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""What pyright, by which editors complete and check, knows of the package and of itk."""

import json
import os
import re
import subprocess
import sys

import itkgigapixel as gp

SCRIPT = """\
from pathlib import Path

import itk
import itkgigapixel as gp
import torch

slide = gp.Slide(Path("slide.svs"))
reveal_type(slide.levels[0].width)
reveal_type([tile.x for tile in slide.tiles(256, mpp=2.0)])
gp.label(slide, "mask.pyramid.tif", preset="auto")
model = gp.train([(slide, "mask.pyramid.tif")], "run", epochs=2, learning_rate=1e-3, memory="2G")
reveal_type(model.GetNetworkName())
reveal_type([epoch.loss for epoch in gp.history("run")])
gp.segment(slide, model, Path("new.pyramid.tif"), sliding_window=True, patch=256)
reveal_type(gp.evaluate("new.pyramid.tif", "mask.pyramid.tif"))
reveal_type(gp.classify(slide, "labels-run").probabilities)
loader = torch.utils.data.DataLoader(gp.torch.PatchDataset([slide], masks=["mask.pyramid.tif"]), batch_size=8)
images = [batch["image"] for batch in loader]

image = itk.imread("slide.svs")
itk.imwrite(itk.median_image_filter(image, radius=2), "median.tif")
itk.imwrite(itk.tissue_label_image_filter(image, preset="auto"), "mask.tif")
io = itk.WholeSlideImageIO.New(FileName="slide.svs")
reveal_type(io.GetNumberOfLevels())
reveal_type(itk.TissueLabelImageFilter[itk.Image[itk.UC, 2], itk.Image[itk.UC, 2]].New().GetPreset())
reveal_type(itk.SyntheticSlideImageSource.New().SetSeed)
try:
    gp.report(["masks"], "report.html")
except gp.GigapixelError as error:
    reveal_type(error.do)
"""

KNOWN = [
    "int",
    "list[int]",
    "str",
    "list[float | None]",
    "dict[str, Any]",
    "dict[str, float] | Any",
    "int",
    "str",
    "(_arg: int) -> None",
    "str | None",
]

#: each line is wrong
WRONG = """\
import itk; import itkgigapixel as gp
gp.Slide("slide.svs").size
gp.train([], "run", epochs="two")
gp.segment("slide.svs", "run", tile="image")
itk.WholeSlideImageIO.New().SetLevel("fine")
itk.TissueLabelImageFilter.New().SetPreset(1)
"""


def run_pyright(*arguments) -> dict:
    # It asks the first Python of PATH where packages are; --verifytypes heeds nothing else.
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    words = [sys.executable, "-m", "pyright", "--outputjson", *arguments]
    return json.loads(subprocess.run(words, capture_output=True, encoding="utf-8", env={**os.environ, "PATH": path}).stdout)


def check(path, text: str) -> list[dict]:
    path.write_text(text)
    return run_pyright(path)["generalDiagnostics"]


def test_a_script_is_clean_and_its_types_are_known(tmp_path):
    found = check(tmp_path / "script.py", SCRIPT)
    assert [each["message"] for each in found if each["severity"] != "information"] == []
    assert [re.search(r' is "(.*)"$', each["message"])[1] for each in found] == KNOWN


def test_mistakes_are_found(tmp_path):
    found = check(tmp_path / "script.py", WRONG)
    assert sorted({each["range"]["start"]["line"] for each in found if each["severity"] == "error"}) == list(range(1, WRONG.count("\n")))


def test_types_of_all_functions_are_complete():
    symbols = run_pyright("--verifytypes", "itkgigapixel", "--ignoreexternal")["typeCompleteness"]["symbols"]
    known = {each["name"]: each["isTypeKnown"] for each in symbols}
    assert [name for name in gp.__all__ if not known[f"itkgigapixel.{name}"]] == []
