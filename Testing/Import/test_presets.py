# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Presets under the names of others' modules, with the weights of these, against what the modules compute."""

import os
import pathlib

import numpy
import pytest

from conftest import compute_volume, read_arrays, run
from images import make_volume

torch = pytest.importorskip("torch")
nn, functional = torch.nn, torch.nn.functional

BRAINCHOP = pathlib.Path(os.environ.get("GIGAPIXEL_TEST_DATA", "nowhere")) / "networks/brainchop"
SIZE = (19, 27, 22)


def draw_weights(module):
    """Norms that change something, and logits that neither tell nothing nor all."""
    torch.manual_seed(3)
    for key, value in module.state_dict().items():
        if value.dim() > 1:
            nn.init.normal_(value, 0, value[0].numel() ** -0.5)
        elif key.endswith("running_var") or (key.endswith("weight") and value.dim() == 1):
            nn.init.uniform_(value, 0.5, 1.5)
        elif value.is_floating_point():
            nn.init.normal_(value, 0, 0.2)
    return module.eval()


def get_probabilities(module, samples, multiple=1):
    """Of a volume that is padded with its last voxels to what the module takes: depth, height, width, channels."""
    maps = torch.from_numpy(samples.astype(numpy.float32)).permute(3, 0, 1, 2)[None]
    padded = functional.pad(maps, [side for size in reversed(SIZE) for side in (0, -size % multiple)], "replicate")
    with torch.no_grad():
        logits = module(padded)[..., : SIZE[0], : SIZE[1], : SIZE[2]]
    probabilities = logits.sigmoid() if logits.shape[1] == 1 else logits.softmax(1)
    return probabilities[0].permute(1, 2, 3, 0).numpy()


def check(preset, module, folder, multiple=1):
    """All arrays by their names and shapes, and in one tile and in eight the module's probabilities."""
    weights, model = folder / "weights.pth", folder / "model.safetensors"
    arrays = {key: value for key, value in module.state_dict().items() if not key.endswith("num_batches_tracked")}
    torch.save(module.state_dict(), weights)
    run("import", preset, "--weights", weights, "-o", model)
    assert {key: array.shape for key, array in read_arrays(model).items()} == {key: tuple(value.shape) for key, value in arrays.items()}
    samples = make_volume(*SIZE, next(iter(arrays.values())).shape[1])
    expected = get_probabilities(module, samples, multiple)
    assert expected.std(axis=(0, 1, 2)).min() > 0.01
    for given in compute_volume(model, samples, 0, 16):
        assert abs(given - expected).max() < 1e-5


@pytest.mark.parametrize(
    "preset, words",
    [
        ("segresnet:classes=3", {"out_channels": 3}),
        ("segresnet:base=16,channels=4", {"init_filters": 16, "in_channels": 4, "out_channels": 1}),
        ("segresnet:norm=batch,classes=4", {"norm": "batch", "out_channels": 4}),
        ("segresnet:norm=instance,classes=4", {"norm": ("instance", {"affine": True}), "out_channels": 4}),
    ],
)
def test_segresnet_of_monai(preset, words, tmp_path):
    nets = pytest.importorskip("monai.networks.nets")
    check(preset, draw_weights(nets.SegResNet(**words)), tmp_path, multiple=8)


class MeshNet(nn.Module):
    """As brainchop lays its modules out: in blocks where there are norms."""

    def __init__(self, base, classes, norm, activation=nn.ReLU):
        super().__init__()
        layers, channels = [], 1
        for dilation in (1, 2, 4, 8, 16, 8, 4, 2, 1):
            block = [nn.Conv3d(channels, base, 3, padding=dilation, dilation=dilation, bias=not norm)]
            block += [nn.BatchNorm3d(base)] if norm else []
            block += [activation()]
            layers += [nn.Sequential(*block)] if norm else block
            channels = base
        self.model = nn.Sequential(*layers, nn.Conv3d(base, classes, 1))

    def forward(self, x):
        return self.model(x)


@pytest.mark.parametrize(
    "options, norm, activation",
    [("", True, nn.ReLU), (",norm=none", False, nn.ReLU), (",norm=none,activation=elu", False, nn.ELU)],
)
def test_meshnet(options, norm, activation, tmp_path):
    check(f"meshnet:base=6,classes=3{options}", draw_weights(MeshNet(6, 3, norm, activation)), tmp_path)


def test_weights_of_brainchop(tmp_path):
    """Its file of safetensors, whatever that is called. Logits are up to 158 on a brain, so that floats differ by more."""
    if not BRAINCHOP.exists():
        pytest.skip("no test data")
    weights, model = BRAINCHOP / "model5_gw_ae/model.pth", tmp_path / "model.safetensors"
    run("import", "meshnet:classes=3,norm=none", "--weights", weights, "-o", model)
    module = MeshNet(5, 3, False)
    module.load_state_dict({key: torch.from_numpy(array.copy()) for key, array in read_arrays(weights).items()})
    samples = make_volume(*SIZE, 1)
    expected = get_probabilities(module, samples)
    assert expected.argmax(3).std() > 0
    for given in compute_volume(model, samples, 0, 16):
        assert abs(given - expected).max() < 1e-3
