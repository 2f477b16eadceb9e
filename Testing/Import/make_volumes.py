#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Writes volumes.npz: small ONNX files of networks for volumes, and what onnxruntime computes with them; those that are to be
refused, with words of the reason. Needs what make_networks.py needs, which the tests then do not.
"""

import io
import pathlib

import numpy
import onnx
import onnxruntime
import torch

import make_networks
from images import make_volume
from make_networks import softmax
from modules import VolumeNet

#: Depth, height and width of the volumes: multiples of 4, or odd.
EVEN, ODD = (12, 20, 16), (13, 19, 17)


class Graph(make_networks.Graph):
    """Nodes between a volume and two logits of each voxel."""

    def __init__(self, inputs=(("image", 2),), size=("d", "h", "w"), **options):
        super().__init__(inputs=inputs, size=size, **options)

    def conv(self, map, given, out, kernel=3, **attributes):
        attributes = attributes or {"pads": [kernel // 2] * 6}
        group = attributes.get("group", 1)
        return self.add("Conv", map, self.weight(out, given // group, kernel, kernel, kernel), self.weight(out), **attributes)

    def finish(self, map, channels):
        logits = self.conv(map, channels, 2, 1)
        return self.end(self.add("Transpose", logits, perm=[0, 2, 3, 4, 1]) if self.last else logits)


CASES, REFUSED = {}, {}


def case(name, build, size=ODD, **options):
    """Of a function that is given a graph and the volume's six channels, and returns a map with so many channels."""
    graph = Graph(**options)
    CASES[name] = (graph.finish(*build(graph, graph.conv("image", 2, 6))), size)


def refused(name, words, build, **options):
    graph = Graph(**options)
    REFUSED[name] = (graph.finish(*build(graph, graph.conv("image", 2, 6))), words)


def half(g, x, kind="MaxPool"):
    return g.add(kind, x, kernel_shape=[2] * 3, strides=[2] * 3)


# Windows.

case("conv", lambda g, x: (g.conv(x, 6, 4), 4))
case("conv_of_axes", lambda g, x: (g.add("Conv", x, g.weight(4, 6, 1, 3, 5), pads=[0, 2, 2, 0, 2, 2], dilations=[1, 2, 1]), 4))
case("conv_of_groups", lambda g, x: (g.conv(x, 6, 4, 3, pads=[1] * 6, group=2), 4))
case("pads_of_different_sides", lambda g, x: (g.conv(x, 6, 4, 4, pads=[0, 2, 1, 3, 1, 2]), 4))
case("same_upper", lambda g, x: (g.conv(x, 6, 4, 2, auto_pad="SAME_UPPER"), 4))
case("norm", lambda g, x: (g.add("BatchNormalization", x, g.weight(6), g.weight(6), g.weight(6), g.array([0.5, 1, 2, 0.7, 1.3, 0.9]), epsilon=1e-3), 6))
case("maximum", lambda g, x: (g.add("MaxPool", x, kernel_shape=[3] * 3, pads=[1] * 6), 6))
case("mean", lambda g, x: (g.add("AveragePool", x, kernel_shape=[3, 1, 3], pads=[1, 0, 1, 1, 0, 1]), 6))
case("transposed", lambda g, x: (g.add("Add", g.add("ConvTranspose", half(g, x), g.weight(6, 4, 2, 2, 2), g.weight(4), strides=[2] * 3),
                                       g.add("ConvTranspose", half(g, x), g.weight(6, 4, 3, 3, 3), strides=[2] * 3, pads=[0, 1, 1, 1, 0, 0])), 4), EVEN)
case("strides_of_axes", lambda g, x: (g.add("ConvTranspose", g.conv(x, 6, 6, 3, pads=[1] * 6, strides=[1, 2, 2]), g.weight(6, 4, 1, 2, 2), strides=[1, 2, 2]), 4), EVEN)

# Values.

