# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Networks of other programs, computed in tiles, against what those compute."""

import json

import numpy
import pytest
import tifffile

from conftest import HERE, compute, read_arrays, read_network, refuse, run
from images import make_image
from protobuf import floats, network, node, tensor, whole

STORED = numpy.load(HERE / "networks.npz")
NAMES = [key.removesuffix("/onnx") for key in STORED.files if key.endswith("/onnx") and not key.startswith(("refused/", "labels/"))]
LABELS = [key.split("/")[1] for key in STORED.files if key.startswith("labels/") and key.endswith("/onnx")]
REFUSED = [key.split("/")[1] for key in STORED.files if key.startswith("refused/") and key.endswith("/words")]


def write_network(name, folder):
    file = folder / "network.onnx"
    file.write_bytes(STORED[f"{name}/onnx"].tobytes())
    return file


@pytest.mark.parametrize("name", [name for name in NAMES if f"{name}/probabilities" in STORED.files])
def test_operators(name, tmp_path):
    """Each by itself, against onnxruntime, in one tile and in tiles of 24."""
    model = tmp_path / "model.safetensors"
    said = json.loads(run("import", write_network(name, tmp_path), "-o", model, "--tile-size", 32, "--json").stdout)
    expected = STORED[f"{name}/probabilities"].transpose(1, 2, 0)
    pixels = make_image(*STORED[f"{name}/size"], said["channels"])
    for given in compute(model, pixels, 0, 24):
        # Of two classes that of the second one.
        wanted = expected[..., -1:] if given.shape[2] == 1 else expected
        assert given.shape == wanted.shape
        assert abs(given - wanted).max() < 2e-6


@pytest.mark.parametrize("name", ["unet", "unet_exported"])
def test_network_of_pytorch(name, tmp_path):
    """A U-Net for images of any size, on 2048 x 1777 pixels."""
    model = tmp_path / "model.safetensors"
    said = json.loads(run("import", write_network(name, tmp_path), "-o", model, "--json").stdout)
    assert said["input"]["multiple"] == 1 and said["classes"] == 3
    assert {"encoder.0.second.weight", "decoder.2.second.bias", "logits.weight"} <= set(read_arrays(model))
    height, width = STORED["unet/size"]
    labels = STORED["unet/labels"]
    ties = numpy.unpackbits(STORED["unet/ties"])[: labels.size].reshape(labels.shape) > 0
    assert ties.mean() < 0.01
    pixels = make_image(height, width, 3)
    assert len(numpy.unique(labels)) == 3
    for given in compute(model, pixels, 0, 512):
        assert ((given.argmax(2) == labels) | ties).all()


@pytest.mark.parametrize("name", LABELS)
def test_labels_of_images(name, tmp_path):
    """Global pooling, and what is behind it, against onnxruntime, in tiles and in one."""
    model, slide, table = (tmp_path / name for name in ("model.safetensors", "slide.tif", "table.csv"))
    run("import", write_network(f"labels/{name}", tmp_path), "-o", model)
    tifffile.imwrite(slide, make_image(*STORED[f"labels/{name}/size"], 3), tile=(32, 32), photometric="rgb")
    for size in (32, "image"):
        run("classify", slide, "--model", model, "-o", table, "--level", 0, "--tile-size", size, "--overwrite")
        given = numpy.array([float(word) for word in table.read_text().splitlines()[1].split(",")[2:]])
        assert abs(given - STORED[f"labels/{name}/probabilities"]).max() < 2e-6


def test_info_of_labels_says_nothing_of_patches(tmp_path):
    model = tmp_path / "model.safetensors"
    run("import", write_network("labels/classes", tmp_path), "-o", model)
    assert json.loads(run("info", model, "--json").stdout)["patches"] is None
    text = run("info", model).stdout
    assert "patches" not in text and "5, of whole images" in text


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_missing_is_said(name, tmp_path):
    message = refuse("import", write_network(f"refused/{name}", tmp_path), "-o", tmp_path / "model.safetensors")
    assert str(STORED[f"refused/{name}/words"]).strip() in message.why and message.file == str(tmp_path / "network.onnx")
    assert message.code == ("E-ONNX-FORMAT" if name in ("former", "external") else "E-NETWORK-OPERATION")
    assert not (tmp_path / "model.safetensors").exists()


