# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""What the output of an ONNX file is: logits, probabilities, or labels. Each is compared with its formula in NumPy, and with onnxruntime where that is installed."""

import json
import shutil

import numpy
import pytest
import tifffile

from conftest import HERE, compute, refuse, run
from images import make_image
from protobuf import branch, floats, integer, network, node, node_if, part, tensor, whole

SIZE = (41, 37)
#: Of the second epoch of former_run/, by the version that wrote it.
FORMER_LOSS = 0.746767438
COHORT = "slide,mask,split\nslide.tif,truth.tif,train\n"
WEIGHTS = numpy.random.default_rng(3).normal(0, 9, (4, 3)).astype(numpy.float32)
BIAS = (numpy.array([0.3, -0.9, 0.6, -0.2]) - WEIGHTS @ (make_image(*SIZE, 3) / 255).mean((0, 1))).astype(numpy.float32)  # so that all signs are there
ARRAYS = [tensor("weight", [4, 3, 1, 1], WEIGHTS.tobytes()), tensor("bias", [4], BIAS.tobytes()), whole("half", 2, 2), whole("ones", 1, 1, 1, 1),
          floats("two", value=2.0), floats("one", value=1.0), floats("h", value=0.5), floats("t", value=0.3), floats("byte", value=255.0), floats("zero", value=0.0),
          floats("minus", value=-1.0), tensor("shares", [2, 1, 1], numpy.array([0.3, 0.6], numpy.float32).tobytes()),
          tensor("smooth", [1, 1, 3, 3], numpy.full(9, 1 / 9, numpy.float32).tobytes()), whole("start", 1), whole("end", 2), whole("axis", 1), whole("batch", 0), whole("batch and channel", 0, 1)]
#: Four logits of each pixel: z, and each (a, b, c, d) and both pairs (x, y) of them.
FIRST = [node("Conv", ["image", "weight", "bias"], "z"), node("Split", ["z", "ones"], "a", "b", "c", "d", axis=1), node("Split", ["z", "half"], "x", "y", axis=1)]


def get_logits():
    return make_image(*SIZE, 3) / 255 @ WEIGHTS.T.astype(float) + BIAS


def sigmoid(z):
    return 1 / (1 + numpy.exp(-z))


