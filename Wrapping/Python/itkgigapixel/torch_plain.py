# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Modules of PyTorch without what is wrapped around them or computed for them, so that ``torch.export`` sees operations alone."""

from __future__ import annotations

import copy

import torch
from torch import nn
from torch.nn.utils import parametrize
from torch.nn.utils.prune import BasePruningMethod
from torch.nn.utils.spectral_norm import SpectralNorm
from torch.nn.utils.weight_norm import WeightNorm

#: Wrappers by the name of what they hold. A compiled module ends the interpreter where it is called with fake tensors.
_WRAPPERS = {torch._dynamo.OptimizedModule: "_orig_mod", nn.DataParallel: "module", nn.parallel.DistributedDataParallel: "module",
             torch.optim.swa_utils.AveragedModel: "module"}
#: Hooks of torch's former way to compute weights before each call.
_HOOKS = (WeightNorm, SpectralNorm, BasePruningMethod)


def make_plain(module):
    """Takes off wrappers and computed weights, and makes all numbers float32.

    :returns: the module itself where nothing is to do, else a copy; and what was left out, in words
    """
    module, left_out = _unwrap(module), set()
    parts = list(module.modules())
    if not any(map(_is_special, parts)):
        return module, left_out
    module = _copy(module, parts)
    others = {tensor.dtype for tensor in _tensors(module) if _is_of_other_floats(tensor)}
    left_out.update(f"{str(each).removeprefix('torch.')} (numbers are float32 here)" for each in others)
    module = module.float() if others else module
    with torch.no_grad():
        for part in list(module.modules()):
            part._compiled_call_impl = None
            left_out.update(_compute_weights(part))
    return module, left_out


def _wrapped(module):
    return next((getattr(module, name) for kind, name in _WRAPPERS.items() if isinstance(module, kind)), None)


def _unwrap(module):
    while (inner := _wrapped(module)) is not None:
        module = inner
    return module


def _tensors(part, recurse=True):
    yield from part.parameters(recurse)
    yield from part.buffers(recurse)


def _is_of_other_floats(tensor) -> bool:
    return tensor.is_floating_point() and tensor.dtype != torch.float32


def _is_special(part) -> bool:
    return (
        _wrapped(part) is not None
        or getattr(part, "_compiled_call_impl", None) is not None
        or parametrize.is_parametrized(part)
        or any(isinstance(hook, _HOOKS) for hook in part._forward_pre_hooks.values())
        or any(map(_is_of_other_floats, _tensors(part, recurse=False)))
    )


def _copy(module, parts):
    """With what wrappers hold in their places. Weights that a hook has computed are no leaves, which are not copied otherwise."""
    memo = {}
    for part in parts:
        for value in vars(part).values():
            if isinstance(value, torch.Tensor) and not value.is_leaf:
                memo[id(value)] = value.detach().clone()
    for part in reversed(parts):  # inner ones first
        if _wrapped(part) is not None:
            memo[id(part)] = copy.deepcopy(_unwrap(part), memo)
    return copy.deepcopy(module, memo)


def _compute_weights(part):
    """Once: from then on they are weights like any other, in training too."""
    if parametrize.is_parametrized(part):
        part.parametrizations.eval()
        values = {name: getattr(part, name).detach().clone() for name in part.parametrizations}
        parametrizations, part.__class__ = part.parametrizations, type(part).__bases__[0]  # copies share the class, which stays whole
        del part._modules["parametrizations"]
        for name, value in values.items():
            yield from (f"{type(each).__name__.strip('_')} of {name} (computed once)" for each in parametrizations[name])
            is_trained = any(each.requires_grad for each in parametrizations[name].parameters())
            part.register_parameter(name, nn.Parameter(value, is_trained))
    for key, hook in list(part._forward_pre_hooks.items()):
        if isinstance(hook, _HOOKS):
            yield f"{type(hook).__name__} of {hook._tensor_name if isinstance(hook, BasePruningMethod) else hook.name} (computed once)"
            hook.remove(part)
            del part._forward_pre_hooks[key]