def write_padded(folder, name, *nodes):
    """A convolution of the image with four pixels more at the right and at the bottom, and what is behind its map."""
    weights = numpy.random.default_rng(5).normal(0, 1, (2, 3, 3, 3)).astype(numpy.float32)
    arrays = [tensor("weight", weights.shape, weights.tobytes()), whole("pads", *[0] * 6, 4, 4), whole("zeros", 0, 0), whole("ends", -4, -4), whole("axes", 2, 3),
              whole("one", 1), whole("two", 2), tensor("scales", [4], numpy.array([1, 1, 4, 4], numpy.float32).tobytes())]
    first = [node("Pad", ["image", "pads"], "padded"), node("Conv", ["padded", "weight"], "map", pads=[1] * 4)]
    file = folder / f"{name}.onnx"
    file.write_bytes(network([*first, *nodes], arrays))
    return file


CUT = ["zeros", "ends", "axes"]


def test_probabilities_that_are_cut(tmp_path):
    """Of the padding that was computed for them: the logits are cut in their place."""
    model, found = tmp_path / "model.safetensors", []
    for name, nodes in (("logits", [node("Slice", ["map", *CUT], "logits")]), ("probabilities", [node("Softmax", ["map"], "p", axis=1), node("Slice", ["p", *CUT], "logits")])):
        said = json.loads(run("import", write_padded(tmp_path, name, *nodes), "-o", model, "--json", "--overwrite").stdout)
        found.append(compute(model, make_image(41, 37, 3), 0, 24))
    assert said["provenance"]["left out"] == ["softmax at the end"]
    assert (found[0] == found[1]).all() and found[0].std() > 0.1


def test_probabilities_that_are_moved_in_other_ways(tmp_path):
    """Of one class, and mixed by linear interpolation: they are what the model gives."""
    pixels, softmax = make_image(41, 37, 3), node("Softmax", ["map"], "p", axis=1)
    given = {}
    for name, nodes in (("both", [node("Slice", ["p", *CUT], "logits")]), ("one", [node("Slice", ["p", *CUT], "cut"), node("Slice", ["cut", "one", "two", "one"], "logits")]),
                        ("mixed", [node("Resize", ["p", "", "scales"], "large", mode="linear"), node("AveragePool", ["large"], "mean", kernel_shape=[4, 4], strides=[4, 4]), node("Slice", ["mean", *CUT], "logits")])):
        model = tmp_path / f"{name}.safetensors"
        run("import", write_padded(tmp_path, name, softmax, *nodes), "-o", model)
        given[name] = compute(model, pixels, 0, 24)
    assert abs(given["one"] - given["both"][..., 1:]).max() < 1e-6
    inner = (slice(None), slice(2, -2), slice(2, -2))
    assert 1e-3 < abs(given["mixed"] - given["both"])[inner].max() < 0.5 and abs(given["mixed"].sum(-1) - 1).max() < 1e-6


def test_constants(tmp_path):
    """What a file takes off pixels and divides them by, and the factors of 1 that a sum has here, are not trained."""
    model, file = tmp_path / "model.safetensors", tmp_path / "network.onnx"
    nodes = [node("Sub", ["image", "mean"], "centered"), node("Div", ["centered", "deviation"], "scaled"), node("Conv", ["scaled", "weight"], "map"), node("Relu", ["map"], "rectified"),
             node("Add", ["rectified", "summand"], "summed"), node("Mul", ["summed", "factor"], "logits")]
    arrays = [floats("mean", 3, 1, 1), floats("deviation", 3, 1, 1, value=0.25), floats("weight", 2, 3, 1, 1), floats("summand", 2, 1, 1), floats("factor", 2, 1, 1)]
    file.write_bytes(network(nodes, arrays))
    run("import", file, "-o", model)
    assert read_network(model)["constants"] == ["deviation", "mean", "mean.weight", "summand.weight"]
    assert set(read_arrays(model)) - set(read_network(model)["constants"]) == {"weight", "summand", "factor"}


@pytest.mark.parametrize("outputs, refused", [(["map"], False), (["map", "mean", "variance", "", ""], True)], ids=["inference", "training"])
def test_norms_of_former_opsets(outputs, refused, tmp_path):
    """Say by their outputs whether they take the image's own statistics."""
    model, file = tmp_path / "model.safetensors", tmp_path / "network.onnx"
    arrays = [floats(name, 3) for name in ("scale", "shift", "means", "variances")]
    nodes = [node("BatchNormalization", ["image", "scale", "shift", "means", "variances"], *outputs), node("Conv", ["map", "weight"], "logits")]
    file.write_bytes(network(nodes, [*arrays, floats("weight", 2, 3, 1, 1)], opset=9))
    if refused:
        assert "BatchNormalization with the statistics of the image (export it for inference)" in refuse("import", file, "-o", model)
    else:
        run("import", file, "-o", model)


