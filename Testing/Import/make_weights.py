#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Writes weights.npz: files of torch.save in all of its forms, and the arrays that they hold. Needs torch.

    make_weights.py
"""

import collections
import io
import pathlib

import numpy
import torch
from torch import nn

torch.manual_seed(1)


def make_module():
    return nn.Sequential(collections.OrderedDict(conv=nn.Conv2d(3, 4, 3, padding=1), norm=nn.BatchNorm2d(4), logits=nn.Conv2d(4, 1, 1)))


def save(value, **options):
    file = io.BytesIO()
    torch.save(value, file, **options)
    return file.getvalue()


def with_attributes(state):
    """Parameters and tensors that carry something of their own, as those of sharded and quantized trainings do."""
    marked = {key: torch.nn.Parameter(value) if key.endswith("weight") else value.clone() for key, value in state.items()}
    for value in marked.values():
        value.note = "kept"
    return marked


def main():
    module = make_module()
    module.norm.running_mean.normal_()
    module.norm.running_var.uniform_(0.5, 2)
    state = module.state_dict()
    optimizer = torch.optim.Adam(module.parameters())
    module(torch.randn(1, 3, 8, 8)).sum().backward()
    optimizer.step()
    state = {key: value.clone() for key, value in module.state_dict().items()}
    turned = dict(state, **{"conv.weight": state["conv.weight"].permute(3, 2, 1, 0).contiguous().permute(3, 2, 1, 0)})
    wide = torch.randn(100)
    part = dict(state, **{"norm.bias": wide[10:50:10], "norm.weight": wide[2:6]})
    checkpoint = {
        "epoch": 3, "arch": "small", "best": torch.tensor(0.5), "score": numpy.float64(0.25), "state_dict": state,
        "optimizer": optimizer.state_dict(), "more": [None, True, 1.5, 2**70, -5, b"bytes", {1, 2}],
    }
    files = {
        "zip": (save(state), state),
        "legacy": (save(state, _use_new_zipfile_serialization=False), state),
        "protocol_4": (save(state, pickle_protocol=4), state),
        "protocol_5_legacy": (save(checkpoint, pickle_protocol=5, _use_new_zipfile_serialization=False), state),
        "checkpoint": (save(checkpoint), state),
        "checkpoint_legacy": (save(checkpoint, _use_new_zipfile_serialization=False), state),
        "parallel": (save({"module." + key: value for key, value in state.items()}), state),
        "turned": (save(turned), turned),
        "parts": (save(part), part),
        "parameters": (save(dict(module.state_dict(keep_vars=True))), module.state_dict()),
        "attributes": (save(with_attributes(state)), state),
        "half": (save({key: value.half() for key, value in state.items()}), {key: value.half() for key, value in state.items()}),
        "bfloat16": (save({key: value.bfloat16() for key, value in state.items()}), {key: value.bfloat16() for key, value in state.items()}),
        "double": (save({key: value.double() for key, value in state.items()}, _use_new_zipfile_serialization=False), state),
    }
    stored = {}
    for name, (content, arrays) in files.items():
        stored[f"{name}/file"] = numpy.frombuffer(content, numpy.uint8)
        for key, tensor in arrays.items():
            if "num_batches" not in key:
                stored[f"{name}/{key}"] = tensor.detach().float().numpy()
    stored["refused/module/file"] = numpy.frombuffer(save(module), numpy.uint8)
    stored["refused/numbers/file"] = numpy.frombuffer(save([1, 2, 3]), numpy.uint8)
    stored["refused/less/file"] = numpy.frombuffer(save({"conv.weight": state["conv.weight"]}), numpy.uint8)
    stored["refused/complex/file"] = numpy.frombuffer(save({key: value.to(torch.complex64) for key, value in state.items()}), numpy.uint8)
    numpy.savez_compressed(pathlib.Path(__file__).with_name("weights.npz"), **stored)
    print(len(files), "files")


if __name__ == "__main__":
    main()
