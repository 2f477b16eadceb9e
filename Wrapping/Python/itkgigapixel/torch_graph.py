# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Networks of PyTorch as graphs of operations: what ``torch.export`` says of a module, in the words of a network's JSON.

A module is exported at two sizes. What is the same number in both is a constant; what is not is the size of another map,
or refused: the graph that is left holds for images of any size.
"""

from __future__ import annotations

import math
import operator

import torch

#: Axes of a batch of maps, where they lie once channels were moved behind them, and all but the batch behind each other.
MAPS, CHANNELS_LAST, FLAT = (0, 1, 2, 3), (0, 2, 3, 1), (0, "all")

#: Operations each value of which depends on all pixels of a map: they are read, and nothing computes them yet.
WHOLE_IMAGE = ("adaptive_avg_pool2d", "adaptive_max_pool2d", "instance_norm", "group_norm")
_NAMED_PLACES = 3  # of each of them: a sentence is no table

#: What an operation gives that is refused: those behind it are not asked.
UNKNOWN = ("", ())


class Unsupported(NotImplementedError):
    """A module that cannot be taken over: one sentence with all reasons."""

    of_second_size = False  # whether it can be exported at the first size


class SeesWholeImage(Unsupported):
    """A module that is a graph, all of whose operations are known, but for which nothing computes some of them yet."""

    def __init__(self, graph):
        self.operations = len(graph.operations)
        self.needs = graph.list_whole_image()
        super().__init__(
            f"The module is a graph of {self.operations} operations, but does not run yet: nothing computes what sees the whole image: {self.needs}."
        )


class Graph:
    """Operations in their order, as in a network's JSON, and the arrays of parameters by their names in the module."""

    def __init__(self):
        self.operations = []
        self.arrays = {}  # name in the module: tensor in the shape that the operation wants
        self.shapes = {}  # name in the module: shape there, where it is another one
        self.sizes = {}  # name of an operation: (height, width) of its map
        self.output = ""
        self.classes = 0  # channels of the output
        self.dropped = set()  # operations of the module that are none here

    def add(self, name, kind, inputs, extent, parameters=None, **attributes):
        operation = {"name": name, "type": kind}
        if inputs:
            operation["inputs"] = list(inputs)
        operation.update(attributes)
        if parameters:
            operation["parameters"] = parameters
        self.operations.append(operation)
        self.sizes[name] = tuple(extent)
        return name

    def pad_to(self, multiple):
        """For a module that takes multiples alone: the image is padded to one by its last pixels, and the output cut off."""
        for operation in self.operations:
            if "inputs" in operation:
                operation["inputs"] = ["padded" if name == "image" else name for name in operation["inputs"]]
        self.operations.insert(1, {"name": "padded", "type": "pad", "inputs": ["image"], "multiple": multiple, "mode": "replicate"})
        self.operations.append({"name": "cropped", "type": "crop", "inputs": [self.output, "image"]})
        self.output = "cropped"

    def list_whole_image(self) -> str:
        """What there is of operations that see the whole image, with their places."""
        listed = []
        for kind in WHOLE_IMAGE:
            names = [each["name"] for each in self.operations if each["type"] == kind]
            if names:
                places = ", ".join(names[:_NAMED_PLACES]) + (" ..." if len(names) > _NAMED_PLACES else "")
                listed.append(f"{kind} ({len(names)} place{'s' if len(names) > 1 else ''}: {places})")
        return ", ".join(listed)

    def strip(self) -> bool:
        """Takes off what makes probabilities of logits. :returns: whether there is something"""
        last = self.operations[-1]
        if last["name"] != self.output or last["type"] != ("sigmoid" if self.classes == 1 else "softmax"):
            return False
        self.operations.pop()
        self.output = last["inputs"][0]
        self.dropped.add(f"{last['type']} at the end")
        return True

    def take(self, array, tensor, shape=None):
        """The parameter of an operation, in the shape that it wants."""
        if shape is not None and tuple(shape) != tuple(tensor.shape):
            self.shapes[array] = list(tensor.shape)
            tensor = tensor.reshape(shape)
        self.arrays[array] = tensor.detach()
        return array


