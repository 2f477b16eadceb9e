# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Operations of PyTorch, each in a small module that is taken over, proven and given back; and what is said of those that are missing."""

import pytest

import itkgigapixel as gp
from conftest import refused

torch = pytest.importorskip("torch")
nn, functional = torch.nn, torch.nn.functional

EXAMPLE = (48, 64)


class Between(nn.Module):
    """What is tested, of 8 channels, between a convolution that gives them values of both signs and one that reads what comes of them."""

    def __init__(self, compute, channels=8):
        super().__init__()
        self.first, self.compute, self.last = nn.Conv2d(3, 8, 3, padding=1), compute, nn.Conv2d(channels, 3, 3, padding=1)

    def forward(self, x):
        return self.last(self.compute(4 * self.first(x)))


class Tokens(nn.Module):
    """The head of a SegFormer without its attention: pixels behind each other, layers of neurons for each, and back."""

    def __init__(self):
        super().__init__()
        self.norm, self.wide, self.narrow = nn.LayerNorm(8), nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x):
        tokens = x.flatten(2).transpose(1, 2)
        tokens = tokens + self.narrow(functional.gelu(self.wide(self.norm(tokens))))
        return tokens.transpose(1, 2).reshape(x.shape)


class Rows(nn.Module):
    """Each pixel a row of a matrix, as Swin and MLPs have them."""

    def __init__(self):
        super().__init__()
        self.layer, self.factor = nn.Linear(8, 8), nn.Parameter(torch.linspace(0.5, 1.5, 8))

    def forward(self, x):
        _, channels, height, width = x.shape
        rows = self.layer(x.permute(0, 2, 3, 1).reshape(-1, channels)) * self.factor
        return rows.view(1, height, width, channels).permute(0, 3, 1, 2)


class Turned(nn.Module):
    """Channels behind the axes, by exchanging two of them at a time."""

    def __init__(self, turn):
        super().__init__()
        self.turn, self.layer = turn, nn.Linear(8, 8)

    def forward(self, x):
        return self.turn(self.layer(self.turn(x)))


class Squeezed(nn.Module):
    """Squeeze and excitation by the mean of tokens."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x):
        return x * torch.sigmoid(self.layer(x.flatten(2).transpose(1, 2).mean(1)))[:, :, None, None]


class Grouped(nn.Module):
    """The mean of the map as a table of channels, of which something is computed."""

    def __init__(self, compute):
        super().__init__()
        self.compute = compute

    def forward(self, x):
        return x * self.compute(x.mean((2, 3)).view(1, 2, 4)).reshape(1, 8, 1, 1)


class Standardized(nn.Module):
    """What a module does to its own input, or to a map."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.linspace(-1, 1, 8)[:, None, None])
        self.register_buffer("deviation", torch.linspace(0.5, 2, 8)[None, :, None, None])
        self.shift = nn.Parameter(torch.linspace(0.2, -0.3, 8)[None, :, None, None])

    def forward(self, x):
        return (x - self.mean) / self.deviation + self.shift


def split_unevenly(x):
    few, many = torch.split(x, [3, 5], 1)
    return torch.cat([many, few], 1)