case("PRelu", lambda g, x: (g.add("PRelu", x, g.weight(6, 1, 1, 1)), 6))
case("PRelu_one", lambda g, x: (g.add("PRelu", x, g.array([0.3])), 6))
case("values", lambda g, x: (g.add("LeakyRelu", g.add("Elu", g.add("Mul", g.add("Add", x, g.weight(1, 6, 1, 1, 1)), g.array(1.5))), alpha=0.2), 6))
case("one_channel_for_all", lambda g, x: (g.add("Mul", g.add("Sigmoid", g.conv(x, 6, 1)), x), 6))
case("Softmax", lambda g, x: (g.add("Softmax", x, axis=1), 6))
case("gelu", lambda g, x: (g.add("Mul", g.add("Mul", x, g.add("Add", g.add("Erf", g.add("Div", x, g.array(2**0.5))), g.array(1.0))), g.array(0.5)), 6))

# Pixels and channels that move.

for mode, coordinates in (("nearest", "asymmetric"), ("linear", "half_pixel"), ("linear", "align_corners")):
    nearest = {"nearest_mode": "floor"} if mode == "nearest" else {}
    case(f"{mode}_{coordinates}", lambda g, x, mode=mode, coordinates=coordinates, nearest=nearest: (
        g.add("Resize", half(g, x, "AveragePool"), "", g.array([1, 1, 2, 2, 2]), mode=mode, coordinate_transformation_mode=coordinates, **nearest), 6), EVEN)
