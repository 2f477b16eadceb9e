# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Networks as graphs, and a training step of one in eager PyTorch, in a process of its own, for compare_graphs.py.

graph_step.py data NETWORK SIDE FOLDER [IMAGE LABELS]   graph.json, arrays.json, pixels.raw, labels.raw, parameters.raw
graph_step.py eager|channels_last|autocast|tf32|double|lightstream SIDE FOLDER REPEATS [DEVICE]
autocast: bf16, channels last. DEVICE: cpu, cuda. tf32: as eager is on a GPU unless one says otherwise; the others do.
lightstream, of networks that label images: its set-up, in which it finds out what a tile's edges spoil, is not in the
time, and of the memory only what stays of it. It corrects the gradients of convolutions where tiles overlap, and not those of norms.
"""

import contextlib
import ctypes
import io
import json
import sys
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch_step import measure, status


class Graph:
    """Operations as NetworkGraph has them, one behind the other."""

    def __init__(self, channels):
        self.operations = [{"name": "input", "type": "input", "channels": channels}]

    def add(self, kind, *inputs, name=None, **attributes):
        name = name or f"{kind}{len(self.operations)}"
        self.operations.append({"name": name, "type": kind, "inputs": list(inputs), **attributes})
        return name

    def convolve(self, x, channels, kernel=3, stride=1, norm=True, relu=True):
        size = {"kernel_size": kernel, "stride": stride, "padding": kernel // 2}
        x = self.add("conv2d", x, out_channels=channels, bias=not norm, **size)
        x = self.add("batch_norm", x) if norm else x
        return self.add("relu", x) if relu else x


def unet(base=16, levels=4):
    graph, x, skips = Graph(3), "input", []
    for level in range(levels + 1):
        x = graph.add("max_pool2d", x, kernel_size=2) if level else x
        x = graph.convolve(graph.convolve(x, base << level), base << level)
        skips.append(x)
    for level in reversed(range(levels)):
        x = graph.add("conv_transpose2d", x, out_channels=base << level, kernel_size=2, stride=2)
        x = graph.add("cat", skips[level], x)
        x = graph.convolve(graph.convolve(x, base << level), base << level)
    graph.add("conv2d", x, name="output", out_channels=1, kernel_size=1)
    return graph.operations


def resnet18_unet():
    graph = Graph(3)
    x = graph.convolve("input", 64, 7, 2)
    skips = [x]
    x = graph.add("max_pool2d", x, kernel_size=3, stride=2, padding=1)
    for level in range(4):
        channels = 64 << level
        for block in range(2):
            stride = 2 if level and not block else 1
            y = graph.convolve(graph.convolve(x, channels, 3, stride), channels, relu=False)
            x = graph.convolve(x, channels, 1, stride, relu=False) if stride > 1 else x
            x = graph.add("relu", graph.add("add", y, x))
        skips.append(x)
    for channels, skip in zip((256, 128, 64, 32, 16), (skips[3], skips[2], skips[1], skips[0], None)):
        x = graph.add("interpolate", x, scale_factor=2)
        x = graph.add("cat", x, skip) if skip else x
        x = graph.convolve(graph.convolve(x, channels), channels)
    graph.add("conv2d", x, name="output", out_channels=1, kernel_size=3, padding=1)
    return graph.operations


def resnet(blocks, width=64):
    """A classifier as torchvision's, of two classes told apart by one output channel."""
    graph = Graph(3)
    x = graph.convolve("input", width, 7, 2)
    x = graph.add("max_pool2d", x, kernel_size=3, stride=2, padding=1)
    for level, number in enumerate(blocks):
        channels = width << level
        for block in range(number):
            stride = 2 if level and not block else 1
            y = graph.convolve(graph.convolve(x, channels, 3, stride), channels, relu=False)
            x = graph.convolve(x, channels, 1, stride, relu=False) if stride > 1 else x
            x = graph.add("relu", graph.add("add", y, x))
    x = graph.add("adaptive_avg_pool2d", x, output_size=1)
    graph.add("conv2d", x, name="output", out_channels=1, kernel_size=1)
    return graph.operations


NETWORKS = {
    "unet": unet,
    "resnet18-unet": resnet18_unet,
    "resnet18": lambda: resnet([2, 2, 2, 2]),
    "resnet18-thin": lambda: resnet([2, 2, 2, 2], 16),
    "resnet34": lambda: resnet([3, 4, 6, 3]),
}


def shapes(operations):
    """Each array's name, shape and whether it is trained, in the order of NetworkGraph::GetParameters()."""
    channels = {}
    for o in operations:
        first = channels[o["inputs"][0]] if "inputs" in o else o["channels"]
        out = o.get("out_channels", first)
        channels[o["name"]] = sum(channels[i] for i in o["inputs"]) if o["type"] == "cat" else out
        if o["type"].startswith("conv"):
            pair = (first, out) if o["type"] == "conv_transpose2d" else (out, first)
            yield o["name"] + ".weight", (*pair, o["kernel_size"], o["kernel_size"]), True
            if o.get("bias", True):
                yield o["name"] + ".bias", (out,), True
        if o["type"] == "batch_norm":
            for role in ("weight", "bias", "running_mean", "running_var"):
                yield f"{o['name']}.{role}", (first,), not role.startswith("running")


