# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Networks of ONNX files as modules of PyTorch, compared with what onnxruntime computes."""

import sys

import numpy as np
import pytest

import itkgigapixel as gp
from conftest import ROOT
from itkgigapixel import program

torch = pytest.importorskip("torch")

FOLDER = ROOT / "Testing" / "Network" / "import"
sys.path.append(str(FOLDER))
from images import make_image, make_volume  # noqa: E402

STORED = {file: np.load(FOLDER / f"{file}.npz") for file in ("networks", "volumes")}
NAMES = [(file, key.removesuffix("/probabilities")) for file, stored in STORED.items() for key in stored.files if key.endswith("/probabilities")]


@pytest.mark.parametrize("file, name", NAMES, ids=[f"{file}-{name}" for file, name in NAMES])
def test_an_onnx_file_becomes_a_module(file, name, tmp_path):
    """With arrays of the shapes that the file has, such as slopes of (channels, 1, 1)."""
    stored = STORED[file]
    network, model = tmp_path / "network.onnx", tmp_path / "model.safetensors"
    network.write_bytes(stored[f"{name}/onnx"].tobytes())
    channels = program.run("import", {"output": model}, [network])["channels"]
    expected = stored[f"{name}/probabilities"]
    if file == "volumes":
        pixels = make_volume(*expected.shape, channels)
    else:
        pixels = make_image(*stored[f"{name}/size"], channels) / np.float32(255)
    with torch.no_grad():
        logits = gp.to_torch(model)(torch.from_numpy(np.moveaxis(pixels, -1, 0).copy())[None])
    given = (torch.sigmoid(logits) if logits.shape[1] == 1 else torch.softmax(logits, 1))[0].double().numpy()
    np.testing.assert_allclose(given[-1] if file == "volumes" else given, expected, rtol=0, atol=5e-6)
