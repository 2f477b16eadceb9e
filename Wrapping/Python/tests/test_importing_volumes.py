# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Networks of PyTorch for volumes: taken over and given back, compared with PyTorch itself."""

import json
import os
import pathlib

import numpy as np
import pytest

import itkgigapixel as gp
from conftest import refused, refused_by_itk

torch = pytest.importorskip("torch")
nn, functional = torch.nn, torch.nn.functional

EXAMPLE = (32, 48, 40)
BRAINCHOP = pathlib.Path(os.environ.get("GIGAPIXEL_TEST_DATA", "nowhere")) / "networks/brainchop"


def make_norm(kind, channels):
    return {"batch": nn.BatchNorm3d, "instance": lambda n: nn.InstanceNorm3d(n, affine=True), "group": lambda n: nn.GroupNorm(2, n), "none": nn.Identity}[kind](channels)


class VolumeNet(nn.Module):
    """Kernels and strides that are others along each axis, pads to the skips' sizes, and both ways to enlarge."""

    def __init__(self, classes=3, channels=2, norm="batch"):
        super().__init__()
        self.first = nn.Sequential(nn.Conv3d(channels, 4, (1, 3, 5), padding=(0, 1, 2)), make_norm(norm, 4), nn.PReLU(4))
        self.inner = nn.Sequential(nn.Conv3d(4, 8, 3, padding="same", padding_mode="replicate"), make_norm(norm, 8), nn.LeakyReLU(0.1), nn.Dropout3d(0.2))
        self.deep = nn.Sequential(nn.MaxPool3d(2), nn.Conv3d(8, 8, 3, padding=2, dilation=2, groups=2), make_norm(norm, 8), nn.ELU())
        self.flat, self.enlarge, self.last = nn.AvgPool3d((1, 2, 2)), nn.ConvTranspose3d(8, 8, 2, 2), nn.Conv3d(20, classes, 1)

    def forward(self, x):
        high = self.first(x)
        middle = self.inner(self.flat(high))
        low = self.enlarge(self.deep(middle))
        low = functional.pad(low, [side for axis in (4, 3, 2) for side in (0, middle.shape[axis] - low.shape[axis])], "replicate")
        low = functional.interpolate(torch.cat([middle, low], 1), size=high.shape[2:], mode="trilinear", align_corners=False)
        return self.last(torch.cat([high, low], 1))


class Moved(nn.Module):
    """What moves voxels, axes and channels: factors of a channel, linear layers behind the axes, steps, crops and what is nearest."""

    def __init__(self):
        super().__init__()
        self.first, self.norm, self.wide, self.last = nn.Conv3d(1, 6, 5, padding=4), nn.LayerNorm(6), nn.Linear(6, 8), nn.Conv3d(8, 2, 1)
        self.scale = nn.Parameter(torch.full((8, 1, 1, 1), 0.7))

    def forward(self, x):
        y = functional.pad(self.first(x), [-1] * 6)[:, :, 1:-1, 1:-1, 1:-1]
        y = self.wide(self.norm(y.permute(0, 2, 3, 4, 1))).permute(0, 4, 1, 2, 3) * self.scale
        coarse = functional.interpolate(y[:, :, ::2, ::2, ::2], size=y.shape[2:], mode="nearest")
        return self.last(y + functional.silu(coarse))


