# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""The engine beside each minor version of PyTorch that it was built for."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from itkgigapixel.built import TORCH
from remedios import load

#: has a folder torch-2.10, and so on, for each version that is not installed here, as Utilities/wheel makes them
FOLDERS = os.environ.get("GIGAPIXEL_TORCH_FOLDERS", "")

# Trains and segments here, and segments by the program.
CODE = """
import json, sys, itk, itkgigapixel as gp, numpy as np
from itkgigapixel.commands import run
slide, truth, folder = sys.argv[1:]
gp.train([(slide, truth)], folder, network="unet:base=4,depth=2", epochs=2, learning_rate=1e-3, tile_size=512)
np.save(folder + "/probabilities.npy", itk.array_from_image(gp.segment(slide, folder, probability=True)))
mask = itk.array_from_image(gp.segment(slide, folder))
run("segment", {"model": folder, "output": folder + "/program.tif"}, [slide])
print((mask == itk.array_from_image(itk.imread(folder + "/program.tif"))).all())
print(json.dumps(sorted({line.split()[-1] for line in open("/proc/self/maps") if "libtorch_cpu" in line or "TorchPasses" in line})))
"""


def results_of(folder, drawn, run):
    """(libraries, weights, probabilities) of PyTorch in a folder; "": of the one that is installed."""
    environment = {**os.environ, **({"PYTHONPATH": folder} if folder else {})}
    result = subprocess.run([sys.executable, "-c", CODE, *drawn, str(run)], capture_output=True, text=True, env=environment)
    assert result.returncode == 0, result.stderr
    same, libraries = result.stdout.splitlines()
    assert same == "True"
    return json.loads(libraries), load(run / "best.safetensors")[1], np.load(run / "probabilities.npy")


@pytest.fixture(scope="module")
def newest(drawn, tmp_path_factory):
    return results_of("", drawn, tmp_path_factory.mktemp("newest") / "run")


@pytest.mark.parametrize("version", TORCH[:-1])
def test_results_are_those_of_the_newest(version, newest, drawn, tmp_path):
    folder = f"{FOLDERS}/torch-{version}"
    if not os.path.isdir(folder):
        pytest.skip(f"PyTorch {version} is not at hand (GIGAPIXEL_TORCH_FOLDERS)")
    loads = "import ctypes, sys; [ctypes.CDLL(f'{sys.argv[1]}/torch/lib/lib{name}.so') for name in ('c10', 'torch_cpu')]"
    if subprocess.run([sys.executable, "-c", loads, folder], capture_output=True).returncode != 0:
        pytest.skip(f"libraries that PyTorch {version} needs are not beside it")
    libraries, weights, probabilities = results_of(folder, drawn, tmp_path / "run")
    assert len(libraries) == 2 and any(f"TorchPasses-{version}.so" in each for each in libraries)
    assert any(os.path.realpath(each).startswith(os.path.realpath(folder)) for each in libraries)
    assert any(f"TorchPasses-{TORCH[-1]}.so" in each for each in newest[0])
    assert np.ptp(probabilities) > 20 and np.array_equal(probabilities, newest[2])
    assert weights.keys() == newest[1].keys()
    for name, values in weights.items():  # a last bit of some differs between 2.10 and later ones
        np.testing.assert_allclose(values.numpy(), newest[1][name].numpy(), rtol=0, atol=1e-8)
