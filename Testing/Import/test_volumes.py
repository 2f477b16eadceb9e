# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Networks for volumes of other programs, computed in tiles, against what onnxruntime computes."""

import json

import numpy
import pytest

from conftest import HERE, compute_volume, refuse, run
from images import make_volume

STORED = numpy.load(HERE / "volumes.npz")
NAMES = [key.removesuffix("/onnx") for key in STORED.files if key.endswith("/onnx") and not key.startswith("refused/")]
REFUSED = [key.split("/")[1] for key in STORED.files if key.startswith("refused/") and key.endswith("/words")]


def write_network(name, folder):
    file = folder / "network.onnx"
    file.write_bytes(STORED[f"{name}/onnx"].tobytes())
    return file


@pytest.mark.parametrize("name", NAMES)
def test_operators(name, tmp_path):
    """In one tile, and in boxes of 8 voxels a side: three along each axis of those that are networks."""
    model = tmp_path / "model.safetensors"
    said = json.loads(run("import", write_network(name, tmp_path), "-o", model, "--json").stdout)
    expected = STORED[f"{name}/probabilities"]
    for given in compute_volume(model, make_volume(*expected.shape, said["channels"]), 0, 8):
        assert abs(given[..., -1] - expected).max() < 2e-6
    assert expected.std() > 0.01


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_missing_is_said(name, tmp_path):
    message = refuse("import", write_network(f"refused/{name}", tmp_path), "-o", tmp_path / "model.safetensors")
    assert str(STORED[f"refused/{name}/words"]).strip() in message.why and message.file == str(tmp_path / "network.onnx")
    assert message.code == "E-NETWORK-OPERATION"
    assert not (tmp_path / "model.safetensors").exists()


def test_tiles_of_volumes(tmp_path):
    """Are small unless a side is asked for: a box of 1024 a side is more than most machines hold."""
    model, network = tmp_path / "model.safetensors", write_network("conv", tmp_path)
    run("import", network, "-o", model)
    assert b'"tile_size":"64"' in model.read_bytes()[:20000].replace(b" ", b"")
    run("import", network, "-o", model, "--overwrite", "--tile-size", 96)
    assert b'"tile_size":"96"' in model.read_bytes()[:20000].replace(b" ", b"")
