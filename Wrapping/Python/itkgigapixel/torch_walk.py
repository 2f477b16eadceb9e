# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""From node to node of what ``torch.export`` says of a module at one size: the graph whose sizes are still those of the example."""

from __future__ import annotations

import math
import operator
import re

import torch

from itkgigapixel.torch_graph import Graph, Unsupported

#: Of operations whose names in PyTorch end in how many axes their maps have.
_OF_AXES = re.compile(r"(.+?)_?([123])d")

#: What an operation gives that is refused, where nothing tells how its axes lie: those behind it cannot be asked.
UNKNOWN = ("", ())

#: Type of what stands for an operation that is missing in a graph, which is refused then: those behind it are asked as well.
MISSING = "missing"

#: Of a pixel_unshuffle, which becomes an operation for each channel.
_MOST_UNSHUFFLED = 64


def _flatten(axes):
    """Of a map, those that lie behind each other one by one."""
    for axis in axes:
        yield from axis if isinstance(axis, tuple) else (axis,)


class Walk:
    """Turns one exported program into a graph whose sizes are still those of the example."""

    def __init__(self, program, channels, output):
        self.graph = Graph()
        self.axes = 0  # of images and maps: 2, or 3 of volumes
        self.maps = ()  # axes of a batch of maps
        self.flat = ()  # axes of a batch of maps with all but the batch behind each other
        # node: (operation, order of axes), or a list of these. An axis of the node is one of the maps, or several of them, behind each other, as of tokens,
        # or below 0: -1, -2 ... are those that the channels of one pixel are laid out in.
        self.values = {}
        self.missing = {}  # operation of PyTorch: where it stands first
        self.shapeless = set()  # those of them whose results are not known to be maps
        self.unasked = False  # whether anything stands behind these
        signature = program.graph_signature
        names = {**signature.inputs_to_parameters, **signature.inputs_to_buffers, **signature.inputs_to_lifted_tensor_constants}
        tensors = {**dict(program.named_parameters()), **dict(program.named_buffers()), **program.constants}
        self.parameters = {}
        self.graph.untrained.update(name for name in names.values() if not tensors[name].requires_grad)
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
        self.flat = (0, self.maps[1:])
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
        name = f"{name} {why}".strip()
        self.missing.setdefault(name, node.name)
        if not self._stand_in(node):
            self.shapeless.add(name)

    def _stand_in(self, node) -> bool:
        """Puts a map of the node's shape into its place, whatever would compute it. Its axes lie as those of a map that it is computed from, or as those of an image.

        :returns: whether the node has such a shape; else what it gives is not known
        """
        shape = getattr(node.meta.get("val"), "shape", ())
        axes, extent = (), ()
        for source in node.all_input_nodes:
            name, order = self.values[source] if isinstance(self.values.get(source), tuple) else UNKNOWN
            groups = [i for i, axis in enumerate(order) if isinstance(axis, tuple)]
            if name and len(order) == len(shape) and all(shape[i] == source.meta["val"].shape[i] for i in groups):
                axes, extent = order, [shape[order.index(axis)] if axis in order else self.graph.sizes[name][axis - 2] for axis in self.maps[2:]]
                break
        if not axes and len(shape) == len(self.maps):
            axes, extent = self.maps, shape[2:]
        self.values[node] = (self.graph.add(node.name, MISSING, (), extent), axes) if axes else UNKNOWN
        return bool(axes)

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
        self._check_channels(axes, -1)
        return name, axes

    @staticmethod
    def _check_channels(axes, dim):
        if axes[dim % len(axes)] != 1:
            raise LookupError("not over the channels")

    @staticmethod
    def _count_channels(shape, axes):
        if 1 not in axes:
            raise LookupError("of channels and pixels behind each other")
        return shape[axes.index(1)]

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
            return self._get_item(node, *node.args)
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
            self.unasked = True
            self._stand_in(node)
            return
        given = {argument.name: argument.default_value for argument in schema.arguments if argument.has_default_value()}
        given.update(zip((argument.name for argument in schema.arguments), node.args))
        given.update(node.kwargs)
        try:
            handler(node, given)
        except LookupError as error:
            self._refuse(node, "" if isinstance(error, (KeyError, IndexError)) else str(error))

    def _get_item(self, node, source, index):
        value = self.values[source]
        self.values[node] = value[index] if isinstance(value, list) else value
        if value == UNKNOWN:
            self._stand_in(node)

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
        if self.values[a["input"]][1] == self.flat:  # a window that sees all of the map
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
        entries = [axes[each % len(axes)] for each in a.get("dim") or range(len(axes))]
        reduced = set(_flatten(entries))
        if kind == "adaptive_avg_pool" and reduced == {1} and a.get("keepdim"):
            return self._pointwise(node, "channel_mean", a["self"])
        if reduced != set(self.maps[2:]):
            raise LookupError(f"over other axes than {'depth, ' if self.axes == 3 else ''}height and width")
        if a.get("keepdim") and any(isinstance(each, tuple) for each in axes):
            raise LookupError("of tokens with keepdim")
        left = axes if a.get("keepdim") else tuple(each for each in axes if each not in entries)
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
        self._check_channels(self.values[a["self"]][1], a["dim"])
        self._pointwise(node, "softmax", a["self"])

    def _on_log_softmax(self, node, a):
        """Softmax gives the same of logits and of the logarithms of their probabilities: at the end nothing is left out."""
        if [user.op for user in node.users] != ["output"]:
            raise LookupError("that is not at the end")
        name, axes = self.values[a["self"]]
        self._check_channels(axes, a["dim"])
        self.graph.dropped.add("log_softmax at the end")
        self.values[node] = (name, axes)

    # Arithmetic.

    def _pair_of(self, node, a, kind, factor=1.0):
        first, second = a["self"], a["other"]
        if a.get("alpha", 1) != 1:
            raise LookupError("with alpha")
        if isinstance(second, (int, float)):
            return self._pointwise(node, kind, first, other=factor * second)
        if first in self.parameters or second in self.parameters:
            return self._scale(node, first, second) if kind == "mul" else self._shift(node, first, second, kind)
        (x, axes), (y, other) = self.values[first], self.values[second]
        shapes = [each.meta["val"].shape for each in (first, second)]
        if axes == other and shapes[0] != shapes[1]:
            pair = [(name, self._count_channels(shape, axes)) for name, shape in zip((x, y), shapes)]
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

    def _of_channels(self, node, first, second):
        """Of an array and a map: the array, the map's operation and axes, and how many channels there are; each has a number."""
        array, image = (first, second) if first in self.parameters else (second, first)
        (name, axes), tensor = self.values[image], self.parameters[array][1]
        channels = self._count_channels(node.meta["val"].shape, axes)
        places = [1] * len(axes)
        places[axes.index(1)] = channels
        if tensor.numel() != channels or list(tensor.shape) != places[len(places) - tensor.dim() :]:
            raise LookupError("with an array that is no number for each channel")
        return array, name, axes, channels

    def _constant(self, node, role, values):
        """An array that the module does not have like this, and that nothing trains."""
        name = f"{node.name}.{role}"
        self.graph.untrained.add(name)
        return self.graph.take(name, values)

    def _untrained(self, array):
        own, tensor = self.parameters[array]
        if own not in self.graph.untrained:
            raise LookupError("by an array that is trained")
        return tensor.detach().double().flatten()

    def _scale(self, node, first, second):
        array, name, axes, channels = self._of_channels(node, first, second)
        parameters = {"weight": self._array(array, (channels,))}
        self._put(node, "affine", [name], parameters, extent=self.graph.sizes[name], axes=axes, bias=False)

    def _shift(self, node, first, second, kind):
        array, name, axes, channels = self._of_channels(node, first, second)
        if kind == "sub" and array is first:
            raise LookupError("of a map from an array")
        bias = self._array(array, (channels,)) if kind == "add" else self._constant(node, "bias", -self._untrained(array))
        parameters = {"weight": self._constant(node, "weight", torch.ones(channels)), "bias": bias}
        self._put(node, "affine", [name], parameters, extent=self.graph.sizes[name], axes=axes)

    def _on_add(self, node, a):
        self._pair_of(node, a, "add")

    def _on_sub(self, node, a):
        self._pair_of(node, a, "sub")

    def _on_mul(self, node, a):
        self._pair_of(node, a, "mul")

    def _on_rsub(self, node, a):
        """The second number, or map, less the first one."""
        if a["alpha"] != 1:
            raise LookupError("with alpha")
        if not isinstance(a["other"], (int, float)):
            return self._pair_of(node, {"self": a["other"], "other": a["self"]}, "sub")
        name, axes = self.values[a["self"]]
        negated = self.graph.add(f"{node.name}_negated", "mul", [name], self.graph.sizes[name], other=-1.0)
        self._put(node, "add", [negated], extent=self.graph.sizes[name], axes=axes, other=a["other"])

    def _on_neg(self, node, a):
        self._pointwise(node, "mul", a["self"], other=-1.0)

    def _on_square(self, node, a):
        self._on_pow(node, {**a, "exponent": 2})

    def _on_pow(self, node, a):
        if a["exponent"] not in (2, 3):
            raise LookupError("by another number than 2 or 3")
        name, axes = self.values[a["self"]]
        extent, power = self.graph.sizes[name], name
        if a["exponent"] == 3:
            power = self.graph.add(f"{node.name}_square", "mul", [name, name], extent)
        self._put(node, "mul", [power, name], extent=extent, axes=axes)

    def _on_div(self, node, a):
        if a["other"] in self.parameters and a["self"] not in self.parameters and not a.get("rounding_mode"):
            array, name, axes, _ = self._of_channels(node, a["self"], a["other"])
            parameters = {"weight": self._constant(node, "weight", 1 / self._untrained(array))}
            return self._put(node, "affine", [name], parameters, extent=self.graph.sizes[name], axes=axes, bias=False)
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
        self.values[node] = [(self._map(each), self.maps) for each in a["tensors"]]

    def _on_sum(self, node, a):
        stacked = self.values[a["self"]]
        if not isinstance(stacked, list) or a["keepdim"]:
            raise LookupError("over an axis")
        names = [name for name, _ in stacked]
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
        if self.values[a["self"]][1][axis] == 1:
            if a["step"] != 1:
                raise LookupError("of channels in steps")
            self.values[node] = self._take_channels(node.name, a["self"], start, end - start)
            return
        name = self._map(a["self"])
        if axis == 0:
            raise LookupError("of the batch")
        if a["step"] == 1:
            self._crop(node, a["self"], self._place(axis, start, 0), self._place(axis, size - end, 0))
        elif end == size:
            self._put(node, "slice", [name], start=self._place(axis, start, 0), step=self._place(axis, a["step"], 1))
        else:
            raise LookupError("that steps and ends before the map does")

    def _take_channels(self, name, source, start, channels):
        """So many of a map's, as a map."""
        given, axes = self.values[source]
        return self.graph.add(name, "slice_channels", [given], self.graph.sizes[given], start=start, channels=channels), axes

    def _split_channels(self, node, source, dim):
        """Into as many parts as PyTorch makes of them."""
        axes = self.values[source][1]
        if axes[dim % len(axes)] != 1:
            raise LookupError("not of channels")
        parts, start = [], 0
        for number, part in enumerate(node.meta["val"]):
            channels = part.shape[axes.index(1)]
            parts.append(self._take_channels(f"{node.name}_{number}", source, start, channels))
            start += channels
        self.values[node] = parts

    def _on_chunk(self, node, a):
        self._split_channels(node, a["self"], a["dim"])

    _on_split = _on_split_with_sizes = _on_tensor_split = _on_chunk

    def _on_narrow(self, node, a):
        self._on_slice(node, {**a, "end": a["start"] + a["length"], "step": 1})

    def _on_pixel_unshuffle(self, node, a):
        """One pixel out of each block in turn; then, since PyTorch puts what becomes of one channel behind each other, channel by channel."""
        if self.axes != 2:
            raise LookupError(f"in a network for images of {self.axes} axes")
        name, factor, extent = self._map(a["self"]), a["downscale_factor"], self._size(node)
        channels = a["self"].meta["val"].shape[1]
        if channels > 1 and channels * factor**2 > _MOST_UNSHUFFLED:
            raise LookupError(f"to more than {_MOST_UNSHUFFLED} channels")
        places = [(y, x) for y in range(factor) for x in range(factor)]
        pixels = [self.graph.add(f"{node.name}_{y}_{x}", "slice", [name], extent, start=[y, x], step=[factor, factor]) for y, x in places]
        if channels > 1:
            pixels = [self.graph.add(f"{pixel}_{c}", "slice_channels", [pixel], extent, start=c, channels=1) for c in range(channels) for pixel in pixels]
        self._put(node, "cat", pixels)

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
        if not self.graph.is_one_pixel(name):
            self.values[node] = (name, self._regroup(a["self"].meta["val"].shape, name, axes, shape))
            return
        if len(shape) > len(self.maps):
            raise LookupError("of pixels")
        # Of one pixel: the channels, or several axes that they are laid out in, and axes of length 1.
        parts = [axis for axis in _flatten(axes) if axis < 0]
        if parts != sorted(parts, reverse=True):
            raise LookupError("of channels in another order")
        channels = [i for i, length in enumerate(shape) if length > 1] or [min(1, len(shape) - 1)]
        labels = (1,) if len(channels) == 1 else range(-1, -len(channels) - 1, -1)
        laid_out, others = dict(zip(channels, labels)), iter((0, *self.maps[2:]))
        self.values[node] = (name, tuple(laid_out[i] if i in laid_out else next(others) for i in range(len(shape))))

    def _regroup(self, given, name, axes, shape):
        """Axes of what a map of the shape *given* is reshaped to: whole axes, or several of them behind each other, as they lay before."""
        sides = dict(zip(self.maps[2:], self.graph.sizes[name]))
        sides[0], sides[1] = 1, math.prod(given) // math.prod(sides.values())
        left = list(_flatten(axes))
        regrouped = []
        for length in shape:
            taken = [left.pop(0)] if left else []
            while left and math.prod(sides[axis] for axis in taken) < length:
                taken.append(left.pop(0))
            if not taken or math.prod(sides[axis] for axis in taken) != length:
                raise LookupError("of pixels")
            regrouped.append(taken[0] if len(taken) == 1 else tuple(taken))
        if left:
            raise LookupError("of pixels")
        return tuple(regrouped)

    _on_view = _on_unsqueeze = _on_squeeze = _on_flatten = _on_reshape

    def _on_expand(self, node, a):
        shape, given = node.meta["val"].shape, a["self"].meta["val"].shape
        name = self._map(a["self"])
        if not self.graph.is_one_pixel(name) or shape[:2] != given[:2]:
            raise LookupError("of what is no single pixel")
        self._put(node, "interpolate", [name], mode="nearest", size=[int(side) for side in shape[2:]])

    _on_expand_as = _on_expand

    def _reorder(self, node, source, order):
        """Nothing but axes that lie in another order."""
        name, axes = self.values[source]
        self.values[node] = (name, tuple(axes[each] for each in order))

    def _on_permute(self, node, a):
        self._reorder(node, a["self"], [each % len(a["dims"]) for each in a["dims"]])

    def _on_transpose(self, node, a):
        order = list(range(len(self.values[a["self"]][1])))
        first, second = (a[key] for key in (("dim0", "dim1") if "dim0" in a else ("axis0", "axis1")))
        order[first], order[second] = order[second], order[first]
        self._reorder(node, a["self"], order)

    _on_swapaxes = _on_swapdims = _on_transpose

    def _on_movedim(self, node, a):
        count = len(self.values[a["self"]][1])
        sources, places = ([each % count for each in (value if isinstance(value, (list, tuple)) else [value])] for value in (a["source"], a["destination"]))
        order = [each for each in range(count) if each not in sources]
        for place, source in sorted(zip(places, sources)):
            order.insert(place, source)
        self._reorder(node, a["self"], order)

    _on_moveaxis = _on_movedim

    # What changes no value here.

    def _pass(self, node, a):
        self.values[node] = self.values[a.get("self", a.get("input"))]

    _on_clone = _on_contiguous = _on_alias = _on_to = _on__to_copy = _on_lift_fresh_copy = _pass

    def _on_detach(self, node, a):
        self.graph.dropped.add("detach (gradients pass here)")
        self._pass(node, a)

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