case("linear_to_another_map", lambda g, x: (g.add("Concat", x, g.add("Resize", half(g, x), "", "", g.add("Shape", x), mode="linear"), axis=1), 12))
case("pad_edge", lambda g, x: (g.conv(g.add("Pad", x, g.whole(0, 0, 2, 1, 0, 0, 0, 0, 1, 2), mode="edge"), 6, 4, 3, pads=[0] * 6), 4))
case("pad_reflect", lambda g, x: (g.conv(g.add("Pad", x, g.whole(0, 0, 1, 2, 1, 0, 0, 1, 0, 1), mode="reflect"), 6, 4, 3, pads=[0] * 6), 4))
case("pad_channels", lambda g, x: (g.add("Pad", x, g.whole(0, 1, 0, 0, 0, 0, 2, 0, 0, 0)), 9))
case("cropped", lambda g, x: (g.add("Slice", g.conv(x, 6, 4, 3, pads=[2] * 6), g.whole(1, 1, 1), g.whole(-1, -1, -1), g.whole(2, 3, 4)), 4))
case("every_other_slice", lambda g, x: (g.add("Resize", g.add("Slice", x, g.whole(1), g.whole(2**40), g.whole(2), g.whole(2)), "", g.array([1, 1, 2, 1, 1]),
                                              mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"), 6), EVEN)
case("split", lambda g, x: ((lambda a, b: (g.add("Concat", b, a, axis=1), 6))(*g.add("Split", x, g.whole(2, 4), outputs=2, axis=1))))
case("two_inputs", lambda g, x: (g.add("Concat", x, "places", axis=1), 9), inputs=(("image", 2), ("places", 3)))


def build_last(g, _):
    x = g.conv(g.add("Transpose", "image", perm=[0, 4, 1, 2, 3]), 2, 6)
    back = g.add("Transpose", x, perm=[0, 2, 3, 4, 1])
    back = g.add("Add", g.add("MatMul", g.add("LayerNormalization", back, g.weight(6), g.weight(6)), g.weight(6, 4)), g.weight(4))
    return g.add("Transpose", g.add("Relu", back), perm=[0, 4, 1, 2, 3]), 4


graph = Graph(last=True)
CASES["channels_last"] = (graph.finish(*build_last(graph, None)), ODD)
CASES["fixed_size"] = (lambda g: (g.finish(*(lambda x: (g.add("Resize", half(g, x), "", "", g.whole(1, 6, *EVEN), mode="linear"), 6))(g.conv("image", 2, 6))), EVEN))(Graph(size=EVEN))

# What sees the whole volume.

case("instance_norm", lambda g, x: (g.add("InstanceNormalization", x, g.weight(6), g.weight(6)), 6))
case("gate", lambda g, x: (g.add("Mul", x, g.add("Sigmoid", g.conv(g.add("GlobalAveragePool", x), 6, 6, 1))), 6))
case("gate_of_means", lambda g, x: (g.add("Mul", x, g.add("Sigmoid", g.add("ReduceMean", x, axes=[2, 3, 4]))), 6))
case("mean_of_channels", lambda g, x: (g.add("Mul", x, g.add("ReduceMean", x, axes=[1])), 6))


def export(network, opset, dynamo, size):
    torch.manual_seed(1)
    file = io.BytesIO()
    if dynamo:
        options = {"dynamo": True, "external_data": False, "dynamic_shapes": ({axis: torch.export.Dim.AUTO for axis in (2, 3, 4)},)}
    else:
        options = {"dynamo": False, "input_names": ["image"], "output_names": ["logits"], "dynamic_axes": {"image": {2: "d", 3: "h", 4: "w"}}}
    torch.onnx.export(network.eval(), (torch.randn(1, 2, *size),), file, opset_version=opset, **options)
    return onnx.load_from_string(file.getvalue())


#: Three tiles of 8 along each axis.
THREE = (21, 19, 23)
for norm in ("batch", "instance", "group"):
    torch.manual_seed(3)
    CASES[f"unet_{norm}"] = (export(VolumeNet(norm), 17, False, (16, 24, 20)), THREE)
    torch.manual_seed(3)
    CASES[f"unet_{norm}_exported"] = (export(VolumeNet(norm), 18, True, (16, 24, 20)), THREE)

# What is refused, with words of the sentence.

refused("window_of_two_axes", "Conv of 2 dimensions in a network of 3", lambda g, x: (g.add("Conv", x, g.weight(6, 6, 3, 3), pads=[1] * 4), 6))
refused("pool_of_two_axes", "MaxPool of 2 dimensions in a network of 3", lambda g, x: (g.add("MaxPool", x, kernel_shape=[3, 3], pads=[1] * 4), 6))
refused("slices_as_channels", "Reshape that changes more than the axes", lambda g, x: (g.add("Reshape", x, g.whole(1, 6, -1, 16)), 6), size=EVEN)
refused("blocks", "DepthToSpace of a volume", lambda g, x: (g.add("DepthToSpace", g.conv(x, 6, 8), blocksize=2), 2))
refused("smaller", "no logits of each pixel", lambda g, x: (half(g, x), 6))
refused("norm_of_rows", "Softmax not over the channels", lambda g, x: (g.add("Softmax", x), 6))
refused("picture_and_volume", "its inputs are pictures and volumes", lambda g, x: (g.add("Concat", x, "places", axis=1), 7), inputs=(("image", 2), ("places", 1)))
del REFUSED["picture_and_volume"][0].graph.input[1].type.tensor_type.shape.dim[4]
for rank in (3, 6):
    refused(f"rank_{rank}", f"has {rank} axes; an image's are batch, channels, height and width, a volume's", lambda g, x: (x, 6))
    shape = REFUSED[f"rank_{rank}"][0].graph.input[0].type.tensor_type.shape
    if rank == 3:
        del shape.dim[3:]
    else:
        shape.dim.add(dim_param="t")


def compute(model, size):
    """Probabilities of all classes: channels, depth, height, width."""
    last = model.graph.input[0].type.tensor_type.shape.dim[4].dim_value in (1, 2, 3)
    channels = [each.type.tensor_type.shape.dim[4 if last else 1].dim_value for each in model.graph.input]
    parts = numpy.split(make_volume(*size, sum(channels)), numpy.cumsum(channels)[:-1], axis=3)
    given = {each.name: (part if last else part.transpose(3, 0, 1, 2))[None] for each, part in zip(model.graph.input, parts)}
    session = onnxruntime.InferenceSession(model.SerializeToString())
    (output,) = session.run(None, {name: numpy.ascontiguousarray(part) for name, part in given.items()})
    return softmax(output[0].transpose(3, 0, 1, 2) if last else output[0])


def main():
    stored = {}
    for name, (model, size) in CASES.items():
        stored[f"{name}/onnx"] = numpy.frombuffer(model.SerializeToString(), numpy.uint8)
        stored[f"{name}/size"] = numpy.array(size)
        stored[f"{name}/probabilities"] = compute(model, size)[1].astype(numpy.float32)  # of two classes the second
    for name, (model, words) in REFUSED.items():
        stored[f"refused/{name}/onnx"] = numpy.frombuffer(model.SerializeToString(), numpy.uint8)
        stored[f"refused/{name}/words"] = numpy.array(words)
    numpy.savez_compressed(pathlib.Path(__file__).with_name("volumes.npz"), **stored)
    print(len(CASES), "networks,", len(REFUSED), "that are refused")


if __name__ == "__main__":
    main()
