# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Graphs of operations as modules of PyTorch."""

from __future__ import annotations

import math
import re

import torch
from torch import nn
from torch.nn import functional


class GraphModule(nn.Module):
    """A network's graph, computed by PyTorch on the whole image; parameters, statistics and constants under the names that the model
    gives them, so that the ``state_dict`` of an imported module is that of the module.

    Takes maps of (1, channels, height, width), or of volumes (1, channels, depth, height, width), as the graph does, without what the network's ``input`` block does to pixels,
    and returns logits, of networks that label images as (1, classes). In training mode dropout draws PyTorch's own masks.
    """

    def __init__(self, operations: list, output: str, arrays: dict, of_image: bool = False, constants=()):
        """
        :param operations: of the network's JSON
        :param output: name of the one whose map is returned
        :param arrays: tensors by the names that the operations give their parameters
        :param of_image: the map is of one pixel, the logits of the image: they are returned as (1, classes)
        :param constants: names of arrays that no training changes
        """
        super().__init__()
        # Parts of networks have any names, those of what a module has itself as well: they are put where modules keep them.
        self._operations, self._output, self._of_image, self._places = operations, output, of_image, {}
        untrained = {*constants, *(name for each in operations for role, name in get_arrays(each).items() if role.startswith("running_"))}
        for name, tensor in arrays.items():
            *modules, last = name.split(".")
            place = self
            for module in modules:
                place = place._modules.setdefault(module, nn.Module())
            if name in untrained:
                place._buffers[last] = tensor
            else:
                place._parameters[last] = nn.Parameter(tensor)
            self._places[name] = (place, last)

    def forward(self, image):
        maps = {}
        for operation in self._operations:
            roles = {role: self._get(operation, role, name) for role, name in get_arrays(operation).items()}
            inputs = [maps[name] for name in operation.get("inputs", ())]
            maps[operation["name"]] = image if operation["type"] == "input" else self._compute(operation, inputs, roles)
        return maps[self._output].flatten(1) if self._of_image else maps[self._output]

    def _get(self, operation, role, name):
        """An array in the shape that PyTorch's functions want: it is kept in the one that it came in, as (channels, 1, 1) of a file."""
        place, last = self._places[name]
        array = place._buffers[last] if last in place._buffers else place._parameters[last]
        return array if role == "weight" and operation["type"].startswith("conv") else array.flatten()

    def _compute(self, operation, inputs, roles):
        kind = get_kind(operation)
        drop = {"dropout": functional.dropout, "dropout_nd": functional.dropout2d if inputs[0].dim() == 4 else functional.dropout3d}.get(kind)
        if drop:
            return drop(inputs[0], operation.get("p", 0.5), self.training)
        return COMPUTE[kind](operation, inputs, roles)


def get_kind(operation: dict) -> str:
    """An operation's type; of those that have another name in volumes "conv_nd" for "conv2d" and "conv3d"."""
    return re.sub("[23]d$", "_nd", operation["type"])


#: Roles of the arrays of each kind of operation.
_ROLES = {
    "conv_nd": ("weight", "bias"),
    "conv_transpose_nd": ("weight", "bias"),
    "batch_norm": ("weight", "bias", "running_mean", "running_var"),
    "layer_norm": ("weight", "bias"),
    "instance_norm": ("weight", "bias"),
    "group_norm": ("weight", "bias"),
    "affine": ("weight", "bias"),
    "shift": ("bias",),
    "prelu": ("weight",),
}


def get_arrays(operation: dict) -> dict:
    """Names of an operation's arrays by their roles, as the network's JSON says them, or leaves them to the rule."""
    roles = list(_ROLES.get(get_kind(operation), ()))
    if not operation.get("bias", True):
        roles.remove("bias")
    if not operation.get("affine", operation["type"] != "instance_norm"):
        roles = [role for role in roles if role.startswith("running_")]
    return {role: operation.get("parameters", {}).get(role, f"{operation['name']}.{role}") for role in roles}


def _along(operation, key, axes, default=None):
    """A number along each of so many axes."""
    value = operation.get(key, default)
    return (value,) * axes if isinstance(value, (int, float)) else tuple(value)