def softmax(z):
    powers = numpy.exp(z - z.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def write(folder, nodes, classes, **options):
    file = folder / "network.onnx"
    file.write_bytes(network([*FIRST, *nodes], ARRAYS, classes=classes, **options))
    return file


def take_over(folder, nodes, classes, **options):
    """The model, and what import says."""
    model = folder / "model.safetensors"
    return model, json.loads(run("import", write(folder, nodes, classes, **options), "-o", model, "--tile-size", 32, "--json", "--overwrite").stdout)


def segment(model, *options):
    folder = model.parent
    tifffile.imwrite(folder / "slide.tif", make_image(*SIZE, 3), tile=(32, 32), photometric="rgb")
    run("segment", folder / "slide.tif", "--model", model, "-o", folder / "mask.tif", "--level", 0, "--overwrite", *options)
    return tifffile.imread(folder / "mask.tif", key=0)


def compute_by_onnxruntime(file):
    runtime = pytest.importorskip("onnxruntime")
    pixels = (make_image(*SIZE, 3).astype(numpy.float32) / 255).transpose(2, 0, 1)[None]
    return runtime.InferenceSession(file).run(None, {"image": numpy.ascontiguousarray(pixels)})[0]


def both(function, first="a", second="b", kind="Sigmoid", **attributes):
    return [node(kind, [first], "p", **attributes), node(kind, [second], "q", **attributes), *function]


A, B, X, Y = slice(0, 1), slice(1, 2), slice(0, 2), slice(2, 4)
MEAN = [node("Add", ["p", "q"], "sum"), node("Mul", ["sum", "h"], "logits")]
SIGMOIDS = {
    "mean": (both(MEAN), lambda z: (sigmoid(z[..., A]) + sigmoid(z[..., B])) / 2),
    "mean_by_operator": (both([node("Mean", ["p", "q"], "logits")]), lambda z: (sigmoid(z[..., A]) + sigmoid(z[..., B])) / 2),
    "one_minus": ([node("Sigmoid", ["a"], "p"), node("Sub", ["one", "p"], "logits")], lambda z: 1 - sigmoid(z[..., A])),
    "scaled_tanh": ([node("Tanh", ["a"], "t1"), node("Add", ["t1", "one"], "t2"), node("Mul", ["t2", "h"], "logits")], lambda z: (numpy.tanh(z[..., A]) + 1) / 2),
    "product": (both([node("Mul", ["p", "q"], "logits")]), lambda z: sigmoid(z[..., A]) * sigmoid(z[..., B])),
    "either": (both([node("Add", ["p", "q"], "sum"), node("Mul", ["p", "q"], "and"), node("Sub", ["sum", "and"], "logits")]), lambda z: 1 - (1 - sigmoid(z[..., A])) * (1 - sigmoid(z[..., B]))),
    "gated": (both([node("Sigmoid", ["c"], "g"), node("Mul", ["g", "p"], "gp"), node("Sub", ["one", "g"], "r"), node("Mul", ["r", "q"], "rq"), node("Add", ["gp", "rq"], "logits")]),
              lambda z: sigmoid(z[..., 2:3]) * sigmoid(z[..., A]) + (1 - sigmoid(z[..., 2:3])) * sigmoid(z[..., B])),
    "between": (both([node("Sub", ["p", "q"], "difference"), node("Sigmoid", ["c"], "g"), node("Mul", ["g", "difference"], "m"), node("Add", ["q", "m"], "logits")]),
                lambda z: sigmoid(z[..., B]) + sigmoid(z[..., 2:3]) * (sigmoid(z[..., A]) - sigmoid(z[..., B]))),
    "mean_of_stack": (both([node("Unsqueeze", ["p", "batch"], "p1"), node("Unsqueeze", ["q", "batch"], "q1"), node("Concat", ["p1", "q1"], "s", axis=0), node("ReduceMean", ["s"], "logits", axes=[0], keepdims=0)]),
                      lambda z: sigmoid(z[..., :2]).mean(-1, keepdims=True)),
    "least_of_stack": (both([node("Unsqueeze", ["p", "back"], "p1"), node("Unsqueeze", ["q", "back"], "q1"), node("Concat", ["p1", "q1"], "s", axis=4), node("ReduceMin", ["s"], "logits", axes=[-1], keepdims=0)]),
                       lambda z: sigmoid(z[..., :2]).min(-1, keepdims=True)),
    "mean_of_images": (both([node("Concat", ["p", "q"], "s", axis=0), node("ReduceMean", ["s"], "logits", axes=[0])]), lambda z: sigmoid(z[..., :2]).mean(-1, keepdims=True)),
    "square_of_tanh": ([node("Tanh", ["a"], "t1"), node("Mul", ["t1", "t1"], "logits")], lambda z: numpy.tanh(z[..., A]) ** 2),
    "greatest": (both([node("Max", ["p", "q"], "logits")]), lambda z: sigmoid(z[..., :2]).max(-1, keepdims=True)),
    "least": (both([node("Min", ["p", "q"], "logits")]), lambda z: sigmoid(z[..., :2]).min(-1, keepdims=True)),
    "clipped": ([node("Relu", ["a"], "r"), node("Clip", ["r", "zero", "one"], "logits")], lambda z: z[..., A].clip(0, 1)),
    "hard": ([node("HardSigmoid", ["a"], "logits", alpha=0.2)], lambda z: (0.2 * z[..., A] + 0.5).clip(0, 1)),
    "twice": ([node("Sigmoid", ["a"], "p"), node("Sigmoid", ["p"], "logits")], lambda z: sigmoid(sigmoid(z[..., A]))),
    "class_of_two": ([node("Softmax", ["x"], "p", axis=1), node("Slice", ["p", "start", "end", "axis"], "logits")], lambda z: softmax(z[..., X])[..., 1:]),
    "gathered_class": ([node("Softmax", ["x"], "p", axis=1), node("Gather", ["p", "start"], "logits", axis=1)], lambda z: softmax(z[..., X])[..., 1:]),
    "mean_of_channels": ([node("Sigmoid", ["x"], "p"), node("ReduceMean", ["p"], "logits", axes=[1])], lambda z: sigmoid(z[..., X]).mean(-1, keepdims=True)),
    "greatest_channel": ([node("Sigmoid", ["x"], "p"), node("ReduceMax", ["p"], "logits", axes=[1])], lambda z: sigmoid(z[..., X]).max(-1, keepdims=True)),
}
SIGMOIDS |= {
    "weighted_by_convolution": ([node("Softmax", ["z"], "p", axis=1), node("Conv", ["p", "last_two"], "logits")], lambda z: softmax(z)[..., 2:].sum(-1, keepdims=True)),
    "one_minus_by_convolution": ([node("Sigmoid", ["x"], "p"), node("Conv", ["p", "minus_mean", "ones_of_one"], "logits")], lambda z: 1 - sigmoid(z[..., X]).mean(-1, keepdims=True)),
    "one_minus_by_norm": ([node("Sigmoid", ["a"], "p"), node("BatchNormalization", ["p", "minus_of_one", "ones_of_one", "zero_of_one", "variance_of_one"], "logits", epsilon=1e-9)], lambda z: 1 - sigmoid(z[..., A])),
}
ARRAYS += [tensor("last_two", [1, 4, 1, 1], numpy.array([0, 0, 1, 1], numpy.float32).tobytes()), tensor("minus_mean", [1, 2, 1, 1], numpy.full(2, -0.5, numpy.float32).tobytes()),
           tensor("merge", [2, 4, 1, 1], numpy.array([1, 1, 0, 0, 0, 0, 1, 1], numpy.float32).tobytes()),
           *(tensor(f"{name}_of_one", [1], numpy.float32(value).tobytes()) for name, value in (("ones", 1), ("minus", -1), ("zero", 0), ("variance", 1)))]
SHARES = {
    "merged": ([node("Softmax", ["z"], "p", axis=1), node("Conv", ["p", "merge"], "logits")], lambda z: numpy.stack([softmax(z)[..., :2].sum(-1), softmax(z)[..., 2:].sum(-1)], -1)),
    "mean": (both(MEAN, "x", "y", "Softmax", axis=1), lambda z: (softmax(z[..., X]) + softmax(z[..., Y])) / 2),
    "mixture": (both([node("Sigmoid", ["a"], "g"), node("Sub", ["one", "g"], "r"), node("Mul", ["p", "g"], "m"), node("Mul", ["q", "r"], "n"), node("Add", ["m", "n"], "logits")], "x", "y", "Softmax", axis=1),
                lambda z: sigmoid(z[..., A]) * softmax(z[..., X]) + (1 - sigmoid(z[..., A])) * softmax(z[..., Y])),
    "of_one": ([node("Sigmoid", ["a"], "p"), node("Sub", ["one", "p"], "q"), node("Concat", ["q", "p"], "logits", axis=1)],
               lambda z: numpy.concatenate([1 - sigmoid(z[..., A]), sigmoid(z[..., A])], -1)),
    "exponential": ([node("LogSoftmax", ["x"], "l", axis=1), node("Exp", ["l"], "logits")], lambda z: softmax(z[..., X])),
    "temperature": ([node("Mul", ["z", "h"], "l"), node("Softmax", ["l"], "logits", axis=1)], lambda z: softmax(z / 2)),
    "logarithm": ([node("Softmax", ["x"], "p", axis=1), node("Log", ["p"], "logits")], lambda z: softmax(z[..., X])),
    "logarithms": (both(MEAN, "x", "y", "LogSoftmax", axis=1), lambda z: softmax((numpy.log(softmax(z[..., X])) + numpy.log(softmax(z[..., Y]))) / 2)),
    "turned": ([node("Softmax", ["z"], "p", axis=1), node("Gather", ["p", "order"], "logits", axis=1)], lambda z: softmax(z)[..., ::-1]),
}
EACH = {
    "sigmoids": ([node("Sigmoid", ["z"], "logits")], lambda z: sigmoid(z)),
    "product": (both([node("Mul", ["p", "q"], "logits")], "x", "y", "Softmax", axis=1), lambda z: softmax(z[..., X]) * softmax(z[..., Y])),
    "greatest": (both([node("Max", ["p", "q"], "logits")], "x", "y", "Softmax", axis=1), lambda z: numpy.maximum(softmax(z[..., X]), softmax(z[..., Y]))),
    "weighted": ([node("Softmax", ["x"], "p", axis=1), node("Mul", ["p", "shares"], "logits")], lambda z: softmax(z[..., X]) * [0.3, 0.6]),
    "masked": ([node("Softmax", ["x"], "p", axis=1), node("Sigmoid", ["c"], "m"), node("Mul", ["p", "m"], "logits")], lambda z: softmax(z[..., X]) * sigmoid(z[..., 2:3])),
}
ARRAYS.append(whole("order", 3, 2, 1, 0))
ALL = {f"{kind}_{name}": (kind, *case) for kind, cases in (("sigmoid", SIGMOIDS), ("shares", SHARES), ("each", EACH)) for name, case in cases.items()}


@pytest.mark.parametrize("name", ALL)
def test_probabilities(name, tmp_path):
    """The file's own numbers, in one tile and in tiles, and the labels that they make."""
    kind, nodes, function = ALL[name]
    expected = function(get_logits())
    classes = expected.shape[-1]
    model, said = take_over(tmp_path, nodes, classes)
    assert said["probabilities"] == ("sigmoid" if kind == "each" or classes == 1 else "softmax")
    whole_image, tiles = compute(model, make_image(*SIZE, 3), 0, 32)
    # Behind the last whole vector of a map, PyTorch computes exponentials one by one, on some processors with another last bit.
    assert abs(whole_image - tiles).max() < 2e-7 and abs(whole_image - expected).max() < 2e-6
    labels = segment(model) > 0 if classes <= 2 else segment(model)
    wanted = expected[..., 0] >= 0.5 if classes == 1 else expected.argmax(-1)
    clear = abs(expected[..., 0] - 0.5) > 1e-6 if classes == 1 else numpy.diff(numpy.sort(expected, -1)[..., -2:])[..., 0] > 1e-6
    assert ((labels == wanted) | ~clear).all() and clear.mean() > 0.5 and 0.01 < (wanted > 0).mean()


def test_logarithm_of_one_class(tmp_path):
    """log(sigmoid(z)) is never above 0: the label is 1 where the probability is 0.5 or more."""
    model, said = take_over(tmp_path, [node("Sigmoid", ["a"], "p"), node("Log", ["p"], "logits")], 1)
    p = sigmoid(get_logits()[..., 0])
    assert abs(compute(model, make_image(*SIZE, 3), 0)[0][..., 0] - p).max() < 2e-6
    assert ((segment(model) > 0) == (p >= 0.5)).all() and "warnings" not in said


@pytest.mark.parametrize("name", ALL)
def test_formulas_are_those_of_onnxruntime(name, tmp_path):
    _, nodes, function = ALL[name]
    expected = function(get_logits())
    given = compute_by_onnxruntime(write(tmp_path, nodes, expected.shape[-1]))[0].transpose(1, 2, 0)
    assert abs((softmax(given) if "logarithm" in name else given) - expected).max() < 2e-6


@pytest.mark.parametrize("factor", ["byte", "two"])
def test_scaled(factor, tmp_path):
    """They are divided by the greatest number that they can be, and that is said."""
    model, said = take_over(tmp_path, [node("Sigmoid", ["a"], "p"), node("Mul", ["p", factor], "logits")], 1)
    expected = sigmoid(get_logits()[..., :1])
    assert abs(compute(model, make_image(*SIZE, 3), 0)[0] - expected).max() < 2e-6
    assert [each["code"] for each in said["warnings"]] == ["W-MODEL-OUTPUT"]
    assert said["provenance"]["output"] == f"probabilities, divided by {255 if factor == 'byte' else 2}"


@pytest.mark.parametrize("nodes", [
    [node("Relu", ["a"], "logits")],
    [node("Clip", ["a", "zero", "byte"], "logits")],
    [node("Softplus", ["a"], "logits")],
    [node("Relu", ["a"], "r"), node("Mul", ["r", "minus"], "logits")],
], ids=["relu", "clip", "softplus", "negative"])
def test_what_is_neither(nodes, tmp_path):
    refused = refuse("import", write(tmp_path, nodes, 1), "-o", tmp_path / "model.safetensors")
    assert refused.code == "E-NETWORK-OPERATION" and refused.file == str(tmp_path / "network.onnx") and "logits" in refused.why


BOUNDED = {
    "tanh": ([node("Tanh", ["a"], "logits")], lambda z: numpy.tanh(z[..., A])),
    "difference": (both([node("Sub", ["p", "q"], "logits")]), lambda z: sigmoid(z[..., A]) - sigmoid(z[..., B])),
    "capped": ([node("Tanh", ["a"], "t1"), node("Mul", ["t1", "eight"], "logits")], lambda z: 8 * numpy.tanh(z[..., A])),
    "clipped": ([node("Clip", ["a", "least", "eight"], "logits")], lambda z: z[..., A].clip(-20, 8)),
    "capped_classes": ([node("Tanh", ["z"], "t1"), node("Mul", ["t1", "eight"], "logits")], lambda z: 8 * numpy.tanh(z)),
    "negative_softmax": ([node("Softmax", ["z"], "p", axis=1), node("Neg", ["p"], "logits")], lambda z: -softmax(z)),
}


@pytest.mark.parametrize("name", BOUNDED)
def test_logits_with_bounds(name, tmp_path):
    """Bounds that probabilities do not have say that these are logits, and import says so."""
    nodes, function = BOUNDED[name]
    expected = function(get_logits())
    model, said = take_over(tmp_path, nodes, expected.shape[-1])
    assert [each["code"] for each in said["warnings"]] == ["W-MODEL-OUTPUT"]
    given = compute(model, make_image(*SIZE, 3), 0, 32)[0]
    assert abs(given - (sigmoid(expected) if expected.shape[-1] == 1 else softmax(expected))).max() < 1e-5
    greatest = numpy.sort(expected, -1)
    clear = abs(expected[..., 0]) > 1e-5 if expected.shape[-1] == 1 else greatest[..., -1] - greatest[..., -2] > 1e-5
    wanted = 255 * (expected[..., 0] > 0) if expected.shape[-1] == 1 else expected.argmax(-1)
    assert ((segment(model) == wanted) | ~clear).all() and clear.mean() > 0.3 and len(numpy.unique(wanted[clear])) > 1


def test_mask_beside_its_probability(tmp_path):
    """Of two classes that do not exclude each other the mask is the greater one, with and without --probability."""
    model, said = take_over(tmp_path, [node("Sigmoid", ["x"], "logits")], 2)
    assert "--probability" in said["warnings"][0]["do"]
    p = sigmoid(get_logits()[..., X])
    alone, beside = segment(model), segment(model, "--probability", tmp_path / "probability.tif")
    clear = abs(p[..., 1] - p[..., 0]) > 1e-6
    assert (alone == beside).all() and (((alone > 0) == (p[..., 1] > p[..., 0])) | ~clear).all()
    assert ((p[..., 1] > p[..., 0]) != (p[..., 1] >= 0.5)).any()
    assert abs(tifffile.imread(tmp_path / "probability.tif", key=0) - 255 * p[..., 1]).max() < 0.51


def test_smoothed(tmp_path):
    """A filter of fixed weights leaves probabilities what they are; weights that may be learned do not."""
    model, said = take_over(tmp_path, [node("Sigmoid", ["a"], "p"), node("Conv", ["p", "smooth"], "logits", pads=[1] * 4)], 1)
    padded = numpy.pad(sigmoid(get_logits()[..., 0]), 1)
    expected = sum(padded[i : i + SIZE[0], j : j + SIZE[1]] for i in range(3) for j in range(3)) / 9
    assert abs(compute(model, make_image(*SIZE, 3), 0, 24)[..., 0] - expected).max() < 2e-6
    _, said = take_over(tmp_path, [node("Sigmoid", ["z"], "p"), node("Conv", ["p", "learned"], "logits")], 1)
    assert "output" not in said["provenance"]


ARRAYS.append(tensor("learned", [1, 4, 1, 1], numpy.array([0.9, -0.2, 0.3, 0.1], numpy.float32).tobytes()))

ARRAYS += [floats("eight", value=8.0), floats("least", value=-20.0), floats("small", value=0.01), floats("few", value=-0.3)]

ENDS = {
    "argmax": ([node("ArgMax", ["z"], "l", axis=1), node("Cast", ["l"], "logits", to=6)], lambda z: z.argmax(-1)),
    "argmax_without_axis": ([node("Softmax", ["z"], "p", axis=1), node("ArgMax", ["p"], "logits", axis=1, keepdims=0)], lambda z: z.argmax(-1)),
    "squeezed": ([node("ArgMax", ["z"], "l", axis=1), node("Squeeze", ["l", "axis"], "s"), node("Cast", ["s"], "logits", to=7)], lambda z: z.argmax(-1)),
    "above_half": ([node("Sigmoid", ["a"], "p"), node("Greater", ["p", "h"], "g"), node("Cast", ["g"], "logits", to=2)], lambda z: z[..., 0] > 0),
    "above_times_255": ([node("Greater", ["a", "zero"], "g"), node("Cast", ["g"], "c1", to=2), node("Mul", ["byte", "c1"], "logits")], lambda z: z[..., 0] > 0),
    "above_where": ([node("Sigmoid", ["a"], "p"), node("Greater", ["p", "t"], "g"), node("Where", ["g", "byte", "zero"], "logits")], lambda z: sigmoid(z[..., 0]) > numpy.float32(0.3)),
    "above_where_not": ([node("Sigmoid", ["a"], "p"), node("Greater", ["p", "t"], "g"), node("Where", ["g", "zero", "one"], "logits")], lambda z: sigmoid(z[..., 0]) <= numpy.float32(0.3)),
    "not_below": ([node("Less", ["d", "two"], "g"), node("Not", ["g"], "n"), node("Cast", ["n"], "logits", to=7)], lambda z: z[..., 3] >= 2),
    "argmax_times_255": ([node("ArgMax", ["x"], "l", axis=1), node("Cast", ["l"], "c1", to=1), node("Mul", ["c1", "byte"], "logits")], lambda z: z[..., 1] > z[..., 0]),
    "above_zero": ([node("Greater", ["a", "zero"], "logits")], lambda z: z[..., 0] > 0),
    "above_less": ([node("Sigmoid", ["a"], "p"), node("GreaterOrEqual", ["p", "t"], "g"), node("Cast", ["g"], "logits", to=1)], lambda z: sigmoid(z[..., 0]) >= numpy.float32(0.3)),
    "above_two": ([node("Greater", ["d", "two"], "logits")], lambda z: z[..., 3] > 2),
    "below": ([node("Sigmoid", ["a"], "p"), node("Less", ["p", "h"], "logits")], lambda z: z[..., 0] < 0),
    "mean_above": (both([*MEAN[:1], node("Mul", ["sum", "h"], "m"), node("Greater", ["m", "t"], "logits")]), lambda z: sigmoid(z[..., :2]).mean(-1) > numpy.float32(0.3)),
    "rounded": ([node("Sigmoid", ["a"], "p"), node("Round", ["p"], "logits")], lambda z: z[..., 0] > 0),
    "argmax_of_tanh": ([node("Mul", ["z", "small"], "s"), node("Tanh", ["s"], "t1"), node("Mul", ["t1", "eight"], "t2"), node("ArgMax", ["t2"], "logits", axis=1)], lambda z: z.argmax(-1)),
    "argmax_of_clip": ([node("Mul", ["z", "small"], "s"), node("Clip", ["s", "least", "eight"], "t1"), node("ArgMax", ["t1"], "logits", axis=1)], lambda z: z.argmax(-1)),
    "tanh_above": ([node("Tanh", ["a"], "t1"), node("Greater", ["t1", "t"], "logits")], lambda z: numpy.tanh(z[..., 0]) > numpy.float32(0.3)),
    "tanh_above_negative": ([node("Tanh", ["a"], "t1"), node("Greater", ["t1", "few"], "logits")], lambda z: numpy.tanh(z[..., 0]) > numpy.float32(-0.3)),
    "relu_above": ([node("Relu", ["a"], "r"), node("Greater", ["r", "zero"], "logits")], lambda z: z[..., 0] > 0),
    "relu_not_above": ([node("Relu", ["a"], "r"), node("LessOrEqual", ["r", "zero"], "logits")], lambda z: z[..., 0] <= 0),
    "share_above_zero": ([node("Clip", ["a", "zero", "one"], "c1"), node("Greater", ["c1", "zero"], "logits")], lambda z: z[..., 0] > 0),
    "clip_at_its_bound": ([node("Clip", ["d", "minus", "two"], "c1"), node("GreaterOrEqual", ["c1", "two"], "logits")], lambda z: z[..., 3] >= 2),
    "number_first": ([node("Sigmoid", ["a"], "p"), node("Less", ["t", "p"], "g"), node("Cast", ["g"], "logits", to=2)], lambda z: sigmoid(z[..., 0]) > numpy.float32(0.3)),
    "class_of_argmax": ([node("ArgMax", ["z"], "l", axis=1), node("Equal", ["l", "second"], "e"), node("Cast", ["e"], "logits", to=2)], lambda z: z.argmax(-1) == 2),
    "no_class_of_argmax": ([node("Softmax", ["z"], "p", axis=1), node("ArgMax", ["p"], "l", axis=1), node("Equal", ["l", "second"], "e"), node("Not", ["e"], "logits")], lambda z: z.argmax(-1) != 2),
    "classes_of_argmax": ([node("ArgMax", ["z"], "l", axis=1, keepdims=0), node("Greater", ["l", "start"], "g"), node("Where", ["g", "byte", "zero"], "logits")], lambda z: z.argmax(-1) > 1),
    "classes_first": ([node("ArgMax", ["z"], "l", axis=1), node("Cast", ["l"], "f", to=1), node("LessOrEqual", ["two", "f"], "logits")], lambda z: z.argmax(-1) >= 2),
    "argmax_of_truth": ([node("ArgMax", ["z"], "l", axis=1), node("Cast", ["l"], "logits", to=9)], lambda z: z.argmax(-1) > 0),
    "argmax_of_no_truth": ([node("ArgMax", ["z"], "l", axis=1), node("Cast", ["l"], "c1", to=9), node("Not", ["c1"], "c2"), node("Cast", ["c2"], "logits", to=1)], lambda z: z.argmax(-1) == 0),
    "class_of_two_by_argmax": ([node("ArgMax", ["x"], "l", axis=1), node("Equal", ["l", "batch"], "logits")], lambda z: z[..., 0] >= z[..., 1]),
    "number_first_above": ([node("GreaterOrEqual", ["two", "d"], "logits")], lambda z: z[..., 3] <= 2),
}


@pytest.mark.parametrize("name", ENDS)
def test_labels_at_the_end(name, tmp_path):
    nodes, function = ENDS[name]
    model, said = take_over(tmp_path, nodes, 1)
    expected, labels = function(get_logits()), segment(model)
    labels = labels > 0 if expected.dtype == bool else labels
    assert (labels == expected).all() and len(numpy.unique(labels)) > 1
    assert any("at the end" in each for each in said["provenance"]["left out"])


def test_labels_of_other_numbers(tmp_path):
    """More than two: a mask has the numbers of the channels."""
    nodes = [node("ArgMax", ["z"], "l", axis=1), node("Cast", ["l"], "c1", to=1), node("Mul", ["c1", "byte"], "logits")]
    refused = refuse("import", write(tmp_path, nodes, 4), "-o", tmp_path / "m.safetensors")
    assert refused.code == "E-NETWORK-OPERATION" and "ArgMax" in refused.why


@pytest.mark.parametrize("axes", ["axis", "batch and channel", "batch"])
def test_logits_without_their_axes(tmp_path, axes):
    """[1, H, W], [H, W] and [1, H, W] of one channel."""
    model, _ = take_over(tmp_path, [node("Squeeze", ["a", axes], "logits")], 1)
    p = compute(model, make_image(*SIZE, 3), 0)[0][..., 0]
    assert abs(p - sigmoid(get_logits()[..., 0])).max() < 3e-6


def test_labels_of_several_thresholds(tmp_path):
    refused = refuse("import", write(tmp_path, [node("Sigmoid", ["z"], "p"), node("Greater", ["p", "h"], "logits")], 4), "-o", tmp_path / "m.safetensors")
    assert refused.code == "E-NETWORK-OPERATION"


def test_choice_of_outputs(tmp_path):
    """The first is taken, and that is said with the names of all; one that is chosen is not remarked on."""
    nodes = [node("Identity", ["a"], "logits"), node("Identity", ["b"], "other"), node("Identity", ["c"], "third")]
    file, model = write(tmp_path, nodes, 1, more_outputs=["other", "third"]), tmp_path / "model.safetensors"
    said = json.loads(run("import", file, "-o", model, "--json").stdout)
    (warning,) = said["warnings"]
    assert (warning["code"], warning["file"], warning["option"], warning["value"]) == ("W-MODEL-OUTPUT", str(file), "--logits", "logits")
    assert all(name in warning["why"] for name in ("logits", "other", "third"))
    said = json.loads(run("import", file, "-o", model, "--json", "--overwrite", "--logits", "third").stdout)
    assert "warnings" not in said and said["provenance"]["logits"] == "third" and said["provenance"]["outputs"] == ["logits", "other", "third"]
    assert abs(compute(model, make_image(*SIZE, 3), 0)[0] - sigmoid(get_logits()[..., 2:3])).max() < 2e-6


def test_json_that_ends_in_probabilities(tmp_path):
    """Of a description the same holds, also where a model of an earlier version has it."""
    described = {"name": "mean", "input": {"channels": 3, "invert": False}, "operations": [
        {"name": "image", "type": "input", "channels": 3},
        {"name": "first", "type": "conv2d", "inputs": ["image"], "out_channels": 1, "kernel_size": 1}, {"name": "second", "type": "conv2d", "inputs": ["image"], "out_channels": 1, "kernel_size": 1},
        {"name": "p", "type": "sigmoid", "inputs": ["first"]}, {"name": "q", "type": "sigmoid", "inputs": ["second"]},
        {"name": "sum", "type": "add", "inputs": ["p", "q"]}, {"name": "mean", "type": "mul", "inputs": ["sum"], "other": 0.5}], "output": "mean"}
    arrays = {"first.weight": WEIGHTS[:1].reshape(1, 3, 1, 1), "first.bias": BIAS[:1], "second.weight": WEIGHTS[1:2].reshape(1, 3, 1, 1), "second.bias": BIAS[1:2]}
    header, data = {"__metadata__": {"gigapixel": "2", "network": json.dumps(described), "microns_per_pixel": "0", "tile_size": "32"}}, b""
    for key, array in arrays.items():
        header[key] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    text = json.dumps(header).encode()
    model = tmp_path / "model.safetensors"
    model.write_bytes(len(text).to_bytes(8, "little") + text + data)
    expected = sigmoid(get_logits()[..., :2]).mean(-1, keepdims=True)
    assert abs(compute(model, make_image(*SIZE, 3), 0)[0] - expected).max() < 2e-6
    assert ((segment(model) > 0) == (expected[..., 0] >= 0.5)).all()


OPERATORS = {
    "channels_gathered": ([node("Gather", ["z", "order"], "logits", axis=1)], lambda z: z[..., ::-1]),
    "channels_backwards": ([node("Slice", ["z", "last", "first", "axis", "back"], "logits")], lambda z: z[..., ::-1]),
    "every_second_channel": ([node("Slice", ["z", "start", "last", "axis", "second"], "m"), node("Concat", ["m", "a"], "logits", axis=1)], lambda z: z[..., [1, 0]]),
    "scalar_index": ([node("Gather", ["z", "index"], "i", axis=1), node("Unsqueeze", ["i", "axis"], "u"), node("Concat", ["u", "a"], "logits", axis=1)], lambda z: z[..., [2, 0]]),
    "tile": ([node("Tile", ["x", "repeats"], "logits")], lambda z: z[..., [0, 1, 0, 1]]),
    "expand": ([node("Expand", ["a", "shape"], "m"), node("Add", ["m", "z"], "logits")], lambda z: z[..., :1] + z),
    "mish": ([node("Softplus", ["z"], "s"), node("Tanh", ["s"], "g"), node("Mul", ["z", "g"], "logits")], lambda z: z * numpy.tanh(numpy.log1p(numpy.exp(z)))),
    "softplus": ([node("Softplus", ["x"], "s"), node("Sub", ["s", "y"], "logits")], lambda z: numpy.log1p(numpy.exp(z[..., X])) - z[..., Y]),
    "sum_of_channels": ([node("ReduceSum", ["z", "axis"], "s"), node("Concat", ["s", "a"], "logits", axis=1)], lambda z: numpy.stack([z.sum(-1), z[..., 0]], -1)),
    "least_channel": ([node("ReduceMin", ["z"], "s", axes=[1]), node("Concat", ["s", "a"], "logits", axis=1)], lambda z: numpy.stack([z.min(-1), z[..., 0]], -1)),
    "greatest_channel": ([node("ReduceMax", ["z"], "s", axes=[1], keepdims=0), node("Unsqueeze", ["s", "axis"], "u"), node("Sub", ["u", "h"], "v"), node("Concat", ["v", "b"], "logits", axis=1)],
                         lambda z: numpy.stack([z.max(-1) - 0.5, z[..., 1]], -1)),
    "one_side": ([node("Clip", ["x", "minus"], "m"), node("Add", ["m", "y"], "logits")], lambda z: z[..., X].clip(-1) + z[..., Y]),
    "cast_like": ([node("CastLike", ["z", "image"], "logits")], lambda z: z),
    "dequantized": ([node("DequantizeLinear", ["bytes", "scales", "zeros"], "w", axis=0), node("Conv", ["image", "w"], "logits")], None),
    "dequantized_at_once": ([node("DequantizeLinear", ["unsigned", "scale", "middle"], "w"), node("Conv", ["image", "w"], "logits")], None),
    "quantized": ([node("QuantizeLinear", ["weight", "scale", "none"], "q"), node("DequantizeLinear", ["q", "scale", "none"], "w"), node("Conv", ["image", "w"], "logits")], None),
}
BYTES = numpy.random.default_rng(4).integers(-128, 128, (2, 3, 1, 1), numpy.int8)
SCALES = numpy.array([0.02, 0.05], numpy.float32)
ARRAYS += [whole("last", 3), whole("first", -(2**40)), whole("back", -1), whole("second", 2), tensor("index", [], (2).to_bytes(8, "little"), 7), whole("repeats", 1, 2, 1, 1),
           whole("shape", 1, 4, 1, 1), tensor("bytes", [2, 3, 1, 1], BYTES.tobytes(), 3), tensor("scales", [2], SCALES.tobytes()), tensor("zeros", [2], bytes([3, 254]), 3),
           tensor("unsigned", [2, 3, 1, 1], BYTES.tobytes(), 2), floats("scale", value=0.0625), tensor("middle", [], bytes([128]), 2), tensor("none", [], bytes([0]), 3)]
ROUNDED = numpy.clip(numpy.round(WEIGHTS / 0.0625), -128, 127) * 0.0625
MATRICES = {"dequantized": (BYTES[..., 0, 0] - numpy.array([[3.0], [-2.0]])) * SCALES[:, None], "dequantized_at_once": (BYTES.view(numpy.uint8)[..., 0, 0] - 128.0) * 0.0625, "quantized": ROUNDED}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name, tmp_path):
    """Each by itself, against its formula, in one tile and in tiles."""
    nodes, function = OPERATORS[name]
    expected = make_image(*SIZE, 3) / 255 @ MATRICES[name].T if function is None else function(get_logits())
    model, said = take_over(tmp_path, nodes, expected.shape[-1], opset=18 if name in ("channels_gathered",) else 17)
    whole_image, tiles = compute(model, make_image(*SIZE, 3), 0, 32)
    wanted = softmax(expected)
    assert (whole_image == tiles).all() and abs(whole_image - wanted[..., -whole_image.shape[-1] :]).max() < 3e-6
    if name == "mish":
        assert said["operations"]["mish"] == 1 and "softplus" not in said["operations"]


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_are_those_of_onnxruntime(name, tmp_path):
    nodes, function = OPERATORS[name]
    expected = make_image(*SIZE, 3) / 255 @ MATRICES[name].T if function is None else function(get_logits())
    given = compute_by_onnxruntime(write(tmp_path, nodes, expected.shape[-1]))[0].transpose(1, 2, 0)
    assert abs(given - expected).max() < 1e-5


