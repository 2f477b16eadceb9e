# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Graphs of operations as modules of PyTorch."""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn import functional


class GraphModule(nn.Module):
    """A network's graph, computed by PyTorch on the whole image; parameters and statistics under the names that the model
    gives them, so that the ``state_dict`` of an imported module is that of the module.

    Takes maps of (1, channels, height, width) as the graph does, without what the network's ``input`` block does to pixels,
    and returns logits, of networks that label images as (1, classes). In training mode dropout draws PyTorch's own masks.
    """

    def __init__(self, operations: list, output: str, arrays: dict, of_image: bool = False):
        """
        :param operations: of the network's JSON
        :param output: name of the one whose map is returned
        :param arrays: tensors by the names that the operations give their parameters
        :param of_image: the map is of one pixel, the logits of the image: they are returned as (1, classes)
        """
        super().__init__()
        self.operations = operations
        self.output = output
        self.of_image = of_image
        self.paths = {}
        statistics = {name for each in operations for role, name in get_arrays(each).items() if role.startswith("running_")}
        for name, tensor in arrays.items():
            *modules, last = name.split(".")
            place = self
            for module in modules:
                if not hasattr(place, module):
                    place.add_module(module, nn.Module())
                place = getattr(place, module)
            self.paths[name] = (place, last)
            if name in statistics:
                place.register_buffer(last, tensor)
            else:
                place.register_parameter(last, nn.Parameter(tensor))

    def forward(self, image):
        maps = {}
        for operation in self.operations:
            roles = {role: getattr(*self.paths[name]) for role, name in get_arrays(operation).items()}
            inputs = [maps[name] for name in operation.get("inputs", ())]
            maps[operation["name"]] = image if operation["type"] == "input" else self._compute(operation, inputs, roles)
        return maps[self.output].flatten(1) if self.of_image else maps[self.output]

    def _compute(self, operation, inputs, roles):
        drop = {"dropout": functional.dropout, "dropout2d": functional.dropout2d}.get(operation["type"])
        if drop:
            return drop(inputs[0], operation.get("p", 0.5), self.training)
        return COMPUTE[operation["type"]](operation, inputs, roles)


#: Roles of the arrays of each type of operation.
_ROLES = {
    "conv2d": ("weight", "bias"),
    "conv_transpose2d": ("weight", "bias"),
    "batch_norm": ("weight", "bias", "running_mean", "running_var"),
    "layer_norm": ("weight", "bias"),
    "instance_norm": ("weight", "bias"),
    "group_norm": ("weight", "bias"),
    "affine": ("weight", "bias"),
    "prelu": ("weight",),
}


def get_arrays(operation: dict) -> dict:
    """Names of an operation's arrays by their roles, as the network's JSON says them, or leaves them to the rule."""
    roles = list(_ROLES.get(operation["type"], ()))
    if not operation.get("bias", True):
        roles.remove("bias")
    if not operation.get("affine", operation["type"] != "instance_norm"):
        roles = [role for role in roles if role.startswith("running_")]
    return {role: operation.get("parameters", {}).get(role, f"{operation['name']}.{role}") for role in roles}


def _pair(value):
    return (value, value) if isinstance(value, (int, float)) else tuple(value)


def _weight(o, roles):
    """In the shape that a convolution wants: a linear layer's has the taps of a channel in one row."""
    weight = roles["weight"]
    return weight if weight.dim() == 4 else weight.reshape(len(weight), -1, *_along(o, "kernel_size"))


def _fill(sides, mode, value=0.0):
    return lambda x: functional.pad(x, sides, mode) if mode != "constant" else functional.pad(x, sides, value=value)


