#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Writes networks.npz: small ONNX files, and what onnxruntime computes with them; those that are to be refused, with words of
the reason. Needs torch, onnx, onnxscript and onnxruntime, which the tests then do not.

    make_networks.py [NAME...]

NAME: only these are written anew, and the others stay as they are.
"""

import io
import pathlib
import sys

import numpy
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper, numpy_helper

from images import make_image
from modules import ConvNeXt, Gated, UNet

#: Height and width of the images of the operators: multiples of 8, or odd.
EVEN, ODD = (40, 56), (37, 45)
RANDOM = numpy.random.default_rng(1)


class Graph:
    """Nodes between an image and two logits of each pixel."""

    def __init__(self, opset=17, inputs=(("image", 3),), last=False, size=("h", "w")):
        self.opset, self.last, self.nodes, self.arrays = opset, last, [], []
        shape = lambda n: [1, *size, n] if last else [1, n, *size]
        self.inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape(n)) for name, n in inputs]
        self.output_shape = shape(2)

    def array(self, values, kind=numpy.float32):
        name = f"array.{len(self.arrays)}"
        self.arrays.append(numpy_helper.from_array(numpy.asarray(values, kind), name))
        return name

    def weight(self, *shape):
        return self.array(RANDOM.normal(0, 1 / numpy.sqrt(numpy.prod(shape[1:]) or 1), shape))

    def whole(self, *values):
        return self.array(values, numpy.int64)

    def add(self, kind, *inputs, outputs=1, **attributes):
        names = [f"{kind}.{len(self.nodes)}.{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, **attributes))
        return names[0] if outputs == 1 else names

    def conv(self, map, given, out, kernel=3, **attributes):
        attributes = attributes or {"pads": [kernel // 2] * 4}
        group = attributes.get("group", 1)
        return self.add("Conv", map, self.weight(out, given // group, kernel, kernel), self.weight(out), **attributes)

    def finish(self, map, channels):
        """To two logits; behind an operator that is alone in its network."""
        logits = self.conv(map, channels, 2, 1)
        return self.end(self.add("Transpose", logits, perm=[0, 2, 3, 1]) if self.last else logits)

    def end(self, output, kind=TensorProto.FLOAT, shape=None):
        out = helper.make_tensor_value_info(output, kind, shape or self.output_shape)
        graph = helper.make_graph(self.nodes, "graph", self.inputs, [out], self.arrays)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset), helper.make_opsetid("com.example", 1)], producer_name="make_networks", ir_version=8)
        onnx.checker.check_model(model)
        return model


CASES, REFUSED = {}, {}


def case(size=ODD, **options):
    """Of a function that is given a graph, its image and the image's eight channels, and returns a map with so many channels."""

    def add(function):
        graph = Graph(**options)
        maps = graph.conv("image", 3, 8) if not graph.last else None
        CASES[function.__name__] = (graph.finish(*function(graph, maps)), size)
        return function

    return add


def refused(words, **options):
    def add(function):
        graph = Graph(**options)
        REFUSED[function.__name__] = (graph.finish(*function(graph, graph.conv("image", 3, 8))), words)
        return function

    return add


def each(name, build, size=ODD, **options):
    graph = Graph(**options)
    CASES[name] = (graph.finish(*build(graph, graph.conv("image", 3, 8))), size)


# Windows.

each("pads_of_different_sides", lambda g, x: (g.conv(x, 8, 4, 4, pads=[0, 2, 3, 1]), 4))
each("same_upper", lambda g, x: (g.conv(x, 8, 4, 4, auto_pad="SAME_UPPER"), 4))
each("same_lower", lambda g, x: (g.conv(x, 8, 4, 4, auto_pad="SAME_LOWER"), 4))
each("dilated", lambda g, x: (g.conv(x, 8, 4, 3, pads=[3, 2, 3, 2], dilations=[3, 2]), 4))
each("grouped", lambda g, x: (g.conv(x, 8, 4, 3, pads=[1] * 4, group=4), 4))
each("norm", lambda g, x: (g.add("BatchNormalization", x, g.weight(8), g.weight(8), g.weight(8), g.array(RANDOM.uniform(0.5, 2, 8)), epsilon=1e-3), 8))
each("maximum", lambda g, x: (g.add("MaxPool", x, kernel_shape=[3, 3], pads=[1] * 4), 8))
each("maximum_of_different_sides", lambda g, x: (g.add("MaxPool", x, kernel_shape=[2, 3], pads=[0, 2, 1, 0]), 8))
each("maximum_dilated", lambda g, x: (g.add("MaxPool", x, kernel_shape=[3, 3], pads=[2] * 4, dilations=[2, 2]), 8))
each("mean", lambda g, x: (g.add("AveragePool", x, kernel_shape=[3, 3], pads=[1] * 4), 8))
each("mean_with_padding", lambda g, x: (g.add("AveragePool", x, kernel_shape=[3, 2], pads=[1, 0, 1, 1], count_include_pad=1), 8))