@pytest.mark.parametrize("kernel, stride, upper", [(2, 1, True), (2, 1, False), (3, 2, True), (3, 2, False), (4, 1, True), (2, 2, True)])
def test_same_means(kernel, stride, upper, tmp_path):
    """Pixels that a mean is padded with do not count."""
    nodes = [node("AveragePool", ["z"], "m", kernel_shape=[kernel] * 2, strides=[stride] * 2, auto_pad="SAME_UPPER" if upper else "SAME_LOWER"),
             node("Resize", ["m", "", "scales"], "logits", mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")]
    height, width = 40, 36
    model, file = tmp_path / "model.safetensors", tmp_path / "network.onnx"
    arrays = [tensor("weight", [4, 3, 1, 1], WEIGHTS.tobytes()), tensor("bias", [4], BIAS.tobytes()), whole("ones", 1, 1, 1, 1), whole("half", 2, 2),
              tensor("scales", [4], numpy.array([1, 1, stride, stride], numpy.float32).tobytes())]
    file.write_bytes(network([*FIRST, *nodes], arrays, classes=4))
    run("import", file, "-o", model, "--tile-size", 32)
    pixels = make_image(height, width, 3)
    z = pixels / 255 @ WEIGHTS.T.astype(float) + BIAS
    means = numpy.zeros((height // stride, width // stride, 4))
    begins = [max(0, (side // stride - 1) * stride + kernel - side) for side in (height, width)]
    begins = [each // 2 if upper else each - each // 2 for each in begins]
    for i in range(means.shape[0]):
        for j in range(means.shape[1]):
            top, left = i * stride - begins[0], j * stride - begins[1]
            means[i, j] = z[max(0, top) : top + kernel, max(0, left) : left + kernel].mean((0, 1))
    expected = softmax(means.repeat(stride, 0).repeat(stride, 1))
    for given in compute(model, pixels, 0, 32):
        assert abs(given - expected).max() < 3e-6


@pytest.mark.parametrize("opset, numbers", [(18, 2), (18, 4), (21, 4)])
def test_norms_of_groups(opset, numbers, tmp_path):
    """Before opset 21 a factor and a summand for each group, from then on for each channel."""
    factors, summands = numpy.array([1.5, -0.7, 0.4, 2.0], numpy.float32)[:numbers], numpy.array([0.1, -0.3, 0.9, 0.2], numpy.float32)[:numbers]
    model, file = tmp_path / "model.safetensors", tmp_path / "network.onnx"
    arrays = [*ARRAYS, tensor("factors", [numbers], factors.tobytes()), tensor("summands", [numbers], summands.tobytes())]
    file.write_bytes(network([*FIRST[:1], node("GroupNormalization", ["z", "factors", "summands"], "logits", num_groups=2)], arrays, opset=opset, classes=4))
    run("import", file, "-o", model)
    groups = get_logits().reshape(-1, 2, 2)
    normed = ((groups - groups.mean((0, 2), keepdims=True)) / numpy.sqrt(groups.var((0, 2), keepdims=True) + 1e-5)).reshape(*SIZE, 4)
    expected = softmax(normed * factors.repeat(4 // numbers) + summands.repeat(4 // numbers))
    for given in compute(model, make_image(*SIZE, 3), 0, 32):
        assert abs(given - expected).max() < 5e-6


def make_function(name, inputs, outputs, nodes, attributes=()):
    content = part(1, name) + b"".join(part(4, each) for each in inputs) + b"".join(part(5, each) for each in outputs)
    content += b"".join(part(6, each) for each in attributes) + b"".join(part(7, each) for each in nodes)
    return part(25, content + part(9, part(1, "") + integer(2, 17)) + part(10, "my"))


def test_functions_of_the_file(tmp_path):
    """Functions that call others, with an attribute of the call, twice."""
    call = lambda kind, given, out, **more: node(kind, given, out, **more) + part(7, "my")
    leaky = part(3, "") + part(4, "LeakyRelu") + part(1, "x") + part(2, "y") + part(5, part(1, "alpha") + part(21, "slope") + integer(20, 1))
    inner = make_function("Leak", ["x"], ["y"], [leaky], ["slope"])
    outer = make_function("Twice", ["given"], ["taken"], [call("Leak", ["given"], "middle", slope=0.5), call("Leak", ["middle"], "taken", slope=0.25)])
    nodes = [call("Twice", ["z"], "once", name="first"), call("Twice", ["once"], "logits", name="second")]
    model, _ = take_over(tmp_path, nodes, 4, more=inner + outer + part(8, part(1, "my") + integer(2, 1)))
    z = get_logits()
    expected = softmax(numpy.where(z < 0, z / 64, z))
    assert abs(compute(model, make_image(*SIZE, 3), 0)[0] - expected).max() < 3e-6
    endless = make_function("Endless", ["x"], ["y"], [call("Endless", ["x"], "y")])
    refused = refuse("import", write(tmp_path, [call("Endless", ["z"], "logits")], 4, more=endless + part(8, part(1, "my") + integer(2, 1))), "-o", tmp_path / "m.safetensors")
    assert refused.code == "E-ONNX-FORMAT"


def equal(a, b):
    """Whether a map has b channels, as exporters ask for it."""
    return [node("Shape", [a], "shape of it"), node("Gather", ["shape of it", "axis"], "channels", axis=0), node("Equal", ["channels", b], "is")]


HALVED = branch([node("Mul", ["z", "h"], "inner")], "inner")
TWICE = branch([node("Add", ["z", "z"], "inner")], "inner")
BRANCHES = {
    "chosen": ([*equal("z", "four"), node_if("is", HALVED, TWICE, "logits")], lambda z: z / 2),
    "other": ([*equal("z", "repeats_of_two"), node_if("is", HALVED, TWICE, "logits")], lambda z: z * 2),
    "constant": ([node_if("yes", HALVED, TWICE, "logits")], lambda z: z / 2),
    "of_the_same_names": ([node_if("yes", HALVED, TWICE, "m"), node_if("no", branch([node("Neg", ["m"], "inner")], "inner"), branch([node("Add", ["m", "b"], "inner")], "inner"), "logits")], lambda z: z / 2 + z[..., 1:2]),
    "nested": ([node_if("yes", branch([node("Neg", ["z"], "inside"), node_if("no", branch([node("Identity", ["z"], "inner")], "inner"), branch([node("Mul", ["inside", "h"], "inner")], "inner"), "end")], "end"), TWICE, "logits")], lambda z: -z / 2),
    "with_arrays": ([node_if("no", TWICE, branch([node("Constant", [], "two of it", value_float=2.0), node("Mul", ["z", "two of it"], "inside"), node("Conv", ["inside", "matrix"], "inner")], "inner", arrays=[tensor("matrix", [2, 4, 1, 1], (numpy.arange(8, dtype=numpy.float32) / 64).tobytes())]), "logits")],
                    lambda z: 2 * z @ (numpy.arange(8) / 64).reshape(2, 4).T),
    "two_outputs": ([node_if("yes", branch([node("Neg", ["x"], "one of both"), node("Identity", ["y"], "other of both")], "other of both", "one of both"), branch([node("Identity", ["x"], "1st"), node("Identity", ["y"], "2nd")], "1st", "2nd"), "m", "n"), node("Sub", ["m", "n"], "logits")], lambda z: z[..., Y] + z[..., X]),
    "without_axis": ([*equal("a", "axis"), node_if("is", branch([node("Squeeze", ["a", "axis"], "inner")], "inner"), branch([node("Identity", ["a"], "inner")], "inner"), "logits")], lambda z: z[..., :1]),
    "sigmoid": ([node_if("yes", branch([node("Sigmoid", ["a"], "inner")], "inner"), branch([node("Identity", ["a"], "inner")], "inner"), "logits")], lambda z: z[..., :1]),
}
ARRAYS += [whole("four", 4), whole("repeats_of_two", 2), tensor("yes", [], b"\1", 9), tensor("no", [1], b"\0", 9)]


@pytest.mark.parametrize("name", BRANCHES)
def test_branches(name, tmp_path):
    """The one that the condition chooses is followed; it has its own names, and reads values around it."""
    nodes, function = BRANCHES[name]
    expected = function(get_logits())
    model, _ = take_over(tmp_path, nodes, expected.shape[-1])
    p = sigmoid(expected) if expected.shape[-1] == 1 else softmax(expected)
    assert abs(compute(model, make_image(*SIZE, 3), 0, 32) - p).max() < 4e-6


@pytest.mark.parametrize("name", BRANCHES)
def test_branches_are_those_of_onnxruntime(name, tmp_path):
    nodes, function = BRANCHES[name]
    expected = function(get_logits())
    given = compute_by_onnxruntime(write(tmp_path, nodes, expected.shape[-1]))[0]
    given = given.reshape(-1, *SIZE).transpose(1, 2, 0)
    assert abs(given - (sigmoid(expected) if name == "sigmoid" else expected)).max() < 1e-5


def test_branches_that_pixels_choose(tmp_path):
    nodes = [node("ReduceMax", ["a"], "m", axes=[1, 2, 3], keepdims=0), node("Greater", ["m", "zero"], "is"), node_if("is", HALVED, TWICE, "logits")]
    refused = refuse("import", write(tmp_path, nodes, 4), "-o", tmp_path / "m.safetensors")
    assert refused.code == "E-NETWORK-OPERATION"
    endless = HALVED
    for _ in range(40):
        endless = branch([node_if("yes", endless, TWICE, "inner")], "inner")
    refused = refuse("import", write(tmp_path, [node_if("yes", endless, TWICE, "logits")], 4), "-o", tmp_path / "m.safetensors")
    assert refused.code == "E-ONNX-FORMAT"


def test_training_from_probabilities(tmp_path):
    """A mean of sigmoids trains, with the loss of its probabilities; classes that do not exclude each other are refused."""
    model, _ = take_over(tmp_path, SIGMOIDS["mean"][0], 1)
    p = sigmoid(get_logits()[..., :2]).mean(-1)
    truth = p > 0.4
    tifffile.imwrite(tmp_path / "slide.tif", make_image(*SIZE, 3), tile=(32, 32), photometric="rgb", resolution=(20000, 20000), resolutionunit=3)
    tifffile.imwrite(tmp_path / "truth.tif", truth.astype(numpy.uint8))
    (tmp_path / "cohort.csv").write_text(COHORT)
    train = ["train", "--cohort", tmp_path / "cohort.csv", "--level", 0, "--json", "--optimizer", "sgd", "--learning-rate", 1e-9, "--epochs", 1]
    said = json.loads(run(*train, "--network", model, "--weights", model, "-o", tmp_path / "run").stdout)
    assert abs(said["loss"] - -numpy.where(truth, numpy.log(p), numpy.log(1 - p)).mean()) < 1e-4
    model, _ = take_over(tmp_path, EACH["sigmoids"][0], 4)
    refused = refuse(*train, "--network", model, "--weights", model, "-o", tmp_path / "other")
    assert refused.code == "E-MODEL-OUTPUT"


def test_a_run_of_an_earlier_version(tmp_path):
    """It goes on: former_run/ holds its folder after one epoch, and the second one has the loss that it had there."""
    shutil.copytree(HERE / "former_run", tmp_path, dirs_exist_ok=True)
    (tmp_path / "cohort.csv").write_text(COHORT)
    said = json.loads(run("train", "--cohort", tmp_path / "cohort.csv", "--level", 0, "--json", "-o", tmp_path / "run", "--epochs", 2, "--resume").stdout)
    assert said["epochs"] == 2 and abs(said["loss"] - FORMER_LOSS) < 1e-6


def test_a_run_whose_probabilities_were_logits(tmp_path):
    """It goes on, and says that its loss is another one. Earlier versions wrote the network without its last operations."""
    model, _ = take_over(tmp_path, SIGMOIDS["mean"][0], 1)
    tifffile.imwrite(tmp_path / "slide.tif", make_image(*SIZE, 3), tile=(32, 32), photometric="rgb", resolution=(20000, 20000), resolutionunit=3)
    tifffile.imwrite(tmp_path / "truth.tif", (make_image(*SIZE, 3)[..., 0] > 127).astype(numpy.uint8))
    (tmp_path / "cohort.csv").write_text(COHORT)
    train = ["train", "--cohort", tmp_path / "cohort.csv", "--level", 0, "--json", "-o", tmp_path / "run"]
    run(*train, "--network", model, "--weights", model, "--epochs", 1)
    for file in (tmp_path / "run").glob("*.safetensors"):
        data = file.read_bytes()
        length = int.from_bytes(data[:8], "little")
        header = json.loads(data[8 : 8 + length])
        for key, value in header["__metadata__"].items():
            text = json.loads(value) if value.startswith("{") else {}
            network = text.get("network", text)
            if "operations" in network:
                last = network["operations"].pop()
                assert last["type"] == "logit" and last["name"] == network["output"]
                network["output"] = last["inputs"][0]
                header["__metadata__"][key] = json.dumps(text, separators=(",", ":"))
        header["__metadata__"].pop("training.hash", None)  # which they did not write
        changed = json.dumps(header).encode()
        changed += b" " * (-len(changed) % 8)
        file.write_bytes(len(changed).to_bytes(8, "little") + changed + data[8 + length :])
    said = json.loads(run(*train, "--epochs", 2, "--resume").stdout)
    assert said["epochs"] == 2 and [w["code"] for w in said["warnings"]].count("W-MODEL-OUTPUT") == 1


def test_training_of_capped_logits(tmp_path):
    """Logits that the network itself bounds train as others do."""
    described = {"name": "cap", "input": {"channels": 3, "invert": False}, "operations": [
        {"name": "image", "type": "input", "channels": 3}, {"name": "c", "type": "conv2d", "inputs": ["image"], "out_channels": 1, "kernel_size": 3, "padding": 1},
        {"name": "t", "type": "tanh", "inputs": ["c"]}, {"name": "m", "type": "mul", "inputs": ["t"], "other": 8}], "output": "m", "loss": {"type": "binary cross-entropy"}}
    (tmp_path / "cap.json").write_text(json.dumps(described))
    image = make_image(*SIZE, 3)
    tifffile.imwrite(tmp_path / "slide.tif", image, tile=(32, 32), photometric="rgb", resolution=(20000, 20000), resolutionunit=3)
    tifffile.imwrite(tmp_path / "truth.tif", (image[..., 0] > 127).astype(numpy.uint8))
    (tmp_path / "cohort.csv").write_text(COHORT)
    run("train", "--cohort", tmp_path / "cohort.csv", "--level", 0, "--network", tmp_path / "cap.json", "-o", tmp_path / "run", "--epochs", 2)
    run("train", "--cohort", tmp_path / "cohort.csv", "--level", 0, "-o", tmp_path / "run", "--epochs", 3, "--resume")
    model = tmp_path / "run" / "best.safetensors"
    p = compute(model, image, 0)[0][..., 0]
    run("segment", tmp_path / "slide.tif", "--model", model, "-o", tmp_path / "mask.tif", "--level", 0)
    assert ((tifffile.imread(tmp_path / "mask.tif", key=0) > 0) == (p >= 0.5)).all() and p.min() > 0.0003