class Gated(nn.Module):
    """Squeeze and excitation in both of its ways, and a pyramid of means and of maxima."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Conv3d(1, 6, 3, padding=1), nn.Conv3d(18, 1, 1)
        self.less, self.more = nn.Linear(6, 3), nn.Linear(3, 6)
        self.gate = nn.Sequential(nn.AdaptiveAvgPool3d(1), nn.Conv3d(6, 6, 1), nn.Hardsigmoid())

    def forward(self, x):
        x = self.first(x)
        gate = torch.sigmoid(self.more(functional.relu(self.less(x.mean((2, 3, 4))))))
        x = self.gate(x) * x * gate[:, :, None, None, None] + x * gate.view(1, 6, 1, 1, 1).expand_as(x)
        pools = functional.adaptive_avg_pool3d(x, 2), functional.adaptive_max_pool3d(x, (2, 3, 1))
        return torch.sigmoid(self.last(torch.cat([x, *(functional.interpolate(each, size=x.shape[2:], mode="trilinear") for each in pools)], 1)))


class Strict(nn.Module):
    """Of multiples of 4 alone."""

    def __init__(self):
        super().__init__()
        self.first, self.deep, self.last = nn.Conv3d(1, 6, 3, padding=1), nn.ConvTranspose3d(6, 6, 4, 4), nn.Conv3d(12, 2, 3, padding=1)

    def forward(self, x):
        x = self.first(x)
        return self.last(torch.cat([x, self.deep(functional.max_pool3d(functional.max_pool3d(x, 2), 2))], 1))


def draw_weights(module, seed=3):
    torch.manual_seed(seed)
    for each in module.modules():
        if isinstance(each, nn.BatchNorm3d):
            nn.init.uniform_(each.weight, 0.5, 1.5)
            nn.init.normal_(each.bias, 0, 0.2)
            nn.init.normal_(each.running_mean, 0, 0.2)
            nn.init.uniform_(each.running_var, 0.5, 1.5)
    return module


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(1)


def forward(module, volume):
    with torch.no_grad():
        return module.eval()(volume)


@pytest.mark.parametrize(
    "make, channels",
    [(VolumeNet, 2), (lambda: VolumeNet(norm="instance"), 2), (lambda: VolumeNet(norm="group"), 2), (lambda: VolumeNet(1, 4, "none"), 4), (Moved, 1), (Gated, 1)],
    ids=["batch", "instance", "group", "modalities", "moved", "gated"],
)
def test_an_imported_network_gives_what_pytorch_gives(make, channels, tmp_path, caplog):
    module = draw_weights(make())
    model = gp.import_network(module, tmp_path / "model.safetensors", example=EXAMPLE, channels=channels)
    said = caplog.text  # the proof, which has raised nothing
    assert "random voxels in tiles of" in said and type(module).__name__ in said
    given = gp.to_torch(tmp_path / "model.safetensors")
    own = {key for key in module.state_dict() if not key.endswith("num_batches_tracked")}
    assert set(given.state_dict()) == own
    assert all(value.shape == module.state_dict()[key].shape for key, value in given.state_dict().items())
    volume = torch.rand(1, channels, 19, 27, 23)
    logits = forward(gp.to_torch(model), volume)
    torch.testing.assert_close(torch.sigmoid(logits) if make is Gated else logits, forward(module, volume), rtol=1e-4, atol=1e-5)
    assert model.GetTileSize() == 64


def test_tiles_are_those_of_pytorch(tmp_path):
    """On a volume of odd sizes with units of its own, three tiles along each axis."""
    module = draw_weights(VolumeNet(norm="instance"))
    model = gp.import_network(module, example=EXAMPLE, channels=2, mean=(100, -3), deviation=(50, 0.5))
    volume = np.random.default_rng(2).normal((100, -3), (50, 0.5), (37, 35, 39, 2)).astype(np.float32)
    maps = torch.from_numpy((volume - (100, -3)) / (50, 0.5)).float().permute(3, 0, 1, 2)[None]
    expected = forward(module, maps).softmax(1)[0].permute(1, 2, 3, 0).numpy()
    for tile in (16, 40):
        given = np.frombuffer(model.PredictVolume(volume, 37, 35, 39, tile), np.float32).reshape(37, 35, 39, 3)
        np.testing.assert_allclose(given, expected, rtol=0, atol=1e-5)


def test_a_buffer_of_another_size_is_refused():
    model = gp.import_network(nn.Conv3d(1, 2, 3, padding=1), example=EXAMPLE)
    volume = np.zeros((8, 8, 8), np.float32)
    for size in ((8, 8, 9), (8, 8, -8), (0, 8, 8), (1 << 17, 8, 8)):
        with refused_by_itk("E-OPTION-VALUE", option="array", value=str(volume.nbytes)):
            model.PredictVolume(volume, *size, 0)
    with pytest.raises((TypeError, BufferError, ValueError)):
        model.PredictVolume(volume[::2], 4, 8, 8, 0)


def test_volumes_of_few_slices():
    """Fewer than the multiple that slices are of."""

    class Thin(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.deep, self.last = nn.Conv3d(1, 4, 3, padding=1), nn.ConvTranspose3d(4, 4, (2, 32, 32), (2, 32, 32)), nn.Conv3d(8, 2, 1)

        def forward(self, x):
            x = self.first(x)
            return self.last(torch.cat([x, self.deep(functional.avg_pool3d(x, (2, 32, 32)))], 1))

    module = Thin()
    model = gp.import_network(module, example=(20, 64, 96))
    volume = torch.rand(1, 1, 32, 64, 96)
    torch.testing.assert_close(forward(gp.to_torch(model), volume), forward(module, volume))


def test_a_network_of_multiples_pads_the_volume():
    module = draw_weights(Strict())
    model = gp.import_network(module, example=EXAMPLE)
    volume = torch.rand(1, 1, 17, 22, 19)
    expected = forward(module, functional.pad(volume, (0, 1, 0, 2, 0, 3), "replicate"))[:, :, :17, :22, :19]
    torch.testing.assert_close(forward(gp.to_torch(model), volume), expected)


class Flat(nn.Module):
    """A convolution of two axes behind one of three."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv3d(1, 4, 3, padding=1), nn.Conv2d(4, 2, 3, padding=1)

    def forward(self, x):
        return torch.stack([self.second(each) for each in self.first(x).unbind(2)], 2)


