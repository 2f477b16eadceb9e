# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Networks of PyTorch: taken over, trained and given back, compared with PyTorch itself."""

import json

import itk
import numpy as np
import pytest
import tifffile

import itkgigapixel as gp
from itkgigapixel import importing
from conftest import refused, refused_by_itk

torch = pytest.importorskip("torch")
nn, functional = torch.nn, torch.nn.functional

EXAMPLE = (64, 96)


class Residual(nn.Module):
    """A block as ResNets have it."""

    def __init__(self, channels, out, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(out)
        self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(out)
        self.shortcut = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        y = self.bn2(self.conv2(functional.relu(self.bn1(self.conv1(x)), inplace=True)))
        y += self.shortcut(x)
        return functional.relu(y)


class ResNetUNet(nn.Module):
    """A ResNet's beginning, maximum pooling, and a decoder that takes the skips' sizes."""

    def __init__(self, classes):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 7, 2, 3, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.pool = nn.MaxPool2d(3, 2, 1)
        self.block = Residual(8, 16, 2)
        self.decode = nn.Conv2d(24, 8, 3, padding=1)
        self.head = nn.Conv2d(8, classes, 1)

    def forward(self, x):
        skip = torch.relu(self.norm(self.stem(x)))
        deep = self.block(self.pool(skip))
        up = functional.interpolate(deep, size=skip.shape[-2:], mode="nearest")
        y = functional.leaky_relu(self.decode(torch.cat([up, skip], 1)), 0.1)
        return self.head(functional.interpolate(y, x.shape[-2:], mode="bilinear", align_corners=False))


class PaddingUNet(nn.Module):
    """As MONAI's BasicUNet: what was lost by pooling odd sizes is replicated; a sigmoid at its end."""

    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(1, 6, 3, padding=1), nn.PReLU(6), nn.Dropout(0.1))
        self.deep = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(6, 12, 3, padding=1), nn.SiLU(), nn.Mish())
        self.up = nn.ConvTranspose2d(12, 6, 2, 2)
        self.last = nn.Conv2d(12, 1, 3, padding=1)

    def forward(self, x):
        skip = self.first(x)
        up = self.up(self.deep(skip))
        sides = [0, skip.shape[-1] - up.shape[-1], 0, skip.shape[-2] - up.shape[-2]]
        return torch.sigmoid(self.last(torch.cat([skip, functional.pad(up, sides, "replicate")], 1)))


class ConvNeXtLike(nn.Module):
    """Channels behind the axes: norm and linear layers of each pixel, a factor for each channel; pixels out of channels."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 4, 4)
        self.depthwise = nn.Conv2d(8, 8, 7, padding=3, groups=8)
        self.norm = nn.LayerNorm(8)
        self.wide = nn.Linear(8, 32)
        self.narrow = nn.Linear(32, 8)
        self.scale = nn.Parameter(torch.full((8, 1, 1), 0.5))
        self.head = nn.Conv2d(8, 3 * 16, 1)

    def forward(self, x):
        y = self.stem(functional.pad(x, (0, -x.shape[-1] % 4, 0, -x.shape[-2] % 4)))
        z = self.norm(self.depthwise(y).permute(0, 2, 3, 1))
        z = self.narrow(functional.gelu(self.wide(z))).permute(0, 3, 1, 2)
        return functional.pixel_shuffle(self.head(y + self.scale * z), 4)[:, :, : x.shape[-2], : x.shape[-1]]


class StrictUNet(nn.Module):
    """That takes sizes alone which all its halvings divide, as many do."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 6, 3, padding=1)
        self.deep = nn.Conv2d(6, 6, 3, padding=1)
        self.last = nn.Conv2d(12, 1, 3, padding=1)

    def forward(self, x):
        if x.shape[-1] % 32 or x.shape[-2] % 32:
            raise RuntimeError("sizes must be multiples of 32")
        skip = functional.elu(self.first(x))
        deep = self.deep(functional.avg_pool2d(skip, 4))
        return self.last(torch.cat([skip, functional.interpolate(deep, scale_factor=4.0, mode="bilinear")], 1))


@pytest.fixture(autouse=True)
def seed():
    """Of the weights that modules begin with: those of a test are the same whichever tests ran before."""
    torch.manual_seed(1)


def draw_weights(module, seed=3):
    """Weights and statistics unlike those that modules begin with, so that nothing is hidden by ones and zeros."""
    torch.manual_seed(seed)
    for each in module.modules():
        if isinstance(each, nn.BatchNorm2d):
            nn.init.uniform_(each.weight, 0.5, 1.5)
            nn.init.normal_(each.bias, 0, 0.2)
            nn.init.normal_(each.running_mean, 0, 0.2)
            nn.init.uniform_(each.running_var, 0.5, 1.5)
    return module


def get_network(file):
    """The JSON of a model's network."""
    content = file.read_bytes()
    return json.loads(json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])["__metadata__"]["network"])


