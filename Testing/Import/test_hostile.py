# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Files that are well formed and lie: each is refused in one sentence, in little memory and time."""

import io
import json
import os
import resource
import struct
import subprocess
import zipfile

import pytest

from conftest import PROGRAM, limit_memory, read_arrays, run
from protobuf import INT64, STRING, attribute, floats, integer, network, node, part, tensor, whole
from test_weights import STORED, write_network

LEAST, GREATEST = -(2**63), 2**63 - 1
MOST_BYTES = 1 << 30  # of address space: the libraries take most of it


def refuse(*words):
    """The one sentence, without what a terminal would obey or only a programmer understand."""

    def limit():
        limit_memory(MOST_BYTES)
        resource.setrlimit(resource.RLIMIT_CPU, (60, 60))

    result = subprocess.run([PROGRAM, *map(str, words), "--quiet"], capture_output=True, text=True, preexec_fn=limit)
    assert (result.returncode, result.stdout) == (1, ""), result
    sentence = result.stderr.removesuffix("\n")
    assert sentence.isprintable() and len(sentence) < 2000, sentence
    assert not any(word in sentence for word in ("std::", "_M_", "vector", "bad_alloc", "json.exception")), sentence
    return sentence


def refuse_network(content, folder):
    file, model = folder / "network.onnx", folder / "model.safetensors"
    file.write_bytes(content)
    sentence = refuse("import", file, "-o", model)
    assert str(file) in sentence and not model.exists()
    return sentence


def convolution(given=3, out=8, bias=False, **attributes):
    """Of the image, to a map: its node and arrays."""
    return node("Conv", ["image", "weight"], "map", **attributes), [floats("weight", out, given, 1, 1)]


def behind(kind, inputs=(), arrays=(), size=(0, 0), opset=17, **attributes):
    """A network of one operator behind a convolution, whose inputs are the map and these."""
    first, weights = convolution()
    return network([first, node(kind, ["map", *inputs], "logits", **attributes)], [*weights, *arrays], size, opset=opset)


def of_numbers(nodes, arrays, shape):
    """A network that reshapes its map to numbers that nodes compute."""
    first, weights = convolution()
    return network([first, *nodes, node("Reshape", ["map", shape], "logits")], [*weights, *arrays])


def in_a_row(kind, count, more=(), arrays=(), inputs=1, last=None, **attributes):
    """A network of so many of one operator, each behind the other, which read their map as often as they have inputs."""
    first, weights = convolution()
    names = ["map", *(f"n{i + 1}" for i in range(count))]
    nodes = [node(kind, [given] * inputs + list(more), name, **attributes) for given, name in zip(names, names[1:])]
    return network([first, *nodes, last or node("Relu", names[-1:], "logits")], [*weights, *arrays])