def _convolve(o, inputs, roles):
    x, mode, padding = inputs[0], o.get("padding_mode", "zeros"), o.get("padding", 0)
    if mode != "zeros":
        reach = [(k - 1) * d for k, d in zip(_along(o, "kernel_size"), _along(o, "dilation", 1))]
        before = [r // 2 for r in reach] if padding == "same" else _pair(padding)
        after = [r - r // 2 for r in reach] if padding == "same" else _pair(padding)
        x, padding = _fill([before[1], after[1], before[0], after[0]], mode)(x), 0
    return functional.conv2d(x, _weight(o, roles), roles.get("bias"), _along(o, "stride", 1), padding, _along(o, "dilation", 1), o.get("groups", 1))


def _along(operation, key, default=None):
    """A number along (y, x)."""
    return _pair(operation.get(key, default))


def _transpose(o, inputs, roles):
    return functional.conv_transpose2d(inputs[0], roles["weight"], roles.get("bias"), _along(o, "stride", 1), _along(o, "padding", 0),
                                       _along(o, "output_padding", 0), o.get("groups", 1), _along(o, "dilation", 1))


def _interpolate(o, inputs, roles):
    size = inputs[1].shape[2:] if len(inputs) == 2 else o.get("size")
    scale = o.get("scale_factor")
    mode = o.get("mode", "nearest")
    align = {"align_corners": o.get("align_corners", False)} if mode == "bilinear" else {}
    return functional.interpolate(inputs[0], size=None if size is None else _pair(tuple(size)), scale_factor=None if scale is None else _pair(scale), mode=mode, **align)


def _pad(o, inputs, roles):
    x = inputs[0]
    before, after, multiple = _along(o, "before", 0), _along(o, "after", 0), o.get("multiple", 1)
    sides = []
    for axis in (1, 0):
        size = x.shape[2 + axis]
        whole = inputs[1].shape[2 + axis] if len(inputs) == 2 else math.ceil((size + before[axis] + after[axis]) / multiple) * multiple
        sides += [before[axis], whole - size - before[axis]]
    return _fill(sides, o.get("mode", "constant"), o.get("value", 0.0))(x)


def _crop(o, inputs, roles):
    x, before, after = inputs[0], _along(o, "before", 0), _along(o, "after", 0)
    for axis in range(2):
        size = x.shape[2 + axis]
        wanted = inputs[1].shape[2 + axis] if len(inputs) == 2 else size - before[axis] - after[axis]
        x = x.narrow(2 + axis, (size - wanted) // 2 if o.get("center") else before[axis], wanted)
    return x


def _slice(o, inputs, roles):
    (top, left), (down, right) = _along(o, "start", 0), _along(o, "step", 1)
    return inputs[0][:, :, top::down, left::right]


def _pool_log_sum(o, inputs, roles):
    factor = o.get("r", 10.0)
    sums = torch.logsumexp(factor * inputs[0], (2, 3), keepdim=True)
    return (sums - math.log(inputs[0].shape[2] * inputs[0].shape[3])) / factor


def _pool_by_attention(o, inputs, roles):
    maps, scores = inputs
    return (maps * torch.softmax(scores.flatten(2), 2).view_as(scores)).sum((2, 3), keepdim=True)


def _second(o, inputs):
    return inputs[1] if len(inputs) == 2 else o["other"]


def _layer_norm(o, inputs, roles):
    rows = inputs[0].permute(0, 2, 3, 1)
    return functional.layer_norm(rows, rows.shape[3:], roles.get("weight"), roles.get("bias"), o.get("eps", 1e-5)).permute(0, 3, 1, 2)


def _affine(o, inputs, roles):
    factor, summand = (None if each is None else each.reshape(1, -1, 1, 1) for each in (roles["weight"], roles.get("bias")))
    return inputs[0] * factor if summand is None else inputs[0] * factor + summand


#: What computes each type of operation but dropout, of (operation, maps of its inputs, arrays by their roles).
COMPUTE = {
    "conv2d": _convolve,
    "conv_transpose2d": _transpose,
    "max_pool2d": lambda o, x, _: functional.max_pool2d(x[0], _along(o, "kernel_size"), _along(o, "stride", o["kernel_size"]), _along(o, "padding", 0), _along(o, "dilation", 1), o.get("ceil_mode", False)),
    "avg_pool2d": lambda o, x, _: functional.avg_pool2d(x[0], _along(o, "kernel_size"), _along(o, "stride", o["kernel_size"]), _along(o, "padding", 0), o.get("ceil_mode", False), o.get("count_include_pad", True)),
    "adaptive_avg_pool2d": lambda o, x, _: functional.adaptive_avg_pool2d(x[0], _along(o, "output_size")),
    "adaptive_max_pool2d": lambda o, x, _: functional.adaptive_max_pool2d(x[0], _along(o, "output_size")),
    "logsumexp_pool2d": _pool_log_sum,
    "attention_pool2d": _pool_by_attention,
    "interpolate": _interpolate,
    "cat": lambda o, x, _: torch.cat(x, 1),
    "add": lambda o, x, _: x[0] + _second(o, x),
    "sub": lambda o, x, _: x[0] - _second(o, x),
    "mul": lambda o, x, _: x[0] * _second(o, x),
    "pad": _pad,
    "crop": _crop,
    "slice": _slice,
    "pixel_shuffle": lambda o, x, _: functional.pixel_shuffle(x[0], o["upscale_factor"]),
    "pad_channels": lambda o, x, _: functional.pad(x[0], (0, 0, 0, 0, o.get("before", 0), o.get("after", 0))),
    "slice_channels": lambda o, x, _: x[0].narrow(1, o.get("start", 0), o["channels"]),
    "relu": lambda o, x, _: functional.relu(x[0]),
    "leaky_relu": lambda o, x, _: functional.leaky_relu(x[0], o.get("negative_slope", 0.01)),
    "prelu": lambda o, x, roles: functional.prelu(x[0], roles["weight"]),
    "elu": lambda o, x, _: functional.elu(x[0], o.get("alpha", 1.0)),
    "gelu": lambda o, x, _: functional.gelu(x[0], approximate=o.get("approximate", "none")),
    "silu": lambda o, x, _: functional.silu(x[0]),
    "mish": lambda o, x, _: functional.mish(x[0]),
    "hardswish": lambda o, x, _: functional.hardswish(x[0]),
    "sigmoid": lambda o, x, _: torch.sigmoid(x[0]),
    "hardsigmoid": lambda o, x, _: functional.hardsigmoid(x[0]),
    "tanh": lambda o, x, _: torch.tanh(x[0]),
    "hardtanh": lambda o, x, _: functional.hardtanh(x[0], o.get("min_val", -1.0), o.get("max_val", 1.0)),
    "softmax": lambda o, x, _: torch.softmax(x[0], 1),
    "batch_norm": lambda o, x, roles: functional.batch_norm(x[0], roles["running_mean"], roles["running_var"], roles.get("weight"), roles.get("bias"), False, 0.0, o.get("eps", 1e-5)),
    "affine": _affine,
    "layer_norm": _layer_norm,
    "instance_norm": lambda o, x, roles: functional.instance_norm(x[0], weight=roles.get("weight"), bias=roles.get("bias"), eps=o.get("eps", 1e-5)),
    "group_norm": lambda o, x, roles: functional.group_norm(x[0], o["num_groups"], roles.get("weight"), roles.get("bias"), o.get("eps", 1e-5)),
}