@pytest.mark.parametrize(
    "make, channels", [(lambda: ResNetUNet(1), 3), (lambda: ResNetUNet(2), 3), (lambda: ResNetUNet(4), 3), (PaddingUNet, 1), (ConvNeXtLike, 3)], ids=["one", "two", "four", "padding", "convnext"]
)
def test_an_imported_network_gives_what_pytorch_gives(make, channels, tmp_path, caplog):
    module = draw_weights(make())
    model = gp.import_network(module, tmp_path / "model.safetensors", example=EXAMPLE, channels=channels)
    said = caplog.text  # the proof, which has raised nothing
    assert "random pixels in tiles of" in said and type(module).__name__ in said
    assert module.training
    given = gp.to_torch(tmp_path / "model.safetensors")
    assert list(dict(given.state_dict())) and not set(given.state_dict()) - set(module.state_dict())
    assert set(module.state_dict()) - set(given.state_dict()) <= {k for k in module.state_dict() if k.endswith("num_batches_tracked")}
    image = torch.rand(1, channels, 71, 53)
    with torch.no_grad():
        expected, logits = module.eval()(image), gp.to_torch(model)(image)
    torch.testing.assert_close(torch.sigmoid(logits) if make is PaddingUNet else logits, expected)
    assert not model.GetMicronsPerPixel()


def test_parts_of_a_module_have_any_names(tmp_path):
    """Also those of what the module that is given back has itself."""

    class Named(nn.Module):
        def __init__(self):
            super().__init__()
            self.operations = nn.Conv2d(3, 4, 3, padding=1)
            self.paths, self.of_image, self.output = (nn.Conv2d(4, 4, 1) for _ in range(3))

        def forward(self, x):
            for part in self._modules.values():
                x = part(x)
            return x

    module = Named()
    given = gp.to_torch(gp.import_network(module, tmp_path / "model.safetensors", example=EXAMPLE))
    assert set(given.state_dict()) == set(module.state_dict())
    image = torch.rand(1, 3, 36, 52)
    with torch.no_grad():
        torch.testing.assert_close(given(image), module.eval()(image))
        torch.testing.assert_close(given.double()(image.double()), module.double()(image.double()))
    module.load_state_dict(given.state_dict())


def test_dropout_is_kept_for_training(tmp_path):
    class Dropping(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 1, 1)
            self.drop, self.drop_channels = nn.Dropout(0.25), nn.Dropout2d(0.5, inplace=True)

        def forward(self, x):
            return self.last(self.drop_channels(self.drop(torch.relu(self.first(x)))))

    torch.manual_seed(1)
    module = Dropping()
    model = gp.import_network(module, tmp_path / "model.safetensors", example=EXAMPLE)
    ours = gp.to_torch(model)
    kinds = {each["type"]: each.get("p", 0.5) for each in ours._operations if each["type"].startswith("dropout")}
    assert kinds == {"dropout": 0.25, "dropout2d": 0.5}
    image = torch.rand(1, 3, 71, 53)
    with torch.no_grad():
        torch.testing.assert_close(ours(image), module.eval()(image))
        torch.manual_seed(2)
        dropped = ours.train()(image)
        torch.manual_seed(2)
        torch.testing.assert_close(dropped, module.train()(image))
        assert not torch.equal(dropped, module.eval()(image))


def test_a_network_of_multiples_pads_the_image(tmp_path):
    module = draw_weights(StrictUNet())
    model = gp.import_network(module, example=EXAMPLE)
    image = torch.rand(1, 3, 71, 53)
    with torch.no_grad():
        expected = module(functional.pad(image, (0, 11, 0, 25), "replicate"))[:, :, :71, :53]
        torch.testing.assert_close(gp.to_torch(model)(image), expected)


