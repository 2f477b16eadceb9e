# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Thousands of damaged files: each is read or refused in one sentence, in little memory, and nothing in it is run."""

import os
import subprocess

import numpy
import pytest

from conftest import HERE, limit_memory, refuse, run
from test_weights import write_network

MUTATE = os.environ["GIGAPIXEL_MUTATE_FILE"]
NETWORKS, VOLUMES, WEIGHTS = (numpy.load(HERE / f"{name}.npz") for name in ("networks", "volumes", "weights"))
MOST_BYTES = 1 << 30  # of address space: the libraries take most of it


def mutate(kind, file, count, *network):
    """How many mutations were read, and how many refused."""
    words = [MUTATE, kind, file, "1", str(count), *network]
    result = subprocess.run(words, capture_output=True, text=True, preexec_fn=lambda: limit_memory(MOST_BYTES))
    assert result.returncode == 0, f"{result.returncode}\n{result.stderr}"
    return tuple(map(int, result.stdout.split()))


@pytest.mark.parametrize("name", ["unet", "unet_exported", "padded_by_what_is_missing", "two_inputs", "fixed_ratio", "upsample", "axes_named_anew",
                                  "gelu_by_tanh", "norm_of_channels", "linear", "depth_to_space", "space_to_depth", "convnext_of_opset_14", "gated_by_means"])
def test_onnx(name, tmp_path):
    file = tmp_path / "network.onnx"
    content = NETWORKS[f"{name}/onnx"].tobytes()
    file.write_bytes(content)
    read, refused = mutate("onnx", file, 400 if name.startswith("unet") else 1000)
    assert (read > 0) == (not name.startswith("refused/")) and refused > 0


@pytest.mark.parametrize("name", ["unet_batch", "unet_group_exported", "transposed", "pad_edge", "cropped", "linear_to_another_map", "channels_last", "refused/slices_as_channels"])
def test_onnx_of_volumes(name, tmp_path):
    file = tmp_path / "network.onnx"
    file.write_bytes(VOLUMES[f"{name}/onnx"].tobytes())
    read, refused = mutate("onnx", file, 400 if name.startswith("unet") else 1000)
    assert (read > 0 or name.startswith("refused/")) and refused > 0


def field(number, content):
    """Of a message of Protocol Buffers: bytes."""
    assert len(content) < 128
    return bytes([number << 3 | 2, len(content)]) + content


def test_damaged_onnx_names_the_node(tmp_path):
    """And the array, where the bytes do not say what they have to."""
    file = tmp_path / "network.onnx"
    known = field(1, b"image") + field(2, b"map") + field(3, b"first") + field(4, b"Conv")
    for damaged, words in (
        (field(1, known + b"\x2a\x7f"), 'a field ends behind its message, in its node number 1, "first" (Conv)'),
        (field(1, known) + field(1, field(2, b"other") + b"\x2f"), 'a field is of no kind that there is, in its node number 2, "other"'),
        (field(5, field(8, b"first.weight") + b"\x4a\x7f"), 'in its array number 1, "first.weight"'),
    ):
        file.write_bytes(b"\x08\x08" + field(7, damaged))
        assert words in refuse("import", file, "-o", tmp_path / "model.safetensors")


def test_what_stands_behind_an_onnx_network(tmp_path):
    file = tmp_path / "network.onnx"
    content = NETWORKS["norm/onnx"].tobytes()
    for more, words in ((b"\0", "damaged"), (bytes(16), "ONNX files have no field 0"), (b"rest of it", "damaged"),
                        (content, "it has two of them"), (field(9, b"text"), "ONNX files have no field 9")):
        file.write_bytes(content + more)
        assert words in refuse("import", file, "-o", tmp_path / "model.safetensors")


@pytest.mark.parametrize("name", ["zip", "legacy", "protocol_4", "protocol_5_legacy", "checkpoint", "checkpoint_legacy"])
def test_weights(name, tmp_path):
    file = tmp_path / "weights.pth"
    file.write_bytes(WEIGHTS[f"{name}/file"].tobytes())
    read, refused = mutate("weights", file, 1500, write_network(tmp_path))
    assert read > 0 and refused > 0


def test_models(tmp_path):
    weights, model = tmp_path / "weights.pth", tmp_path / "model.safetensors"
    weights.write_bytes(WEIGHTS["zip/file"].tobytes())
    run("import", write_network(tmp_path), "--weights", weights, "-o", model)
    read, refused = mutate("model", model, 3000)
    assert read > 0 and refused > 0


def test_pickles_that_grow(tmp_path):
    """Instructions that ask for more than the file has, or copy the same list again and again."""
    content = WEIGHTS["legacy/file"].tobytes()
    place = 0
    for _ in range(3):
        place = content.index(b".", place) + 1
    pairs = b"](" + b"](K\x01K\x02e" * 20000 + b"e"
    call = b"ccollections\nOrderedDict\nh\x00\x85R0"
    objects = {
        "long": b"\x80\x02\x8e" + b"\xff" * 8,
        "text": b"\x80\x02X\xff\xff\xff\xff",
        "memory": b"\x80\x02Nr\xff\xff\xff\xff.",
        "deep": b"\x80\x02" + b"(" * 100000 + b"t" * 100000 + b".",
        "nested": b"\x80\x02" + b"]" * 100000 + b"a" * 99999 + b".",
        "circle": b"\x80\x02]q\x00h\x00a.",
        "copies": b"\x80\x02" + pairs + b"q\x00" + call * 20000 + b".",
        "calls": b"\x80\x02cos\nsystem\n" + b")R" * 100000 + b".",
    }
    for name, instructions in objects.items():
        file = tmp_path / f"{name}.pth"
        file.write_bytes(content[:place] + instructions + b"\x80\x02].")
        assert mutate("weights", file, 1, write_network(tmp_path)) == (0, 1)
        result = run("import", write_network(tmp_path), "--weights", file, "-o", tmp_path / "model.safetensors", code=1)
        assert str(file) in result.stderr and len(result.stderr.splitlines()) == 1