class _Walk:
    """Turns one exported program into a graph whose sizes are still those of the example."""

    def __init__(self, program, channels, output):
        self.graph = Graph()
        self.values = {}  # node: (operation, order of axes)
        self.missing = {}  # operation of PyTorch: where it stands first
        signature = program.graph_signature
        names = {**signature.inputs_to_parameters, **signature.inputs_to_buffers, **signature.inputs_to_lifted_tensor_constants}
        tensors = {**dict(program.named_parameters()), **dict(program.named_buffers()), **program.constants}
        self.parameters = {}
        for node in program.graph.nodes:
            if node.op == "placeholder" and node.name in names:
                self.parameters[node] = (names[node.name], tensors[names[node.name]])
            elif node.op == "placeholder":
                if self.values:
                    raise Unsupported("The module takes several inputs; one image is what a slide gives it.")
                size = node.meta["val"].shape[2:]
                self.values[node] = (self.graph.add("image", "input", (), size, channels=channels), MAPS)
            elif node.op == "output":
                self._find_output(node.args[0], output)
            elif node.op == "call_function":
                self._call(node)

    def _find_output(self, outputs, wanted):
        if wanted >= len(outputs):
            raise Unsupported(f"The module has {len(outputs)} outputs, there is no number {wanted}.")
        name, axes = self.values.get(outputs[wanted], UNKNOWN)
        if self.missing:
            return
        shape = outputs[wanted].meta["val"].shape
        if name and self.graph.list_whole_image():  # also classes of the image
            self.graph.output = name
            return
        if axes != MAPS or tuple(shape[2:]) != self.graph.sizes["image"]:
            raise Unsupported(f"The module returns {list(shape)} for an image of {list(self.graph.sizes['image'])} pixels: no logits of each pixel.")
        self.graph.output, self.graph.classes = name, shape[1]

    # What operations are given.

    def _refuse(self, node, why=""):
        name = str(node.target).replace("aten.", "").removesuffix(".default")
        self.missing.setdefault(f"{name} {why}".strip(), node.name)
        self.values[node] = UNKNOWN

    def _map(self, argument, order=MAPS):
        """The operation that computes a node; raises LookupError where it is no map in this order of axes."""
        name, axes = self.values[argument]
        if axes != order:
            raise LookupError("of axes in another order")
        return name

    def _array(self, argument, shape=None):
        name, tensor = self.parameters[argument]
        return self.graph.take(name, tensor, shape)

    def _last(self, argument):
        """A map whose channels come last, and its axes."""
        name, axes = self.values[argument]
        if axes[-1] != 1:
            raise LookupError("not over the channels")
        return name, axes

    def _arrays(self, **arguments):
        return {role: self._array(argument) for role, argument in arguments.items() if argument is not None}

    @staticmethod
    def _size(node):
        return node.meta["val"].shape[2:]

    def _put(self, node, kind, inputs, parameters=None, extent=None, axes=MAPS, **attributes):
        extent = self._size(node) if extent is None else extent
        self.values[node] = (self.graph.add(node.name, kind, inputs, extent, parameters, **attributes), axes)

    def _call(self, node):
        if node.target is operator.getitem:
            self.values[node] = self.values[node.args[0]]
            return
        base = str(node.target).split(".")[1] if "." in str(node.target) else str(node.target)
        base = base.removesuffix("_") if not base.startswith("_") else base
        handler = getattr(self, "_on_" + base, None)
        schema = getattr(node.target, "_schema", None)
        if handler is None or schema is None:
            return self._refuse(node)
        if any(self.values.get(each) == UNKNOWN for each in node.all_input_nodes):
            self.values[node] = UNKNOWN
            return
        given = {argument.name: argument.default_value for argument in schema.arguments if argument.has_default_value()}
        given.update(zip((argument.name for argument in schema.arguments), node.args))
        given.update(node.kwargs)
        try:
            handler(node, given)
        except LookupError as error:
            self._refuse(node, "" if isinstance(error, (KeyError, IndexError)) else str(error))

    # Convolutions and pooling.

    def _convolve(self, node, a, kind, **more):
        weight = self.parameters[a["weight"]][1]
        if weight.dim() != 4:
            raise LookupError(f"of {weight.dim() - 2} dimensions")
        out = weight.shape[1] * a["groups"] if kind == "conv_transpose2d" else weight.shape[0]
        self._put(node, kind, [self._map(a["input"])], self._arrays(weight=a["weight"], bias=a["bias"]), out_channels=out,
                  kernel_size=list(weight.shape[2:]), stride=_pair(a["stride"]), dilation=_pair(a["dilation"]), groups=a["groups"],
                  bias=a["bias"] is not None, padding=a["padding"] if isinstance(a["padding"], str) else _pair(a["padding"]), **more)
        if a["padding"] == "valid":
            self.graph.operations[-1]["padding"] = 0

    def _on_conv2d(self, node, a):
        self._convolve(node, a, "conv2d")

    def _on_conv_transpose2d(self, node, a):
        self._convolve(node, a, "conv_transpose2d", output_padding=_pair(a["output_padding"]))

    def _on_max_pool2d(self, node, a):
        self._put(node, "max_pool2d", [self._map(a["self"])], kernel_size=_pair(a["kernel_size"]), stride=_pair(a["stride"] or a["kernel_size"]),
                  padding=_pair(a["padding"]), dilation=_pair(a["dilation"]), ceil_mode=a["ceil_mode"])

    def _on_avg_pool2d(self, node, a):
        if a["divisor_override"] is not None:
            raise LookupError("with divisor_override")
        self._put(node, "avg_pool2d", [self._map(a["self"])], kernel_size=_pair(a["kernel_size"]), stride=_pair(a["stride"] or a["kernel_size"]),
                  padding=_pair(a["padding"]), ceil_mode=a["ceil_mode"], count_include_pad=a["count_include_pad"])

    # Norms.

    def _on_batch_norm(self, node, a):
        if a["training"] or a["running_mean"] is None:
            raise LookupError("with the statistics of the image (call the module's eval() first)")
        parameters = self._arrays(weight=a["weight"], bias=a["bias"], running_mean=a["running_mean"], running_var=a["running_var"])
        self._put(node, "batch_norm", [self._map(a["input"])], parameters, eps=a["eps"], affine=a["weight"] is not None)

    def _on_layer_norm(self, node, a):
        if len(a["normalized_shape"]) != 1:
            raise LookupError("over more than the channels")
        name, axes = self._last(a["input"])
        self._put(node, "layer_norm", [name], self._arrays(weight=a["weight"], bias=a["bias"]),
                  extent=self.graph.sizes[name], axes=axes, eps=a["eps"], affine=a["weight"] is not None)

    def _on_linear(self, node, a):
        weight = self.parameters[a["weight"]][1]
        if self.values[a["input"]][1] == FLAT:  # a window that sees all of the map
            name = self.values[a["input"]][0]
            kernel, extent, axes = list(self.graph.sizes[name]), (1, 1), (0, 1)
        else:
            name, axes = self._last(a["input"])
            kernel, extent = [1, 1], self.graph.sizes[name]
        shape = (weight.shape[0], weight.shape[1] // (kernel[0] * kernel[1]), *kernel)
        parameters = {"weight": self._array(a["weight"], shape), **self._arrays(bias=a["bias"])}
        self._put(node, "conv2d", [name], parameters, extent=extent, axes=axes, out_channels=weight.shape[0], kernel_size=kernel,
                  bias=a["bias"] is not None)

    # What sees the whole image.

    def _on_adaptive_avg_pool2d(self, node, a):
        self._put(node, "adaptive_avg_pool2d", [self._map(a["self"])], output_size=_pair(a["output_size"]))

    def _on_adaptive_max_pool2d(self, node, a):
        size = _pair(a["output_size"])
        self._put(node, "adaptive_max_pool2d", [self._map(a["self"])], extent=size, output_size=size)

    def _on_mean(self, node, a):
        name, axes = self.values[a["self"]]
        reduced = {axes[each % len(axes)] for each in a.get("dim") or range(len(axes))}
        if reduced != {2, 3}:
            raise LookupError("over other axes than height and width")
        left = axes if a["keepdim"] else tuple(each for each in axes if each not in reduced)
        self._put(node, "adaptive_avg_pool2d", [name], extent=(1, 1), axes=left, output_size=[1, 1])

    def _on_instance_norm(self, node, a):
        if not a["use_input_stats"]:
            return self._on_batch_norm(node, {**a, "training": False})
        self._put(node, "instance_norm", [self._map(a["input"])], self._arrays(weight=a["weight"], bias=a["bias"]), eps=a["eps"], affine=a["weight"] is not None)

    def _on_group_norm(self, node, a):
        self._put(node, "group_norm", [self._map(a["input"])], self._arrays(weight=a["weight"], bias=a["bias"]), num_groups=a["num_groups"], eps=a["eps"],
                  affine=a["weight"] is not None)

    # Values, each for itself, in any order of axes.

    def _pointwise(self, node, kind, argument, **attributes):
        name, axes = self.values[argument]
        self._put(node, kind, [name], extent=self.graph.sizes[name], axes=axes, **attributes)

    def _on_relu(self, node, a):
        self._pointwise(node, "relu", a["self"])

    def _on_relu6(self, node, a):
        self._pointwise(node, "hardtanh", a["self"], min_val=0, max_val=6)

    def _on_leaky_relu(self, node, a):
        self._pointwise(node, "leaky_relu", a["self"], negative_slope=a["negative_slope"])

    def _on_elu(self, node, a):
        if a["scale"] != 1 or a["input_scale"] != 1:
            raise LookupError("with a scale")
        self._pointwise(node, "elu", a["self"], alpha=a["alpha"])

    def _on_gelu(self, node, a):
        self._pointwise(node, "gelu", a["self"], approximate=a["approximate"])

    def _on_silu(self, node, a):
        self._pointwise(node, "silu", a["self"])

    def _on_hardswish(self, node, a):
        self._pointwise(node, "hardswish", a["self"])

    def _on_sigmoid(self, node, a):
        self._pointwise(node, "sigmoid", a["self"])

    def _on_hardsigmoid(self, node, a):
        self._pointwise(node, "hardsigmoid", a["self"])

    def _on_tanh(self, node, a):
        self._pointwise(node, "tanh", a["self"])

    def _on_hardtanh(self, node, a):
        self._pointwise(node, "hardtanh", a["self"], min_val=a["min_val"], max_val=a["max_val"])

    def _on_clamp(self, node, a):
        if a["min"] == 0 and a["max"] is None:
            return self._pointwise(node, "relu", a["self"])
        if a["min"] is None or a["max"] is None:
            raise LookupError("at one side")
        self._pointwise(node, "hardtanh", a["self"], min_val=a["min"], max_val=a["max"])

    def _on_prelu(self, node, a):
        slopes = self.parameters[a["weight"]][1].numel()
        self._put(node, "prelu", [self._map(a["self"])], self._arrays(weight=a["weight"]), num_parameters=slopes)

    def _on_softmax(self, node, a):
        name, axes = self.values[a["self"]]
        if axes[a["dim"] % len(axes)] != 1:
            raise LookupError("not over the channels")
        self._pointwise(node, "softmax", a["self"])

    # Arithmetic.

    def _pair_of(self, node, a, kind, factor=1.0):
        first, second = a["self"], a["other"]
        if a.get("alpha", 1) != 1:
            raise LookupError("with alpha")
        if isinstance(second, (int, float)):
            return self._pointwise(node, kind, first, other=factor * second)
        if kind == "mul" and (first in self.parameters or second in self.parameters):
            return self._scale(node, first, second)
        (x, axes), (y, other) = self.values[first], self.values[second]
        shapes = [each.meta["val"].shape for each in (first, second)]
        if axes == other and shapes[0] != shapes[1]:
            pair = [(name, shape[axes.index(1)]) for name, shape in zip((x, y), shapes)]
            turned = kind != "sub" and math.prod(shapes[0]) < math.prod(shapes[1])
            x, y = self._spread(node, kind, *(reversed(pair) if turned else pair))
        elif axes != other:
            raise LookupError("of maps of different shapes")
        self._put(node, kind, [x, y], extent=self.graph.sizes[x], axes=axes)

    def _spread(self, node, kind, first, second):
        """Two maps, one of which is of one pixel, or of one channel, that counts for all of the other."""
        (x, channels), (y, other) = first, second
        large, small = self.graph.sizes[x], self.graph.sizes[y]
        if channels == other and small == (1, 1):
            return x, self.graph.add(f"{node.name}_spread", "interpolate", [y, x], large)
        if kind == "mul" and large == small and other == 1:
            return x, y
        raise LookupError("of maps of different shapes")

    def _scale(self, node, first, second):
        array, image = (first, second) if first in self.parameters else (second, first)
        (name, axes), tensor = self.values[image], self.parameters[array][1]
        shape = node.meta["val"].shape
        channels = shape[axes.index(1)]
        places = [1] * 4
        places[axes.index(1)] = channels
        if tensor.numel() != channels or list(tensor.shape) != places[4 - tensor.dim() :]:
            raise LookupError("with an array that is no factor for each channel")
        parameters = {"weight": self._array(array, (channels,))}
        self._put(node, "affine", [name], parameters, extent=self.graph.sizes[name], axes=axes, bias=False)

    def _on_add(self, node, a):
        self._pair_of(node, a, "add")

    def _on_sub(self, node, a):
        self._pair_of(node, a, "sub")

    def _on_mul(self, node, a):
        self._pair_of(node, a, "mul")

    def _on_div(self, node, a):
        if not isinstance(a["other"], (int, float)) or a.get("rounding_mode"):
            raise LookupError("by a map")
        self._pair_of(node, {**a, "other": 1 / a["other"]}, "mul")

    def _on_cat(self, node, a):
        orders = {self.values[each][1] for each in a["tensors"]}
        axes = orders.pop()
        if orders or axes[a["dim"] % len(axes)] != 1:
            raise LookupError("not of channels")
        inputs = [self.values[each][0] for each in a["tensors"]]
        self._put(node, "cat", inputs, extent=self.graph.sizes[inputs[0]], axes=axes)

    def _on_stack(self, node, a):
        if any(user.target is not torch.ops.aten.sum.dim_IntList or list(user.args[1]) != [a["dim"]] for user in node.users):
            raise LookupError("that is not summed")
        self.values[node] = ([self._map(each) for each in a["tensors"]], "stacked")

    def _on_sum(self, node, a):
        names, axes = self.values[a["self"]]
        if axes != "stacked" or a["keepdim"]:
            raise LookupError("over an axis")
        total = names[0]
        for i, name in enumerate(names[1:]):
            last = i == len(names) - 2
            total = self.graph.add(node.name if last else f"{node.name}_{i}", "add", [total, name], self._size(node))
        self.values[node] = (total, MAPS)

    # Pixels that move.

    def _upsample(self, node, a, mode, **attributes):
        scales = a.get("scale_factors") or [a.get("scales_h"), a.get("scales_w")]
        if None not in scales:
            attributes["scale_factor"] = [float(scale) for scale in scales]
        else:
            attributes["size"] = [int(side) for side in self._size(node)]
        self._put(node, "interpolate", [self._map(a.get("input", a.get("self")))], mode=mode, **attributes)

    def _on_upsample_nearest2d(self, node, a):
        self._upsample(node, a, "nearest")

    def _on_upsample_bilinear2d(self, node, a):
        self._upsample(node, a, "bilinear", align_corners=a["align_corners"])

    def _on_pad(self, node, a):
        sides = list(a["pad"]) + [0] * (4 - len(a["pad"]))
        if len(sides) != 4 or min(sides) < 0 or a["mode"] not in ("constant", "reflect", "replicate"):
            raise LookupError(f"by {sides} ({a['mode']})")
        self._put(node, "pad", [self._map(a["self"])], before=[sides[2], sides[0]], after=[sides[3], sides[1]], mode=a["mode"],
                  **({"value": float(a["value"])} if a["value"] else {}))

    def _crop(self, node, source, before, after):
        """Along both axes at once, though PyTorch does it one by one: so the size may be that of another map."""
        last = self.graph.operations[-1]
        if last["type"] == "crop" and self.values[source][0] == last["name"] and len(source.users) == 1:
            before, after = ([a + b for a, b in zip(last[key], more)] for key, more in (("before", before), ("after", after)))
            self.graph.operations.pop()
            return self._put(node, "crop", last["inputs"], before=before, after=after)
        self._put(node, "crop", [self._map(source)], before=before, after=after)

    def _on_slice(self, node, a):
        shape = a["self"].meta["val"].shape
        axis = a["dim"] % len(shape)
        size = shape[axis]
        start, end = a["start"] or 0, size if a["end"] is None else a["end"]
        start, end = (min(max(each + size if each < 0 else each, 0), size) for each in (start, end))
        if (start, end, a["step"]) == (0, size, 1):
            self.values[node] = self.values[a["self"]]
            return
        name = self._map(a["self"])
        if axis < 2:
            raise LookupError("of channels")
        if a["step"] == 1:
            self._crop(node, a["self"], _along(axis, start, 0), _along(axis, size - end, 0))
        elif end == size:
            self._put(node, "slice", [name], start=_along(axis, start, 0), step=_along(axis, a["step"], 1))
        else:
            raise LookupError("that steps and ends before the map does")

    def _on_pixel_shuffle(self, node, a):
        self._put(node, "pixel_shuffle", [self._map(a["self"])], upscale_factor=a["upscale_factor"])

    def _on_reshape(self, node, a):
        shape = node.meta["val"].shape
        if a["self"] in self.parameters:
            name, tensor = self.parameters[a["self"]]
            self.parameters[node] = (name, tensor.reshape(shape))
            return
        name, axes = self.values[a["self"]]
        if axes == MAPS and list(shape) == [1, math.prod(a["self"].meta["val"].shape)] and self.graph.sizes[name] != (1, 1):
            self.values[node] = (name, FLAT)
            return
        if self.graph.sizes[name] != (1, 1) or len(shape) > 4 or axes == FLAT:
            raise LookupError("of pixels")
        # Of one pixel: the channels, and axes of length 1.
        channels = next((i for i, length in enumerate(shape) if length > 1), min(1, len(shape) - 1))
        others = iter((0, 2, 3))
        self.values[node] = (name, tuple(1 if i == channels else next(others) for i in range(len(shape))))

    _on_view = _on_unsqueeze = _on_squeeze = _on_flatten = _on_reshape

    def _on_expand(self, node, a):
        shape, given = node.meta["val"].shape, a["self"].meta["val"].shape
        name = self._map(a["self"])
        if self.graph.sizes[name] != (1, 1) or shape[:2] != given[:2]:
            raise LookupError("of what is no single pixel")
        self._put(node, "interpolate", [name], mode="nearest", size=[int(side) for side in shape[2:]])

    _on_expand_as = _on_expand

    def _on_permute(self, node, a):
        name, axes = self.values[a["self"]]
        order = tuple(axes[d % len(axes)] for d in a["dims"])
        if order not in (MAPS, CHANNELS_LAST):
            raise LookupError(f"to {list(order)}")
        self.values[node] = (name, order)

    # What changes no value here.

    def _pass(self, node, a):
        self.values[node] = self.values[a.get("self", a.get("input"))]

    _on_clone = _on_contiguous = _on_alias = _on_detach = _on_to = _on__to_copy = _on_lift_fresh_copy = _pass

    def _on_dropout(self, node, a):
        self._drop(node, a, "dropout")

    def _on_feature_dropout(self, node, a):
        self._drop(node, a, "dropout2d")

    def _drop(self, node, a, kind):
        """Identity but in training; of everything, or of nothing, it is none."""
        if 0 < a["p"] < 1:
            self._pointwise(node, kind, a.get("input", a.get("self")), p=a["p"])  # in place it is called "self"
        else:
            self._pass(node, a)

    def _on_alpha_dropout(self, node, a):
        self.graph.dropped.add("alpha dropout")
        self._pass(node, a)

    def _on__assert_tensor_metadata(self, node, a):
        pass


def _pair(values):
    """Numbers along (y, x)."""
    values = list(values) if isinstance(values, (list, tuple)) else [values]
    return values * 2 if len(values) == 1 else values


def _along(axis, value, other):
    return [value if axis == 2 + i else other for i in range(2)]


def _export(module, channels, size, output):
    example = torch.zeros(1, channels, *size)
    try:
        program = torch.export.export(module, (example,), strict=False)
    except Exception as error:  # torch.export raises anything
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise Unsupported(f"torch.export cannot follow the module at {size[0]} x {size[1]} pixels: {first}") from error
    walk = _Walk(program, channels, output)
    if walk.missing:
        listed, whole = ", ".join(sorted(walk.missing)), walk.graph.list_whole_image()
        raise Unsupported(f"The module needs operations that there are not here: {listed}{'; and it sees the whole image: ' + whole if whole else ''}.")
    return walk.graph


def make_graph(module, channels, example, second, output):
    """The graph of a module that is in evaluation mode.

    :param example: (height, width) that it is exported at
    :param second: another size, of other parities, at which it has to be the same network
    :raises Unsupported: with the complete list of what is missing
    :raises SeesWholeImage: with the complete list of what is known, but is not computed
    """
    graph = _make_for_all_sizes(module, channels, example, second, output)
    if graph.list_whole_image():
        raise SeesWholeImage(graph)
    return graph


def _make_for_all_sizes(module, channels, example, second, output):
    one = _export(module, channels, example, output)
    try:
        two = _export(module, channels, second, output)
    except Unsupported as error:
        error.of_second_size = True
        raise
    if _outline(one) != _outline(two):
        # torch.export leaves out what does nothing at a size that all divides, as cutting off what was padded.
        third = (second[0] - 3, second[1] + 2)  # of other remainders
        one, two = two, _export(module, channels, third, output)
        if _outline(one) != _outline(two):
            raise Unsupported(
                f"The module is another network for {second[0]} x {second[1]} pixels than for {third[0]} x {third[1]}: "
                "what it computes depends on the size by more than sizes of maps."
            )
    return _merge(one, two)


def _outline(graph):
    return [(o["name"], o["type"], o.get("inputs")) for o in graph.operations]


def _merge(one, two):
    """What two sizes have in common, for all sizes."""
    for index, (a, b) in enumerate(zip(one.operations, two.operations)):
        # A pad may be of the same few pixels at both sizes by chance: what it makes fit counts.
        if "size" in a or any(a[key] != b[key] for key in a) or (a["type"] == "pad" and _find_like(one, two, index)[1]):
            _follow_size(one, two, index)
    for a, b in zip(one.operations, two.operations):
        a, b = ({key: value for key, value in o.items() if key != "inputs"} for o in (a, b))
        different = [key for key in a if a[key] != b.get(key)]
        if different:
            raise Unsupported(f'"{different[0]}" of "{a["name"]}" ({a["type"]}) depends on the size of the image in a way that is no size of another map.')
    return one


def _follow_size(one, two, index):
    """An operation whose numbers are those of the example: they become the size of another map, or a factor."""
    a, b = one.operations[index], two.operations[index]
    sizes = [graph.sizes[a["name"]] for graph in (one, two)]
    like, joined = _find_like(one, two, index)
    own = [graph.sizes[a["inputs"][0]] for graph in (one, two)]
    if a["type"] == "interpolate":
        factors = [sizes[0][i] / own[0][i] for i in range(2)]
        same = all(math.floor(own[k][i] * factors[i]) == sizes[k][i] for k in range(2) for i in range(2))
        for operation in (a, b):
            if like is not None:
                del operation["size"]
                operation["inputs"] = [operation["inputs"][0], like]
            elif same and sizes[0] != sizes[1]:
                del operation["size"]
                operation["scale_factor"] = factors
    elif a["type"] == "pad" and not joined and _find_multiple(own, sizes, (a, b)):
        for operation in (a, b):
            operation.update(after=[0, 0], multiple=_find_multiple(own, sizes, (a, b)))
    elif a["type"] in ("pad", "crop") and like is not None:
        centered = a["type"] == "crop" and all(
            o["before"] == [(graph.sizes[o["inputs"][0]][i] - graph.sizes[o["name"]][i]) // 2 for i in range(2)] for graph, o in ((one, a), (two, b))
        )
        if not centered and any(o["before"] != [0, 0] for o in (a, b)):
            return
        for operation in (a, b):
            del operation["before"], operation["after"]
            operation["inputs"] = [operation["inputs"][0], like]
            if centered and a["type"] == "crop":
                operation["center"] = True


def _find_multiple(own, sizes, pads):
    """The multiple that maps are padded to, right and bottom; 0: there is none."""
    if any(each["before"] != [0, 0] for each in pads):
        return 0
    rounded = (m for m in (2, 4, 8, 16, 32, 64, 128) if all(-(-own[k][i] // m) * m == sizes[k][i] for k in range(2) for i in range(2)))
    return next(rounded, 0)


def _find_like(one, two, index):
    """An earlier map that has the operation's size at both sizes of the image, rather one that it is joined with; and
    whether it is that."""
    name = one.operations[index]["name"]
    earlier = [o["name"] for o in one.operations[:index] if all(g.sizes[o["name"]] == g.sizes[name] for g in (one, two))]
    if not earlier:
        return None, False
    readers = [name]
    for operation in one.operations[index + 1 :]:
        if set(readers) & set(operation.get("inputs", ())):
            partners = [each for each in operation["inputs"] if each in earlier]
            if partners:
                return partners[0], True
            readers.append(operation["name"])
    return earlier[-1], False
