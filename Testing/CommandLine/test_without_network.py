# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""A program whose network module is missing: everything else works, and what needs it says so in one sentence."""

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
    for arguments in (
        ["plan", "--size", "100x100"],
        ["networks"],
        ["import", tmp_path / "n.onnx", "-o", tmp_path / "n.safetensors"],
        ["segment", synthetic[0], "--model", "run", "-o", tmp_path / "m.tif"],
        ["train", "--cohort", "c.csv", "-o", tmp_path / "run"],
    ):
        finished = run_program(program, *arguments)
        assert finished.returncode == 1
        assert len(finished.stderr.strip().splitlines()) == 1
        assert find_codes(finished.stderr) == ["E-INSTALLATION"] and "libtorch" in finished.stderr
    label = ["label", synthetic[0], "-o", tmp_path / "m.tif", "--preset", "rules"]
    assert run_program(program, *label).returncode == 0
    # Help needs no LibTorch either, and a build without the network is a healthy one.
    assert run_program(program, "train", "--help").returncode == 0
    assert run_program(program, "doctor").returncode == 0


def test_missing_torch(synthetic, tmp_path, network):
    """What trains masks by default needs it, and another network, which is named, does not."""
    program = copy_program(tmp_path, "*-reader", "libGigapixelNetworkCommands.so", "libGigapixelFusedKernels.so")
    (tmp_path / "c.csv").write_text(f"slide,mask,split\n{synthetic[0]},{synthetic[1]},train\n")
    train = ["train", "--cohort", tmp_path / "c.csv", "-o", tmp_path / "run", "--epochs", 1]
    refused = run_program(program, *train)
    assert refused.returncode == 1 and find_codes(refused.stderr) == ["E-INSTALLATION"]
    assert "pip install" in refused.stderr and "--network remedios2023" in refused.stderr and not (tmp_path / "run").exists()
    assert run_program(program, *train, "--network", "remedios2023").returncode == 0
