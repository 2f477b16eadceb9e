# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Modules that are compiled, wrapped, of other floats, or whose weights are computed: taken over as the module inside."""

import subprocess
import sys

import pytest

import itkgigapixel as gp

torch = pytest.importorskip("torch")
nn = torch.nn


def small():
    torch.manual_seed(5)
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 2, 1))


def on_first(change):
    module = small()
    change(module[0])
    return module


def compiled_part():
    module = small()
    module[0] = torch.compile(module[0])
    return module


def compiled_in_place():
    module = small()
    module.compile()
    return module


MODULES = {
    "compiled": lambda: torch.compile(small()),
    "compiled_part": compiled_part,
    "compiled_in_place": compiled_in_place,
    "compiled_twice": lambda: nn.DataParallel(torch.compile(small())),
    "averaged": lambda: torch.optim.swa_utils.AveragedModel(small()),
    "half": lambda: small().half(),
    "bfloat16": lambda: small().bfloat16(),
    "double": lambda: small().double(),
    "weight_norm": lambda: on_first(nn.utils.parametrizations.weight_norm),
    "weight_norm_by_hook": lambda: on_first(nn.utils.weight_norm),
    "spectral_norm": lambda: on_first(nn.utils.parametrizations.spectral_norm),
    "spectral_norm_by_hook": lambda: on_first(nn.utils.spectral_norm),
    "orthogonal": lambda: on_first(nn.utils.parametrizations.orthogonal),
    "compiled_bfloat16_weight_norm": lambda: torch.compile(on_first(nn.utils.parametrizations.weight_norm).bfloat16()),
}


@pytest.mark.filterwarnings("ignore")  # of PyTorch, about hooks
@pytest.mark.parametrize("name", MODULES)
def test_wrapped(name):
    module = MODULES[name]()
    before = {key: value.clone() for key, value in module.state_dict().items()}
    model = gp.import_network(module)
    # The module stays what it was.
    after = module.state_dict()
    assert list(before) == list(after) and all(torch.equal(value, after[key]) for key, value in before.items())
    assert module.training
    taken = gp.to_torch(model)
    assert set(taken.state_dict()) <= {key for key in small().state_dict()}
    # PyTorch's own numbers of the module inside, in double: weights of half are those of half.
    inside = module
    while hasattr(inside, "_orig_mod") or isinstance(inside, (nn.DataParallel, torch.optim.swa_utils.AveragedModel)):
        inside = inside._orig_mod if hasattr(inside, "_orig_mod") else inside.module
    if name == "compiled_part":
        inside[0] = inside[0]._orig_mod
    inside._compiled_call_impl = None
    pixels = torch.rand(1, 3, 21, 34)
    with torch.no_grad():
        expected = inside.eval().double()(pixels.double())
        assert (taken(pixels) - expected).abs().max() < 1e-5


def test_a_compiled_module_does_not_end_the_interpreter():
    """Nobody catches that, so that a process of its own imports it."""
    program = "import torch, itkgigapixel as gp; gp.import_network(torch.compile(torch.nn.Conv2d(3, 2, 1)))"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
