# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Networks for volumes, as a model's file describes them, in eager PyTorch: for volume_step.py and learn_oasis.py."""

import json
import sys

import torch
import torch.nn.functional as F
from safetensors import safe_open
from safetensors.torch import save_file


def load_model(path, layout=torch.contiguous_format):
    """The operations, and the arrays by name; all but statistics take gradients."""
    with safe_open(path, "pt") as model:
        operations = json.loads(model.metadata()["network"])["operations"]
        arrays = {name: model.get_tensor(name) for name in model.keys()}
    for name, array in arrays.items():
        arrays[name] = array.contiguous(memory_format=layout) if array.dim() == 5 else array
        arrays[name].requires_grad_("running" not in name)
    return operations, arrays


def calibrate(source, voxels, target):
    """Writes a model whose batch norms have the statistics of what they see of a volume, one after the other."""
    operations, arrays = load_model(source)
    with torch.no_grad():
        compute(operations, arrays, torch.from_numpy(voxels)[None, None], calibrated=True)
    with safe_open(source, "pt") as model:
        save_file({name: array.detach() for name, array in arrays.items()}, target, metadata=model.metadata())


def compute(operations, arrays, voxels, calibrated=False):
    """The map of the last operation; norms of kept statistics are frozen, or calibrated before they are applied."""
    maps = {operations[0]["name"]: voxels}
    for o in operations[1:]:
        inputs, name = [maps[i] for i in o["inputs"]], o["name"]
        weight, bias = arrays.get(name + ".weight"), arrays.get(name + ".bias")
        stride, padding = o.get("stride", 1), o.get("padding", 0)
        if o["type"] == "conv3d":
            y = F.conv3d(inputs[0], weight, bias, stride, padding)
        elif o["type"] == "conv_transpose3d":
            y = F.conv_transpose3d(inputs[0], weight, bias, stride)
        elif o["type"] == "batch_norm":
            mean, variance = arrays[name + ".running_mean"], arrays[name + ".running_var"]
            if calibrated:
                mean.copy_(inputs[0].mean((0, 2, 3, 4)))
                variance.copy_(inputs[0].var((0, 2, 3, 4), unbiased=False))
            y = F.batch_norm(inputs[0], mean, variance, weight, bias, False, 0.1, o.get("eps", 1e-5))
        elif o["type"] == "instance_norm":
            y = F.instance_norm(inputs[0], weight=weight, bias=bias, eps=o.get("eps", 1e-5))
        elif o["type"] == "relu":
            y = F.relu_(inputs[0])
        elif o["type"] == "max_pool3d":
            y = F.max_pool3d(inputs[0], o["kernel_size"])
        elif o["type"] == "pad":  # to the size of the skip
            missing = [b - a for a, b in zip(inputs[0].shape[2:], inputs[1].shape[2:])]
            y = F.pad(inputs[0], [v for d in reversed(missing) for v in (0, d)])
        elif o["type"] == "cat":
            y = torch.cat(inputs, 1)
        else:
            sys.exit(f"eager PyTorch has no {o['type']} here")
        maps[name] = y
    return maps[operations[-1]["name"]]


def to_axes(value):
    return value if isinstance(value, list) else [value] * 3


def count_operations(operations, arrays, size):
    """Floating-point operations of a training step on the volume in one piece: convolutions forward, of the gradients of their
    weights, and of those of their inputs, but for the first one's."""
    sizes, total = {operations[0]["name"]: tuple(size)}, 0
    for o in operations[1:]:
        name = o["name"]
        before = sizes[o["inputs"][0]]
        stride, padding, kernel = (to_axes(o.get(key, default)) for key, default in (("stride", 1), ("padding", 0), ("kernel_size", 0)))
        weight = arrays.get(name + ".weight")
        if o["type"] == "conv3d":
            sizes[name] = tuple((s + 2 * p - k) // t + 1 for s, p, k, t in zip(before, padding, weight.shape[2:], stride))
            products = weight.numel() * sizes[name][0] * sizes[name][1] * sizes[name][2]
        elif o["type"] == "conv_transpose3d":
            sizes[name] = tuple((s - 1) * t + k for s, k, t in zip(before, weight.shape[2:], stride))
            products = weight.numel() * before[0] * before[1] * before[2]
        else:
            like = sizes[o["inputs"][-1]]
            sizes[name] = tuple(s // k for s, k in zip(before, kernel)) if o["type"] == "max_pool3d" else like
            continue
        total += 2 * products * (2 if o["inputs"][0] == operations[0]["name"] else 3)
    return total