def _get_axes(x) -> int:
    """Of a map: 2, or 3 of volumes."""
    return x.dim() - 2


def _function(name, x):
    """PyTorch's function for maps of this many axes."""
    return getattr(functional, f"{name}{_get_axes(x)}d")


def _weight(o, roles, axes):
    """In the shape that a convolution wants: a linear layer's has the taps of a channel in one row."""
    weight = roles["weight"]
    return weight if weight.dim() == 2 + axes else weight.reshape(len(weight), -1, *_along(o, "kernel_size", axes))


def _fill(x, before, after, mode, value=0.0):
    sides = [side for pair in zip(reversed(before), reversed(after)) for side in pair]  # PyTorch begins with the last axis
    return functional.pad(x, sides, mode) if mode != "constant" else functional.pad(x, sides, value=value)


def _convolve(o, inputs, roles):
    x, mode, padding = inputs[0], o.get("padding_mode", "zeros"), o.get("padding", 0)
    axes = _get_axes(x)
    if mode != "zeros":
        reach = [(k - 1) * d for k, d in zip(_along(o, "kernel_size", axes), _along(o, "dilation", axes, 1))]
        before = [r // 2 for r in reach] if padding == "same" else _along(o, "padding", axes)
        after = [r - r // 2 for r in reach] if padding == "same" else before
        x, padding = _fill(x, before, after, mode), 0
    return _function("conv", x)(x, _weight(o, roles, axes), roles.get("bias"), o.get("stride", 1), padding, o.get("dilation", 1), o.get("groups", 1))


def _transpose(o, inputs, roles):
    x = inputs[0]
    return _function("conv_transpose", x)(x, roles["weight"], roles.get("bias"), o.get("stride", 1), o.get("padding", 0), o.get("output_padding", 0),
                                          o.get("groups", 1), o.get("dilation", 1))


def _pool_max(o, inputs, roles):
    return _function("max_pool", inputs[0])(inputs[0], o["kernel_size"], o.get("stride", o["kernel_size"]), o.get("padding", 0), o.get("dilation", 1), o.get("ceil_mode", False))


def _pool_mean(o, inputs, roles):
    return _function("avg_pool", inputs[0])(inputs[0], o["kernel_size"], o.get("stride", o["kernel_size"]), o.get("padding", 0), o.get("ceil_mode", False),
                                            o.get("count_include_pad", True))


def _interpolate(o, inputs, roles):
    x = inputs[0]
    size = inputs[1].shape[2:] if len(inputs) == 2 else _along(o, "size", _get_axes(x)) if o.get("size") else None
    scale = _along(o, "scale_factor", _get_axes(x)) if o.get("scale_factor") and size is None else None
    mode = o.get("mode", "nearest")
    align = {} if mode == "nearest" else {"align_corners": o.get("align_corners", False)}
    return functional.interpolate(x, size=size, scale_factor=scale, mode=mode, **align)


def _pad(o, inputs, roles):
    x = inputs[0]
    axes, multiple = _get_axes(x), o.get("multiple", 1)
    before, given = _along(o, "before", axes, 0), _along(o, "after", axes, 0)
    after = []
    for axis, size in enumerate(x.shape[2:]):
        whole = inputs[1].shape[2 + axis] if len(inputs) == 2 else math.ceil((size + before[axis] + given[axis]) / multiple) * multiple
        after.append(whole - size - before[axis])
    return _fill(x, before, after, o.get("mode", "constant"), o.get("value", 0.0))


def _crop(o, inputs, roles):
    x = inputs[0]
    before, after = (_along(o, key, _get_axes(x), 0) for key in ("before", "after"))
    for axis, size in enumerate(inputs[0].shape[2:]):
        wanted = inputs[1].shape[2 + axis] if len(inputs) == 2 else size - before[axis] - after[axis]
        x = x.narrow(2 + axis, (size - wanted) // 2 if o.get("center") else before[axis], wanted)
    return x


def _slice(o, inputs, roles):
    axes = _get_axes(inputs[0])
    return inputs[0][(slice(None), slice(None), *(slice(start, None, step) for start, step in zip(_along(o, "start", axes, 0), _along(o, "step", axes, 1))))]


def _pool_log_sum(o, inputs, roles):
    factor, places = o.get("r", 10.0), tuple(range(2, inputs[0].dim()))
    sums = torch.logsumexp(factor * inputs[0], places, keepdim=True)
    return (sums - math.log(math.prod(inputs[0].shape[2:]))) / factor


def _pool_by_attention(o, inputs, roles):
    maps, scores = inputs
    return (maps * torch.softmax(scores.flatten(2), 2).view_as(scores)).sum(tuple(range(2, maps.dim())), keepdim=True)


def _second(o, inputs):
    return inputs[1] if len(inputs) == 2 else o["other"]


def _layer_norm(o, inputs, roles):
    rows = inputs[0].movedim(1, -1)
    return functional.layer_norm(rows, rows.shape[-1:], roles.get("weight"), roles.get("bias"), o.get("eps", 1e-5)).movedim(-1, 1)


def _affine(o, inputs, roles):
    factor, summand = (None if each is None else each.reshape(1, -1, *[1] * _get_axes(inputs[0])) for each in (roles["weight"], roles.get("bias")))
    return inputs[0] * factor if summand is None else inputs[0] * factor + summand


#: What computes each kind of operation but dropout, of (operation, maps of its inputs, arrays by their roles).
COMPUTE = {
    "conv_nd": _convolve,
    "conv_transpose_nd": _transpose,
    "max_pool_nd": _pool_max,
    "avg_pool_nd": _pool_mean,
    "adaptive_avg_pool_nd": lambda o, x, _: _function("adaptive_avg_pool", x[0])(x[0], o["output_size"]),
    "adaptive_max_pool_nd": lambda o, x, _: _function("adaptive_max_pool", x[0])(x[0], o["output_size"]),
    "logsumexp_pool_nd": _pool_log_sum,
    "attention_pool_nd": _pool_by_attention,
    "interpolate": _interpolate,
    "cat": lambda o, x, _: torch.cat(x, 1),
    "add": lambda o, x, _: x[0] + _second(o, x),
    "sub": lambda o, x, _: x[0] - _second(o, x),
    "mul": lambda o, x, _: x[0] * _second(o, x),
    "pad": _pad,
    "crop": _crop,
    "slice": _slice,
    "pixel_shuffle": lambda o, x, _: functional.pixel_shuffle(x[0], o["upscale_factor"]),
    "pad_channels": lambda o, x, _: functional.pad(x[0], (*[0, 0] * _get_axes(x[0]), o.get("before", 0), o.get("after", 0))),
    "slice_channels": lambda o, x, _: x[0].narrow(1, o.get("start", 0), o["channels"]),
    "channel_mean": lambda o, x, _: x[0].mean(1, keepdim=True),
    "channel_max": lambda o, x, _: x[0].amax(1, keepdim=True),
    "maximum": lambda o, x, _: torch.maximum(x[0], torch.as_tensor(_second(o, x), dtype=x[0].dtype, device=x[0].device)),
    "minimum": lambda o, x, _: torch.minimum(x[0], torch.as_tensor(_second(o, x), dtype=x[0].dtype, device=x[0].device)),
    "softplus": lambda o, x, _: functional.softplus(x[0], o.get("beta", 1.0), o.get("threshold", 20.0)),
    "log": lambda o, x, _: torch.log(x[0].clamp(min=o.get("eps", 1e-30))),
    "logit": lambda o, x, _: torch.logit(x[0], o.get("eps", 1e-7)),
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
    "shift": lambda o, x, roles: x[0] + roles["bias"],
    "layer_norm": _layer_norm,
    "instance_norm": lambda o, x, roles: functional.instance_norm(x[0], weight=roles.get("weight"), bias=roles.get("bias"), eps=o.get("eps", 1e-5)),
    "group_norm": lambda o, x, roles: functional.group_norm(x[0], o["num_groups"], roles.get("weight"), roles.get("bias"), o.get("eps", 1e-5)),
}
