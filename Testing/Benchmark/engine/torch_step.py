# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""One training step of remedios2023 in PyTorch, in a process of its own, for compare_engines.py.

torch_step.py eager|compile|double SIDE FOLDER THREADS REPEATS  (double: eager, in float64)
torch_step.py lightstream|encoder|encoder-double SIDE FOLDER THREADS REPEATS
torch_step.py peak - - THREADS -  what matrix products and copies reach on this machine

lightstream streams convolutions and pooling only, so that it is given the network's four convolutions, and the mean of
their squared outputs for a loss; `encoder` is eager PyTorch on the same. Its constructor moves the network to a GPU:
StreamingCNN, the class below it, is what runs on a CPU.
"""

import json
import resource
import sys
import time
from pathlib import Path

import torch
from torch import nn

TILE = 2048  # of lightstream


def status(name):
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024
    return 0


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def measure(function, repeats):
    """Least CPU and wall seconds of several calls, after one that is not counted where there are several."""
    cpu, wall = [], []
    for _ in range(repeats):
        begin_cpu, begin = cpu_seconds(), time.perf_counter()
        function()
        wall.append(time.perf_counter() - begin)
        cpu.append(cpu_seconds() - begin_cpu)
    return min(cpu), min(wall)


class Remedios2023(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Conv2d(1, 6, 16, 8, 4)
        self.l2 = nn.Conv2d(6, 6, 4, 2, 1)
        self.l3 = nn.Conv2d(6, 9, 4, 2, 1)
        self.l4 = nn.Conv2d(9, 9, 3, 1, 1)
        self.l5 = nn.ConvTranspose2d(9, 6, 2, 2)
        self.l6 = nn.ConvTranspose2d(6, 6, 2, 2)
        self.l7 = nn.ConvTranspose2d(6, 1, 8, 8)

    def forward(self, x):
        a = torch.relu(self.l1(x))
        b = torch.relu(self.l2(a))
        c = torch.relu(self.l4(torch.relu(self.l3(b))))
        d = torch.relu(self.l5(c)) + b
        return self.l7(torch.relu(self.l6(d)) + a)

    def load(self, path):
        values = torch.frombuffer(bytearray(path.read_bytes()), dtype=torch.float64)
        place = 0
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.copy_(values[place : place + parameter.numel()].view_as(parameter))
                place += parameter.numel()

    def encoder(self):
        return nn.Sequential(self.l1, nn.ReLU(), self.l2, nn.ReLU(), self.l3, nn.ReLU(), self.l4, nn.ReLU())


def read_image(side, folder, name):
    return torch.from_file(str(folder / name), size=side * side, dtype=torch.uint8).clone().view(1, 1, side, side)


def whole_step(network, kind, pixels, labels):
    """A function that leaves the gradient of the whole network's mean loss in the parameters."""
    precision = next(network.parameters()).dtype
    loss = nn.BCEWithLogitsLoss()
    forward = torch.compile(network) if kind == "compile" else network

    def once():
        network.zero_grad(set_to_none=True)
        loss(forward((255 - pixels).to(precision) / 255), labels.to(precision)).backward()

    if kind == "compile":
        once()  # compiles, which is not part of a step
    return once


def encoder_step(encoder, pixels):
    precision = next(encoder.parameters()).dtype

    def once():
        encoder.zero_grad(set_to_none=True)
        encoder((255 - pixels).to(precision) / 255).square().mean().backward()

    return once


def lightstream_step(encoder, pixels):
    from lightstream.core.scnn.scnn import StreamingCNN

    activations = {name: module for name, module in encoder.named_children() if isinstance(module, nn.ReLU)}
    for name in activations:  # it learns from a linear network what a tile's edges spoil
        setattr(encoder, name, nn.Identity())
    side = min(TILE, pixels.shape[-1])
    # (x / 255 - 1) / -1: the inversion, tile by tile.
    scale = {"normalize_on_gpu": True, "mean": torch.ones(1, 1, 1), "std": -torch.ones(1, 1, 1)}
    streaming = StreamingCNN(encoder, tile_shape=(1, 1, side, side), copy_to_gpu=False, **scale)
    for name, module in activations.items():
        setattr(streaming.stream_module, name, module)

    def once():
        encoder.zero_grad(set_to_none=True)
        output = streaming(pixels).requires_grad_()
        output.square().mean().backward()
        streaming.backward(pixels, output.grad)

    return once


def step(kind, side, folder, repeats):
    pixels, labels = read_image(side, folder, "pixels.raw"), read_image(side, folder, "labels.raw")
    network = Remedios2023().to(torch.float64 if kind.endswith("double") else torch.float32)
    network.load(folder / "parameters.raw")
    if kind in ("eager", "compile", "double"):
        before = status("VmRSS")
        once = whole_step(network, kind, pixels, labels)
    else:
        network = network.encoder()
        before = status("VmRSS")
        once = (lightstream_step if kind == "lightstream" else encoder_step)(network, pixels)
    cpu, wall = measure(once, repeats)
    gradient = torch.cat([parameter.grad.double().flatten() for parameter in network.parameters()])
    gradient.numpy(force=True).tofile(folder / "gradient.raw")
    return {"cpu_seconds": cpu, "wall_seconds": wall, "peak_bytes": status("VmHWM"), "bytes_before": before}


def peak():
    """Per CPU second: what a core reaches, also where others use the machine."""
    a, b = torch.rand(2048, 2048), torch.rand(2048, 2048)
    seconds, _ = measure(lambda: torch.mm(a, b), 8)
    source, target = torch.zeros(1 << 27), torch.zeros(1 << 27)
    copying, _ = measure(lambda: target.copy_(source), 8)
    return {"flops_per_cpu_second": 2 * 2048**3 / seconds, "bytes_per_cpu_second": 2 * 4 * (1 << 27) / copying}


def main():
    kind, side, folder, threads, repeats = sys.argv[1:]
    torch.set_num_threads(int(threads))
    torch.manual_seed(1)
    result = peak() if kind == "peak" else step(kind, int(side), Path(folder), int(repeats))
    result["torch"] = torch.__version__
    print(json.dumps(result))


if __name__ == "__main__":
    main()
