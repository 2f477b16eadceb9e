# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Writes ResNet-110 of CIFAR, version 2, as a network that labels whole slides: a description of a network that is made by
a few lines of Python. It needs nothing but Python.

    python resnet110v2.py resnet110v2.json
    gigapixel train --cohort cohort.csv -o run --network resnet110v2.json --calibrate 4

He et al., Identity mappings in deep residual networks, ECCV 2016: 9 n + 2 layers, blocks that begin with their norm, as
Keras' example for CIFAR-10 has them (convolutions with biases, 16 channels first). GEMS (Jain et al., SC 2020) trains it on
tiles of 1024 x 1024 pixels. The mean is taken over all of the image. Its norms begin with means of 0 and variances of 1,
with which the sums of 36 blocks grow large: --calibrate gives them those of slides.
"""

import json
import sys

DEPTH = 110  # 9 n + 2
FILTERS = 16


def make_network() -> dict:
    operations = [{"name": "image", "type": "input", "channels": 3}]

    def append(name: str, kind: str, *inputs: str, **attributes) -> str:
        operations.append({"name": name, "type": kind, "inputs": list(inputs), **attributes})
        return name

    def convolve(name: str, source: str, channels: int, kernel: int, stride: int = 1) -> str:
        sides = {"kernel_size": kernel, "stride": stride, "padding": kernel // 2}
        return append(name, "conv2d", source, out_channels=channels, **sides)

    def normalize(name: str, source: str) -> str:
        return append(f"{name}.relu", "relu", append(f"{name}.norm", "batch_norm", source))

    shortcut = normalize("first", convolve("first.conv", "image", FILTERS, 3))
    inner = FILTERS
    for stage in range(3):
        outer = inner * (4 if stage == 0 else 2)
        for block in range((DEPTH - 2) // 9):
            name, begins = f"stage{stage + 1}.{block}", block == 0
            stride = 2 if begins and stage > 0 else 1
            branch = shortcut if begins and stage == 0 else normalize(f"{name}.1", shortcut)
            branch = convolve(f"{name}.1.conv", branch, inner, 1, stride)
            branch = convolve(f"{name}.2.conv", normalize(f"{name}.2", branch), inner, 3)
            branch = convolve(f"{name}.3.conv", normalize(f"{name}.3", branch), outer, 1)
            if begins:
                shortcut = convolve(f"{name}.shortcut", shortcut, outer, 1, stride)
            shortcut = append(f"{name}.add", "add", shortcut, branch)
        inner = outer
    pooled = append("pool", "adaptive_avg_pool2d", normalize("last", shortcut), output_size=1)
    return {
        "name": f"resnet{DEPTH}v2",
        "input": {"channels": 3, "invert": False},
        "operations": operations,
        "output": convolve("fc", pooled, 1, 1),
        "loss": {"type": "binary cross-entropy"},
    }


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("python resnet110v2.py FILE.json")
    with open(sys.argv[1], "w") as file:
        json.dump(make_network(), file, indent=1)
