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


def pruned():
    prune = nn.utils.prune
    module = on_first(lambda part: prune.l1_unstructured(part, "weight", amount=0.5))
    prune.random_unstructured(module[0], "weight", amount=0.2)
    prune.ln_structured(module[3], "weight", amount=0.3, n=2, dim=1)
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
    "pruned": pruned,
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


class Regions(nn.Module):
    """Parts of it are computed under autocast of a GPU, or with gradients where others have none; it has two results."""

    def __init__(self):
        super().__init__()
        self.inner, self.last = small(), nn.Conv2d(2, 2, 1)

    def forward(self, x):
        with torch.autocast("cuda"):
            y = self.inner(x)
            with torch.autocast("cuda", enabled=False):
                a, b = y.float().chunk(2, 1)
        with torch.enable_grad(), torch.autocast("cpu", enabled=False):
            z = torch.cat([b, a], 1)
        return self.last(z), y


@pytest.mark.filterwarnings("ignore")  # of PyTorch, that there is no GPU
def test_regions_of_autocast_and_of_gradients():
    module = Regions().eval()
    pixels = torch.rand(1, 3, 21, 34)
    for output in (0, 1):
        with torch.no_grad():
            torch.testing.assert_close(gp.to_torch(gp.import_network(module, output=output))(pixels), module(pixels)[output].detach())


class On16Bits(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = small()

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.inner(x)


def test_autocast_that_changes_values_is_refused():
    with pytest.raises(NotImplementedError) as refused:
        gp.import_network(On16Bits())
    assert refused.value.code == "E-NETWORK-OPERATION"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_choice_of_several_outputs_is_said():
    with pytest.warns(gp.GigapixelWarning) as told:
        gp.import_network(Regions())
    assert [(each.message.code, each.message.option, each.message.value) for each in told if isinstance(each.message, gp.GigapixelWarning)] == [("W-MODEL-OUTPUT", "output", "0")]


def test_an_exported_program():
    module, any_size = small().eval(), torch.export.Dim.AUTO
    program = torch.export.export(module, (torch.zeros(1, 3, 64, 96),), dynamic_shapes=({2: any_size, 3: any_size},))
    pixels = torch.rand(1, 3, 21, 34)
    with torch.no_grad():
        torch.testing.assert_close(gp.to_torch(gp.import_network(program.module()))(pixels), module(pixels))
