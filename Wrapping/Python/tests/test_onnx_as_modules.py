# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Networks of ONNX files as modules of PyTorch, compared with what onnxruntime computes."""

import sys

import numpy as np
import pytest

import itkgigapixel as gp
from conftest import refused, ROOT
from itkgigapixel.engine import bytes_of_model
from itkgigapixel.importing import _parse_model

torch = pytest.importorskip("torch")

FOLDER = ROOT / "Testing" / "Import"
sys.path.append(str(FOLDER))
from images import make_image, make_volume  # noqa: E402
from protobuf import network as write_network, node, tensor  # noqa: E402

STORED = {file: np.load(FOLDER / f"{file}.npz") for file in ("networks", "volumes")}
NAMES = [(file, key.removesuffix("/probabilities")) for file, stored in STORED.items() for key in stored.files if key.endswith("/probabilities")]


def _count_channels(model):
    return _parse_model(bytes_of_model(model))[0]["input"]["channels"]


@pytest.mark.parametrize("file, name", NAMES, ids=[f"{file}-{name}" for file, name in NAMES])
def test_an_onnx_file_becomes_a_module(file, name, tmp_path):
    """With arrays of the shapes that the file has, such as slopes of (channels, 1, 1)."""
    stored = STORED[file]
    network = tmp_path / "network.onnx"
    network.write_bytes(stored[f"{name}/onnx"].tobytes())
    model = gp.import_onnx(network)
    channels = _count_channels(model)
    expected = stored[f"{name}/probabilities"]
    if file == "volumes":
        pixels = make_volume(*expected.shape, channels)
    else:
        pixels = make_image(*stored[f"{name}/size"], channels) / np.float32(255)
    with torch.no_grad():
        logits = gp.to_torch(model)(torch.from_numpy(np.moveaxis(pixels, -1, 0).copy())[None])
    is_each = logits.shape[1] == 1 or _parse_model(bytes_of_model(model))[0].get("probabilities") == "sigmoid"
    given = (torch.sigmoid(logits) if is_each else torch.softmax(logits, 1))[0].double().numpy()
    np.testing.assert_allclose(given[-1] if file == "volumes" else given, expected, rtol=0, atol=5e-6)


def test_what_the_file_does_not_say_is_given(tmp_path):
    file, name = NAMES[0]
    network, path = tmp_path / "network.onnx", tmp_path / "model.safetensors"
    network.write_bytes(STORED[file][f"{name}/onnx"].tobytes())
    channels = _count_channels(gp.import_onnx(network))
    model = gp.import_onnx(network, path, name="mine", mean=[0.25] * channels, deviation=[0.5] * channels, mpp=0.5, tile_size=256)
    assert (model.GetNetworkName(), model.GetMicronsPerPixel(), model.GetTileSize()) == ("mine", 0.5, 256)
    described = _parse_model(path.read_bytes())[0]["input"]
    assert (described["mean"], described["deviation"]) == ([0.25] * channels, [0.5] * channels)
    with refused(RuntimeError, "E-FILE-MISSING", file=str(tmp_path / "other.onnx")):
        gp.import_onnx(tmp_path / "other.onnx")


@pytest.mark.parametrize("norms", ["frozen", "image"])
def test_batch_norms(norms, tmp_path):
    """As PyTorch's in evaluation, or as in training of a batch of one."""
    module = torch.nn.Sequential(torch.nn.Conv2d(3, 6, 1, bias=False), torch.nn.BatchNorm2d(6), torch.nn.ReLU(), torch.nn.Conv2d(6, 2, 1, bias=False))
    for array in (module[1].running_mean, module[1].running_var, module[1].weight.data, module[1].bias.data):
        torch.nn.init.uniform_(array, 0.5, 1.5)
    nodes = [node("Conv", ["image", "0.weight"], "map"), node("BatchNormalization", ["map", "1.weight", "1.bias", "1.running_mean", "1.running_var"], "normed"),
             node("Relu", ["normed"], "rectified"), node("Conv", ["rectified", "3.weight"], "logits")]
    arrays = {name: array.numpy() for name, array in module.state_dict().items() if array.ndim > 0}
    (tmp_path / "network.onnx").write_bytes(write_network(nodes, [tensor(name, list(array.shape), array.tobytes()) for name, array in arrays.items()]))
    model = gp.import_onnx(tmp_path / "network.onnx", norms=norms)
    image = torch.rand(1, 3, 71, 53)
    with torch.no_grad():
        torch.testing.assert_close(gp.to_torch(model)(image), module.train(norms == "image")(image))
    with refused(ValueError, "E-OPTION-VALUE", option="norms", value="batch"):
        gp.import_onnx(tmp_path / "network.onnx", norms="batch")