HUGE = {
    "more_numbers_than_a_product_shows": (
        of_numbers([node("ConstantOfShape", ["sides"], "filled")], [whole("sides", 65536, 65536)], "filled"), "of so many numbers"),
    "broadcast": (
        of_numbers([node("Add", ["tall", "flat"], "sum")],
                   [tensor("tall", [65536, 1], bytes(8 * 65536), INT64), tensor("flat", [1, 65536], bytes(8 * 65536), INT64)], "sum"), "of so many numbers"),
    "numbers_in_a_row": (
        of_numbers([node("ConstantOfShape", ["sides"], "n0")] + [node("Neg", [f"n{i}"], f"n{i + 1}") for i in range(20000)], [whole("sides", 65536)], "n20000"),
        "computes more numbers"),
    "product_of_lengths_is_0": (behind("Reshape", ["shape"], [whole("shape", 2**32, 2**32)], (65536, 65536)), "Reshape that changes more than the axes"),
    "lengths_beside_0": (behind("Add", ["empty"], [tensor("empty", [2**40, 2**40, 0])]), "impossible shape"),
    "length_below_0": (behind("Add", ["array"], [tensor("array", [-8])]), "impossible shape"),
    "product_beyond_64_bits": (behind("Add", ["array"], [tensor("array", [2**33, 2**33])]), "impossible shape"),
    "part_of_a_number": (behind("Add", ["array"], [tensor("array", [1, 2, 1, 1], bytes(9))]), "is damaged or truncated"),
    "less_than_nothing_padded": (behind("Pad", ["pads"], [whole("pads", 0, 0, LEAST, LEAST, 0, 0, 0, 0)]), "impossible number of pixels"),
    "everything_padded": (behind("Pad", ["pads"], [whole("pads", 0, 0, 0, 0, 0, 0, GREATEST, GREATEST)]), "impossible number of pixels"),
    "channels_padded": (behind("Pad", ["pads"], [whole("pads", 0, LEAST, 0, 0, 0, 0, 0, 0)]), "impossible number of pixels"),
    "no_groups": (network([convolution(group=0)[0]], convolution()[1], output="map"), "do not fit its weight"),
    "groups": (network([convolution(group=GREATEST)[0]], convolution()[1], output="map"), "has a weight for"),
    "strides": (network([convolution(strides=[2**62, 2**62])[0]], convolution()[1], output="map"), "impossible strides"),
    "dilations": (network([convolution(dilations=[2**62, 2**62])[0]], convolution()[1], output="map"), "impossible dilations"),
    "pads": (network([convolution(pads=[2**62] * 4)[0]], convolution()[1], output="map"), "beyond what there may be"),
    "pads_below_0": (network([convolution(pads=[LEAST] * 4)[0]], convolution()[1], output="map"), "negative pads"),
    "place_behind_all": (behind("Slice", ["starts", "ends"], [whole("starts", GREATEST), whole("ends", LEAST)]), "Slice that steps backwards"),
    "steps": (behind("Slice", ["a", "b", "c", "d"], [whole("a", 0), whole("b", GREATEST), whole("c", 2), whole("d", GREATEST)]), "beyond what there may be"),
    "axis": (behind("Softmax", axis=LEAST), "along an axis that there is not"),
    "parts_below_0": (behind("Split", ["parts"], [whole("parts", LEAST)], axis=1), "beyond what there may be"),
    "parts_beyond_all": (behind("Split", ["parts"], [whole("parts", GREATEST)], axis=1), "beyond what there may be"),
    "index": (of_numbers([node("Shape", ["map"], "shape"), node("Gather", ["shape", "index"], "side")], [whole("index", LEAST)], "side"), "a size that there is not"),
    "blocks": (behind("DepthToSpace", blocksize=256), "cannot be laid out in squares"),
    "no_blocks": (behind("SpaceToDepth", blocksize=LEAST), "impossible blocksize"),
    "scales": (behind("Resize", ["", "scales"], [tensor("scales", [4], struct.pack("<4f", 1, 1, 1e30, float("nan")))]), "impossible size"),
    "sizes": (behind("Resize", ["", "", "sizes"], [whole("sizes", 1, 8, 2**62, 2**62)]), "impossible size"),
    "range": (of_numbers([node("Range", ["from", "to", "by"], "all")], [whole("from", 0), whole("to", GREATEST), whole("by", 1)], "all"), "of so many numbers"),
    "range_without_steps": (of_numbers([node("Range", ["from", "to", "by"], "all")], [whole("from", 0), whole("to", 5), whole("by", 0)], "all"), "of so many numbers"),
    "filled_with_nothing": (of_numbers([node("ConstantOfShape", ["side"], "all", value=tensor("", [0]))], [whole("side", 4)], "all"), "lacks numbers"),
    "filled_with_text": (of_numbers([node("ConstantOfShape", ["side"], "all", value=tensor("", [1], b"", STRING))], [whole("side", 4)], "all"), "no number known here"),
    "opset": (behind("Relu", opset=LEAST), "is of opset -"),
    "its_own_output": (behind("Add", ["logits"]), 'reads "logits", which no earlier one gives'),
    "channels_in_a_row": (in_a_row("Concat", 29, inputs=2, last=node("DepthToSpace", ["n29"], "logits", blocksize=2), axis=1), "has more channels than there may be"),
    "channels_beyond_31_bits": (in_a_row("Concat", 31, inputs=2, axis=1), "has more channels than there may be"),
    "sides_in_a_row": (in_a_row("ConvTranspose", 4, ["square"], [floats("square", 8, 8, 1, 1)], strides=[65536, 65536]), "has more pixels than there may be"),
    "scales_in_a_row": (in_a_row("Resize", 9, ["", "scales"], [tensor("scales", [4], struct.pack("<4f", 1, 1, 256, 256))]), "has more pixels than there may be"),
    "inputs": (behind("Concat", ["map"] * 10000, axis=1), "has 10001 inputs, and may have 64"),
    "image": (behind("Relu", size=(2**40, 2**40)), "impossible size"),
    "output_twice": (network([convolution()[0]] * 2, convolution()[1], output="map"), 'gives "map", which there is already'),
    "image_again": (network([node("Conv", ["image", "weight"], "image")], convolution()[1], output="image"), 'gives "image", which there is already'),
    "array_again": (network([node("Conv", ["image", "weight"], "weight")], convolution()[1], output="weight"), 'gives "weight", which there is already'),
    "array_twice": (network([convolution()[0]], convolution()[1] * 2, output="map"), 'it has two arrays "weight"'),
    "attribute_twice": (network([convolution(group=1)[0] + part(5, attribute("group", 3))], convolution()[1], output="map"), "an attribute is there twice"),
    "automatic_padding": (network([convolution(auto_pad="q" * 100000)[0]], convolution()[1], output="map"), "with an auto_pad that there is not"),
    "operators": (network([convolution()[0], *(node(f"Q{i}", [f"n{i - 1}" if i else "map"], f"n{i}") for i in range(999)), node("Relu", ["n998"], "logits")],
                          convolution()[1]), " and 799 more"),
}


