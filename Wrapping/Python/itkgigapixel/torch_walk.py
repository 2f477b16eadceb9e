# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""From node to node of what ``torch.export`` says of a module at one size: the graph whose sizes are still those of the example."""

from __future__ import annotations

import math
import operator
import re

import torch

from itkgigapixel.torch_graph import Graph, Unsupported

#: Axes of a batch of maps with all but the batch behind each other.
FLAT = (0, "all")

#: Of operations whose names in PyTorch end in how many axes their maps have.
_OF_AXES = re.compile(r"(.+?)_?([123])d")

#: What an operation gives that is refused: those behind it are not asked.
UNKNOWN = ("", ())


class Walk:
    """Turns one exported program into a graph whose sizes are still those of the example."""

    def __init__(self, program, channels, output):
        self.graph = Graph()
        self.axes = 0  # of images and maps: 2, or 3 of volumes
        self.maps = self.channels_last = ()  # axes of a batch of maps, and where they lie once channels were moved behind them
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
                self._put_image(node, channels)
            elif node.op == "output":
                self._find_output(node.args[0], output)
            elif node.op == "call_function":
                self._call(node)

    def _put_image(self, node, channels):
        size = node.meta["val"].shape[2:]
        self.axes = len(size)
        self.maps = tuple(range(2 + self.axes))
        self.channels_last = (0, *self.maps[2:], 1)
        more = {"axes": self.axes} if self.axes != 2 else {}
        self.values[node] = (self.graph.add("image", "input", (), size, channels=channels, **more), self.maps)

    def _find_output(self, outputs, wanted):
        if wanted >= len(outputs):
            raise Unsupported(f"The module has {len(outputs)} outputs, there is no number {wanted}.")
        name, axes = self.values.get(outputs[wanted], UNKNOWN)
        if self.missing:
            return
        shape = outputs[wanted].meta["val"].shape
        self.graph.output = name
        if name:
            self.graph.remove_unread()
        classes = name and self.graph.is_one_pixel(name) and self.graph.list_whole_image()  # of the image
        if name and (classes or self.graph.list_whole_image(computed=False)):
            self.graph.classes = math.prod(shape)
            self.graph.end_behind_pool()
            return
        if axes != self.maps or tuple(shape[2:]) != self.graph.sizes["image"]:
            raise Unsupported(f"The module returns {list(shape)} for an image of {list(self.graph.sizes['image'])} pixels: no logits of each pixel.")
        self.graph.classes = shape[1]

    # What operations are given.

    def _refuse(self, node, why=""):
        name = str(node.target).replace("aten.", "").removesuffix(".default")
        self.missing.setdefault(f"{name} {why}".strip(), node.name)
        self.values[node] = UNKNOWN

    def _map(self, argument):
        """The operation that computes a node; raises LookupError where it is no map with its axes in their order."""
        name, axes = self.values[argument]
        if axes != self.maps:
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

    def _put(self, node, kind, inputs, parameters=None, extent=None, axes=None, **attributes):
        extent = self._size(node) if extent is None else extent
        self.values[node] = (self.graph.add(node.name, kind, inputs, extent, parameters, **attributes), self.maps if axes is None else axes)

    def _name(self, kind):
        """"conv" as "conv2d", or "conv3d" of volumes."""
        return f"{kind}{self.axes}d"

    def _along(self, values):
        """Numbers along (y, x), or (z, y, x)."""
        values = list(values) if isinstance(values, (list, tuple)) else [values]
        return values * self.axes if len(values) == 1 else values

    def _place(self, axis, value, other):
        """A number along one axis of a batch of maps, and another one along the others."""
        return [value if axis == 2 + i else other for i in range(self.axes)]

    def _call(self, node):
        if node.target is operator.getitem:
            self.values[node] = self.values[node.args[0]]
            return
        base = str(node.target).split(".")[1] if "." in str(node.target) else str(node.target)
        base = base.removesuffix("_") if not base.startswith("_") else base
        of_axes = _OF_AXES.fullmatch(base)
        handler = getattr(self, "_on_" + (of_axes[1] if of_axes else base), None)
        schema = getattr(node.target, "_schema", None)
        if handler is None or schema is None:
            return self._refuse(node)
        if of_axes and int(of_axes[2]) != self.axes:
            return self._refuse(node, f"in a network for images of {self.axes} axes")
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
        out = weight.shape[1] * a["groups"] if kind == "conv_transpose" else weight.shape[0]
        self._put(node, self._name(kind), [self._map(a["input"])], self._arrays(weight=a["weight"], bias=a["bias"]), out_channels=out,
                  kernel_size=list(weight.shape[2:]), stride=self._along(a["stride"]), dilation=self._along(a["dilation"]), groups=a["groups"],
                  bias=a["bias"] is not None, padding=a["padding"] if isinstance(a["padding"], str) else self._along(a["padding"]), **more)
        if a["padding"] == "valid":
            self.graph.operations[-1]["padding"] = 0

    def _on_conv(self, node, a):
        self._convolve(node, a, "conv")

    def _on_conv_transpose(self, node, a):
        self._convolve(node, a, "conv_transpose", output_padding=self._along(a["output_padding"]))

    def _on_max_pool(self, node, a):
        self._put(node, self._name("max_pool"), [self._map(a["self"])], kernel_size=self._along(a["kernel_size"]), stride=self._along(a["stride"] or a["kernel_size"]),
                  padding=self._along(a["padding"]), dilation=self._along(a["dilation"]), ceil_mode=a["ceil_mode"])

    def _on_avg_pool(self, node, a):
        if a["divisor_override"] is not None:
            raise LookupError("with divisor_override")
        self._put(node, self._name("avg_pool"), [self._map(a["self"])], kernel_size=self._along(a["kernel_size"]), stride=self._along(a["stride"] or a["kernel_size"]),
                  padding=self._along(a["padding"]), ceil_mode=a["ceil_mode"], count_include_pad=a["count_include_pad"])

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
            kernel, extent, axes = list(self.graph.sizes[name]), (1,) * self.axes, (0, 1)
        else:
            name, axes = self._last(a["input"])
            kernel, extent = [1] * self.axes, self.graph.sizes[name]
        shape = (weight.shape[0], weight.shape[1] // math.prod(kernel), *kernel)
        parameters = {"weight": self._array(a["weight"], shape), **self._arrays(bias=a["bias"])}
        self._put(node, self._name("conv"), [name], parameters, extent=extent, axes=axes, out_channels=weight.shape[0], kernel_size=kernel,
                  bias=a["bias"] is not None)

    # What sees the whole image.

    def _on_adaptive_avg_pool(self, node, a):
        self._put(node, self._name("adaptive_avg_pool"), [self._map(a["self"])], output_size=self._along(a["output_size"]))

    def _on_adaptive_max_pool(self, node, a):
        size = self._along(a["output_size"])
        self._put(node, self._name("adaptive_max_pool"), [self._map(a["self"])], extent=size, output_size=size)

    def _on_mean(self, node, a, kind="adaptive_avg_pool"):
        name, axes = self.values[a["self"]]
        reduced = {axes[each % len(axes)] for each in a.get("dim") or range(len(axes))}
        if reduced != set(self.maps[2:]):
            raise LookupError(f"over other axes than {'depth, ' if self.axes == 3 else ''}height and width")
        left = axes if a.get("keepdim") else tuple(each for each in axes if each not in reduced)
        self._put(node, self._name(kind), [name], extent=(1,) * self.axes, axes=left, output_size=[1] * self.axes)

    def _on_amax(self, node, a):
        self._on_mean(node, a, "adaptive_max_pool")

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

    def _on_mish(self, node, a):
        self._pointwise(node, "mish", a["self"])

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

    def _on_log_softmax(self, node, a):
        """Softmax gives the same of logits and of the logarithms of their probabilities: at the end nothing is left out."""
        if [user.op for user in node.users] != ["output"]:
            raise LookupError("that is not at the end")
        name, axes = self.values[a["self"]]
        if axes[a["dim"] % len(axes)] != 1:
            raise LookupError("not over the channels")
        self.graph.dropped.add("log_softmax at the end")
        self.values[node] = (name, axes)

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
        if channels == other and self.graph.is_one_pixel(y):
            return x, self.graph.add(f"{node.name}_spread", "interpolate", [y, x], large)
        if kind == "mul" and large == small and other == 1:
            return x, y
        raise LookupError("of maps of different shapes")

    def _scale(self, node, first, second):
        array, image = (first, second) if first in self.parameters else (second, first)
        (name, axes), tensor = self.values[image], self.parameters[array][1]
        shape = node.meta["val"].shape
        channels = shape[axes.index(1)]
        places = [1] * len(self.maps)
        places[axes.index(1)] = channels
        if tensor.numel() != channels or list(tensor.shape) != places[len(places) - tensor.dim() :]:
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
        self.values[node] = (total, self.maps)

    # Pixels that move.

    def _upsample(self, node, a, mode, **attributes):
        scales = a.get("scale_factors") or [a.get(f"scales_{axis}") for axis in "dhw"[-self.axes :]]
        if None not in scales:
            attributes["scale_factor"] = [float(scale) for scale in scales]
        else:
            attributes["size"] = [int(side) for side in self._size(node)]
        self._put(node, "interpolate", [self._map(a.get("input", a.get("self")))], mode=mode, **attributes)

    def _on_upsample_nearest(self, node, a):
        self._upsample(node, a, "nearest")

    def _on_upsample_bilinear(self, node, a):
        self._upsample(node, a, "bilinear", align_corners=a["align_corners"])

    def _on_upsample_trilinear(self, node, a):
        self._upsample(node, a, "trilinear", align_corners=a["align_corners"])

    def _on_pad(self, node, a):
        sides = list(a["pad"]) + [0] * (2 * self.axes - len(a["pad"]))
        takes_off = max(sides) <= 0 and min(sides) < 0 and a["mode"] == "constant"
        if len(sides) != 2 * self.axes or (min(sides) < 0 and not takes_off) or a["mode"] not in ("constant", "reflect", "replicate"):
            raise LookupError(f"by {sides} ({a['mode']})")
        before, after = sides[-2::-2], sides[::-2]  # PyTorch begins with the last axis
        if takes_off:
            return self._crop(node, a["self"], [-side for side in before], [-side for side in after])
        self._put(node, "pad", [self._map(a["self"])], before=before, after=after, mode=a["mode"], **({"value": float(a["value"])} if a["value"] else {}))

    def _crop(self, node, source, before, after):
        """Along all axes at once, though PyTorch does it one by one: so the size may be that of another map."""
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
            self._crop(node, a["self"], self._place(axis, start, 0), self._place(axis, size - end, 0))
        elif end == size:
            self._put(node, "slice", [name], start=self._place(axis, start, 0), step=self._place(axis, a["step"], 1))
        else:
            raise LookupError("that steps and ends before the map does")

    def _on_pixel_shuffle(self, node, a):
        if self.axes != 2:  # PyTorch's own is of the last two axes
            raise LookupError(f"in a network for images of {self.axes} axes")
        self._put(node, "pixel_shuffle", [self._map(a["self"])], upscale_factor=a["upscale_factor"])

    def _on_reshape(self, node, a):
        shape = node.meta["val"].shape
        if a["self"] in self.parameters:
            name, tensor = self.parameters[a["self"]]
            self.parameters[node] = (name, tensor.reshape(shape))
            return
        name, axes = self.values[a["self"]]
        if axes == self.maps and list(shape) == [1, math.prod(a["self"].meta["val"].shape)] and not self.graph.is_one_pixel(name):
            self.values[node] = (name, FLAT)
            return
        if not self.graph.is_one_pixel(name) or len(shape) > len(self.maps) or axes == FLAT:
            raise LookupError("of pixels")
        # Of one pixel: the channels, and axes of length 1.
        channels = next((i for i, length in enumerate(shape) if length > 1), min(1, len(shape) - 1))
        others = iter((0, *self.maps[2:]))
        self.values[node] = (name, tuple(1 if i == channels else next(others) for i in range(len(shape))))

    _on_view = _on_unsqueeze = _on_squeeze = _on_flatten = _on_reshape

    def _on_expand(self, node, a):
        shape, given = node.meta["val"].shape, a["self"].meta["val"].shape
        name = self._map(a["self"])
        if not self.graph.is_one_pixel(name) or shape[:2] != given[:2]:
            raise LookupError("of what is no single pixel")
        self._put(node, "interpolate", [name], mode="nearest", size=[int(side) for side in shape[2:]])

    _on_expand_as = _on_expand

    def _on_permute(self, node, a):
        name, axes = self.values[a["self"]]
        order = tuple(axes[d % len(axes)] for d in a["dims"])
        if order not in (self.maps, self.channels_last):
            raise LookupError(f"to {list(order)}")
        self.values[node] = (name, order)

    # What changes no value here.

    def _pass(self, node, a):
        self.values[node] = self.values[a.get("self", a.get("input"))]

    _on_clone = _on_contiguous = _on_alias = _on_detach = _on_to = _on__to_copy = _on_lift_fresh_copy = _pass

    def _on_dropout(self, node, a):
        self._drop(node, a, "dropout")

    def _on_feature_dropout(self, node, a):
        self._drop(node, a, self._name("dropout"))

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
