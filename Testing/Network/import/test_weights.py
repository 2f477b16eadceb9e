# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Weights of torch.save, against torch.load."""

import json
import os
import pickle
import struct

import numpy
import pytest

from conftest import HERE, read_arrays, refuse, run, write_json

STORED = numpy.load(HERE / "weights.npz")
FILES = [key.removesuffix("/file") for key in STORED.files if key.endswith("/file") and not key.startswith("refused/")]
NETWORK = json.loads((HERE / "small.json").read_text())  # of the arrays of weights.npz


def write_network(folder):
    return write_json(folder, NETWORK)


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


def test_norms_of_the_image(tmp_path):
    """Leave out what the file has of statistics, which belong to norms that keep them."""
    weights, model = tmp_path / "weights.pth", tmp_path / "model.safetensors"
    weights.write_bytes(STORED[f"{FILES[0]}/file"].tobytes())
    run("import", write_network(tmp_path), "--weights", weights, "-o", tmp_path / "frozen.safetensors")
    frozen = read_arrays(tmp_path / "frozen.safetensors")
    said = json.loads(run("import", write_network(tmp_path), "--weights", weights, "-o", model, "--norms", "image", "--json").stdout)
    assert said["operations"]["instance_norm"] == 1 and "batch_norm" not in said["operations"]
    given = read_arrays(model)
    assert frozen.keys() - given.keys() == {"norm.running_mean", "norm.running_var"} and given.keys() < frozen.keys()
    assert all(given[key].tobytes() == frozen[key].tobytes() for key in given)


def test_layers_of_neurons(tmp_path):
    """Are convolutions of one pixel here, or of one voxel: their matrices have no axes for these."""
    for axes in (2, 3):
        network = {"name": "n", "operations": [{"name": "image", "type": "input", "channels": 3, "axes": axes}, {"name": "layer", "type": f"conv{axes}d", "inputs": ["image"], "out_channels": 2, "kernel_size": 1}],
                   "output": "layer", "loss": {"type": "softmax cross-entropy"}}
        weights, model = tmp_path / "weights.safetensors", tmp_path / f"{axes}.safetensors"
        header = json.dumps({"layer.weight": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, "layer.bias": {"dtype": "F32", "shape": [2], "data_offsets": [24, 32]}}).encode()
        weights.write_bytes(struct.pack("<Q", len(header)) + header + numpy.arange(8, dtype=numpy.float32).tobytes())
        run("import", write_json(tmp_path, network), "--weights", weights, "-o", model)
        assert read_arrays(model)["layer.weight"].shape == (2, 3, *[1] * axes)
        assert (read_arrays(model)["layer.weight"].ravel() == numpy.arange(6)).all()


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
