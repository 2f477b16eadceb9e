# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Weights of torch.save, against torch.load."""

import json
import os
import pickle
import struct

import numpy
import pytest

from conftest import DATA, HERE, compute, refuse, run

STORED = numpy.load(HERE / "weights.npz")
FILES = [key.removesuffix("/file") for key in STORED.files if key.endswith("/file") and not key.startswith("refused/")]
NETWORK = json.loads((HERE / "small.json").read_text())  # of the arrays of weights.npz


def read_arrays(model):
    content = model.read_bytes()
    (length,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8 : 8 + length])
    header.pop("__metadata__")
    cut = {key: content[8 + length :][slice(*entry["data_offsets"])] for key, entry in header.items()}
    return {key: numpy.frombuffer(cut[key], numpy.float32).reshape(entry["shape"]) for key, entry in header.items()}


def write_network(folder, network=NETWORK):
    file = folder / "network.json"
    file.write_text(json.dumps(network))
    return file


@pytest.mark.parametrize("name", FILES)
def test_arrays_are_those_of_torch(name, tmp_path):
    weights, model = tmp_path / "weights.pth", tmp_path / "model.safetensors"
    weights.write_bytes(STORED[f"{name}/file"].tobytes())
    said = json.loads(run("import", write_network(tmp_path), "--weights", weights, "-o", model, "--json").stdout)
    assert said["provenance"]["weights"] == "weights.pth" and said["parameters"] == 125
    expected = {key.split("/")[1]: STORED[key] for key in STORED.files if key.startswith(name + "/") and key != f"{name}/file"}
    given = read_arrays(model)
    assert given.keys() == expected.keys() and len(given) == 8
    for key, array in given.items():
        assert array.shape == expected[key].shape and array.tobytes() == numpy.ascontiguousarray(expected[key]).tobytes()


@pytest.mark.parametrize(
    "name, words", [("module", "save a module's state_dict()"), ("numbers", "no arrays by their names"), ("less", "lacks 7 arrays"), ("complex", "")]
)
def test_what_cannot_be_taken(name, words, tmp_path):
    weights = tmp_path / "weights.pth"
    weights.write_bytes(STORED[f"refused/{name}/file"].tobytes())
    message = refuse("import", write_network(tmp_path), "--weights", weights, "-o", tmp_path / "model.safetensors")
    assert str(weights) in message and words in message
    assert "gigapixel import NETWORK --weights FILE" in refuse("import", weights, "-o", tmp_path / "model.safetensors")
    assert not (tmp_path / "model.safetensors").exists()


class Attack:
    """What runs when Python unpickles it."""

    def __init__(self, file):
        self.file = file

    def __reduce__(self):
        return os.system, (f"touch {self.file}",)


def test_nothing_is_run(tmp_path):
    mark = tmp_path / "mark"
    content = STORED["checkpoint_legacy/file"].tobytes()
    attacked = pickle.dumps({"state_dict": Attack(mark), "x": [Attack(mark)]}, 2)
    # As the object of a legacy file, behind the three pickles that it begins with; its storages' keys follow.
    place = 0
    for _ in range(3):
        place = content.index(b".", place) + 1
    for name, damaged in (("object", content[:place] + attacked + pickle.dumps([], 2)), ("first", attacked)):
        weights = tmp_path / f"{name}.pth"
        weights.write_bytes(damaged)
        assert str(weights) in refuse("import", write_network(tmp_path), "--weights", weights, "-o", tmp_path / "model.safetensors")
        assert not mark.exists()
    pickle.loads(attacked)
    assert mark.exists()  # so it would have been run