#: By name: what computes it, and the channels that come of 8.
OPERATIONS = {
    "stack and sum": (lambda x: torch.stack([x, functional.relu(x), x * 0.5], 0).sum(0), 8),
    "stack and mean": (lambda x: torch.stack([x, functional.relu(x), x * 0.5]).mean(0), 8),
    "relu6": (nn.ReLU6(), 8),
    "hardtanh": (nn.Hardtanh(-0.5, 0.75), 8),
    "hardswish": (nn.Hardswish(), 8),
    "hardsigmoid": (nn.Hardsigmoid(), 8),
    "tanh": (nn.Tanh(), 8),
    "gelu, tanh": (nn.GELU("tanh"), 8),
    "softmax inside": (nn.Softmax(1), 8),
    "softmax of channels last": (lambda x: x.permute(0, 2, 3, 1).softmax(-1).permute(0, 3, 1, 2), 8),
    "maximum pooling with dilation": (nn.Sequential(nn.ReplicationPad2d(1), nn.MaxPool2d(3, 1, 1, dilation=2)), 8),
    "chunk": (lambda x: torch.cat([a * 0.5 for a in x.chunk(3, 1)][::-1], 1), 8),
    "split": (split_unevenly, 8),
    "split into equal parts": (lambda x: x.split(4, 1)[0] * torch.sigmoid(x.split(4, 1)[1]), 4),
    "slices of channels": (lambda x: torch.cat([x[:, 5:], x[:, :-6], x.narrow(1, 2, 3)], 1), 8),
    "chunk of channels last": (lambda x: torch.cat(x.permute(0, 2, 3, 1).chunk(2, -1)[::-1], -1).permute(0, 3, 1, 2), 8),
    "neg": (lambda x: -functional.relu(x), 8),
    "square": (lambda x: x**2, 8),
    "cube": (lambda x: torch.pow(x, 3), 8),
    "1 - x": (lambda x: 1 - torch.sigmoid(x), 8),
    "pixel_unshuffle": (lambda x: functional.pixel_shuffle(functional.relu(functional.pixel_unshuffle(x, 2)), 2), 8),
    "pixel_unshuffle of one channel": (lambda x: functional.interpolate(functional.pixel_unshuffle(x[:, :1], 4), scale_factor=4), 16),
    "tokens": (Tokens(), 8),
    "rows": (Rows(), 8),
    "transpose": (Turned(lambda x: x.transpose(1, 3)), 8),
    "swapaxes": (Turned(lambda x: x.swapaxes(-1, 1)), 8),
    "movedim": (lambda x: torch.movedim(functional.softmax(torch.movedim(x, 1, -1), -1), 3, 1), 8),
    "movedim of several": (lambda x: torch.movedim(torch.movedim(x, (2, 3), (0, 1)) * 2, (0, 1), (2, 3)), 8),
    "mean of tokens": (Squeezed(), 8),
    "table of channels": (Grouped(torch.sigmoid), 8),
    "standardized": (Standardized(), 8),
    "mean over channels": (lambda x: x * torch.sigmoid(x.mean(1, keepdim=True)), 8),
    "channels in steps": (lambda x: x[:, 1:7:2], 3),
    "channels backwards": (lambda x: torch.flip(x, (1,)), 8),
    "chosen channels": (lambda x: x[:, [2, 1, 0, 7, 7]], 5),
    "index_select": (lambda x: x.index_select(1, torch.tensor([5, 0, 1])), 3),
    "repeated channels": (lambda x: x[:, :1].repeat(1, 3, 1, 1) * x[:, 1:4], 3),
    "expanded channels": (lambda x: x[:, :1].expand(-1, 3, -1, -1) * x[:, 1:4], 3),
    "greatest channel": (lambda x: x - x.amax(1, keepdim=True).expand(-1, 8, -1, -1), 8),
    "greatest channel without places": (lambda x: x - x.max(1, keepdim=True)[0].expand(-1, 8, -1, -1), 8),
    "sum over channels": (lambda x: x - x.sum(1, keepdim=True).expand(-1, 8, -1, -1), 8),
    "greater of two": (lambda x: torch.maximum(x, -x) - torch.minimum(x, x * 0.5), 8),
    "clamp at one side": (lambda x: x.clamp(min=-0.2) + x.clamp(max=0.3), 8),
    "softplus": (nn.Softplus(2.0, 5.0), 8),
    "mish written out": (lambda x: x * torch.tanh(functional.softplus(x)), 8),
    "logarithms of probabilities": (lambda x: functional.log_softmax(x, 1), 8),
    "mean over the last axis": (lambda x: ((y := x.permute(0, 2, 3, 1)) * torch.tanh(y.mean(-1, keepdim=True))).permute(0, 3, 1, 2), 8),
}


