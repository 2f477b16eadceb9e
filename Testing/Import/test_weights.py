# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Weights of torch.save, against torch.load."""

import json
import os
import pickle
import struct
import zipfile

import numpy
import pytest

from conftest import HERE, read_arrays, refuse, run, write_json

STORED = numpy.load(HERE / "weights.npz")
FILES = [key.removesuffix("/file") for key in STORED.files if key.endswith("/file") and not key.startswith("refused/")]
SETS = numpy.load(HERE / "sets.npz")
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
    "name, words", [("module", "torch.save(module.state_dict()"), ("numbers", "no arrays by their names"), ("less", "lacks 7 arrays"), ("complex", "")]
)
def test_what_cannot_be_taken(name, words, tmp_path):
    weights = tmp_path / "weights.pth"
    weights.write_bytes(STORED[f"refused/{name}/file"].tobytes())
    message = refuse("import", write_network(tmp_path), "--weights", weights, "-o", tmp_path / "model.safetensors")
    assert str(weights) in message and words in message
    assert "gigapixel import NETWORK --weights FILE" in refuse("import", weights, "-o", tmp_path / "model.safetensors")
    assert not (tmp_path / "model.safetensors").exists()


def write(content, folder):
    weights = folder / "weights.pth"
    weights.write_bytes(content.tobytes())
    return weights


def sets(kind):
    return [key.split("/")[1] for key in SETS.files if key.startswith(f"{kind}/") and key.endswith("/file")]


def check_arrays(model, added=0.0, arrays="arrays"):
    given = read_arrays(model)
    assert len(given) == 8
    for key, array in given.items():
        assert (array == SETS[f"{arrays}/{key}"] + numpy.float32(added)).all(), key


@pytest.mark.parametrize("name", sets("prefix"))
def test_prefix_of_all_names(name, tmp_path):
    weights, model = write(SETS[f"prefix/{name}/file"], tmp_path), tmp_path / "model.safetensors"
    said = json.loads(run("import", write_network(tmp_path), "--weights", weights, "-o", model, "--json").stdout)
    check_arrays(model)
    (warning,) = said["warnings"]
    assert (warning["code"], warning["file"]) == ("W-WEIGHTS-SET", str(weights)) and f'"{name}.' in warning["why"]
    assert said["provenance"]["weightsSet"].endswith(name)
    # Said once: who names the set knows it.
    quiet = json.loads(run("import", write_network(tmp_path), "--weights", weights, "--weights-set", said["provenance"]["weightsSet"], "-o", model, "--overwrite", "--json").stdout)
    assert "warnings" not in quiet


@pytest.mark.parametrize("kind, name", [(kind, name) for kind in ("sets", "sets legacy") for name in sets(kind)])
def test_several_sets_of_weights(kind, name, tmp_path):
    weights, model, names = write(SETS[f"{kind}/{name}/file"], tmp_path), tmp_path / "model.safetensors", name.split()
    words = ["import", write_network(tmp_path), "--weights", weights, "-o", model]
    refused = refuse(*words)
    assert (refused.code, refused.file) == ("E-WEIGHTS-SET", str(weights)) and not model.exists()
    assert all(f'"{each}"' in refused.why for each in names) and "--weights-set" in refused.do
    added = [1.0 if "ema" in each or "teacher" in each or each == "1" else 0.0 for each in names]
    for each, plus in zip(names, added):
        for chosen in {each, each.split(".module")[0]}:
            run(*words, "--weights-set", chosen, "--overwrite")
            check_arrays(model, plus)
    unknown = refuse(*words, "--weights-set", "swa", "--overwrite")
    assert (unknown.code, unknown.option, unknown.value) == ("E-WEIGHTS-SET", "--weights-set", "swa")
    assert refuse("import", *words[1:2], "--weights-set", "a", "-o", model, code=2).code == "E-OPTION-NEEDS"


def test_sets_of_a_safetensors_file(tmp_path):
    """Which has no dictionaries, but names with prefixes."""
    header, data = {}, b""
    for prefix, plus in (("model.", 0), ("ema.", 1)):
        for key in (key for key in SETS.files if key.startswith("arrays/") and "num_batches" not in key):
            array = (SETS[key] + numpy.float32(plus)).astype("<f4")
            header[prefix + key.split("/")[1]] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [len(data), len(data) + array.nbytes]}
            data += array.tobytes()
    text = json.dumps(header).encode()
    weights, model = tmp_path / "weights.safetensors", tmp_path / "model.safetensors"
    weights.write_bytes(struct.pack("<Q", len(text)) + text + data)
    words = ["import", write_network(tmp_path), "--weights", weights, "-o", model]
    assert refuse(*words).code == "E-WEIGHTS-SET"
    run(*words, "--weights-set", "ema")
    check_arrays(model, 1)


def test_sets_that_are_no_question(tmp_path):
    """One set under several names; and one beside others that lack arrays, which is said."""
    model = tmp_path / "model.safetensors"
    words = ["import", write_network(tmp_path), "-o", model, "--json", "--overwrite"]
    said = json.loads(run(*words, "--weights", write(SETS["same/state/file"], tmp_path)).stdout)
    check_arrays(model)
    assert "warnings" not in said
    said = json.loads(run(*words, "--weights", write(SETS["less/model ema/file"], tmp_path)).stdout)
    check_arrays(model)
    assert [warning["code"] for warning in said["warnings"]] == ["W-WEIGHTS-SET"] and '"ema"' in said["warnings"][0]["why"]
    assert refuse(*words[:4], "--overwrite", "--weights", tmp_path / "weights.pth", "--weights-set", "ema").code == "E-WEIGHTS-MISMATCH"