class Functional(nn.Module):
    """The same, without modules that tell it."""

    def forward(self, x):
        return functional.max_pool2d(x[0].relu(), 3, 1, 1)[None]


@pytest.mark.parametrize(
    "make, example, kind",
    [
        (lambda: nn.Conv3d(1, 2, 1), (64, 96), NotImplementedError),
        (lambda: nn.Conv2d(1, 2, 1), EXAMPLE, NotImplementedError),
        (lambda: nn.Conv1d(1, 2, 1), EXAMPLE, NotImplementedError),
        (Flat, EXAMPLE, NotImplementedError),
        (Functional, EXAMPLE, NotImplementedError),
        (lambda: nn.Conv3d(1, 2, 1), (32,), ValueError),
        (lambda: nn.Conv3d(1, 2, 1), (32, 32, 32, 32), ValueError),
        (lambda: nn.Conv3d(1, 2, 1), (32, 0, 32), ValueError),
        (lambda: nn.Conv3d(1, 2, 1), (32, 1.5, 32), ValueError),
        (lambda: nn.Conv3d(1, 2, 1), 32, ValueError),
        (lambda: nn.Conv3d(2, 2, 1), EXAMPLE, NotImplementedError),
        (lambda: nn.Sequential(nn.Conv3d(1, 8, 1), nn.PixelShuffle(2)), EXAMPLE, NotImplementedError),
        (lambda: nn.Sequential(nn.Conv3d(1, 4, 3), nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(4, 2)), EXAMPLE, NotImplementedError),
        (lambda: nn.Conv3d(1, 2, 2, 2), EXAMPLE, NotImplementedError),
    ],
    ids=["volume", "picture", "row", "both", "functional", "one_side", "four_sides", "no_side", "half_a_side", "number", "channels", "shuffle", "label", "smaller"],
)
def test_axes_that_do_not_fit_are_refused(make, example, kind):
    code = "E-NETWORK-OPERATION" if kind is NotImplementedError else "E-OPTION-VALUE"
    with refused(kind, code) as refusal:
        gp.import_network(make(), example=example, channels=1)
    assert "\n" not in str(refusal.value)


def published(library, make):
    return make(pytest.importorskip(library))


SMALL = {
    "UNet": lambda m: m.networks.nets.UNet(3, 1, 3, (4, 8, 16), (2, 2), num_res_units=2),
    "BasicUNet": lambda m: m.networks.nets.BasicUNet(3, 1, 3, (4, 4, 8, 8, 16, 4)),
    "DynUNet": lambda m: m.networks.nets.DynUNet(3, 1, 3, [[1, 3, 3], 3, 3], [1, [1, 2, 2], 2], [[1, 2, 2], 2], filters=[4, 8, 16]),
    "SegResNet": lambda m: m.networks.nets.SegResNet(3, 8, 1, 3, blocks_down=(1, 1, 1), blocks_up=(1, 1)),
}


@pytest.mark.parametrize("name", SMALL)
def test_networks_of_monai(name, tmp_path):
    module = published("monai", lambda monai: SMALL[name](__import__("monai.networks.nets") or monai))
    gp.import_network(module, tmp_path / "model.safetensors", example=EXAMPLE)
    volume = torch.rand(1, 1, 32, 24, 40)
    torch.testing.assert_close(forward(gp.to_torch(tmp_path / "model.safetensors"), volume), forward(module, volume), rtol=1e-4, atol=1e-4)