def draw(name, shape):
    if len(shape) == 4:
        return torch.randn(shape) * (2 / (shape[1] * shape[2] * shape[3])) ** 0.5
    if name.endswith(("running_var", "norm.weight")):
        return torch.rand(shape) + 0.5
    return torch.rand(shape) * 0.2 + (0.9 if "batch_norm" in name and name.endswith("weight") else 0)


def draw_picture(side):
    y, x = torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")
    smooth = 120 + 60 * torch.sin(x / 37.0) * torch.cos(y / 53.0)
    pixels = (smooth[:, :, None] + torch.randint(0, 60, (side, side, 3))).to(torch.uint8)
    return pixels.numpy(), (smooth > 130).to(torch.uint8).numpy()


def read_picture(side, image, labels):
    from PIL import Image

    box = (0, 0, side, side)
    pixels = np.asarray(Image.open(image).convert("RGB").crop(box), np.uint8)
    return pixels, (np.asarray(Image.open(labels).crop(box)) > 0).astype(np.uint8)


def write_data(network, side, folder, *files):
    operations = NETWORKS[network]()
    (folder / "graph.json").write_text(json.dumps(operations))
    sizes = [(name, torch.Size(shape).numel()) for name, shape, _ in shapes(operations)]
    (folder / "arrays.json").write_text(json.dumps(sizes))
    pixels, labels = read_picture(side, *files) if files else draw_picture(side)
    pixels.tofile(folder / "pixels.raw")
    if any(o["type"] == "adaptive_avg_pool2d" for o in operations):  # one label of the image
        labels = np.ones((1, 1), np.uint8)
    labels.tofile(folder / "labels.raw")
    values = [draw(name, shape).flatten() for name, shape, _ in shapes(operations)]
    if labels.size == 1:  # small logits: where the probability is 1, there is no gradient, and nothing to compute
        names = [name for name, _, _ in shapes(operations)]
        values[names.index("output.weight")] *= 0.01
    torch.cat(values).double().numpy().tofile(folder / "parameters.raw")


def load(operations, folder, precision, layout):
    values = torch.frombuffer(bytearray((folder / "parameters.raw").read_bytes()), dtype=torch.float64)
    arrays, place = {}, 0
    for name, shape, trained in shapes(operations):
        size = torch.Size(shape).numel()
        array = values[place : place + size].view(shape).to(precision)
        array = array.contiguous(memory_format=layout) if array.dim() == 4 else array.clone()
        arrays[name] = array.requires_grad_(trained)
        place += size
    return arrays


class Trunk(torch.nn.Module):
    """What a network that labels images has before its pooling, of modules, as lightstream wants it."""

    def __init__(self, operations, arrays):
        super().__init__()
        self.operations = operations[: next(i for i, o in enumerate(operations) if o["type"] == "adaptive_avg_pool2d")]
        for o in self.operations[1:]:
            name, weight = o["name"], arrays.get(o["name"] + ".weight")
            if o["type"] == "conv2d":
                made = torch.nn.Conv2d(weight.shape[1], weight.shape[0], o["kernel_size"], o["stride"], o["padding"], bias=o.get("bias", True))
            elif o["type"] == "batch_norm":
                made = torch.nn.BatchNorm2d(len(weight)).eval()
            elif o["type"] == "max_pool2d":
                made = torch.nn.MaxPool2d(o["kernel_size"], o["stride"], o["padding"])
            else:
                made = torch.nn.ReLU() if o["type"] == "relu" else None
            if made:
                self.add_module(name, made)
                found = {key: arrays[f"{name}.{key}"].detach() for key in made.state_dict() if f"{name}.{key}" in arrays}
                made.load_state_dict(found, strict=False)

    def forward(self, x):
        maps = {"input": x}
        for o in self.operations[1:]:
            inputs = [maps[i] for i in o["inputs"]]
            maps[o["name"]] = inputs[0] + inputs[1] if o["type"] == "add" else getattr(self, o["name"])(inputs[0])
        return maps[self.operations[-1]["name"]]


TILE = 1920  # of lightstream, which its authors take for ResNet-18