@pytest.mark.parametrize("name", HUGE)
def test_numbers_of_networks(name, tmp_path):
    content, words = HUGE[name]
    assert words in refuse_network(content, tmp_path)


def test_nodes_without_anything(tmp_path):
    """Of two bytes each."""
    graph = part(1, convolution()[0]) + part(1, b"") * 8_000_000 + part(2, "graph")
    assert "it has more than 1000000 nodes" in refuse_network(integer(1, 8) + part(7, graph) + part(8, integer(2, 17)), tmp_path)


def labels(*nodes, arrays=(), **options):
    """A network that labels images, of what is behind its pooled map."""
    first, weights = convolution()
    return network([first, node("GlobalAveragePool", ["map"], "pooled"), *nodes], [*weights, *arrays], **options)


LABELS = {
    "no_classes": (labels(node("Flatten", ["pooled"], "flat"), node("Gemm", ["flat", "matrix"], "logits"), arrays=[tensor("matrix", [8, 0])]), "by what is no matrix"),
    "classes": (labels(node("Flatten", ["pooled"], "flat"), node("Gemm", ["flat", "matrix"], "logits"), arrays=[tensor("matrix", [8, 2**38])]), "impossible shape"),
    "other_channels": (labels(node("Flatten", ["pooled"], "flat"), node("Gemm", ["flat", "matrix"], "logits"), arrays=[floats("matrix", 7, 2)]), "a matrix for 7 channels"),
    "flattened_along": (labels(node("Flatten", ["pooled"], "logits", axis=LEAST)), "Flatten of other axes"),
    "reduced_along": (labels(node("ReduceMean", ["map"], "logits", axes=[LEAST, GREATEST])), "along an axis that there is not"),
    "joined_along": (labels(node("Concat", ["pooled", "pooled"], "logits", axis=GREATEST)), "along an axis that there is not"),
    "shape": (labels(node("Reshape", ["pooled", "shape"], "logits"), arrays=[whole("shape", GREATEST, LEAST)]), "Reshape that changes more than the axes"),
    "squeezed": (labels(node("Squeeze", ["pooled", "axes"], "logits"), arrays=[whole("axes", LEAST)]), "along an axis that there is not"),
    "unsqueezed": (labels(node("Unsqueeze", ["pooled", "axes"], "logits"), arrays=[whole("axes", *range(100))]), "to more axes than maps have"),
}


@pytest.mark.parametrize("name", LABELS)
def test_numbers_of_networks_that_label_images(name, tmp_path):
    content, words = LABELS[name]
    assert words in refuse_network(content, tmp_path)


def of_volume(*nodes, arrays=(), side=0, weight=(8, 3, 1, 1, 1), axes=3, **attributes):
    """A network for volumes: a convolution, and what is behind it."""
    first = node("Conv", ["image", "weight"], "map", **attributes)
    return network([first, *nodes], [floats("weight", *weight), *arrays], (side,) * axes, output="logits" if nodes else "map")


