# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""A program without the modules that it loads: everything else works, and what needs one says so in one sentence."""

import os
import pathlib
import shutil
import subprocess

import pytest

from conftest import PROGRAM, find_codes


@pytest.fixture
def program(tmp_path):
    return copy_program(tmp_path, "*-reader")


def copy_program(tmp_path, *modules):
    """The program and its libraries, of the folder of modules only these, in a place of their own."""
    build = pathlib.Path(PROGRAM).resolve().parents[1]
    (tmp_path / "bin").mkdir()
    (tmp_path / "lib").mkdir()
    shutil.copy(PROGRAM, tmp_path / "bin" / "gigapixel")
    for library in (build / "lib").glob("libGigapixel*.so*"):
        shutil.copy(library, tmp_path / "lib", follow_symlinks=False)
    (tmp_path / "lib/ITKGigapixel").mkdir()
    for pattern in modules:
        for module in (build / "lib/ITKGigapixel").glob(pattern):
            shutil.copy(module, tmp_path / "lib/ITKGigapixel")
    return tmp_path / "bin" / "gigapixel"


def run_program(program, *arguments):
    libraries = {**os.environ, "LD_LIBRARY_PATH": str(program.parents[1] / "lib")}
    return subprocess.run([str(program), *map(str, arguments)], capture_output=True, text=True, env=libraries)


def test_missing_module(program, synthetic, tmp_path):
    (tmp_path / "c.csv").write_text(f"slide,mask,split\n{synthetic[0]},{synthetic[1]},train\n")
    train = ["train", "--cohort", tmp_path / "c.csv", "-o", tmp_path / "run"]
    segment = ["segment", synthetic[0], "--model", "tissue", "-o", tmp_path / "m.tif"]
    for arguments in (segment, train, [*train, "--network", "remedios2023"]):
        finished = run_program(program, *arguments)
        assert finished.returncode == 1
        assert find_codes(finished.stderr) == ["E-INSTALLATION"] and not (tmp_path / "run").exists()
    label = ["label", synthetic[0], "-o", tmp_path / "m.tif", "--preset", "rules"]
    assert run_program(program, *label).returncode == 0
    # What computes nothing needs none of them, and a build without LibTorch is a healthy one.
    for arguments in (["train", "--help"], ["networks"], ["info", "tissue"], ["doctor"]):
        assert run_program(program, *arguments).returncode == 0


def test_missing_torch(synthetic, tmp_path, network):
    """What trains masks by default needs it, and another network, which is named, does not."""
    program = copy_program(tmp_path, "*-reader", "libGigapixelFusedKernels.so")
    (tmp_path / "c.csv").write_text(f"slide,mask,split\n{synthetic[0]},{synthetic[1]},train\n")
    train = ["train", "--cohort", tmp_path / "c.csv", "-o", tmp_path / "run", "--epochs", 1]
    refused = run_program(program, *train)
    assert refused.returncode == 1 and find_codes(refused.stderr) == ["E-INSTALLATION"]
    assert "pip install" in refused.stderr and "--network remedios2023" in refused.stderr and not (tmp_path / "run").exists()
    assert run_program(program, *train, "--network", "remedios2023").returncode == 0