def make_trunk():
    """ResNet-20 for CIFAR up to its last map of 64 channels, enlarged to the image's size."""
    operations = [{"name": "image", "type": "input", "channels": 3}]

    def add(name, kind, *inputs, **more):
        operations.append({"name": name, "type": kind, "inputs": list(inputs), **more})
        return name

    def convolve(name, norm, x, out, stride):
        return add(norm, "batch_norm", add(name, "conv2d", x, out_channels=out, kernel_size=3, stride=stride, padding=1, bias=False))

    x = add("relu", "relu", convolve("conv1", "bn1", "image", 16, 1))
    for stage, channels in ((1, 16), (2, 32), (3, 64)):
        for block in range(3):
            name = f"layer{stage}.{block}"
            stride = 2 if stage > 1 and block == 0 else 1
            y = add(name + ".relu", "relu", convolve(name + ".conv1", name + ".bn1", x, channels, stride))
            y = convolve(name + ".conv2", name + ".bn2", y, channels, 1)
            if stride == 2:
                x = add(name + ".slice", "slice", x, step=2)
                x = add(name + ".pad", "pad_channels", x, before=channels // 4, after=channels // 4)
            x = add(name + ".end", "relu", add(name + ".add", "add", y, x))
    # All numbers may be logits, which a rectifier's are not.
    output = add("large", "interpolate", x, "image")
    return {
        "name": "trunk", "input": {"channels": 3, "mean": [0.485, 0.456, 0.406], "deviation": [0.229, 0.224, 0.225]},
        "operations": operations, "output": output, "loss": {"type": "softmax cross-entropy"},
    }


def compute_trunk(torch, state, pixels):
    """The same in PyTorch: features of a quarter of the image's sides."""
    functional = torch.nn.functional

    def normalize(name, x):
        return functional.batch_norm(x, state[name + ".running_mean"], state[name + ".running_var"], state[name + ".weight"], state[name + ".bias"])

    x = normalize("bn1", functional.conv2d(pixels, state["conv1.weight"], padding=1)).relu()
    for stage, channels in ((1, 16), (2, 32), (3, 64)):
        for block in range(3):
            name, stride = f"layer{stage}.{block}", 2 if stage > 1 and block == 0 else 1
            y = normalize(name + ".bn1", functional.conv2d(x, state[name + ".conv1.weight"], stride=stride, padding=1)).relu()
            y = normalize(name + ".bn2", functional.conv2d(y, state[name + ".conv2.weight"], padding=1))
            if stride == 2:
                x = functional.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, channels // 4, channels // 4))
            x = (x + y).relu()
    return x


def test_published_weights(tmp_path):
    """akamaster's ResNet-20, a legacy file of a DataParallel module: its arrays, and the features that they give."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    weights, model = DATA / "networks/cifar-resnet/resnet20-12fca82f.th", tmp_path / "model.safetensors"
    if not weights.exists():
        pytest.skip("no ResNet-20 here (set GIGAPIXEL_TEST_DATA)")
    run("import", write_network(tmp_path, make_trunk()), "--weights", weights, "-o", model)
    state = torch.load(weights, map_location="cpu", weights_only=True)["state_dict"]
    state = {key.removeprefix("module."): value for key, value in state.items()}
    given = read_arrays(model)
    assert set(state) - set(given) == {"linear.weight", "linear.bias"}
    for key, array in given.items():
        assert array.tobytes() == state[key].numpy().tobytes()
    pixels = numpy.random.default_rng(1).integers(0, 256, (52, 76, 3), numpy.uint8)
    mean, deviation = (numpy.array(make_trunk()["input"][key]) for key in ("mean", "deviation"))
    maps = torch.from_numpy(((pixels / 255 - mean) / deviation).astype(numpy.float32).transpose(2, 0, 1)[None])
    with torch.no_grad():
        features = compute_trunk(torch, state, maps)[0].numpy()
    for probabilities in compute(model, pixels, 0, 16):
        # Of a softmax the features are known but for one number for each pixel: that of channel 0.
        logarithms = numpy.log(probabilities[::4, ::4].astype(numpy.float64)).transpose(2, 0, 1)
        given = logarithms - logarithms[:1] + features[:1]
        assert numpy.isfinite(given).all() and features.max() > 1
        assert abs(given - features).max() < 1e-5