ARCHITECTURE = {
    "arch_kwargs": {
        "n_stages": 3, "features_per_stage": [4, 8, 16], "conv_op": "torch.nn.modules.conv.Conv3d", "kernel_sizes": [[1, 3, 3], [3, 3, 3], [3, 3, 3]],
        "strides": [[1, 1, 1], [1, 2, 2], [2, 2, 2]], "n_conv_per_stage_decoder": [1, 1], "conv_bias": True, "norm_op": "torch.nn.modules.instancenorm.InstanceNorm3d",
        "norm_op_kwargs": {"eps": 1e-05, "affine": True}, "dropout_op": None, "dropout_op_kwargs": None, "nonlin": "torch.nn.LeakyReLU", "nonlin_kwargs": {"inplace": True},
    },
    "_kw_requires_import": ["conv_op", "norm_op", "dropout_op", "nonlin"],
}
BLOCKS = {"PlainConvUNet": {"n_conv_per_stage": [1, 1, 1]}, "ResidualEncoderUNet": {"n_blocks_per_stage": [1, 2, 2]}}
PROPERTIES = {"percentile_00_5": -900.0, "percentile_99_5": 300.0, "mean": 20.0, "std": 150.0}


def write_training(folder, kind):
    """As nnU-Net leaves it, with weights by chance."""
    unet = pytest.importorskip("dynamic_network_architectures.architectures.unet")
    architecture = {**ARCHITECTURE, "network_class_name": f"dynamic_network_architectures.architectures.unet.{kind}", "arch_kwargs": {**ARCHITECTURE["arch_kwargs"], **BLOCKS[kind]}}
    words = dict(architecture["arch_kwargs"], conv_op=nn.Conv3d, norm_op=nn.InstanceNorm3d, nonlin=nn.LeakyReLU)
    module = getattr(unet, kind)(input_channels=2, num_classes=3, deep_supervision=True, **words)
    plan = {"architecture": architecture, "spacing": [3.0, 1.0, 1.0], "patch_size": [16, 32, 24], "normalization_schemes": ["ZScoreNormalization", "CTNormalization"], "use_mask_for_norm": [True, False]}
    plans = {"dataset_name": "Dataset001_Brains", "configurations": {"3d_fullres": plan, "3d_cascade": {"inherits_from": "3d_fullres"}},
             "foreground_intensity_properties_per_channel": {"0": PROPERTIES, "1": PROPERTIES}}
    dataset = {"channel_names": {"0": "T1", "1": "CT"}, "labels": {"background": 0, "organ": 1, "tumor": 2, "ignore": 3}}
    (folder / "fold_0").mkdir(parents=True)
    (folder / "plans.json").write_text(json.dumps(plans))
    (folder / "dataset.json").write_text(json.dumps(dataset))
    losses = {"train_losses": [np.float64(0.5), np.float32(0.25)], "dice_per_class_or_region": [np.array([0.5, 0.7])], "epoch_end_timestamps": [1.5]}
    torch.save({"network_weights": module.state_dict(), "init_args": {"configuration": "3d_fullres", "fold": 0}, "logging": losses, "_best_ema": np.float64(0.1)}, folder / "fold_0" / "checkpoint_final.pth")
    return module


