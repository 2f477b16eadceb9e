# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Networks whose norms see the whole slide: train, segment and plan; skipped where the engine was not built."""

import os

import numpy
import pytest
import tifffile

from conftest import fails, run

pytestmark = pytest.mark.usefixtures("network")


@pytest.mark.parametrize("norm", ["instance", "group"])
def test_training_and_segmentation_have_the_same_bits_in_memory_and_in_files(norm, cohort, tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    words = ["train", "--cohort", cohort, "--network", f"unet:base=4,depth=2,norm={norm}", "--epochs", 2, "--json", "-o"]
    one = run(*words, tmp_path / "one", "--threads", 1).json
    run(*words, tmp_path / "two", "--threads", 2, "--scratch", scratch)
    assert (tmp_path / "one" / "best.safetensors").read_bytes() == (tmp_path / "two" / "best.safetensors").read_bytes()
    assert (tmp_path / "one" / "history.csv").read_bytes() == (tmp_path / "two" / "history.csv").read_bytes()
    assert not os.listdir(scratch)
    assert one["plan"]["keptBytes"] > 0 and len(one["plan"]["segments"]) > 10

    slide = cohort.parent / "a.tif"
    words = ["segment", slide, "--model", tmp_path / "one", "--tile-size", 128, "-o"]
    run(*words, tmp_path / "one.tif", "--threads", 1)
    run(*words, tmp_path / "two.tif", "--threads", 2, "--scratch", scratch)
    assert (tmp_path / "one.tif").read_bytes() == (tmp_path / "two.tif").read_bytes()
    # The statistics are those of the slide, whatever is asked for.
    run(*words, tmp_path / "part.tif", "--region", "101,50,300,401")
    whole = tifffile.imread(tmp_path / "one.tif")
    assert numpy.array_equal(tifffile.imread(tmp_path / "part.tif"), whole[50:451, 101:401])
    refused = fails("segment", slide, "--model", tmp_path / "one", "-o", tmp_path / "x.tif", "--scratch", tmp_path / "none")
    assert (refused.code, refused.file) == ("E-FILE-MISSING", str(tmp_path / "none"))


def test_plan_tells_what_norms_keep(tmp_path):
    words = ["plan", "--size", "4096x4096", "--network", "unet:norm=instance", "--measure", "--memory"]
    rows = run(*words, "24G", "--json").json["plans"]
    training, inference = (next(row for row in rows if row["purpose"] == purpose) for purpose in ("training", "inference"))
    values = 16 * 4096 * 4096 * 4  # of the first map alone
    assert training["fits"] and training["keptBytes"] > 4 * values and len(training["segments"]) == 2 * 18 + 1
    assert inference["fits"] and 2 * values < inference["keptBytes"] < training["keptBytes"]
    text = run(*words, "24G").out
    assert "37 segments with" in text and "maps between segments" in text
    small = run(*words, "3G", "--scratch", tmp_path, "--json").json["plans"][0]
    assert small["fits"] and small["keptInFiles"] and small["keptBytes"] > training["keptBytes"] > small["peakBytes"]
    without = run(*words, "3G", "--json").json["plans"][0]
    assert "with a scratch folder that has" in without["remark"] and without["networkSeconds"] > 5 * training["networkSeconds"]