@case()
def strides_and_ceil(g, x):
    low = g.add("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
    high = g.add("Resize", low, "", "", g.add("Shape", x), mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    return g.add("Concat", x, g.conv(g.add("Slice", high, g.whole(0), g.whole(8), g.whole(1)), 8, 8), axis=1), 16


@case(size=EVEN)
def strides_of_tensorflow(g, x):
    """SAME of an even side has one zero, behind; of an odd one a zero at each side: so multiples alone are the same network."""
    low = g.conv(x, 8, 6, 3, strides=[2, 2], auto_pad="SAME_UPPER")
    lower = g.conv(low, 6, 6, 3, strides=[2, 2], auto_pad="SAME_UPPER")
    high = g.add("ConvTranspose", lower, g.weight(6, 5, 3, 3), g.weight(5), strides=[2, 2], auto_pad="SAME_UPPER")
    return g.add("ConvTranspose", high, g.weight(5, 4, 2, 2), strides=[2, 2]), 4


@case(size=EVEN)
def transposed(g, x):
    low = g.add("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    a = g.add("ConvTranspose", low, g.weight(8, 2, 4, 4), strides=[2, 2], pads=[1] * 4, group=2)
    b = g.add("ConvTranspose", low, g.weight(8, 4, 3, 3), g.weight(4), strides=[2, 2], pads=[0, 1, 1, 0])
    c = g.add("ConvTranspose", low, g.weight(8, 4, 3, 3), strides=[2, 2], pads=[1] * 4, output_padding=[1, 1])
    return g.add("Sum", a, b, c), 4


# Values.

ACTIVATIONS = {
    "Relu": {}, "LeakyRelu": {"alpha": 0.2}, "Elu": {"alpha": 0.7}, "Sigmoid": {}, "Tanh": {}, "HardSwish": {},
    "HardSigmoid": {"alpha": 0.3, "beta": 0.4}, "Softmax": {"axis": 1},
}
for kind, attributes in ACTIVATIONS.items():
    each(kind, lambda g, x, kind=kind, attributes=attributes: (g.add(kind, x, **attributes), 8))
each("Gelu", lambda g, x: (g.add("Gelu", x), 8), opset=20)
each("Gelu_tanh", lambda g, x: (g.add("Gelu", x, approximate="tanh"), 8), opset=20)
each("HardSigmoid_of_PyTorch", lambda g, x: (g.add("HardSigmoid", x, alpha=1 / 6), 8))
each("PRelu", lambda g, x: (g.add("PRelu", x, g.weight(8, 1, 1)), 8))
each("PRelu_one", lambda g, x: (g.add("PRelu", x, g.array([0.3])), 8))
each("Clip", lambda g, x: (g.add("Clip", x, g.array(-0.5), g.array(0.4)), 8))
each("Clip_before_opset_11", lambda g, x: (g.add("Clip", x, min=0.0, max=6.0), 8), opset=9)
each("Clip_below", lambda g, x: (g.add("Clip", x, g.array(0.0)), 8))
each("gated", lambda g, x: (g.add("Mul", x, g.add("Sigmoid", x)), 8))
each("gated_hard", lambda g, x: (g.add("Mul", g.add("HardSigmoid", x, alpha=1 / 6), x), 8))
each("gated_and_read", lambda g, x: ((lambda s: (g.add("Add", g.add("Mul", x, s), s), 8))(g.add("Sigmoid", x))))
each("numbers", lambda g, x: (g.add("Div", g.add("Sub", g.array(2.0), g.add("Mul", x, g.array([3.0]))), g.array(4.0)), 8))
each("channels", lambda g, x: (g.add("Add", g.add("Mul", x, g.weight(1, 8, 1, 1)), g.weight(8, 1, 1)), 8))
each("channels_taken_off", lambda g, x: (g.add("Div", g.add("Sub", x, g.weight(1, 8, 1, 1)), g.array(RANDOM.uniform(1, 2, (8, 1, 1)))), 8))
each("two_maps", lambda g, x: (g.add("Sub", g.add("Mul", x, g.conv(x, 8, 8)), g.add("Neg", x)), 8))
each("left_out", lambda g, x: (g.add("Dropout", g.add("Identity", g.add("Cast", x, to=1))), 8), opset=11)

# Pixels and channels that move.

RESIZED = {
    "nearest": ("nearest", {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}),
    "nearest_of_half_pixels": ("nearest", {}),
    "linear": ("linear", {"coordinate_transformation_mode": "half_pixel"}),
    "linear_of_pytorch": ("linear", {"coordinate_transformation_mode": "pytorch_half_pixel"}),
    "linear_aligned": ("linear", {"coordinate_transformation_mode": "align_corners"}),
}
for name, (mode, attributes) in RESIZED.items():

    def build(g, x, mode=mode, attributes=attributes):
        low = g.add("AveragePool", x, kernel_shape=[2, 2], strides=[2, 2])
        return g.add("Resize", low, "", g.array([1, 1, 2, 2]), mode=mode, **attributes), 8

    each(name, build, EVEN)


@case(size=EVEN, opset=9)
def upsample(g, x):
    return g.add("Upsample", g.add("MaxPool", x, kernel_shape=[4, 2], strides=[4, 2]), g.array([1, 1, 4, 2]), mode="nearest"), 8


@case()
def linear_to_another_map(g, x):
    low = g.add("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    sides = g.add("Slice", g.add("Shape", x), g.whole(2), g.whole(4))
    sizes = g.add("Concat", g.add("Slice", g.add("Shape", low), g.whole(0), g.whole(2)), sides, axis=0)
    return g.add("Concat", g.add("Resize", low, "", "", sizes, mode="linear"), x, axis=1), 16


@case()
def nearest_to_another_map(g, x):
    low = g.add("MaxPool", x, kernel_shape=[3, 3], strides=[3, 3])
    sizes = g.add("Shape", x)
    up = g.add("Resize", low, "", "", sizes, mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    return g.add("Add", up, x), 8


@case(size=EVEN)
def padded_by_what_is_missing(g, x):
    """F.pad of a U-Net's upsampled map to its skip."""
    low = g.add("MaxPool", g.add("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2]), kernel_shape=[2, 2], strides=[2, 2])
    up = g.add("ConvTranspose", low, g.weight(8, 8, 4, 4), strides=[4, 4])
    less = g.add("Sub", g.add("Shape", x), g.add("Shape", up))
    half = g.add("Div", less, g.whole(2))
    pads = g.add("Concat", half, g.add("Sub", less, half), axis=0)
    return g.add("Concat", x, g.add("Pad", up, g.add("Mul", pads, g.whole(0, 0, 0, 0, 0, 0, 1, 1)), g.array(0.0)), axis=1), 16


each("pad_reflect", lambda g, x: (g.conv(g.add("Pad", x, g.whole(0, 0, 1, 2, 0, 0, 1, 0), mode="reflect"), 8, 4, 3, pads=[0] * 4), 4))
each("pad_edge", lambda g, x: (g.conv(g.add("Pad", x, g.whole(0, 0, 2, 1, 0, 0, 0, 1), mode="edge"), 8, 4, 3, pads=[0] * 4), 4))
each("pad_value", lambda g, x: (g.conv(g.add("Pad", x, g.whole(0, 0, 1, 1, 0, 0, 1, 1), g.array(0.7)), 8, 4, 3, pads=[0] * 4), 4))
each("pad_before_opset_11", lambda g, x: (g.conv(g.add("Pad", x, pads=[0, 0, 1, 1, 0, 0, 1, 1]), 8, 4, 3, pads=[0] * 4), 4), opset=9)
each("pad_channels", lambda g, x: (g.add("Pad", x, g.whole(0, 1, 0, 0, 0, 2, 0, 0)), 11))
each("cropped", lambda g, x: (g.add("Slice", g.conv(x, 8, 4, 3, pads=[2] * 4), g.whole(1, 1), g.whole(-1, -1), g.whole(2, 3)), 4))
each("some_channels", lambda g, x: (g.add("Slice", x, g.whole(2), g.whole(7), g.whole(1)), 5))


@case()
def crop_and_channels(g, x):
    wide = g.conv(x, 8, 8, 3, pads=[3] * 4)
    rows = g.add("Slice", wide, g.whole(2), g.whole(-2), g.whole(2))
    return g.add("Slice", rows, g.whole(1, 2), g.whole(6, -2), g.whole(1, 3)), 5


@case()
def split(g, x):
    a, b, c = g.add("Split", x, g.whole(2, 3, 3), outputs=3, axis=1)
    return g.add("Concat", c, g.add("Add", b, c), a, axis=1), 8


@case(size=EVEN)
def every_other_pixel(g, x):
    """Focus of YOLO, and back."""
    parts = [g.add("Slice", x, g.whole(i, j), g.whole(2**40, 2**40), g.whole(2, 3), g.whole(2, 2)) for i in (0, 1) for j in (0, 1)]
    return g.add("DepthToSpace", g.conv(g.add("Concat", *parts, axis=1), 32, 16), blocksize=2, mode="CRD"), 4


@case(size=EVEN)
def depth_to_space_of_one(g, x):
    low = g.conv(g.add("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2]), 8, 4)
    return g.add("DepthToSpace", low, blocksize=2), 1


@case(last=True)
def channels_last(g, _):
    x = g.conv(g.add("Transpose", "image", perm=[0, 3, 1, 2]), 3, 8)
    back = g.add("Transpose", x, perm=[0, 2, 3, 1])
    both = g.add("Concat", g.add("Relu", back), g.add("Add", back, g.weight(8)), axis=3)
    return g.add("Transpose", both, perm=[0, 3, 1, 2]), 16


@case(last=True, inputs=(("image", 1),), size=EVEN)
def axes_named_anew(g, _):
    flat = g.add("Squeeze", "image", g.whole(3))
    return g.conv(g.add("Unsqueeze", flat, g.whole(1)), 1, 4), 4


@case(inputs=(("image", 3), ("places", 2)))
def two_inputs(g, x):
    return g.add("Concat", x, g.conv("places", 2, 4), "places", axis=1), 14


@case()
def halves(g, x):
    weight = g.array(RANDOM.normal(0, 0.3, (4, 8, 1, 1)), numpy.float16)
    return g.add("Conv", x, g.add("Cast", weight, to=1)), 4


@case()
def constants_of_nodes(g, x):
    weight = numpy_helper.from_array(RANDOM.normal(0, 0.3, (1, 1, 8, 4)).astype(numpy.float32))
    turned = g.add("Transpose", g.add("Constant", value=weight), perm=[3, 2, 0, 1])
    return g.add("Mul", g.add("Conv", x, turned), g.add("Constant", value_float=0.5)), 4


# Formulas that have an operation of their own.

GELU = {
    "gelu_of_pytorch": lambda g, x: g.add("Mul", g.add("Mul", x, g.add("Add", g.add("Erf", g.add("Div", x, g.array(2**0.5))), g.array(1.0))), g.array(0.5)),
    "gelu_of_keras": lambda g, x: g.add("Mul", g.add("Mul", g.array(0.5), x), g.add("Add", g.array(1.0), g.add("Erf", g.add("Mul", x, g.array(0.5**0.5))))),
    "gelu_halved": lambda g, x: g.add("Mul", x, g.add("Mul", g.array(0.5), g.add("Add", g.add("Erf", g.add("Div", x, g.add("Sqrt", g.array(2.0)))), g.array(1.0)))),
    "gelu_by_tanh": lambda g, x: g.add("Mul", g.add("Mul", x, g.array(0.5)), g.add("Add", g.array(1.0), g.add("Tanh", g.add(
        "Mul", g.add("Add", x, g.add("Mul", g.add("Pow", x, g.array(3.0)), g.array(0.044715))), g.array((2 / numpy.pi) ** 0.5))))),
    "gelu_by_tanh_of_products": lambda g, x: g.add("Mul", g.add("Mul", x, g.add("Add", g.array(1.0), g.add("Tanh", g.add(
        "Mul", g.add("Mul", x, g.array((2 / numpy.pi) ** 0.5)), g.add("Add", g.add("Mul", g.array(0.044715), g.add("Mul", x, x)), g.array(1.0)))))), g.array(0.5)),
}
for name, build in GELU.items():
    each(name, lambda g, x, build=build: (build(g, g.add("Mul", x, g.array(3.0))), 8))
each("tanh_that_is_no_gelu", lambda g, x: (g.add("Mul", g.add("Mul", x, g.array(0.5)), g.add("Add", g.array(1.0), g.add("Tanh", g.add("Mul", x, g.array(0.8))))), 8))


def norm_channels(g, x, axis, root):
    """Written out, as exporters of former opsets do."""
    centered = g.add("Sub", x, g.add("ReduceMean", x, axes=[axis]))
    again = g.add("Sub", x, g.add("ReduceMean", x, axes=[axis]))
    squares = g.add("Pow", again, g.array(2.0)) if root == "Sqrt" else g.add("Mul", centered, centered)
    variance = g.add("Add", g.add("ReduceMean", squares, axes=[axis]), g.array(1e-3))
    if root == "Sqrt":
        return g.add("Div", centered, g.add("Sqrt", variance))
    return g.add("Mul", centered, g.add("Pow", variance, g.array(-0.5)) if root == "Pow" else g.add("Reciprocal", g.add("Sqrt", variance)))


each("norm_of_channels", lambda g, x: (g.add("Add", g.add("Mul", norm_channels(g, x, 1, "Sqrt"), g.weight(8, 1, 1)), g.weight(8, 1, 1)), 8))
each("norm_of_channels_by_power", lambda g, x: (norm_channels(g, x, 1, "Pow"), 8))
each("norm_of_channels_by_reciprocal", lambda g, x: (norm_channels(g, x, -3, "Reciprocal"), 8))


def behind(build):
    """What is of channels that come last."""
    return lambda g, x: (g.add("Transpose", build(g, g.add("Transpose", x, perm=[0, 2, 3, 1])), perm=[0, 3, 1, 2]), 8)


each("norm_of_last_axis", behind(lambda g, x: norm_channels(g, x, -1, "Sqrt")))
each("LayerNormalization", behind(lambda g, x: g.add("LayerNormalization", x, g.weight(8), g.weight(8), epsilon=1e-3)))
each("LayerNormalization_without_bias", behind(lambda g, x: g.add("LayerNormalization", x, g.weight(8))))
each("linear", behind(lambda g, x: g.add("Add", g.add("MatMul", g.add("Relu", g.add("MatMul", x, g.weight(8, 12))), g.weight(12, 8)), g.weight(8))))
each("linear_turned", behind(lambda g, x: g.add("MatMul", x, g.add("Transpose", g.weight(8, 8), perm=[1, 0]))))
each("mean_of_maps", lambda g, x: (g.add("Mean", x, g.conv(x, 8, 8), g.add("Relu", x)), 8))
each("powers", lambda g, x: (g.add("Add", g.add("Pow", x, g.array(2.0)), g.add("Pow", x, g.array(3.0))), 8))
each("one_channel_for_all", lambda g, x: (g.add("Mul", g.add("Sigmoid", g.conv(x, 8, 1)), x), 8))
each("mean_of_channels", lambda g, x: (g.add("Mul", x, g.add("Sigmoid", g.add("ReduceMean", x, axes=[1]))), 8))
each("Mish", lambda g, x: (g.add("Mish", x), 8), opset=18)
each("mean_of_channels_of_opset_18", lambda g, x: (g.add("Mul", x, g.add("ReduceMean", x, g.whole(1))), 8), opset=18)


@case(size=EVEN)
def depth_to_space(g, x):
    """The order of TensorFlow, behind a convolution: that of its filters."""
    low = g.add("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    return g.add("DepthToSpace", g.conv(low, 8, 12), blocksize=2), 3


@case(size=EVEN)
def depth_to_space_of_map(g, x):
    low = g.add("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    return g.add("DepthToSpace", low, blocksize=2), 2


@case(size=EVEN)
def space_to_depth(g, x):
    return g.add("DepthToSpace", g.conv(g.add("SpaceToDepth", x, blocksize=4), 128, 32, 1), blocksize=4, mode="CRD"), 2


def fixed(name, build, size=(64, 96)):
    graph = Graph(opset=13, size=size)
    CASES[name] = (graph.finish(*build(graph, graph.conv("image", 3, 8))), size)


def build_fixed(g, x):
    low = g.add("MaxPool", g.add("Relu", x), kernel_shape=[4, 4], strides=[4, 4])
    return g.add("Resize", low, "", "", g.whole(1, 8, 64, 96), mode="linear"), 8


fixed("fixed_ratio", build_fixed)
fixed("fixed_reshape", lambda g, x: (g.add("Reshape", g.add("Reshape", x, g.whole(8, 64, 96)), g.whole(1, 8, 64, 96)), 8))

# What is taken off.

for name, kind, attributes in (("softmax_at_the_end", "Softmax", {"axis": 1}), ("sigmoid_at_the_end", "Sigmoid", {}), ("log_softmax_at_the_end", "LogSoftmax", {"axis": 1})):
    graph = Graph()
    if kind == "Sigmoid":
        graph.output_shape[1] = 1
    logits = graph.conv(graph.conv("image", 3, 8), 8, 1 if kind == "Sigmoid" else 2, 1)
    CASES[name] = (graph.end(graph.add(kind, logits, **attributes)), ODD)


def export_small(network, opset=17, **options):
    file = io.BytesIO()
    if not options.get("dynamo"):
        options = {"dynamo": False, "input_names": ["image"], "output_names": ["logits"], "dynamic_axes": {"image": {2: "h", 3: "w"}}}
    torch.onnx.export(network.eval(), (torch.randn(1, 3, 64, 96),), file, opset_version=opset, **options)
    return onnx.load_from_string(file.getvalue())


torch.manual_seed(2)
CASES["convnext"] = (export_small(ConvNeXt()), ODD)
CASES["convnext_of_opset_14"] = (export_small(ConvNeXt(), 14), ODD)  # which has no LayerNormalization
CASES["convnext_by_tanh"] = (export_small(ConvNeXt("tanh"), 14), ODD)
EXPORTED = {"dynamo": True, "external_data": False, "dynamic_shapes": ({2: torch.export.Dim.AUTO, 3: torch.export.Dim.AUTO},)}
CASES["convnext_exported"] = (export_small(ConvNeXt(), 18, **EXPORTED), ODD)
CASES["convnext_exported_of_opset_20"] = (export_small(ConvNeXt("tanh"), 20, **EXPORTED), ODD)


def export(name, opset, **options):
    torch.manual_seed(1)
    network = UNet().eval()
    with torch.no_grad():  # all classes are to be there
        pixels = torch.from_numpy(make_image(256, 256, 3).transpose(2, 0, 1)[None] / numpy.float32(255))
        logits = network(pixels)
        network.logits.weight /= logits.std((0, 2, 3))[:, None, None, None]
        network.logits.bias -= network(pixels).mean((0, 2, 3))
    file = io.BytesIO()
    torch.onnx.export(network, (torch.randn(1, 3, 64, 96),), file, opset_version=opset, **options)
    CASES[name] = (onnx.load_from_string(file.getvalue()), None)


export("unet", 17, dynamo=False, input_names=["image"], output_names=["logits"], dynamic_axes={"image": {2: "h", 3: "w"}})
export("unet_exported", 18, dynamo=True, external_data=False, dynamic_shapes=({2: torch.export.Dim.AUTO, 3: torch.export.Dim.AUTO},))

# What is refused, with words of the sentence.


@refused("there are not here: LRN, com.example.Own; and it sees the whole image: adaptive_avg_pool2d (1 place: ReduceMean.2.0), instance_norm (1 place: ")
def all_that_is_missing(g, x):
    norm = g.add("InstanceNormalization", x, g.weight(8), g.weight(8))
    gate = g.add("ReduceMean", norm, axes=[2, 3])
    g.nodes.append(helper.make_node("Own", [g.add("LRN", g.add("Mul", norm, gate), size=3)], ["own"], domain="com.example"))
    return "own", 8


for name, words, build in (
    ("gate", None,
     lambda g, x: g.add("Mul", x, g.add("Sigmoid", g.conv(g.add("GlobalAveragePool", x), 8, 8, 1)))),
    ("maxima", None, lambda g, x: g.add("Add", x, g.add("GlobalMaxPool", x))),
    ("statistics", None, lambda g, x: g.add("InstanceNormalization", x, g.weight(8), g.weight(8))),
    ("attention", "MatMul of two maps (attention, which sees the whole image)", lambda g, x: g.add("MatMul", g.add("Transpose", x, perm=[0, 2, 3, 1]), x)),
    ("rows", "Softmax not over the channels", lambda g, x: g.add("Softmax", x)),
    ("all_pixels", "Flatten of all pixels (a layer that sees the whole image)", lambda g, x: g.add("Flatten", x)),
    ("all_values", "LayerNormalization over more than the channels (it sees the whole image)",
     lambda g, x: g.add("LayerNormalization", x, g.weight(8, 37, 45), axis=1)),
    ("error_function", "needs operations that there are not here: Erf", lambda g, x: g.add("Mul", x, g.add("Erf", x))),
    ("sum_of_squares", "ReduceMean over neither all pixels nor the channels", lambda g, x: g.add("Sub", x, g.add("ReduceMean", x, axes=[1, 2, 3]))),
    ("cubic", "Resize (cubic, half_pixel)", lambda g, x: g.add("Resize", x, "", g.array([1, 1, 2, 2]), mode="cubic")),
    ("one_side", None, lambda g, x: g.add("Clip", x, g.array(-1.0))),
    ("field", "Add with an array that is no number for each channel", lambda g, x: g.add("Add", x, g.weight(1, 1, 5, 1))),
    ("order", "DepthToSpace (DCR) of more than 64 channels of what is no convolution",
     lambda g, x: g.add("DepthToSpace", g.add("Relu", g.conv(x, 8, 72)), blocksize=2)),
    ("mixed", "Reshape that changes more than the axes", lambda g, x: g.add("Reshape", x, g.whole(1, 8, 1, -1))),
    ("backwards", "Slice that steps backwards", lambda g, x: g.add("Slice", x, g.whole(-1), g.whole(-(2**40)), g.whole(2), g.whole(-1))),
    ("smaller", "no logits of each pixel", lambda g, x: g.add("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])),
):
    graph = Graph()
    model = graph.finish(build(graph, graph.conv("image", 3, 8)), 8)
    if words is None:  # the others of their kind run
        CASES[name] = (model, ODD)
    else:
        REFUSED[name] = (model, words)


def refused_too(name, words, build, **options):
    graph = Graph(**options)
    REFUSED[name] = (graph.finish(build(graph, graph.conv("image", 3, 8)), 8), words)


def cubic(g, x):
    return g.add("Resize", x, "", g.array([1, 1, 2, 2]), mode="cubic")


def own(g, x):
    name = f"own.{len(g.nodes)}"
    g.nodes.append(helper.make_node("Own", [x], [name], domain="com.example"))
    return name


def half(g, x):
    return g.add("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])


# The list is complete, and holds nothing else: it ends the sentence.
MISSING = "there are not here: "
refused_too("missing_in_a_row", MISSING + "LRN, Resize (cubic, half_pixel), Selu\n",
            lambda g, x: half(g, g.add("Clip", cubic(g, g.add("LRN", g.add("Selu", x), size=3)), g.array(-1.0))))
refused_too("missing_in_branches", MISSING + "Pad (wrap), Resize with antialias, Selu\n",
            lambda g, x: g.add("Add", half(g, g.add("Resize", g.add("Selu", x), "", g.array([1, 1, 2, 2]), mode="linear", antialias=1)),
                               g.add("Slice", g.add("Pad", g.add("Softplus", x), g.whole(0, 0, 0, 0, 0, 0, 1, 1), mode="wrap"), g.whole(0, 0), g.whole(-1, -1), g.whole(2, 3))), opset=19)
refused_too("missing_before_what_is_known", MISSING + "Selu\n",
            lambda g, x: g.add("Concat", x, g.add("Resize", half(g, g.add("Relu", g.conv(g.add("Selu", x), 8, 4))), "", "", g.add("Concat", g.whole(1, 4), g.add("Slice", g.add("Shape", x), g.whole(2), g.whole(4)), axis=0), mode="linear"), axis=1))
refused_too("missing_reduction", MISSING + "ReduceL2\n", lambda g, x: g.add("Mul", x, g.add("Sigmoid", g.conv(g.add("ReduceL2", x, axes=[2, 3]), 8, 8, 1))))
refused_too("missing_behind_all_pixels", MISSING + "Erf, Flatten of all pixels (a layer that sees the whole image), Gemm with factors\n",
            lambda g, x: g.add("Reshape", g.add("Erf", g.add("Gemm", g.add("Flatten", g.add("MaxPool", x, kernel_shape=[32, 32], strides=[32, 32])), g.weight(8 * 6, 8), alpha=0.5)), g.whole(1, 8, 1, 1)),
            size=(64, 96))
refused_too("missing_behind_no_shape", MISSING + "Div by a map, MatMul of two maps (attention, which sees the whole image), Pow by another number than 2 or 3, "
            "Resize (cubic, half_pixel), com.example.Own; more may be missing behind com.example.Own, as the shape of the result is not known\n",
            lambda g, x: g.add("MatMul", g.add("Pow", own(g, cubic(g, own(g, x))), g.array(5.0)), g.add("Div", x, own(g, x))))
refused_too("missing_in_a_formula_and_beside", MISSING + "Erf\n",
            lambda g, x: (lambda e: g.add("Add", g.add("Mul", g.add("Mul", x, g.add("Add", e, g.array(1.0))), g.array(0.5)), e))(g.add("Erf", g.add("Div", x, g.array(2**0.5)))))
each("log_softmax_in_between", lambda g, x: (g.add("LogSoftmax", x, axis=1), 8))

LABELS = {}


def label(name, build, classes=5):
    graph = Graph()
    graph.output_shape = [1, classes]
    LABELS[name] = (graph.end(build(graph, graph.add("Relu", graph.conv("image", 3, 8)))), (61, 83))


def pool(g, x):
    return g.add("Flatten", g.add("GlobalAveragePool", x))


def gate(g, x):
    return g.add("Mul", x, g.add("Sigmoid", g.conv(g.add("GlobalAveragePool", x), 8, 8, 1)))


label("classes", lambda g, x: g.add("Gemm", pool(g, x), g.weight(5, 8), g.weight(5), transB=1))
label("mean_itself", lambda g, x: pool(g, g.conv(x, 8, 5)))  # as SqueezeNet
label("softmax_of_mean", lambda g, x: g.add("Softmax", pool(g, g.conv(x, 8, 5)), axis=1))
label("log_softmax", lambda g, x: g.add("LogSoftmax", g.add("Gemm", pool(g, x), g.weight(5, 8), g.weight(5), transB=1), axis=1))
label("means_of_gated_maps", lambda g, x: g.add("Gemm", pool(g, g.add("Relu", g.conv(gate(g, x), 8, 8))), g.weight(5, 8), g.weight(5), transB=1))
label("mean_of_mean", lambda g, x: g.add("Gemm", pool(g, g.add("GlobalAveragePool", x)), g.weight(5, 8), g.weight(5), transB=1))
label("two_means", lambda g, x: g.add("Gemm", g.add("Concat", pool(g, x), pool(g, g.conv(x, 8, 8)), axis=1), g.weight(5, 16), g.weight(5), transB=1))
label("many_classes", lambda g, x: g.add("Gemm", pool(g, x), g.weight(1000, 8), g.weight(1000), transB=1), 1000)


CASES["gated_by_means"] = (export_small(Gated()), ODD)
CASES["gated_by_means_exported"] = (export_small(Gated(), 18, **EXPORTED), ODD)
graph = Graph(size=(64, 96), opset=13)
low = graph.add("MaxPool", graph.conv("image", 3, 8), kernel_shape=[2, 2], strides=[2, 2])
low = graph.add("Slice", low, graph.whole(0, 0), graph.whole(30, 41), graph.whole(2, 3))
REFUSED["cut_for_one_size"] = (graph.finish(graph.add("Resize", low, "", "", graph.whole(1, 8, 64, 96), mode="linear"), 8), "right for one size of the image only")
graph = Graph(size=(64, 96), opset=13)
low = graph.add("AveragePool", graph.conv("image", 3, 8), kernel_shape=[4, 4], strides=[3, 3])
REFUSED["ratio"] = (graph.finish(graph.add("Resize", low, "", "", graph.whole(1, 8, 64, 96), mode="linear"), 8), "says nothing of images of other sizes")
graph = Graph()
CASES["classes_that_overlap"] = (graph.end(graph.add("Sigmoid", graph.conv(graph.conv("image", 3, 8), 8, 2, 1))), ODD)
graph = Graph(opset=7)
REFUSED["former"] = (graph.finish(graph.conv("image", 3, 8), 8), "is of opset 6")
REFUSED["former"][0].opset_import[0].version = 6
graph = Graph(inputs=(("image", 3), ("small", 1)))
graph.inputs[1].type.tensor_type.shape.dim[2].dim_value = 8
graph.inputs[1].type.tensor_type.shape.dim[3].dim_value = 8
REFUSED["sizes_of_inputs"] = (graph.finish(graph.conv("image", 3, 8), 8), "inputs are of different sizes")
graph = Graph(opset=18)  # what looks like the norm of channels at first, over axes that no number says
places = graph.add("ArgMax", graph.conv("image", 3, 8), axis=1)
means = graph.add("ReduceMean", graph.conv("image", 3, 8), graph.add("Reshape", places, graph.whole(-1)))
REFUSED["axes_of_a_map"] = (graph.finish(graph.add("Mul", graph.add("Sub", graph.conv("image", 3, 8), means), means), 8),
                            "it needs operations that there are not here: ArgMax, ReduceMean by a map; more may be missing behind ArgMax")
graph = Graph()
weight = graph.conv("image", 3, 8)
model = graph.finish(weight, 8)
model.graph.initializer[0].ClearField("raw_data")
model.graph.initializer[0].data_location = TensorProto.EXTERNAL
model.graph.initializer[0].external_data.add(key="location", value="/etc/passwd")
REFUSED["external"] = (model, 'lies in another file (external data), "/etc/passwd", and not by the name of a file beside the network')


def softmax(logits):
    logits = logits.astype(numpy.float64)
    if logits.shape[0] == 1:
        return 1 / (1 + numpy.exp(-logits))
    powers = numpy.exp(logits - logits.max(0))
    return powers / powers.sum(0)


def compute(model, size):
    """Probabilities of all classes, or of the object: channels, height, width."""
    last = model.graph.input[0].type.tensor_type.shape.dim[3].dim_value in (1, 3)
    channels = [each.type.tensor_type.shape.dim[3 if last else 1].dim_value for each in model.graph.input]
    pixels = make_image(*size, sum(channels)).astype(numpy.float32) / 255
    parts = numpy.split(pixels, numpy.cumsum(channels)[:-1], axis=2)
    given = {each.name: (part if last else part.transpose(2, 0, 1))[None] for each, part in zip(model.graph.input, parts)}
    session = onnxruntime.InferenceSession(model.SerializeToString())
    (output,) = session.run(None, {name: numpy.ascontiguousarray(part) for name, part in given.items()})
    output = output[0].transpose(2, 0, 1) if last else output[0]
    return output if model.graph.node[-1].op_type in ("Softmax", "Sigmoid") else softmax(output)


def main():
    chosen = sys.argv[1:]
    stored = {}
    for name, (model, size) in CASES.items():
        stored[f"{name}/onnx"] = numpy.frombuffer(model.SerializeToString(), numpy.uint8)
        if size:
            stored[f"{name}/size"] = numpy.array(size)
            stored[f"{name}/probabilities"] = compute(model, size).astype(numpy.float32)
        elif name == "unet":
            # A large image: the classes, and where two of them are as good as equal; the same of the other export.
            probabilities = compute(model, (1777, 2048))
            ordered = numpy.sort(probabilities, 0)
            stored[f"{name}/size"] = numpy.array((1777, 2048))
            stored[f"{name}/labels"] = probabilities.argmax(0).astype(numpy.uint8)
            stored[f"{name}/ties"] = numpy.packbits(ordered[-1] - ordered[-2] < 1e-4)
            print(name, numpy.bincount(stored[f"{name}/labels"].ravel()), (ordered[-1] - ordered[-2] < 1e-4).sum(), "ties")
    for name, (model, size) in LABELS.items():  # of the whole image
        stored[f"labels/{name}/onnx"] = numpy.frombuffer(model.SerializeToString(), numpy.uint8)
        stored[f"labels/{name}/size"] = numpy.array(size)
        stored[f"labels/{name}/probabilities"] = compute(model, size).astype(numpy.float32)
    for name, (model, words) in REFUSED.items():
        stored[f"refused/{name}/onnx"] = numpy.frombuffer(model.SerializeToString(), numpy.uint8)
        stored[f"refused/{name}/words"] = numpy.array(words)
    file = pathlib.Path(__file__).with_name("networks.npz")
    if chosen:
        kept = {key: value for key, value in numpy.load(file).items() if key.rpartition("/")[0].split("/")[-1] not in chosen}
        stored = {**kept, **{key: value for key, value in stored.items() if key.rpartition("/")[0].split("/")[-1] in chosen}}
    numpy.savez_compressed(file, **stored)
    print(len(CASES), "networks,", len(REFUSED), "that are refused")


if __name__ == "__main__":
    main()