VOLUMES = {
    "weight_of_two_axes": (of_volume(weight=(8, 3, 1, 1)), "Conv of 2 dimensions in a network of 3"),
    "weight_of_four_axes": (of_volume(weight=(8, 3, 1, 1, 1, 1)), "Conv of 4 dimensions in a network of 3"),
    "weight_of_no_axes": (of_volume(weight=(8,)), "Conv of 0 dimensions in a network of 3"),
    "volume_weight_of_a_picture": (of_volume(axes=2), "Conv of 3 dimensions in a network of 2"),
    "pads_of_two_axes": (of_volume(pads=[0] * 4), "Conv of 2 dimensions in a network of 3"),
    "strides_of_one_axis": (of_volume(strides=[1]), "Conv of 1 dimension in a network of 3"),
    "dilations_of_many_axes": (of_volume(dilations=[1] * 100), "Conv of 100 dimensions in a network of 3"),
    "kernel_of_two_axes": (of_volume(kernel_shape=[1, 1]), "Conv of 2 dimensions in a network of 3"),
    "other_kernel": (of_volume(kernel_shape=[1, 1, 3]), "do not fit its weight"),
    "strides": (of_volume(strides=[2**62] * 3), "impossible strides"),
    "pads": (of_volume(pads=[2**62] * 6), "beyond what there may be"),
    "one_axis": (of_volume(axes=1), "has 3 axes; an image's are"),
    "no_axes": (of_volume(axes=0), "has 2 axes; an image's are"),
    "four_axes": (of_volume(axes=4), "has 6 axes; an image's are"),
    "many_axes": (of_volume(axes=1000), "has 1002 axes; an image's are"),
    "image": (of_volume(side=2**40), "impossible size"),
    "everything_padded": (of_volume(node("Pad", ["map", "pads"], "logits"), arrays=[whole("pads", *[0] * 9, GREATEST)]), "impossible number of pixels"),
    "pads_of_a_picture": (of_volume(node("Pad", ["map", "pads"], "logits"), arrays=[whole("pads", *[0] * 8)]), "by numbers of other axes"),
    "sizes": (of_volume(node("Resize", ["map", "", "", "sizes"], "logits"), arrays=[whole("sizes", 1, 8, 2**62, 2**62, 2**62)]), "impossible size"),
    "scales_of_a_picture": (of_volume(node("Resize", ["map", "", "scales"], "logits"), arrays=[floats("scales", 4, value=1)]), "by numbers of other axes"),
    "more_voxels_than_a_number": (of_volume(node("Flatten", ["map"], "logits"), side=65536, weight=(65536, 3, 1, 1, 1)), "Flatten of all pixels"),
    "more_values_than_a_number": (of_volume(node("Reshape", ["map", "shape"], "logits"), arrays=[whole("shape", 1, 8, -1)], side=65536, weight=(65536, 3, 1, 1, 1)), "Reshape that changes more than the axes"),
    "groups_of_more_than_a_number": (of_volume(node("Reshape", ["map", "shape"], "logits"), arrays=[whole("shape", 1, 1, GREATEST)], side=65536, weight=(65536, 3, 1, 1, 1)), "Reshape that changes more than the axes"),
    "slices_of_a_volume": (of_volume(node("Squeeze", ["map", "axes"], "logits"), arrays=[whole("axes", 2)], side=8), "Squeeze"),
    "turned": (of_volume(node("Transpose", ["map"], "logits", perm=[0, 2, 1, 3, 4])), "no logits of each pixel"),
    "turned_as_a_picture": (of_volume(node("Transpose", ["map"], "logits", perm=[0, 2, 3, 1])), "turns other axes than there are"),
}


@pytest.mark.parametrize("name", VOLUMES)
def test_numbers_of_networks_for_volumes(name, tmp_path):
    content, words = VOLUMES[name]
    assert words in refuse_network(content, tmp_path)


NAN, INFINITY = float("nan"), float("inf")


@pytest.mark.parametrize(
    "content",
    [
        behind("LeakyRelu", alpha=NAN), behind("LeakyRelu", alpha=INFINITY), behind("Mul", ["n"], [floats("n", 1, value=NAN)]), behind("Add", ["n"], [floats("n", 1, value=INFINITY)]),
        behind("Clip", ["a", "b"], [floats("a", 1, value=NAN), floats("b", 1)]), behind("Div", ["n"], [floats("n", 1, value=0)]),
        behind("BatchNormalization", ["n"] * 4, [floats("n", 8)], epsilon=NAN), behind("BatchNormalization", ["n"] * 4, [floats("n", 8)], epsilon=-1.0),
        behind("Add", ["n"], [floats("n", 1, 8, 1, 1, value=NAN)]),
    ],
    ids=["slope", "infinite_slope", "factor", "summand", "bound", "divisor", "epsilon", "epsilon_below_0", "weights"],
)
def test_what_is_no_number(content, tmp_path):
    refuse_network(content, tmp_path)


def test_names_that_a_terminal_would_obey(tmp_path):
    """Names of operators, nodes, values and arrays are shown without what is no text."""
    evil = "\x1b[2J\x1b]0;evil\x07\nError: all is well \u202e\x00"
    first, weights = convolution()
    for content in (
        network([first, node(evil, ["map"], "logits")], weights),
        network([first, node("MaxPool", ["map"], evil, kernel_shape=[0, 0])], weights, output=evil),
        network([first, node("DepthToSpace", ["map"], evil, blocksize=0)], weights, output=evil),
        network([first, node("Add", ["map", evil], "logits")], [*weights, tensor(evil, [-1])]),
        network([node("Relu", [evil], "logits")]),
        network([first, node("Relu", ["map"], "other")], weights, output=evil),
        network([first, node("Relu", ["map"], "logits")], [tensor("weight", [8, 3, 1, 1], location=evil)]),
    ):
        assert "all is well" in refuse_network(content, tmp_path)