def write_normalized(file, between=None):
    """A network of a convolution, a batch norm and another convolution; returns its arrays. \\param between: before the norm"""
    random = numpy.random.default_rng(11)
    shapes = {"first": [4, 3, 1, 1], "scale": [4], "shift": [4], "means": [4], "variances": [4], "last": [2, 4, 1, 1]}
    arrays = {name: random.uniform(0.5, 2, shape).astype(numpy.float32) for name, shape in shapes.items()}
    arrays["first"] -= 1.2
    nodes = [node("Conv", ["image", "first"], "map"), *([node(between, ["map"], "pooled")] if between else []),
             node("BatchNormalization", ["pooled" if between else "map", "scale", "shift", "means", "variances"], "normed"), node("Relu", ["normed"], "rectified"), node("Conv", ["rectified", "last"], "logits")]
    file.write_bytes(network(nodes, [tensor(name, list(array.shape), array.tobytes()) for name, array in arrays.items()]))
    return arrays


@pytest.mark.parametrize("norms", [[], ["--norms", "frozen"], ["--norms", "image"]])
def test_norms(norms, tmp_path):
    """By their formula, (x - mean) / sqrt(variance + 1e-5) scale + shift, of what they keep or of the image."""
    model = tmp_path / "model.safetensors"
    arrays = write_normalized(tmp_path / "network.onnx")
    said = json.loads(run("import", tmp_path / "network.onnx", "-o", model, "--json", *norms).stdout)
    of_image = "image" in norms
    assert said["operations"].get("instance_norm", 0) == of_image and said["operations"].get("batch_norm", 0) == (not of_image)
    assert set(read_arrays(model)) == set(arrays) - ({"means", "variances"} if of_image else set())
    pixels = make_image(151, 203, 3)
    x = (pixels / 255).reshape(-1, 3) @ arrays["first"].reshape(4, 3).T.astype(float)
    mean, variance = (x.mean(0), x.var(0)) if of_image else (arrays["means"], arrays["variances"])
    x = numpy.maximum((x - mean) / numpy.sqrt(variance + 1e-5) * arrays["scale"] + arrays["shift"], 0)
    logits = x @ arrays["last"].reshape(2, 4).T.astype(float)
    expected = (1 / (1 + numpy.exp(logits[:, 0] - logits[:, 1]))).reshape(151, 203)
    for given in compute(model, pixels, 0, 48):
        assert abs(given[..., -1] - expected).max() < 5e-6


def test_meshnets_are_pythons(tmp_path):
    (tmp_path / "model.json").write_text("{}")
    for network in (tmp_path, tmp_path / "model.json"):
        assert "gp.load_meshnet(FOLDER)" in refuse("import", network, "-o", tmp_path / "m.safetensors")


def test_norms_of_the_image_that_are_none(tmp_path):
    """None in the file, or none of an image."""
    model, file = tmp_path / "model.safetensors", tmp_path / "network.onnx"
    file.write_bytes(network([node("Conv", ["image", "weight"], "logits")], [floats("weight", 2, 3, 1, 1)]))
    refused = refuse("import", file, "-o", model, "--norms", "image")
    assert (refused.code, refused.file) == ("E-OPTION-APPLIES", str(file))
    nodes = [node("Conv", ["image", "first"], "map"), node("InstanceNormalization", ["map", "scale", "shift"], "normed"), node("Conv", ["normed", "last"], "logits")]
    file.write_bytes(network(nodes, [floats("first", 4, 3, 1, 1), floats("scale", 4), floats("shift", 4), floats("last", 2, 4, 1, 1)]))
    assert "its norms take the statistics of the image as they are" in refuse("import", file, "-o", model, "--norms", "image")
    write_normalized(file, "GlobalAveragePool")
    assert "is of one pixel, behind the pooling of all" in refuse("import", file, "-o", model, "--norms", "image")
    assert not model.exists()
    run("import", file, "-o", model)


