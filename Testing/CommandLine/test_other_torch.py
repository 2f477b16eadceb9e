# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""A LibTorch of another minor version than the engine was built with: its functions have the same names and do something else."""

import os

import pytest

from conftest import fails, run

OTHER = os.environ.get("GIGAPIXEL_OTHER_TORCH")
pytestmark = [pytest.mark.usefixtures("network"), pytest.mark.skipif(not OTHER, reason="there is no library of another version")]


@pytest.fixture
def cohort(tmp_path):
    run("synthesize", tmp_path / "a.tif", "--size", "256x256", "--seed", 1, "--truth", tmp_path / "m.tif")
    (tmp_path / "c.csv").write_text("slide,mask,split\na.tif,m.tif,train\n")
    return tmp_path / "c.csv"


def test_it_is_refused_before_anything_is_computed(cohort, tmp_path):
    words = ["train", "--cohort", cohort, "--epochs", 1]
    environment = {**os.environ, "LD_PRELOAD": OTHER}
    refused = fails(*words, "-o", tmp_path / "run", "--network", "unet:base=1,depth=1", env=environment)
    assert (refused.code, refused.value) == ("E-INSTALLATION", "0.4.1")
    assert "remedios2023" not in refused.do
    # Nobody named the default: there is another way out than to install something.
    refused = fails(*words, "-o", tmp_path / "run", env=environment)
    assert (refused.code, refused.value) == ("E-INSTALLATION", "0.4.1") and not (tmp_path / "run").exists()
    assert "pip install" in refused.do and "--network remedios2023" in refused.do
    doctor = run("doctor", "--json", env=environment).json["network"]
    assert doctor["torch"] is None and "0.4.1" in doctor["problem"]
    # Chains of layers do without it, and without the other one the network trains.
    run(*words, "-o", tmp_path / "chain", "--network", "remedios2023", env=environment)
    run(*words, "-o", tmp_path / "graph", "--network", "unet:base=1,depth=1")


def test_doctor_names_the_one_that_is_loaded():
    assert run("doctor", "--json").json["network"]["torch"].count(".") == 2