@pytest.mark.parametrize("kind", BLOCKS)
def test_trainings_of_nnunet(kind, tmp_path, caplog):
    module = write_training(tmp_path / "training", kind)
    gp.import_nnunet(tmp_path / "training", tmp_path / "model.safetensors")
    said = caplog.text
    assert "cropped to what is not 0, normalized and brought to 3.0 x 1.0 x 1.0 mm" in said and "--sliding-window --mirror" in said
    content = (tmp_path / "model.safetensors").read_bytes()
    network = json.loads(json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])["__metadata__"]["network"])
    kept = network["provenance"]["nnU-Net"]
    assert (kept["spacing"], kept["patch size"], kept["configuration"], kept["fold"]) == ([3.0, 1.0, 1.0], [16, 32, 24], "3d_fullres", 0)
    assert kept["normalization"] == ["ZScoreNormalization, masked", "CTNormalization"]
    assert network["input"] == {"channels": 2, "normalization": [{"type": "z-score", "voxels": "non-zero-filled"}, {"type": "clip", "low": -900.0, "high": 300.0}],
                                "crop": "non-zero", "spacing": [3.0, 1.0, 1.0], "mean": [0.0, 20.0], "deviation": [1.0, 150.0]}
    assert network["patches"] == {"size": [16, 32, 24], "overlap": 0.5, "blending": "gaussian", "mirror": [False, False, False]}
    assert (network["name"], network["class names"]) == ("Dataset001_Brains", ["background", "organ", "tumor"])
    volume = torch.rand(1, 2, 16, 24, 20)
    torch.testing.assert_close(forward(gp.to_torch(tmp_path / "model.safetensors"), volume), forward(module, volume)[0], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", BLOCKS)
def test_nnunet_reads_the_same_training(kind, tmp_path, monkeypatch):
    """Its own predictor's network, from the same folder, is the network that is taken over."""
    for name in ("nnUNet_raw", "nnUNet_preprocessed", "nnUNet_results"):
        monkeypatch.setenv(name, str(tmp_path))
    predicting = pytest.importorskip("nnunetv2.inference.predict_from_raw_data")
    write_training(tmp_path, kind)
    file = tmp_path / "fold_0/checkpoint_final.pth"
    torch.save({**torch.load(file, weights_only=False), "trainer_name": "nnUNetTrainer", "inference_allowed_mirroring_axes": (0, 1, 2)}, file)
    change(tmp_path / "dataset.json", "file_ending", to=".nii.gz")
    predictor = predicting.nnUNetPredictor(device=torch.device("cpu"))
    predictor.initialize_from_trained_model_folder(str(tmp_path), use_folds=(0,))
    predictor.network.load_state_dict(predictor.list_of_parameters[0])
    model = gp.import_nnunet(tmp_path)
    volume = torch.rand(1, 2, 16, 24, 20)
    expected = forward(predictor.network, volume)
    torch.testing.assert_close(forward(gp.to_torch(model), volume), expected, rtol=1e-4, atol=1e-4)
    values = volume[0].permute(1, 2, 3, 0) * torch.tensor([1.0, 150.0]) + torch.tensor([0.0, 20.0])  # what is clipped already, and not yet standardized
    given = np.frombuffer(model.PredictVolume(np.ascontiguousarray(values), 16, 24, 20, 8), np.float32).reshape(16, 24, 20, 3)
    np.testing.assert_allclose(given, expected.softmax(1)[0].permute(1, 2, 3, 0), rtol=0, atol=1e-5)


def change(file, *keys, to):
    content = json.loads(file.read_text())
    place = content
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = to
    file.write_text(json.dumps(content))


@pytest.mark.parametrize(
    "kind, code, damage",
    [
        (ValueError, "E-MODEL-FORMAT", lambda f: (f / "plans.json").write_text("{")),
        (ValueError, "E-MODEL-FORMAT", lambda f: (f / "plans.json").write_text("[]")),
        (OSError, "E-FILE-MISSING", lambda f: (f / "dataset.json").unlink()),
        (ValueError, "E-MODEL-FORMAT", lambda f: (f / "fold_0/checkpoint_final.pth").write_bytes(b"PK\3\4nothing")),
        (ValueError, "E-MODEL-FORMAT", lambda f: torch.save({"weights": {}}, f / "fold_0/checkpoint_final.pth")),
        (ValueError, "E-MODEL-FORMAT", lambda f: torch.save({"network_weights": pathlib.Path("/"), "init_args": {}}, f / "fold_0/checkpoint_final.pth")),
        (ValueError, "E-MODEL-FORMAT", lambda f: change(f / "plans.json", "configurations", "3d_fullres", "architecture", "network_class_name", to="os.system")),
        (ValueError, "E-MODEL-FORMAT", lambda f: change(f / "plans.json", "configurations", "3d_fullres", "inherits_from", to="3d_fullres")),
        (ValueError, "E-MODEL-FORMAT", lambda f: change(f / "plans.json", "configurations", "3d_fullres", "normalization_schemes", to=["Own", "Own"])),
        (ValueError, "E-WEIGHTS-MISMATCH", lambda f: change(f / "dataset.json", "labels", to={"background": 0, "organ": 1})),
        (ValueError, "E-MODEL-FORMAT", lambda f: change(f / "dataset.json", "labels", to={"background": "a"})),
        (ValueError, "E-WEIGHTS-MISMATCH", lambda f: change(f / "plans.json", "configurations", "3d_fullres", "architecture", "arch_kwargs", "features_per_stage", to=[10**6] * 3)),
        (ValueError, "E-MODEL-FORMAT", lambda f: change(f / "plans.json", "configurations", "3d_fullres", "architecture", "arch_kwargs", "n_stages", to=9)),
        (NotImplementedError, "E-NETWORK-OPERATION", lambda f: change(f / "plans.json", "transpose_forward", to=[1, 0, 2])),
        (NotImplementedError, "E-NETWORK-OPERATION", lambda f: change(f / "dataset.json", "labels", to={"background": 0, "all": [1, 2], "organ": 1})),
    ],
    ids=["json", "list", "nowhere", "archive", "other", "objects", "class", "circle", "scheme", "classes", "names", "features", "stages", "axes", "regions"],
)
def test_damaged_trainings_of_nnunet(kind, code, damage, tmp_path):
    write_training(tmp_path, "PlainConvUNet")
    damage(tmp_path)
    with refused(kind, code) as refusal:
        gp.import_nnunet(tmp_path, tmp_path / "model.safetensors")
    assert "\n" not in str(refusal.value) and not (tmp_path / "model.safetensors").exists()


MESHNET = {"bnorm": False, "bias": True, "layers": [
    {"in_channels": 1, "out_channels": 3, "kernel_size": 3, "padding": 2, "stride": 1, "dilation": 2}, {"in_channels": 3, "out_channels": 2, "kernel_size": 1, "padding": 0, "stride": 1, "dilation": 1}]}


def write_meshnet(folder, network=MESHNET):
    (folder / "model.json").write_text(json.dumps(network))
    torch.manual_seed(4)
    torch.save({"model.0.weight": torch.randn(3, 1, 3, 3, 3), "model.0.bias": torch.randn(3), "model.2.weight": torch.randn(2, 3, 1, 1, 1), "model.2.bias": torch.randn(2)}, folder / "model.pth")


@pytest.mark.parametrize("said, activation", [({}, functional.relu), ({"gelu": False}, functional.relu), ({"elu": True}, functional.elu), ({"gelu": True}, functional.gelu)])
def test_meshnets(said, activation, tmp_path):
    write_meshnet(tmp_path, {**MESHNET, **said})
    module = gp.load_meshnet(tmp_path)
    arrays = torch.load(tmp_path / "model.pth", weights_only=True)
    volume = torch.rand(1, 1, 9, 11, 10)
    expected = activation(functional.conv3d(volume, arrays["model.0.weight"], arrays["model.0.bias"], padding=2, dilation=2))
    expected = functional.conv3d(expected, arrays["model.2.weight"], arrays["model.2.bias"])
    torch.testing.assert_close(forward(module, volume), expected)
    torch.testing.assert_close(forward(gp.to_torch(gp.import_network(module, example=EXAMPLE)), volume), expected)


@pytest.mark.parametrize(
    "code, network",
    [("E-NETWORK-FORMAT", {}), ("E-NETWORK-FORMAT", {"forward_pass": [{"op": "conv9d"}]}), ("E-WEIGHTS-MISMATCH", {**MESHNET, "bias": False, "layers": MESHNET["layers"][:1]}),
     ("E-NETWORK-FORMAT", {"layers": [{**MESHNET["layers"][0], "kernel_size": 10**9}, MESHNET["layers"][1]]})],
    ids=["empty", "unknown", "others", "numbers"],
)
def test_damaged_meshnets(code, network, tmp_path):
    write_meshnet(tmp_path, network)
    with refused(ValueError, code) as refusal:
        gp.load_meshnet(tmp_path)
    assert "\n" not in str(refusal.value)
    write_meshnet(tmp_path)
    (tmp_path / "model.pth").write_bytes(b"\xff" * 64)
    with refused(ValueError, "E-MODEL-FORMAT", file=str(tmp_path / "model.pth")):
        gp.load_meshnet(tmp_path)


@pytest.mark.parametrize("name", ["model5_gw_ae", "mindgrab"])
def test_brainchop(name):
    """Of both kinds of its files: what is named there is computed in tiles as PyTorch computes it."""
    if not BRAINCHOP.exists():
        pytest.skip("no test data")
    module = gp.load_meshnet(BRAINCHOP / name)
    assert sum(isinstance(each, nn.Conv3d) for each in module.modules()) == {"model5_gw_ae": 10, "mindgrab": 26}[name]
    assert sum(isinstance(each, nn.GroupNorm) for each in module.modules()) == {"model5_gw_ae": 0, "mindgrab": 25}[name]
    gp.import_network(module, example=EXAMPLE)
