# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""info of models, runs, ready models and presets."""

import json
import struct

import pytest

from conftest import fails, run

pytestmark = pytest.mark.usefixtures("network")


def write_model(folder):
    """A network of three operations, whose weights are 0.5."""
    network = {
        "name": "small",
        "input": {"channels": 2, "mean": [0.5, 0.4], "deviation": [0.25, 0.2]},
        "operations": [
            {"name": "image", "type": "input", "channels": 2},
            {"name": "wide", "type": "pad", "inputs": ["image"], "multiple": 8, "mode": "replicate"},
            {"name": "inner", "type": "conv2d", "inputs": ["wide"], "out_channels": 4, "kernel_size": 3, "padding": 1},
            {"name": "norm", "type": "batch_norm", "inputs": ["inner"]},
            {"name": "logits", "type": "conv2d", "inputs": ["norm"], "out_channels": 3, "kernel_size": 1},
            {"name": "cropped", "type": "crop", "inputs": ["logits", "image"]},
        ],
        "output": "cropped",
        "loss": {"type": "softmax cross-entropy"},
        "provenance": {"made by": "hand"},
    }
    shapes = {"inner.weight": [4, 2, 3, 3], "inner.bias": [4], "logits.weight": [3, 4, 1, 1], "logits.bias": [3]}
    shapes.update({f"norm.{role}": [4] for role in ("weight", "bias", "running_mean", "running_var")})
    header = {"__metadata__": {"gigapixel": "2", "network": json.dumps(network), "microns_per_pixel": "0.5", "tile_size": "64"}}
    end = 0
    for name, shape in shapes.items():
        count = 1
        for length in shape:
            count *= length
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [end, end + 4 * count]}
        end += 4 * count
    text = json.dumps(header).encode()
    file = folder / "model.safetensors"
    file.write_bytes(struct.pack("<Q", len(text)) + text + struct.pack("<f", 0.5) * (end // 4))
    return file


def test_model(tmp_path):
    file = write_model(tmp_path)
    said = run("info", file, "--json").json
    assert said["model"] == str(file) and said["name"] == "small"
    assert said["operations"] == {"input": 1, "pad": 1, "conv2d": 2, "batch_norm": 1, "crop": 1}
    assert (said["parameters"], said["keptParameters"]) == (4 * 18 + 4 + 8 + 12 + 3, 8)
    assert (said["channels"], said["classes"], said["halo"], said["mpp"], said["tileSize"]) == (2, 3, 1, 0.5, 64)
    assert said["input"] == {"channels": 2, "mean": [0.5, 0.4], "deviation": [0.25, 0.2], "multiple": 8}
    assert said["patches"] == {"borders": {"conv2d (zeros)": 1}, "multiple": 1, "sizes": {}, "reductions": {}}
    assert said["provenance"] == {"made by": "hand"}
    text = run("info", file).out
    assert "6: 1 batch_norm, 2 conv2d, 1 crop, 1 input, 1 pad" in text and "multiples of 8" in text and "made by: hand" in text
    assert "differ from the whole image up to the halo from their borders, by 1 conv2d (zeros)\n" in text
    run_folder = tmp_path / "run"
    run_folder.mkdir()
    (run_folder / "best.safetensors").write_bytes(file.read_bytes())
    both = run("info", run_folder, file, "--json").json
    assert [each["model"] for each in both] == [str(run_folder), str(file)] and both[0]["operations"] == said["operations"]


def test_presets_and_ready_models():
    preset = run("info", "unet:base=8,classes=3", "--json").json
    assert preset["model"] is None and preset["classes"] == 3 and preset["operations"]["max_pool2d"] == 4
    assert "without weights" in run("info", "resnet18-unet").out
    layers = run("info", "remedios2023", "--json").json
    assert (layers["parameters"], layers["input"]) == (4492, {"channels": 1, "invert": True, "multiple": 32})
    assert layers["patches"]["borders"]["conv2d (zeros)"] == 4
    assert (layers["patches"]["multiple"], layers["patches"]["sizes"]) == (32, {})
    assert "everywhere where they begin at no multiple of 32 px" in run("info", "remedios2023").out
    patches = run("info", "resnet18-unet", "--json").json["patches"]
    assert patches["borders"]["conv2d (zeros)"] > 20 and patches["borders"]["max_pool2d (nothing)"] == 1
    assert run("info", "tissue", "--json").json["mpp"] == 0.5


def test_what_is_no_model(tmp_path, synthetic):
    file = write_model(tmp_path)
    assert fails("info", file, synthetic[0], code=2).code == "E-OPTION-CONFLICT"
    refused = fails("info", file, "--check", code=2)
    assert refused.code == "E-OPTION-APPLIES" and refused.option == "--check"
    file.write_bytes(file.read_bytes()[:200])
    assert (fails("info", file).code, fails("info", file).file) == ("E-FILE-DAMAGED", str(file))
    for name in (tmp_path / "nowhere.safetensors", "nosuch"):
        refused = fails("info", name)
        assert refused.code == "E-FILE-MISSING" and refused.file == str(name)
    refused = fails("info", "unet:nosuch=1")
    assert (refused.code, refused.value) == ("E-OPTION-VALUE", "unet:nosuch=1")


def test_files_that_say_something_twice_or_more(tmp_path):
    """Of a key that an object has twice nobody knows which one counts, and behind a file's end anything may stand."""
    file = write_model(tmp_path)
    content = file.read_bytes()
    (length,) = struct.unpack_from("<Q", content)
    header, data = content[8 : 8 + length], content[8 + length :]

    def write(header, data):
        file.write_bytes(struct.pack("<Q", len(header)) + header + data)
        return fails("info", file)

    for refused in (
        write(header, data + bytes(8)),
        write(header.replace(b'"norm.bias"', b'"norm.weight"'), data),
        write(header.replace(b"[412, 428]", b"[396, 412]"), data),
        write(header.replace(b"[396, 412]", b"[397, 413]"), data),
        write(header + b"{}", data),
        write(header + bytes(8), data),
    ):
        assert (refused.code, refused.file) == ("E-FILE-DAMAGED", str(file))
    network = tmp_path / "network.json"
    text = json.dumps(json.loads(json.loads(header)["__metadata__"]["network"]))
    for damaged in (
        text.replace('"name": "small"', '"name": "small", "name": "other"'),
        text.replace('"kernel_size": 3', '"kernel_size": 3, "kernel_size": 5'),
        text + "{}",
        text + "\0 and more",
    ):
        network.write_text(damaged)
        assert (fails("networks", network).code, fails("networks", network).file) == ("E-NETWORK-FORMAT", str(network))
    network.write_text(text + "\n")
    assert "small" in run("networks", network).out
