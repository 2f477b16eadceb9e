# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""One training step of remedios2023 in PyTorch, in a process of its own, for compare_engines.py.

torch_step.py eager|compile|double SIDE FOLDER THREADS REPEATS  (double: eager, in float64)
torch_step.py peak - - THREADS -  what matrix products and copies reach on this machine
"""

import json
import resource
import sys
import time
from pathlib import Path

import torch
from torch import nn


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

    def gradient(self):
        return torch.cat([parameter.grad.double().flatten() for parameter in self.parameters()])


def step(kind, side, folder, repeats):
    pixels = torch.from_file(str(folder / "pixels.raw"), size=side * side, dtype=torch.uint8).clone()
    labels = torch.from_file(str(folder / "labels.raw"), size=side * side, dtype=torch.uint8).clone()
    before = status("VmRSS")
    precision = torch.float64 if kind == "double" else torch.float32
    network = Remedios2023().to(precision)
    network.load(folder / "parameters.raw")
    loss = nn.BCEWithLogitsLoss()
    forward = torch.compile(network) if kind == "compile" else network

    def once():
        network.zero_grad(set_to_none=True)
        image = (255 - pixels.view(1, 1, side, side)).to(precision) / 255
        loss(forward(image), labels.view(1, 1, side, side).to(precision)).backward()

    if kind == "compile":
        once()  # compiles, which is not part of a step
    cpu, wall = measure(once, repeats)
    network.gradient().numpy(force=True).tofile(folder / "gradient.raw")
    return {"cpu_seconds": cpu, "wall_seconds": wall, "peak_bytes": status("VmHWM"), "bytes_before": before}


def peak():
    a, b = torch.rand(2048, 2048), torch.rand(2048, 2048)
    _, seconds = measure(lambda: torch.mm(a, b), 8)
    source, target = torch.zeros(1 << 27), torch.zeros(1 << 27)
    _, copying = measure(lambda: target.copy_(source), 8)
    return {"flops_per_second": 2 * 2048**3 / seconds, "bytes_per_second": 2 * 4 * (1 << 27) / copying}


def main():
    kind, side, folder, threads, repeats = sys.argv[1:6]
    torch.set_num_threads(int(threads))
    torch.manual_seed(1)
    result = peak() if kind == "peak" else step(kind, int(side), Path(folder), int(repeats))
    result["torch"] = torch.__version__
    print(json.dumps(result))


main()