class Streamed:
    """forward() for networks that label images, whose trunk lightstream computes in tiles."""

    def __init__(self, operations, arrays, device):
        from lightstream.core.constructor import StreamingConstructor

        if device == "cpu":  # where it finds out about tiles it goes on to a GPU, whether there is one or not
            torch.nn.Module.cuda = lambda self: self
        options = {"deterministic": True, "copy_to_gpu": False, "normalize_on_gpu": False, "mean": [0] * 3, "std": [1] * 3}
        with contextlib.redirect_stdout(io.StringIO()):
            constructor = StreamingConstructor(Trunk(operations, arrays), TILE, add_keep_modules=[torch.nn.BatchNorm2d], **options)
            self.streaming = constructor.prepare_streaming_model()
        self.streaming.device = torch.device(device)
        self.streaming.stream_module.to(device)
        self.arrays, self.last = arrays, operations[-1]
        for name, parameter in self.streaming.stream_module.named_parameters():
            arrays[name] = parameter
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
        if device == "cuda":
            torch.cuda.reset_peak_memory_stats()

    def __call__(self, x):
        self.image, self.maps = x, self.streaming(x)
        self.maps.requires_grad_(torch.is_grad_enabled())
        weight, bias = (self.arrays[f"{self.last['name']}.{key}"] for key in ("weight", "bias"))
        return F.conv2d(self.maps.mean((2, 3), keepdim=True), weight, bias)

    def backward(self):
        self.streaming.backward(self.image, self.maps.grad)


def forward(operations, arrays, x):
    maps = {"input": x}
    for o in operations[1:]:
        inputs, name = [maps[i] for i in o["inputs"]], o["name"]
        weight, bias = arrays.get(name + ".weight"), arrays.get(name + ".bias")
        stride, padding = o.get("stride", 1), o.get("padding", 0)
        if o["type"] == "conv2d":
            y = F.conv2d(inputs[0], weight, bias, stride, padding)
        elif o["type"] == "conv_transpose2d":
            y = F.conv_transpose2d(inputs[0], weight, bias, stride)
        elif o["type"] == "batch_norm":
            mean, variance = arrays[name + ".running_mean"], arrays[name + ".running_var"]
            y = F.batch_norm(inputs[0], mean, variance, weight, bias, False)
        elif o["type"] == "relu":
            y = F.relu_(inputs[0])
        elif o["type"] == "max_pool2d":
            y = F.max_pool2d(inputs[0], o["kernel_size"], o.get("stride"), padding)
        elif o["type"] == "interpolate":
            y = F.interpolate(inputs[0], scale_factor=2)
        elif o["type"] == "adaptive_avg_pool2d":
            y = F.adaptive_avg_pool2d(inputs[0], o["output_size"])
        elif o["type"] == "add":
            y = inputs[0] + inputs[1]
        else:
            y = torch.cat(inputs, 1)
        maps[name] = y
    return maps["output"]


def step(kind, side, folder, repeats, device="cpu"):
    precision = torch.float64 if kind == "double" else torch.float32
    layout = torch.channels_last if kind in ("channels_last", "autocast") else torch.contiguous_format
    torch.backends.cudnn.allow_tf32 = kind == "tf32"
    operations = json.loads((folder / "graph.json").read_text())
    arrays = {name: array.detach().to(device).requires_grad_(array.requires_grad) for name, array in load(operations, folder, precision, layout).items()}
    read = lambda name, size: torch.from_file(str(folder / name), size=size, dtype=torch.uint8).clone()
    pixels = read("pixels.raw", 3 * side * side).view(1, side, side, 3)
    labelled = round((folder / "labels.raw").stat().st_size ** 0.5)  # the side, or 1 of an image with one label
    labels = read("labels.raw", labelled * labelled).view(1, 1, labelled, labelled)
    before = status("VmRSS")
    streamed = Streamed(operations, arrays, device) if kind == "lightstream" else None

    def compute():
        x = (pixels.to(device).to(precision) / 255).permute(0, 3, 1, 2).contiguous(memory_format=layout)
        with torch.autocast(device, torch.bfloat16, enabled=kind == "autocast"):
            return (streamed(x) if streamed else forward(operations, arrays, x)).to(precision)

    def once():
        for array in arrays.values():
            array.grad = None
        F.binary_cross_entropy_with_logits(compute(), labels.to(device).to(precision)).backward()
        if streamed:
            streamed.backward()
        if device == "cuda":
            torch.cuda.synchronize()

    cpu, wall = measure(once, repeats)
    peak = status("VmHWM")
    with torch.no_grad():
        torch.sigmoid(compute().double()).cpu().numpy().tofile(folder / "probabilities.raw")
    parts = [a.grad if a.requires_grad else torch.zeros_like(a) for a in arrays.values()]
    torch.cat([part.cpu().double().flatten() for part in parts]).numpy(force=True).tofile(folder / "gradient.raw")
    gpu = torch.cuda.max_memory_allocated() if device == "cuda" else 0
    return {"cpu_seconds": cpu, "wall_seconds": wall, "peak_bytes": peak, "bytes_before": before, "gpu_bytes": gpu}


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    if sys.argv[1] == "data":
        write_data(sys.argv[2], int(sys.argv[3]), *map(Path, sys.argv[4:]))
    else:
        kind, side, folder, repeats, *device = sys.argv[1:]
        print(json.dumps({**step(kind, int(side), Path(folder), int(repeats), *device), "torch": torch.__version__}))


if __name__ == "__main__":
    main()