class Module:
    """Has what PyTorch's modules are set to."""

    def __init__(self, state):
        self._parameters, self._buffers, self._modules = state, {}, {}


def save(content, path, protocol=2):
    """As torch.save writes what has no tensors."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(content, protocol))
        archive.writestr("archive/byteorder", "little")
        archive.writestr("archive/version", "3\n")
    return path


def under(prefix, added=0.0, only=lambda name: True):
    names = [key.split("/")[1] for key in SETS.files if key.startswith("arrays/")]
    return {prefix + name: SETS[f"arrays/{name}"] + SETS[f"arrays/{name}"].dtype.type(added) for name in names if only(name)}


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_arrays_of_numpy(tmp_path, protocol):
    state = under("")
    state["conv.weight"] = numpy.asfortranarray(state["conv.weight"])
    state["logits.weight"] = state["logits.weight"].astype(numpy.float64)
    model = tmp_path / "model.safetensors"
    run("import", write_network(tmp_path), "--weights", save({"epoch": 3, "state_dict": state}, tmp_path / "w.pth", protocol), "-o", model)
    check_arrays(model)
    half = {name: array.astype(numpy.float16) for name, array in state.items()}
    run("import", write_network(tmp_path), "--weights", save(half, tmp_path / "w.pth", protocol), "-o", model, "--overwrite")
    given = read_arrays(model)
    assert all((given[name] == half[name].astype(numpy.float32)).all() for name in given)
    assert refuse("import", write_network(tmp_path), "--weights", save(state, tmp_path / "w.pth", 0), "-o", model, "--overwrite").file == str(tmp_path / "w.pth")


@pytest.mark.parametrize("prefix", ["ema.module.", "ema_model.module.", "model_ema.", "ema-model.", "average.ema."])
def test_a_set_is_named_by_a_part(tmp_path, prefix):
    model = tmp_path / "model.safetensors"
    for content in ({"state_dict": {**under("model."), **under(prefix, 1)}}, {"model": under(""), **{prefix[:-1]: under("", 1)}}):
        words = ["import", write_network(tmp_path), "--weights", save(content, tmp_path / "w.pth"), "-o", model, "--overwrite"]
        assert refuse(*words).code == "E-WEIGHTS-SET"
        run(*words, "--weights-set", "ema")
        check_arrays(model, 1)
        run(*words, "--weights-set", "model")
        check_arrays(model)


def test_averages_in_a_list(tmp_path):
    """torch_ema lists parameters without their names: they have those of the dictionary beside them."""
    def is_trained(name):
        return not name.startswith("norm.") or name.split(".")[1] in ("weight", "bias")

    model = tmp_path / "model.safetensors"
    averaged = list(under("", 1, is_trained).values())
    words = ["import", write_network(tmp_path), "-o", model, "--json", "--overwrite", "--weights"]
    said = json.loads(run(*words, save({"model": under(""), "ema": {"decay": 0.99, "shadow_params": averaged}}, tmp_path / "w.pth")).stdout)
    check_arrays(model)
    assert [w["code"] for w in said["warnings"]] == ["W-WEIGHTS-SET"] and '"ema.shadow_params"' in said["warnings"][0]["why"]
    assert "warnings" not in json.loads(run(*words, save({"model": under(""), "list": averaged[:-1]}, tmp_path / "w.pth")).stdout)


def test_whole_modules_are_named_as_such(tmp_path):
    for content in (Module(under("")), {"model": Module(under(""))}):
        refused = refuse("import", write_network(tmp_path), "--weights", save(content, tmp_path / "w.pth"), "-o", tmp_path / "model.safetensors")
        assert (refused.code, refused.file) == ("E-FILE-KIND", str(tmp_path / "w.pth")) and "state_dict" in refused.do


def test_expanded_arrays(tmp_path):
    """One number that stands for many: torch.expand, with strides of 0."""
    model = tmp_path / "model.safetensors"
    run("import", write_network(tmp_path), "--weights", write(SETS["expanded/state/file"], tmp_path), "-o", model)
    check_arrays(model, arrays="expanded arrays")


@pytest.mark.parametrize("name", sets("programs"))
def test_programs_are_named_as_such(name, tmp_path):
    weights = write(SETS[f"programs/{name}/file"], tmp_path)
    refused = refuse("import", write_network(tmp_path), "--weights", weights, "-o", tmp_path / "model.safetensors")
    assert (refused.code, refused.file) == ("E-FILE-KIND", str(weights)) and name.split(".")[-1] in refused.why and "state_dict" in refused.do


def test_names_are_told_where_none_fits(tmp_path):
    network = json.loads(json.dumps(NETWORK).replace('"conv"', '"stem"').replace('"norm"', '"bn"').replace('"logits"', '"head"'))
    refused = refuse("import", write_json(tmp_path, network), "--weights", write(STORED["zip/file"], tmp_path), "-o", tmp_path / "model.safetensors")
    assert refused.code == "E-WEIGHTS-MISMATCH" and '"conv.bias"' in refused.why and '"bn.bias"' in refused.why


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
