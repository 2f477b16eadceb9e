#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Writes sets.npz: checkpoints of torch.save with prefixes of names and with several sets of weights, and files that are none. Needs torch.

    make_sets.py
"""

import io
import pathlib

import numpy
import torch

from make_weights import make_module, save


def under(prefix, state):
    return {prefix + key: value for key, value in state.items()}


def main():
    torch.manual_seed(3)
    module = make_module().eval()
    module.norm.running_mean.normal_()
    module.norm.running_var.uniform_(0.5, 2)
    state = {key: value.clone() for key, value in module.state_dict().items()}
    other = {key: value + 1 for key, value in state.items()}
    trained = {key: value + 1 for key, value in module.named_parameters()}  # an average of these alone
    expanded = dict(state, **{"conv.weight": torch.full((1,), 0.25).expand(4, 3, 3, 3), "logits.weight": state["logits.weight"][:, :1].expand(1, 4, 1, 1)})
    files = {
        # The prefix that makes all names fit, whatever else there is.
        "prefix/model": {"state_dict": under("model.", state), "hyper_parameters": {"lr": 0.1}},
        "prefix/net": {"state_dict": under("net.", state)},
        "prefix/_orig_mod": under("_orig_mod.", state),
        "prefix/module.module": under("module.module.", state),
        "prefix/module._orig_mod": under("module._orig_mod.", state),
        "prefix/model._orig_mod": {"state_dict": under("model._orig_mod.", state)},
        "prefix/module": {"n_averaged": torch.tensor(3), **under("module.", state)},
        "prefix/encoder.body": {**under("encoder.body.", state), "loss.weight": torch.ones(2), "metric.running_var": torch.ones(2)},
        # Several sets, the first one as it is, the other with 1 added.
        "sets/model ema": {"model": state, "ema": other},
        "sets/ema model": {"ema": other, "model": state},
        "sets/student.module teacher.module": {"student": under("module.", state), "teacher": under("module.", other)},
        "sets/state_dict.model state_dict.model_ema": {"state_dict": {**under("model.", state), **under("model_ema.", other)}},
        "sets/. teacher": {**state, **under("teacher.", other)},
        "sets/0 1": [state, other],
        "same/state": {"model": state, "best": state, "copy": {key: value.clone() for key, value in state.items()}},
        "less/model ema": {"ema": trained, "model": state},
        "expanded/state": expanded,
    }
    stored = {}
    for name, content in files.items():
        stored[f"{name}/file"] = numpy.frombuffer(save(content), numpy.uint8)
    stored["sets legacy/model ema/file"] = numpy.frombuffer(save(files["sets/model ema"], _use_new_zipfile_serialization=False), numpy.uint8)
    for key, value in state.items():
        stored[f"arrays/{key}"] = value.numpy()
        stored[f"expanded arrays/{key}"] = expanded[key].contiguous().numpy()
    scripted, exported = io.BytesIO(), io.BytesIO()
    torch.jit.save(torch.jit.trace(module, torch.rand(1, 3, 8, 8)), scripted)
    torch.export.save(torch.export.export(module, (torch.rand(1, 3, 8, 8),)), exported)
    stored["programs/TorchScript/file"] = numpy.frombuffer(scripted.getvalue(), numpy.uint8)
    stored["programs/torch.export/file"] = numpy.frombuffer(exported.getvalue(), numpy.uint8)
    numpy.savez_compressed(pathlib.Path(__file__).with_name("sets.npz"), **stored)
    print(len(stored), "arrays")


if __name__ == "__main__":
    main()
