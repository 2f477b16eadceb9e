# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""The graph that ``torch.export``'s program of a module at one size is, whose sizes are still those of the example."""

from __future__ import annotations

import math

import torch

from itkgigapixel.torch_layout import Layout
from itkgigapixel.torch_nodes import UNKNOWN, flatten


class Walk(Layout):
    """Goes over a program; its handlers, ``_on_`` and the operation's name, are of operations that compute values."""

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
        if a["running_mean"] is None:  # it keeps none (track_running_stats=False): of one image it is an instance norm
            return self._on_instance_norm(node, {**a, "use_input_stats": True})
        if a["training"]:
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
        stacked = self.values[a["self"]]
        if isinstance(stacked, list):
            if a.get("keepdim"):
                raise LookupError("with keepdim")
            total = self._add_all(node, stacked, f"{node.name}_sum")
            return self._put(node, "mul", [total], extent=self._size(node), axes=self.maps, other=1 / len(stacked))
        name, axes = stacked
        entries = [axes[each % len(axes)] for each in a.get("dim") or range(len(axes))]
        reduced = set(flatten(entries))
        if reduced == {1}:
            left = axes if a.get("keepdim") else tuple(each for each in axes if each != 1)
            return self._put(node, "channel_mean" if kind == "adaptive_avg_pool" else "channel_max", [name], extent=self.graph.sizes[name], axes=left)
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
            side = "max" if a["min"] is None else "min"
            return self._pointwise(node, "minimum" if side == "max" else "maximum", a["self"], other=float(a[side]))
        self._pointwise(node, "hardtanh", a["self"], min_val=a["min"], max_val=a["max"])

    def _on_softplus(self, node, a):
        self._pointwise(node, "softplus", a["self"], beta=float(a["beta"]), threshold=float(a["threshold"]))

    def _choose(self, node, a, kind):
        if a["self"] in self.parameters or a["other"] in self.parameters:
            raise LookupError("with an array")
        self._pair_of(node, a, kind)

    def _on_maximum(self, node, a):
        self._choose(node, a, "maximum")

    def _on_minimum(self, node, a):
        self._choose(node, a, "minimum")

    def _on_max(self, node, a):
        """Of two maps, or over an axis, with places, which nothing may read."""
        if "other" in a:
            return self._on_maximum(node, a)
        if "dim" not in a:
            raise LookupError("over all axes")
        self._on_amax(node, {**a, "dim": [a["dim"]]})
        self.values[node] = [self.values[node], UNKNOWN]

    def _on_log(self, node, a):
        self._pointwise(node, "log", a["self"])

    def _on_exp(self, node, a):
        """Of logarithms of probabilities, which these are again."""
        name, axes = self.values[a["self"]]
        source = next((each for each in self.graph.operations if each["name"] == name and each["type"] == "log"), None)
        if source is None:
            raise LookupError("of what is no log_softmax")
        self.values[node] = (source["inputs"][0], axes)

    def _on_prelu(self, node, a):
        slopes = self.parameters[a["weight"]][1].numel()
        self._put(node, "prelu", [self._map(a["self"])], self._arrays(weight=a["weight"]), num_parameters=slopes)

    def _on_softmax(self, node, a):
        self._check_channels(self.values[a["self"]][1], a["dim"])
        self._pointwise(node, "softmax", a["self"])

    def _on_log_softmax(self, node, a):
        """Softmax gives the same of logits and of the logarithms of their probabilities: at the end nothing is left out."""
        name, axes = self.values[a["self"]]
        self._check_channels(axes, a["dim"])
        if [user.op for user in node.users] != ["output"]:
            shares = self.graph.add(f"{node.name}_shares", "softmax", [name], self.graph.sizes[name])
            return self._put(node, "log", [shares], extent=self.graph.sizes[name], axes=axes)
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
        reductions = (torch.ops.aten.sum.dim_IntList, torch.ops.aten.mean.dim)
        if any(user.target not in reductions or list(user.args[1]) != [a["dim"]] for user in node.users):
            raise LookupError("that is neither summed nor averaged")
        self.values[node] = [(self._map(each), self.maps) for each in a["tensors"]]

    def _on_sum(self, node, a):
        stacked = self.values[a["self"]]
        if not isinstance(stacked, list) and a.get("dim") and [stacked[1][each % len(stacked[1])] for each in a["dim"]] == [1]:
            name, axes = stacked
            mean = self.graph.add(f"{node.name}_mean", "channel_mean", [name], self.graph.sizes[name])
            left = axes if a["keepdim"] else tuple(each for each in axes if each != 1)
            count = self._count_channels(a["self"].meta["val"].shape, axes)
            return self._put(node, "mul", [mean], extent=self.graph.sizes[name], axes=left, other=float(count))
        if not isinstance(stacked, list) or a["keepdim"]:
            raise LookupError("over an axis")
        self.values[node] = (self._add_all(node, stacked, node.name), self.maps)

    def _add_all(self, node, stacked, name):
        names = [each for each, _ in stacked]
        total = names[0]
        for i, each in enumerate(names[1:]):
            last = i == len(names) - 2
            total = self.graph.add(name if last else f"{node.name}_{i}", "add", [total, each], self._size(node))
        return total

    # What changes no value here.

    def _pass(self, node, a):
        source = a.get("self", a.get("input"))
        known = self.parameters if source in self.parameters else self.values
        known[node] = known[source]

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