@pytest.mark.parametrize("turned", [False, True], ids=["before", "behind"])
def test_a_gate_of_a_part(turned, tmp_path):
    """x sigmoid(x) where other parts lie between x and its sigmoid."""
    pair = ["s", "a"] if turned else ["a", "s"]
    model, parts = tmp_path / "model.safetensors", node("Split", ["map", "halves"], "a", "b", axis=1)
    weights = numpy.random.default_rng(5).normal(0, 2, (4, 3)).astype(numpy.float32)
    nodes = [node("Conv", ["image", "weight"], "map"), parts, node("Sigmoid", ["a"], "s"), node("Mul", pair, "gated"), node("Add", ["gated", "b"], "logits")]
    (tmp_path / "network.onnx").write_bytes(network(nodes, [tensor("weight", [4, 3, 1, 1], weights.tobytes()), whole("halves", 2, 2)]))
    said = json.loads(run("import", tmp_path / "network.onnx", "-o", model, "--json").stdout)
    assert said["operations"]["silu"] == 1
    pixels = make_image(31, 43, 3)
    z = pixels / 255 @ weights.T.astype(float)
    logits = z[..., :2] / (1 + numpy.exp(-z[..., :2])) + z[..., 2:]
    expected = 1 / (1 + numpy.exp(logits[..., :1] - logits[..., 1:]))
    assert abs(compute(model, pixels, 0)[0][..., -1:] - expected).max() < 2e-6


def test_what_is_kept(tmp_path):
    model = tmp_path / "model.safetensors"
    network = write_network("unet", tmp_path)
    arguments = ["import", network, "-o", model, "--json"]
    said = json.loads(run(*arguments, "--name", "nuclei", "--mpp", 0.5, "--mean", "0.5,0.4,0.3", "--deviation", "0.2,0.2,0.1").stdout)
    assert (said["name"], said["input"]["mean"], said["input"]["deviation"]) == ("nuclei", [0.5, 0.4, 0.3], [0.2, 0.2, 0.1])
    assert said["provenance"]["file"] == "network.onnx" and "pytorch" in said["provenance"]["made by"]
    assert "opset 17" in said["provenance"]["made by"] and len(said["provenance"]["FNV-1a"]) == 16
    text = run(*arguments[:-1], "--overwrite").stdout
    assert "classes     3" in text and "opset 17" in text
    assert refuse(*arguments).code == "E-OUTPUT-EXISTS"
    assert "2 channels" not in text
    assert "E-OPTION-NEEDS" in run(*arguments, "--mean", "0.5,0.4,0.3", code=2).stderr
    assert "numbers separated by commas" in run(*arguments, "--mean", "a", code=2).stderr
    assert "network.onnx" in refuse(*arguments, "--mean", "0.5", "--deviation", "1", "--overwrite")
    assert "a mean for each of its 3 channels; 1 is given" in refuse(*arguments, "--mean", "0.5", "--deviation", "1", "--overwrite")
    assert refuse(*arguments, "--mean", "124,116,104", "--deviation", "1,1,1", "--overwrite").code == "E-OPTION-VALUE"
    assert "deviations have to be above 0" in refuse(*arguments, "--mean", "0,0,0", "--deviation", "1,1,0", "--overwrite")
    both = run(*arguments, "--mean", "0.5,0.4,0.3", "--deviation", "1,1", code=2).stderr
    assert "--mean has 3 and --deviation 2 numbers" in both
    assert 'no output "nowhere" (it has: logits)' in refuse(*arguments, "--logits", "nowhere", "--overwrite")
    slide = tmp_path / "slide.onnx"
    slide.write_bytes(b"II*\0" + bytes(100))
    assert "no ONNX file" in refuse("import", slide, "-o", model, "--overwrite")
    assert str(tmp_path / "nowhere.onnx") in refuse("import", tmp_path / "nowhere.onnx", "-o", model, "--overwrite")
    assert "classes     3" in run(*arguments[:-1], "--overwrite").stdout


def test_inputs_behind_each_other(tmp_path):
    model = tmp_path / "model.safetensors"
    said = json.loads(run("import", write_network("two_inputs", tmp_path), "-o", model, "--json").stdout)
    assert said["channels"] == 5 and said["operations"]["slice_channels"] == 2
    assert said["provenance"]["inputs"] == [{"name": "image", "channels": 3}, {"name": "places", "channels": 2}]