def test_fields_of_later_versions(tmp_path):
    """Are left out where the file is of one; in another file they are something else that stands there."""
    first, weights = convolution(out=2)
    file, model = tmp_path / "network.onnx", tmp_path / "model.safetensors"
    for version in (8, 14):
        assert "ONNX files have no field 27" in refuse_network(network([first], weights, output="map", version=version, more=part(27, "new")), tmp_path)
    assert "it has two of them" in refuse_network(network([first], weights, output="map", version=15, more=part(7, b"")), tmp_path)
    file.write_bytes(network([first], weights, output="map", version=15, more=part(27, "new") + integer(30, 1)))
    run("import", file, "-o", model)


def test_arrays_in_another_file(tmp_path):
    """As exporters write them: the same model."""
    first = node("Conv", ["image", "weight", "bias"], "map")
    weight, bias = struct.pack("<6f", *range(6)), struct.pack("<2f", 7, 8)
    models = []
    for name, arrays in (
        ("inside", [tensor("weight", [2, 3, 1, 1], weight), tensor("bias", [2], bias)]),
        ("beside", [tensor("weight", [2, 3, 1, 1], location="beside.onnx.data", offset="4096", length="24"), tensor("bias", [2], location="beside.onnx.data", offset="0", length="8")]),
        ("to_the_end", [tensor("weight", [2, 3, 1, 1], location="beside.onnx.data", offset="4096"), tensor("bias", [2], location="beside.onnx.data", length="8")]),
    ):
        (tmp_path / "beside.onnx.data").write_bytes(bias.ljust(4096, b"\0") + weight)
        (tmp_path / f"{name}.onnx").write_bytes(network([first], arrays, output="map"))
        run("import", tmp_path / f"{name}.onnx", "-o", tmp_path / f"{name}.safetensors")
        models.append({key: array.tobytes() for key, array in read_arrays(tmp_path / f"{name}.safetensors").items()})
    assert models[0] == models[1] == models[2] and len(models[0]) == 2
    # Also from within the folder, by a name without one.
    result = subprocess.run([PROGRAM, "import", "beside.onnx", "-o", "again.safetensors"], cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    # What the other file holds is a part of what the model comes from.
    digests = [json.loads(run("info", tmp_path / f"{name}.safetensors", "--json").stdout)["provenance"]["FNV-1a"] for name in ("beside", "again")]
    (tmp_path / "beside.onnx.data").write_bytes(bias.ljust(4096, b"\1") + weight)
    run("import", tmp_path / "beside.onnx", "-o", tmp_path / "again.safetensors", "--overwrite")
    changed = json.loads(run("info", tmp_path / "again.safetensors", "--json").stdout)["provenance"]["FNV-1a"]
    assert digests[0] == digests[1] != changed


@pytest.mark.parametrize(
    "place, words",
    [
        ({"location": "/etc/passwd"}, "not by the name of a file beside"),
        ({"location": "../beside"}, "not by the name of a file beside"),
        ({"location": "folder/beside"}, "not by the name of a file beside"),
        ({"location": "..\\beside"}, "not by the name of a file beside"),
        ({"location": ".."}, "not by the name of a file beside"),
        ({"location": ""}, "not by the name of a file beside"),
        ({"offset": "0"}, "not by the name of a file beside"),
        ({"location": "nowhere"}, "which is not there"),
        ({"location": "folder"}, "which is not there"),
        ({"location": "pipe"}, "which is not there"),
        ({"location": "beside", "offset": "-1"}, "at an impossible place"),
        ({"location": "beside", "offset": "0x10"}, "at an impossible place"),
        ({"location": "beside", "length": "18446744073709551616"}, "at an impossible place"),
        ({"location": "beside", "offset": "101"}, "which is truncated"),
        ({"location": "beside", "offset": "18446744073709551615", "length": "24"}, "which is truncated"),
        ({"location": "beside", "length": "101"}, "which is truncated"),
        ({"location": "beside", "length": "20"}, "it has 5 numbers, and its shape says 6"),
        ({"location": "beside"}, "it has 25 numbers, and its shape says 6"),
    ],
)
def test_places_in_another_file(place, words, tmp_path):
    (tmp_path / "beside").write_bytes(bytes(100))
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    weight = tensor("weight", [2, 3, 1, 1], **place)
    assert words in refuse_network(network([convolution()[0]], [weight], output="map"), tmp_path)


def test_arrays_in_each_other(tmp_path):
    (tmp_path / "beside").write_bytes(bytes(100))
    arrays = [tensor(name, [2, 3, 1, 1], location="beside", length="60") for name in ("weight", "other")]
    assert "lie in each other" in refuse_network(network([convolution()[0]], arrays, output="map"), tmp_path)


def refuse_weights(content, folder, name="weights.pth"):
    file, model = folder / name, folder / "model.safetensors"
    file.write_bytes(content)
    sentence = refuse("import", write_network(folder), "--weights", file, "-o", model)
    assert str(file) in sentence and not model.exists()
    return sentence


def test_archives_with_a_name_twice(tmp_path):
    """Of which other programs may take the other one."""
    content = io.BytesIO(STORED["zip/file"].tobytes())
    with zipfile.ZipFile(content) as archive:
        files = [(name, archive.read(name)) for name in archive.namelist()]
    pickled = next(item for item in files if item[0].endswith("data.pkl"))
    written = io.BytesIO()
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(written, "w") as archive:
        for name, part_ in [*files, pickled]:
            archive.writestr(name, part_)
    assert "two files of one name" in refuse_weights(written.getvalue(), tmp_path)


def legacy(instructions, keys=b"\x80\x02].", numbers=b""):
    """A file of torch.save before archives, with this for its object."""
    content = STORED["legacy/file"].tobytes()
    place = 0
    for _ in range(3):
        place = content.index(b".", place) + 1
    return content[:place] + instructions + keys + numbers


def array(shape, strides, offset=0, count=4):
    """The call that makes a tensor, of a dictionary with it alone; the storage has so many floats."""
    number = lambda n: b"\x8a\x08" + struct.pack("<q", n)
    numbers = lambda all_: b"(" + b"".join(map(number, all_)) + b"t"
    storage = b"(X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\0kX\x03\0\0\0cpu" + number(count) + b"NtQ"
    call = b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + number(offset) + numbers(shape) + numbers(strides) + b"\x89}tR"
    return legacy(b"\x80\x02}X\x0b\0\0\0conv.weight" + call + b"s.", b"\x80\x02]X\x01\0\0\0ka.", struct.pack("<q", count) + bytes(16))


@pytest.mark.parametrize(
    "content, words",
    [
        (array([2**32, 2**32], [0, 0]), "larger than its numbers"),
        (array([2, 2], [GREATEST, GREATEST]), "larger than its numbers"),
        (array([2, 2], [1, 2], GREATEST), "larger than its numbers"),
        (array([4], [1], LEAST), "larger than its numbers"),
        (array([-1], [1]), "impossible shape"),
        (array([4], [-1]), "impossible shape"),
        (array([1] * 65, [1] * 65), "impossible shape"),
        (array([1, 1], [GREATEST, GREATEST], 3), "no array of the name and shape"),  # is read: a stride along one number says nothing
        (array([4], [1], count=2**61), "not all there"),
        (legacy(b"\x80\x02(" + b"N" * 10_000_000 + b"l."), "objects"),
        (legacy(b"\x80\x02N" + b"\x94" * 20_000_000 + b"."), "objects"),
        (legacy(b"\x80\x02}X\x01\0\0\0\x1b" + b"N" + b"s."), "holds no arrays"),
    ],
    ids=["product", "strides", "offset", "offset_below_0", "length_below_0", "stride_below_0", "axes", "one", "storage", "objects", "remembered", "control"],
)
def test_numbers_of_pickles(content, words, tmp_path):
    assert words in refuse_weights(content, tmp_path)


def safetensors(header, content=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + content


@pytest.mark.parametrize(
    "content, words",
    [
        (safetensors({"a": {"dtype": "F32", "shape": [2**38, 2**24], "data_offsets": [0, 0]}}), "impossible shape"),
        (safetensors({"a": {"dtype": "F64", "shape": [2**31, 2**30], "data_offsets": [0, 0]}}), "impossible shape"),
        (safetensors({"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}, bytes(4)), "impossible shape"),
        (safetensors({"a": {"dtype": "F32", "shape": [2**64], "data_offsets": [0, 4]}}, bytes(4)), "impossible shape"),
        (safetensors({"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 0]}}, bytes(4)), "does not fit the file"),
        (safetensors({"a": {"dtype": "F32", "shape": [1], "data_offsets": [2**64 - 4, 2**64]}}, bytes(4)), "damaged"),
        (safetensors({"a": {"dtype": "\x1b[2J", "shape": [1], "data_offsets": [0, 4]}}, bytes(4)), "no type of number"),
        (safetensors({"\x1b[2J": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}}, bytes(4)), "does not fit the file"),
        (safetensors(b'{"a":' + b"[" * 100000), "nested deeper"),
        (safetensors(b'{"a":{"dtype":"F32","shape":[1e400],"data_offsets":[0,4]}}', bytes(4)), "damaged"),
        (struct.pack("<Q", 2**63) + b"{}", "no safetensors file"),
    ],
    ids=["product", "half_of_it", "below_0", "beyond_64_bits", "backwards", "offsets", "type", "name", "deep", "exponent", "header"],
)
def test_numbers_of_safetensors(content, words, tmp_path):
    assert words in refuse_weights(content, tmp_path, "weights.safetensors")


def operation(name, kind, *inputs, **attributes):
    return {"name": name, "type": kind, **({"inputs": list(inputs)} if inputs else {}), **attributes}


IMAGE, LAST = operation("x", "input", channels=3), operation("y", "conv2d", "x", out_channels=1, kernel_size=1)


def describe(*operations, **more):
    return {"name": "n", "operations": [IMAGE, *operations], "output": "y", **more}


def last(**attributes):
    return describe({**LAST, **attributes})


def before_last(kind, inputs=("x",), **attributes):
    return describe(operation("a", kind, *inputs, **attributes), {**LAST, "inputs": ["a"]})


EVIL, LONG = "\x1b[2J\nError: all is well \u202e\x07", "q" * 100000
DESCRIPTIONS = {
    "circle": (describe(operation("a", "relu", "b"), operation("b", "relu", "a"), {**LAST, "inputs": ["b"]}), 'its input "b" is no earlier operation'),
    "itself": (last(inputs=["y"]), 'its input "y" is no earlier operation'),
    "name_twice": (describe(operation("a", "relu", "x"), operation("a", "relu", "x"), {**LAST, "inputs": ["a"]}), "another operation of this name"),
    "second_image": (describe(operation("x2", "input", channels=3), LAST), "the first operation, and no other one"),
    "stride_below_0": (last(stride=-1), '"stride" is -1, not from 1'),
    "dilation_below_0": (last(dilation=[1, -5]), '"dilation" is -5, not from 1'),
    "half_a_pixel": (last(kernel_size=3.5), '"kernel_size" must be a whole number'),
    "flag_for_number": (last(kernel_size=True), '"kernel_size" must be a whole number'),
    "null": (last(kernel_size=None), '"kernel_size" must be true, false, a number'),
    "parameters": (last(kernel_size=65536), "more than 2147483648 parameters"),
    "inputs_in_inputs": (last(inputs=[["x"]]), "must be names of earlier operations"),
    "million_inputs": (before_last("cat", ["x"] * 1000000), "it has 1000000 inputs, and cat takes 1 to 64"),
    "scale_of_0": (before_last("interpolate", scale_factor=0), "above 0 and at most 256, not 0"),
    "scale": (before_last("interpolate", scale_factor=1e30), "above 0 and at most 256, not 1e+30"),
    "nothing_left": (before_last("interpolate", scale_factor=1e-30), "nothing is left of it"),
    "reflected": (before_last("pad", before=65536, after=65536, mode="reflect"), "too small to be reflected"),
    "cropped": (before_last("crop", before=60000, after=60000), "crops more than"),
    "channels_beyond": (before_last("slice_channels", start=2, channels=5), "channels up to number 7 of 3"),
    "bounds_turned": (before_last("hardtanh", min_val=5, max_val=-5), "min_val is not below its max_val"),
    "more_than_all_dropped": (before_last("dropout", p=1.5), "from 0 to below 1"),
    "no_float": (before_last("mul", other=1e-320), "which no float holds"),
    "slopes": (before_last("prelu", num_parameters=7), "neither one nor one for each"),
    "shared_shape": (last(parameters={"weight": "a", "bias": "a"}), "which has another shape elsewhere"),
    "metadata": (last(parameters={"weight": "__metadata__"}), "keep for other things"),
    "control_attribute": (last(**{EVIL: 1}), "it has no"),
    "control_type": (describe(operation("a", EVIL, "x"), LAST), "there is no type"),
    "control_input": (last(inputs=[EVIL]), "is no earlier operation"),
    "control_output": (describe(LAST, output=EVIL), "is no operation of the network"),
    "control_key": (describe(LAST, **{EVIL: 1}), "unknown key"),
    "long_attribute": (last(**{LONG: 1}), "a text of 100000 bytes"),
    "long_type": (describe(operation("a", LONG, "x"), LAST), "a text of 100000 bytes"),
    "long_name": (describe(LAST, name=LONG), "a text of 100000 bytes"),
    "list_for_name": (describe(LAST, name=list(range(100000))), '"name" must be a string, not [0,1'),
    "classes_null": (describe(LAST, **{"class names": None}), "must be a list of names, not null"),
    "class_weights": (describe(LAST, loss={"class weights": [1e308, 1e308]}), "from 1e-60 to 1e60"),
    "mean": (describe(LAST, input={"mean": [1e300] * 3, "deviation": [1] * 3}), "sizes of pixels from 0 to 1"),
    "operations_null": (describe(LAST, operations=None), "a list of 1 to 4096"),
    "layers": ({"name": "n", "layers": [{"name": f"l{i}", "type": "convolution", "in": 1, "out": 1, "kernel": 3, "padding": 1, "activation": "none"}
                                        for i in range(5000)]}, "a list of 1 to 4096"),
    "deep_provenance": ('{"provenance": ' + '{"a": ' * 200 + "1" + "}" * 200 + ", " + json.dumps(describe(LAST))[1:], "nested deeper"),
    "not_a_number": (json.dumps(before_last("mul", other=0.5)).replace("0.5", "NaN"), "no JSON"),
    "infinite": (json.dumps(before_last("mul", other=0.5)).replace("0.5", "1e999"), "no JSON"),
    "half_a_character": (json.dumps(describe(LAST)).replace('"n"', '"\\ud800"'), "no JSON"),
    "two_of_them": (json.dumps(describe(LAST)) * 2, "no JSON"),
}


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_descriptions_of_networks(name, tmp_path):
    network, words = DESCRIPTIONS[name]
    file = tmp_path / "network.json"
    file.write_text(network if isinstance(network, str) else json.dumps(network))
    sentence = refuse("networks", file)
    assert words in sentence and str(file) in sentence
    assert len(sentence) < 600 + len(str(file))


def model_file(**metadata):
    header = {"__metadata__": {"gigapixel": "2", "network": json.dumps(describe(LAST)), "tile_size": "64", "microns_per_pixel": "0.5", **metadata},
              "y.weight": {"dtype": "F32", "shape": [1, 3, 1, 1], "data_offsets": [0, 12]}, "y.bias": {"dtype": "F32", "shape": [1], "data_offsets": [12, 16]}}
    return safetensors(header, bytes(16))


@pytest.mark.parametrize(
    "content, words",
    [
        (model_file(microns_per_pixel="nan"), "the microns per pixel must be from 1e-6"),
        (model_file(microns_per_pixel="1e-320"), "the microns per pixel must be from 1e-6"),
        (model_file(microns_per_pixel="1e300"), "the microns per pixel must be from 1e-6"),
        (model_file(microns_per_pixel="9" * 100000), '"microns_per_pixel" is no number'),
        (model_file(tile_size="-64"), "tile size"),
        (model_file(tile_size="9223372036854775807"), "tile size"),
        (model_file(gigapixel=EVIL), "newer version"),
        (safetensors({"__metadata__": {"gigapixel": 2}}), "damaged"),
        (safetensors({"a": {"dtype": LONG, "shape": [1], "data_offsets": [0, 4]}}, bytes(4)), "qqq ..."),
        (safetensors({LONG: {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}}, bytes(4)), "qqq ..."),
        (safetensors({"a": {"dtype": "F32", "shape": [True], "data_offsets": [0, 4]}}, bytes(4)), "damaged"),
        (safetensors({"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}}, bytes(8)), "one behind the other"),
    ],
    ids=["no_resolution", "least_resolution", "greatest_resolution", "long_resolution", "tile_below_0", "tile", "version", "number", "long_type", "long_name", "flag", "gap"],
)
def test_models(content, words, tmp_path):
    file = tmp_path / "model.safetensors"
    file.write_bytes(content)
    sentence = refuse("info", file)
    assert words in sentence and str(file) in sentence


def test_many_arrays(tmp_path):
    """A header of hundreds of thousands, which are gone through once."""
    file = tmp_path / "model.safetensors"
    file.write_bytes(safetensors({f"a{i}": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for i in range(300000)}))
    assert "its metadata lacks" in refuse("info", file)


def test_many_passes_over_the_image(tmp_path):
    """Each norm is one: what planning takes grows with their number, not with a power of it that no machine computes."""
    norms = [operation(f"n{i}", "instance_norm", f"n{i - 1}" if i else "x") for i in range(200)]
    file = tmp_path / "network.json"
    file.write_text(json.dumps(describe(*norms, {**LAST, "inputs": ["n199"]})))
    limit = lambda: resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
    result = subprocess.run([PROGRAM, "plan", "--network", file, "--size", "500x400"], capture_output=True, text=True, preexec_fn=limit)
    assert result.returncode == 0, result.stderr