def test_the_least_multiple_is_found(tmp_path, capfd):
    """Of two halvings 4: images of it are not padded. PyTorch's complaints of the sizes that were tried are kept back."""

    class Halving(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.deep, self.last = nn.Conv2d(3, 6, 3, padding=1), nn.ConvTranspose2d(6, 6, 4, 4), nn.Conv2d(12, 1, 3, padding=1)

        def forward(self, x):
            x = self.first(x)
            return self.last(torch.cat([x, self.deep(functional.max_pool2d(functional.max_pool2d(x, 2), 2))], 1))

    module = draw_weights(Halving())
    model = gp.import_network(module, tmp_path / "model.safetensors", example=EXAMPLE)
    told = capfd.readouterr().err
    assert "Traceback" not in told and "torch" not in told
    image = torch.rand(1, 3, 52, 76)
    with torch.no_grad():
        torch.testing.assert_close(gp.to_torch(model)(image), module(image))


def test_many_halvings():
    """As the deepest networks of nnU-Net for pictures have them."""

    class Deep(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.deep, self.last = nn.Conv2d(3, 4, 3, padding=1), nn.ConvTranspose2d(4, 4, 128, 128), nn.Conv2d(8, 2, 1)

        def forward(self, x):
            x = self.first(x)
            return self.last(torch.cat([x, self.deep(functional.avg_pool2d(x, 128))], 1))

    module = draw_weights(Deep())
    model = gp.import_network(module, example=(256, 256))
    image = torch.rand(1, 3, 200, 250)
    with torch.no_grad():
        expected = module(functional.pad(image, (0, 6, 0, 56), "replicate"))[:, :, :200, :250]
        torch.testing.assert_close(gp.to_torch(model)(image), expected)


def test_modes_of_parts_stay():
    """Norms that are frozen in a module in training are not trained afterwards."""
    module = draw_weights(ResNetUNet(1))
    module.norm.eval()
    before = {name: part.training for name, part in module.named_modules()}
    gp.import_network(module, example=EXAMPLE)
    assert {name: part.training for name, part in module.named_modules()} == before
    assert module.training and not module.norm.training


class Constants(nn.Module):
    """Numbers that no training of the module changes: a buffer, a frozen weight and a tensor that is neither."""

    def __init__(self):
        super().__init__()
        self.register_buffer("deviation", torch.tensor([0.2, 0.3, 0.4]).reshape(3, 1, 1))
        self.first, self.norm, self.last = nn.Conv2d(3, 6, 3, padding=1), nn.BatchNorm2d(6), nn.Conv2d(6, 2, 1)
        self.first.weight.requires_grad = False
        self.factor = torch.arange(1.0, 7.0).reshape(6, 1, 1)

    def forward(self, x):
        x = self.norm(self.first(x * self.deviation))
        return self.last(x * self.factor)


def test_what_a_module_does_not_train_is_constant(tmp_path):
    module = draw_weights(Constants())
    model = gp.import_network(module, tmp_path / "model.safetensors", example=EXAMPLE)
    constants = get_network(tmp_path / "model.safetensors")["constants"]
    assert {"deviation", "first.weight"} <= set(constants) and len(constants) == 3
    given = gp.to_torch(model)
    assert {key for key, _ in given.named_parameters()} == {key for key, value in module.named_parameters() if value.requires_grad}
    image = torch.rand(1, 3, 36, 52)
    with torch.no_grad():
        torch.testing.assert_close(given(image), module.eval()(image))
    random = np.random.default_rng(5)
    pixels = itk.image_from_array(random.integers(0, 256, (67, 83, 3), np.uint8), ttype=itk.Image[itk.RGBPixel[itk.UC], 2])
    mask, start = itk.image_from_array(random.integers(0, 2, (67, 83), np.uint8)), tmp_path / "model.safetensors"
    gp.train([(pixels, mask)], tmp_path / "run", network=start, weights=start, epochs=1, learning_rate=1e-2, augment=False, tile_size=32)
    for key, value in gp.to_torch(tmp_path / "run").state_dict().items():
        assert torch.equal(value, given.state_dict()[key]) == (key in constants or "running" in key), key


def test_what_trains_in_another_way_is_said(tmp_path):
    class StochasticDepth(nn.Module):
        """As torchvision has it: nothing in evaluation mode."""

        def forward(self, x):
            return x * 2 if self.training else x

    class Stopped(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.drop, self.last = nn.Conv2d(3, 6, 3, padding=1), StochasticDepth(), nn.Conv2d(6, 2, 1)

        def forward(self, x):
            return self.last(self.drop(self.first(x)).detach())

    gp.import_network(Stopped(), tmp_path / "model.safetensors", example=EXAMPLE)
    assert get_network(tmp_path / "model.safetensors")["provenance"]["left out"] == ["StochasticDepth", "detach (gradients pass here)"]


def test_outputs_are_counted_one_by_one():
    """However they lie in lists and dictionaries, as torch.export counts them."""

    class Nested(nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = nn.ModuleList(nn.Conv2d(3, classes, 3, padding=1) for classes in (1, 2, 3, 4))

        def forward(self, x):
            a, b, c, d = (part(x) for part in self.parts)
            return {"first": [a, (b, c)], "last": d}

    module, image = draw_weights(Nested()), torch.rand(1, 3, 36, 52)
    for output, part in enumerate(module.parts):
        with torch.no_grad():
            torch.testing.assert_close(gp.to_torch(gp.import_network(module, example=EXAMPLE, output=output))(image), part(image))


def test_tiles_are_multiples_of_any_stride(tmp_path):
    class Thirds(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = nn.Conv2d(3, 6, 3, 3, 1), nn.Conv2d(6, 1, 1)

        def forward(self, x):
            return self.last(functional.interpolate(torch.relu(self.first(x)), size=x.shape[-2:]))

    model = gp.import_network(Thirds(), tmp_path / "model.safetensors", example=EXAMPLE)
    assert model.GetTileSize() == 1026


def test_a_factor_that_follows_from_the_size(tmp_path):
    """Is that of the map that it comes to the size of."""

    class Halved(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = nn.Conv2d(3, 6, 3, 2, 1), nn.Conv2d(9, 1, 1)

        def forward(self, x):
            y = self.first(x)
            y = functional.interpolate(y, scale_factor=(x.shape[-2] / y.shape[-2], x.shape[-1] / y.shape[-1]), mode="bilinear")
            return self.last(torch.cat([x, y], 1))

    module = draw_weights(Halved())
    model = gp.import_network(module, tmp_path / "model.safetensors", example=EXAMPLE)
    image = torch.rand(1, 3, 71, 53)
    with torch.no_grad():
        torch.testing.assert_close(gp.to_torch(model)(image), module(image))


def test_what_is_missing_is_said_at_once():
    class Strange(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.InstanceNorm2d(3)

        def forward(self, x):
            return torch.cumsum(self.norm(x) * functional.adaptive_avg_pool2d(x, 2).mean(), 2)

    with pytest.raises(NotImplementedError) as refusal:
        gp.import_network(Strange(), example=EXAMPLE)
    assert "operations that there are not here: cumsum, mean over other axes than height and width; more may be missing behind mean over other axes than height and width, as what it gives is no map; and it sees the whole image: " in str(refusal.value)
    assert "adaptive_avg_pool2d (1 place: adaptive_avg_pool2d), instance_norm (1 place: instance_norm)." in str(refusal.value)


class Excited(nn.Module):
    """Squeeze and excitation in both of its ways, a pyramid of pools, and norms of the image."""

    def __init__(self, pool=functional.adaptive_avg_pool2d):
        super().__init__()
        self.pool = pool
        self.first, self.last = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(16, 1, 1)
        self.groups, self.instance = nn.GroupNorm(4, 8), nn.InstanceNorm2d(8, affine=True)
        self.less, self.more = nn.Linear(8, 4), nn.Linear(4, 8)
        self.gate = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(8, 8, 1), nn.Hardsigmoid())

    def forward(self, x):
        x = self.instance(self.groups(self.first(x)))
        gate = torch.sigmoid(self.more(functional.relu(self.less(x.mean((2, 3))))))
        x = self.gate(x) * x * gate[:, :, None, None] + x * gate.view(1, 8, 1, 1).expand_as(x)
        pooled = functional.interpolate(self.pool(x, 2), size=x.shape[2:], mode="bilinear")
        return self.last(torch.cat([x, pooled], 1))


class Classifier(nn.Module):
    def __init__(self, side=1, classes=4):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 6, 3, 2), nn.BatchNorm2d(6), nn.ReLU(), nn.AdaptiveAvgPool2d(side), nn.Dropout(0.2), nn.Flatten())
        self.head = nn.Sequential(nn.Linear(6 * side * side, 10), nn.ReLU(), nn.Linear(10, classes))

    def forward(self, x):
        return self.head(self.features(x))


def test_a_graph_that_sees_the_whole_image_says_what_it_needs():
    with pytest.raises(NotImplementedError) as refusal:
        gp.import_network(Excited(lambda x, _: functional.adaptive_max_pool2d(x, 65)), example=EXAMPLE)
    assert refusal.value.code == "E-NETWORK-OPERATION"
    message = refusal.value.why + "."
    assert "is a graph of" in message and "does not run yet" in message
    assert message.endswith("nothing computes what sees the whole image: adaptive_max_pool2d (1 place: adaptive_max_pool2d).")


@pytest.mark.parametrize("classes", [2, 4])
def test_all_classes_are_proven(classes, caplog, tmp_path):
    """By a number, which the model keeps."""
    model = gp.import_network(nn.Conv2d(3, classes, 3, padding=1), tmp_path / "model.safetensors", example=EXAMPLE)
    said = caplog.text
    assert f"random pixels in tiles of 64, probabilities of all {classes} classes, which vary by " in said and ", differ from PyTorch's by at most " in said
    assert get_network(tmp_path / "model.safetensors")["provenance"]["proof"] in said
    pixels = np.random.default_rng(4).integers(0, 256, (45, 71, 3), np.uint8)
    with torch.no_grad():
        expected = gp.to_torch(model)(torch.from_numpy(pixels / np.float32(255)).permute(2, 0, 1)[None]).softmax(1)[0].permute(1, 2, 0)
    for tile in (0, 8, 24):
        given = np.frombuffer(model.PredictImage(pixels, 45, 71, tile), np.float32).reshape(45, 71, classes)
        np.testing.assert_allclose(given, expected, rtol=0, atol=1e-6)


def test_a_network_of_one_constant_class_is_proven(monkeypatch):
    """By its probabilities: the first class wins everywhere, whatever the weights are."""
    module, write = nn.Conv2d(3, 3, 3, padding=1), importing._write_model
    nn.init.constant_(module.bias, 0)
    nn.init.constant_(module.bias[:1], 5)
    monkeypatch.setattr(importing, "_write_model", lambda network, arrays, *more: write(network, {key: array * np.float32(1.01) for key, array in arrays.items()}, *more))
    with refused(RuntimeError, "E-NETWORK-OPERATION"):
        gp.import_network(module, example=EXAMPLE)


def test_images_of_any_number_of_channels(caplog):
    """As slides of several stains have them."""
    module = draw_weights(nn.Sequential(nn.Conv2d(5, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 3, 1)))
    model = gp.import_network(module, example=EXAMPLE, channels=5, mean=(0.1, 0.2, 0.3, 0.4, 0.5), deviation=(0.5, 0.4, 0.3, 0.2, 0.1))
    assert "probabilities of all 3 classes" in caplog.text
    image = torch.rand(1, 5, 71, 53)
    with torch.no_grad():
        torch.testing.assert_close(gp.to_torch(model)(image), module.eval()(image))


def test_a_buffer_of_another_size_is_refused():
    model = gp.import_network(nn.Conv2d(3, 2, 3, padding=1), example=EXAMPLE)
    pixels = np.zeros((16, 24, 3), np.uint8)
    for size in ((16, 25), (16, -24), (0, 24), (1 << 17, 24)):
        with refused_by_itk("E-OPTION-VALUE", option="array", value=str(pixels.nbytes)):
            model.PredictImage(pixels, *size, 0)
    with pytest.raises((TypeError, BufferError, ValueError)):
        model.PredictImage(pixels[::2], 8, 24, 0)


@pytest.mark.parametrize("pool", [functional.adaptive_avg_pool2d, functional.adaptive_max_pool2d])
def test_a_network_that_sees_the_whole_image(pool, tmp_path, caplog):
    """Is proven in tiles of an odd image, labels a slide as the module labels the whole of it, and goes back into a module."""
    module = draw_weights(Excited(pool))
    model = gp.import_network(module, tmp_path / "model.safetensors", example=EXAMPLE, tile_size=32)
    assert "differ from PyTorch's by at most" in caplog.text
    assert not model.LabelsImages()
    pixels = np.random.default_rng(3).integers(0, 256, (147, 211, 3), np.uint8)
    itk.imwrite(itk.image_from_array(pixels, ttype=itk.Image[itk.RGBPixel[itk.UC], 2]), str(tmp_path / "slide.pyramid.tif"))
    read = np.asarray(gp.Slide(tmp_path / "slide.pyramid.tif").read())
    image = torch.from_numpy(read / np.float32(255)).permute(2, 0, 1)[None]
    with torch.no_grad():
        expected = module.eval()(image)
        torch.testing.assert_close(gp.to_torch(tmp_path / "model.safetensors")(image), expected)
    probability = np.asarray(gp.segment(tmp_path / "slide.pyramid.tif", tmp_path / "model.safetensors", probability=True))
    np.testing.assert_allclose(probability, 255 * expected.sigmoid()[0, 0].numpy(), rtol=0, atol=0.501)  # rounded


def test_batch_norms_that_keep_no_statistics():
    """Take those of the image, as PyTorch's do of a batch of one."""
    norms = nn.BatchNorm2d(6, track_running_stats=False), nn.BatchNorm2d(6, affine=False, track_running_stats=False)
    nn.init.uniform_(norms[0].weight, 0.5, 1.5)
    module = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), norms[0], nn.ReLU(), nn.Conv2d(6, 6, 1), norms[1], nn.Conv2d(6, 1, 1))
    model = gp.import_network(module, example=EXAMPLE)
    image = torch.rand(1, 3, 71, 53)
    with torch.no_grad():
        torch.testing.assert_close(gp.to_torch(model)(image), module.eval()(image))


def test_batch_norms_of_the_image():
    """As in training, where PyTorch's are of the batch; the module that was given keeps its statistics."""
    module = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU(), nn.Conv2d(6, 1, 1))
    nn.init.normal_(module[1].running_mean, 0, 0.2)
    model = gp.import_network(module, example=EXAMPLE, norms="image")
    assert module[1].running_mean.abs().sum() > 0
    image = torch.rand(1, 3, 71, 53)
    with torch.no_grad():
        torch.testing.assert_close(gp.to_torch(model)(image), module.train()(image))
    with refused(ValueError, "E-OPTION-VALUE", option="norms", value="batch"):
        gp.import_network(module, example=EXAMPLE, norms="batch")


class Mean(nn.Module):
    """That returns the mean of its maps itself, as SqueezeNet, or what is made of it without weights."""

    def __init__(self, end):
        super().__init__()
        self.maps, self.end = nn.Sequential(nn.Conv2d(3, 6, 3), nn.ReLU(), nn.Conv2d(6, 5, 1)), end

    def forward(self, x):
        return self.end(self.maps(x).mean((2, 3)))


class Greatest(nn.Module):
    """Maxima in both of their ways, and the mean beside them."""

    def __init__(self):
        super().__init__()
        self.maps, self.head = nn.Sequential(nn.Conv2d(3, 6, 3, 2), nn.ReLU(), nn.Conv2d(6, 5, 1)), nn.Linear(15, 4)

    def forward(self, x):
        x = self.maps(x)
        return self.head(torch.cat([functional.adaptive_max_pool2d(x, 1).flatten(1), x.amax((2, 3)), x.mean((2, 3))], 1))


class Gated(Classifier):
    """Squeeze and excitation, and a second output that is not asked for."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(3, 3, 1), nn.Sigmoid())
        self.beside = nn.Conv2d(3, 2, 1)

    def forward(self, x):
        x = x * self.gate(x)
        return super().forward(x), functional.instance_norm(self.beside(x))


def published(library, name, **options):
    make = {"torchvision": lambda m: m.models.get_model(name, weights=None, **options), "timm": lambda m: m.create_model(name, pretrained=False, **options)}
    torch.manual_seed(4)
    return make[library](pytest.importorskip(library))


@pytest.mark.parametrize(
    "make, classes",
    [
        (Classifier, 4),
        (lambda: Classifier(classes=1), 1),
        (lambda: Mean(nn.Identity()), 5),
        (lambda: Mean(nn.LogSoftmax(1)), 5),
        (lambda: Mean(nn.Softmax(1)), 5),
        (Greatest, 4),
        (Gated, 4),
        (lambda: Classifier(3), 4),
        (lambda: published("torchvision", "resnet18"), 1000),
        (lambda: published("timm", "resnet10t", num_classes=7), 7),
    ],
    ids=["layers", "one", "mean", "log_softmax", "softmax", "maxima", "gated", "cells", "torchvision", "timm"],
)
def test_a_network_that_labels_images(make, classes, tmp_path, caplog):
    """Is proven, is a model that gigapixel classify takes, and goes back into a module."""
    module = draw_weights(make())
    model = gp.import_network(module, tmp_path / "model.safetensors", example=EXAMPLE)
    assert f"probabilities of the {max(2, classes)} classes of the image differ from PyTorch's by at most" in caplog.text
    assert model.LabelsImages()
    given = gp.to_torch(tmp_path / "model.safetensors")
    own = {key for key in module.state_dict() if not key.endswith("num_batches_tracked") and not key.startswith("beside")}
    assert set(given.state_dict()) == own
    assert all(value.shape == module.state_dict()[key].shape for key, value in given.state_dict().items())
    module.load_state_dict(given.state_dict(), strict=False)
    image = torch.rand(1, 3, 71, 53)
    with torch.no_grad():
        expected, logits = module.eval()(image), given(image)
    expected = expected[0] if isinstance(expected, tuple) else expected
    assert logits.shape == (1, classes)
    activate = {"softmax": lambda z: z.softmax(1), "log": lambda z: z.log_softmax(1)}
    end = "" if not isinstance(module, Mean) or isinstance(module.end, nn.Identity) else "log" if isinstance(module.end, nn.LogSoftmax) else "softmax"
    torch.testing.assert_close(activate.get(end, lambda z: z)(logits), expected)


def test_classes_have_names(tmp_path):
    gp.import_network(Classifier(), tmp_path / "model.safetensors", example=EXAMPLE, class_names=["a", "b", "c", "d"])
    assert get_network(tmp_path / "model.safetensors")["class names"] == ["a", "b", "c", "d"]
    with refused(RuntimeError, "E-NETWORK-FORMAT"):
        gp.import_network(Classifier(), example=EXAMPLE, class_names=["a", "b"])


def test_labels_of_images_are_learnt_as_pytorch_does(tmp_path):
    """Five steps of Adam, each on one image, here in tiles and there as a whole."""
    random = np.random.default_rng(6)
    rows, images = ["slide,label,split"], []
    for i, label in enumerate(("normal", "tumor")):
        images.append(random.integers(60 * i, 130 + 60 * i, (67, 83, 3), np.uint8))
        itk.imwrite(itk.image_from_array(images[-1], ttype=itk.Image[itk.RGBPixel[itk.UC], 2]), str(tmp_path / f"{i}.pyramid.tif"))
        rows.append(f"{i}.pyramid.tif,{label},train")
    (tmp_path / "cohort.csv").write_text("\n".join(rows) + "\n")
    module, start = draw_weights(Classifier(classes=2)), tmp_path / "start.safetensors"
    module.features[4].p = 0.0  # masks are drawn in other ways
    gp.import_network(module, start, example=EXAMPLE)
    train = dict(network=start, weights=start, epochs=1, images_per_step=2, learning_rate=1e-3, augment=False, tile_size=32)
    gp.train(tmp_path / "cohort.csv", tmp_path / "run", **train)
    for _ in range(4):
        train["epochs"] += 1
        gp.train(tmp_path / "cohort.csv", tmp_path / "run", **train, resume=True)
    pixels = [np.asarray(gp.Slide(tmp_path / f"{i}.pyramid.tif").read()) for i in range(2)]
    module.eval()
    adam = torch.optim.Adam(module.parameters(), 1e-3)
    maps = torch.from_numpy(np.stack(pixels) / np.float32(255)).permute(0, 3, 1, 2)
    for _ in range(5):
        adam.zero_grad()
        functional.cross_entropy(module(maps), torch.tensor([0, 1])).backward()
        adam.step()
    for key, value in gp.to_torch(tmp_path / "run").state_dict().items():
        torch.testing.assert_close(value, module.state_dict()[key], atol=1e-4, rtol=0, msg=key)


@pytest.mark.parametrize("pool", ["mean", "max", "lse", "attention"])
def test_presets_that_label_images_are_modules(pool, tmp_path):
    """Whatever they pool by: what was learned here gives the same in PyTorch."""
    pixels = np.random.default_rng(8).integers(0, 256, (67, 83, 3), np.uint8)
    image = itk.image_from_array(pixels, ttype=itk.Image[itk.RGBPixel[itk.UC], 2])
    itk.imwrite(image, str(tmp_path / "slide.pyramid.tif"))
    itk.imwrite(image, str(tmp_path / "other.pyramid.tif"))
    (tmp_path / "cohort.csv").write_text("slide,label,split\nslide.pyramid.tif,a,train\nother.pyramid.tif,b,train\n")
    model = gp.train(tmp_path / "cohort.csv", tmp_path / "run", network=f"resnet18:width=8,pool={pool}", epochs=1, augment=False)
    given = list(model.Classify(image, 32))
    mean, deviation = np.array((0.485, 0.456, 0.406)), np.array((0.229, 0.224, 0.225))
    maps = torch.from_numpy(((pixels / 255 - mean) / deviation).astype(np.float32)).permute(2, 0, 1)[None]
    with torch.no_grad():
        logit = gp.to_torch(tmp_path / "run")(maps)
    assert logit.shape == (1, 1)
    assert given == pytest.approx([1 - float(torch.sigmoid(logit)), float(torch.sigmoid(logit))], abs=1e-5)


def test_what_a_padded_image_would_say_is_refused():
    class Strict(Classifier):
        def forward(self, x):
            if x.shape[-1] % 32 or x.shape[-2] % 32:
                raise RuntimeError("sizes must be multiples of 32")
            return super().forward(x)

    with refused(NotImplementedError, "E-NETWORK-OPERATION"):
        gp.import_network(Strict(), example=EXAMPLE)


def test_images_that_python_has_not_are_refused():
    module = nn.Sequential(nn.Conv2d(4, 6, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(6, 2))
    with refused(NotImplementedError, "E-NETWORK-OPERATION"):
        gp.import_network(module, channels=4, example=EXAMPLE)
    with refused(ValueError, "E-OPTION-VALUE", option="channels", value="0"):
        gp.import_network(module, channels=0)


def test_means_of_bytes_are_refused():
    with refused(ValueError, "E-OPTION-VALUE", option="mean"):
        gp.import_network(nn.Conv2d(3, 1, 1), mean=(123.7, 116.3, 103.5), deviation=(58.4, 57.1, 57.4))


def test_weights_alone_are_refused():
    with refused(TypeError, "E-OPTION-VALUE", option="module"):
        gp.import_network(nn.Conv2d(3, 1, 1).state_dict())


class Cut(nn.Module):
    """That pads the image itself, and ends in probabilities, of which it cuts that off."""

    def __init__(self, classes, activate, cut):
        super().__init__()
        self.inner, self.activate, self.cut = nn.Conv2d(3, classes, 3, padding=1), activate, cut

    def forward(self, x):
        return self.cut(self.activate(self.inner(functional.pad(x, (0, 8, 0, 8)))), x)


def cut_pixels(p, x):
    return p[..., : x.shape[2], : x.shape[3]]


@pytest.mark.parametrize("classes, activate", [(1, torch.sigmoid), (3, nn.Softmax(1))], ids=["sigmoid", "softmax"])
def test_probabilities_that_are_cut_are_taken_off(classes, activate, tmp_path):
    module = Cut(classes, activate, cut_pixels)
    gp.import_network(module, tmp_path / "model.safetensors", example=EXAMPLE)
    assert len(get_network(tmp_path / "model.safetensors")["provenance"]["left out"]) == 1
    image = torch.rand(1, 3, 71, 53)
    with torch.no_grad():
        torch.testing.assert_close(activate(gp.to_torch(tmp_path / "model.safetensors")(image)), module.eval()(image))


class Ending(nn.Module):
    """Two logits, and what is made of them."""

    def __init__(self, end):
        super().__init__()
        self.inner, self.end = nn.Conv2d(3, 2, 3, padding=1), end

    def forward(self, x):
        return self.end(4 * self.inner(x))


def mean_of_both(z):
    return (torch.sigmoid(z[:, :1]) + torch.sigmoid(z[:, 1:] * 0.5 - 0.3)) / 2


def with_rest(p):
    return torch.cat([1 - p, p], 1)


#: Ends in probabilities, and what makes the probabilities of the logits that a model has in their place.
PROBABILITIES = {
    "mean": (mean_of_both, torch.sigmoid),
    "1 - sigmoid": (lambda z: 1 - torch.sigmoid(z[:, :1]), torch.sigmoid),
    "scaled tanh": (lambda z: (torch.tanh(z[:, :1]) + 1) / 2, torch.sigmoid),
    "bytes": (lambda z: torch.sigmoid(z[:, :1]) * 255, lambda z: 255 * torch.sigmoid(z)),
    "clipped": (lambda z: z[:, :1].relu().clamp(0, 1), torch.sigmoid),
    "enlarged": (lambda z: functional.interpolate(functional.avg_pool2d(torch.sigmoid(z[:, :1]), 2), size=z.shape[2:], mode="bilinear"), torch.sigmoid),
    "one class": (lambda z: z.softmax(1)[:, 1:], torch.sigmoid),
    "twice": (lambda z: torch.sigmoid(torch.sigmoid(z[:, :1])), torch.sigmoid),
    "mean of softmaxes": (lambda z: (z.softmax(1) + (2 * z).softmax(1)) / 2, nn.Softmax(1)),
    "exponential": (lambda z: z.log_softmax(1).exp(), nn.Softmax(1)),
    "both": (lambda z: with_rest(mean_of_both(z)), nn.Softmax(1)),
    "product": (lambda z: z.softmax(1) * (2 * z).softmax(1), torch.sigmoid),
    "each": (torch.sigmoid, torch.sigmoid),
}


@pytest.mark.parametrize("name", PROBABILITIES)
def test_probabilities_are_the_modules_own(name, tmp_path):
    end, activate = PROBABILITIES[name]
    torch.manual_seed(3)
    module = Ending(end).eval()
    gp.import_network(module, tmp_path / "model.safetensors", example=EXAMPLE)
    pixels = np.random.default_rng(3).integers(0, 256, (61, 83, 3), np.uint8)
    with torch.no_grad():
        image = torch.from_numpy(pixels.astype(np.float32) / 255).permute(2, 0, 1)[None]
        expected = module(image)
        torch.testing.assert_close(activate(gp.to_torch(tmp_path / "model.safetensors")(image)), expected, rtol=1e-4, atol=1e-5)
    tifffile.imwrite(tmp_path / "slide.tif", pixels, tile=(32, 32), photometric="rgb")
    gp.segment(tmp_path / "slide.tif", tmp_path / "model.safetensors", tmp_path / "mask.tif", level=0)
    greatest = 255 if name == "bytes" else 1
    right = (expected[0, 0] / greatest >= 0.5 if len(expected[0]) == 1 else expected[0, 1] >= expected[0, 0]).numpy()
    assert ((tifffile.imread(tmp_path / "mask.tif", key=0) > 0) == right).mean() > 0.999


@pytest.mark.parametrize("end", [lambda z: z[:, :1].tanh(), lambda z: torch.sigmoid(z[:, :1]) - torch.sigmoid(z[:, 1:])], ids=["tanh", "difference"])
def test_bounds_of_no_probabilities_are_those_of_logits(end):
    module = Ending(end).eval()
    image = torch.rand(1, 3, 61, 83)
    with torch.no_grad():
        torch.testing.assert_close(gp.to_torch(gp.import_network(module, example=EXAMPLE))(image), module(image), rtol=1e-4, atol=1e-5)


def test_an_output_of_one_sign_is_said():
    """Its label would be the same everywhere."""
    with pytest.warns(gp.GigapixelWarning) as told:
        gp.import_network(Ending(lambda z: z[:, :1].relu()), example=EXAMPLE)
    assert "W-MODEL" in [each.message.code for each in told if isinstance(each.message, gp.GigapixelWarning)]


def test_what_looks_like_probabilities_is_said():
    """What no operation says: a filter's weights are not looked at."""
    smooth = nn.Conv2d(1, 1, 3, padding=1, bias=False)
    nn.init.constant_(smooth.weight, 1 / 9)
    with pytest.warns(gp.GigapixelWarning) as told:
        gp.import_network(nn.Sequential(nn.Conv2d(3, 1, 3, padding=1), nn.Sigmoid(), smooth), example=EXAMPLE)
    assert "W-MODEL" in [each.message.code for each in told if isinstance(each.message, gp.GigapixelWarning)]


def test_what_is_no_segmentation_is_refused():
    with refused(NotImplementedError, "E-NETWORK-OPERATION"):
        gp.import_network(nn.Conv2d(3, 2, 2, 2), example=EXAMPLE)


def test_a_network_that_depends_on_the_size_is_refused():
    class Fickle(nn.Module):
        def __init__(self):
            super().__init__()
            self.one = nn.Conv2d(3, 1, 1)

        def forward(self, x):
            return self.one(x) * (x.shape[-1] / 100)

    with refused(NotImplementedError, "E-NETWORK-OPERATION"):
        gp.import_network(Fickle(), example=EXAMPLE)


def test_training_goes_on_from_the_weights_as_pytorch_does(tmp_path):
    """Twenty steps of Adam on one image, here in tiles and there as a whole, and back into the module."""
    module = draw_weights(ResNetUNet(1))
    gp.import_network(module, tmp_path / "start.safetensors", example=EXAMPLE)
    random = np.random.default_rng(5)
    pixels = random.integers(0, 256, (67, 83, 3), np.uint8)
    mask = (pixels[..., 1] > 128).astype(np.uint8) * 255
    image = itk.image_from_array(pixels, ttype=itk.Image[itk.RGBPixel[itk.UC], 2])
    start = tmp_path / "start.safetensors"
    gp.train([(image, itk.image_from_array(mask))], tmp_path / "run", network=start, weights=start, epochs=20, learning_rate=1e-3, augment=False, tile_size=32)
    module.eval()  # statistics stay
    adam = torch.optim.Adam(module.parameters(), 1e-3)
    maps = torch.from_numpy(pixels / np.float32(255)).permute(2, 0, 1)[None]
    truth = torch.from_numpy(mask / np.float32(255))[None, None]
    for _ in range(20):
        adam.zero_grad()
        functional.binary_cross_entropy_with_logits(module(maps), truth).backward()
        adam.step()
    learned = gp.to_torch(tmp_path / "run").state_dict()
    for key, value in learned.items():
        torch.testing.assert_close(value, module.state_dict()[key], atol=1e-4, rtol=0, msg=key)
    module.load_state_dict(learned, strict=False)
    itk.imwrite(image, str(tmp_path / "slide.pyramid.tif"))
    read = np.asarray(gp.Slide(tmp_path / "slide.pyramid.tif").read())
    with torch.no_grad():
        expected = 255 * torch.sigmoid(gp.to_torch(tmp_path / "run")(torch.from_numpy(read / np.float32(255)).permute(2, 0, 1)[None]))[0, 0].numpy()
    probability = np.asarray(gp.segment(tmp_path / "slide.pyramid.tif", tmp_path / "run", probability=True))
    np.testing.assert_allclose(probability, expected, rtol=0, atol=0.501)  # rounded


def test_floats_may_be_as_far_from_right_as_four_times_pytorchs():
    given, floats = np.array([0.5]), np.array([0.5003])
    assert importing._compare(given, np.array([0.50005]), None) == ("differ from PyTorch's by at most 5.0e-05", True)
    assert importing._compare(given, floats, lambda: np.array([0.5002])) == ("differ from PyTorch's in double by at most 2.0e-04, as its floats do by 1.0e-04", True)
    assert not importing._compare(given, floats, lambda: np.array([0.50028]))[1]
    small, far = np.array([1e-5]), np.array([3e-5])
    assert importing._compare(small, far, lambda: far)[1] and not importing._compare(small, far, lambda: far, lambda right: np.maximum(right, 1e-3))[1]


def test_sizes_that_the_module_itself_refuses(tmp_path, caplog):
    """torch.export leaves out what modules look at when they are called."""

    class Picky(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Conv2d(3, 2, 3, padding=1)

        def forward(self, x):
            if not torch.compiler.is_compiling() and (x.shape[2] % 16 or x.shape[3] % 16):
                raise RuntimeError("Wrong input shape")
            return self.layer(x)

    gp.import_network(Picky(), tmp_path / "model.safetensors", example=EXAMPLE)
    assert "differ from PyTorch's by at most" in caplog.text
    assert gp.to_torch(tmp_path / "model.safetensors")(torch.zeros(1, 3, 37, 45)).shape == (1, 2, 37, 45)