def draw(make):
    torch.manual_seed(3)
    return make()


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_is_taken_over(name, tmp_path, caplog):
    module = draw(lambda: Between(*OPERATIONS[name]))
    gp.import_network(module, tmp_path / "model.safetensors", example=EXAMPLE)
    assert "probabilities of all 3 classes, which vary by" in caplog.text  # the proof, which has raised nothing
    given = gp.to_torch(tmp_path / "model.safetensors")
    assert {each for each, _ in module.named_parameters()} <= set(given.state_dict())
    image = torch.rand(1, 3, 36, 52)
    with torch.no_grad():
        torch.testing.assert_close(given(image), module.eval()(image), rtol=1e-4, atol=1e-5)


REFUSED = {
    "axes in another order": (lambda x: functional.conv2d(x.transpose(2, 3), torch.ones(8, 8, 1, 1)), 8, "conv2d of axes in another order"),
    "rows of channels and pixels": (lambda x: x.reshape(1, 4, 2, *x.shape[2:]).flatten(1, 2), 8, "reshape of pixels"),
    "other sides": (lambda x: x.flatten(2).view(1, 8, x.shape[3], x.shape[2]), 8, "view of pixels"),
    "root": (lambda x: torch.relu(x) ** 0.5, 8, "pow.Tensor_Scalar by another number than 2 or 3"),
    "many channels": (lambda x: functional.pixel_shuffle(functional.pixel_unshuffle(x, 4), 4), 8, "pixel_unshuffle to more than 64 channels"),
    "softmax of a part of the channels": (Grouped(nn.Softmax(1)), 8, "softmax.int not over the channels"),
    "channels in another order": (Grouped(lambda x: x.transpose(1, 2)), 8, "reshape of channels in another order"),
    "parts of the height": (lambda x: torch.cat(x.chunk(2, 2)[::-1], 2), 8, "chunk not of channels"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_more_than_layout_is_refused(name):
    compute, channels, words = REFUSED[name]
    with refused(NotImplementedError, "E-NETWORK-OPERATION") as refusal:
        gp.import_network(Between(compute, channels), example=EXAMPLE)
    assert words in refusal.value.why  # the operation by its name


def list_missing(compute):
    with pytest.raises(NotImplementedError) as refusal:
        gp.import_network(Between(compute), example=EXAMPLE)
    assert refusal.value.code == "E-NETWORK-OPERATION"
    return refusal.value.why + "."


def test_what_is_behind_a_missing_operation_is_asked():
    """Maps stand in for what is missing, in the order of axes that they are computed from."""

    def compute(x):
        x = torch.cumsum(x, 2).permute(0, 2, 3, 1)
        x = torch.flip(x, (1,)).softmax(-1).permute(0, 3, 1, 2)
        x = functional.avg_pool2d(x, 3, 1, 1, divisor_override=2)
        return functional.instance_norm(functional.celu(x)).softmax(2)

    said = list_missing(compute)
    assert "are not here: avg_pool2d with divisor_override, celu, cumsum, flip not of channels, softmax.int not over the channels; and it sees the whole image: instance_norm (1 place: instance_norm)." in said
    assert "more may be missing" not in said


def test_what_cannot_be_asked_is_said():
    """Nothing tells how the axes of a result lie that is no map."""
    said = list_missing(lambda x: torch.erfinv(x * torch.logsumexp(x, (1, 2, 3))[:, None, None, None]))
    assert said.endswith("are not here: erfinv, logsumexp, mul.Tensor of maps of different shapes; more may be missing behind logsumexp, as what it gives is no map.")


def test_what_is_behind_parts_of_a_missing_operation_is_asked():
    said = list_missing(lambda x: torch.celu(torch.cat(torch.topk(x, 4, 1)[:1], 1).repeat(1, 2, 1, 1)))
    assert "are not here: celu, topk." in said
