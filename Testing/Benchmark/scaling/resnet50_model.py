#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""A model of training ResNet-50 (version 1.5, one output) on whole slides by 1 to 128 GPUs; nothing is measured.

    resnet50_model.py [--side 16384] [--tflops 7.85] [--gigabytes 10]

First what has to go from one GPU to another in a step, by the way in which the work is divided; then how the way that is
taken here, slides to ranks, scales. Constants and where they come from stand in Documentation/evidence/scaling.md.
"""

import argparse
import math

FLOAT = 4
SUM = 8  # bytes of a parameter's gradient: exact sums of 64 bits
WORK = 4  # forward passes: one for what is pooled, one again for the gradient, and twice as much for the gradient itself
HALO_WORK = 1.24  # work of a tile of 2048 over that of its pixels, by `gigapixel networks resnet50`
PARAMETERS = 23510081  # that are trained, by `gigapixel networks resnet50`
RANKS = [1, 2, 4, 8, 32, 128]
TILE = 2048


def make_windows():
    """Convolutions and the pooling: (stage, inputs, outputs, kernel, stride, reduction of the input map)."""
    windows = [("stem", 3, 64, 7, 2, 1), ("pool", 64, 64, 3, 2, 2)]
    inputs, reduction = 64, 4
    for stage, (blocks, width) in enumerate(zip((3, 4, 6, 3), (64, 128, 256, 512)), start=1):
        for block in range(blocks):
            stride = 2 if block == 0 and stage > 1 else 1
            name = f"layer{stage}"
            windows += [(name, inputs, width, 1, 1, reduction), (name, width, width, 3, stride, reduction)]
            windows += [(name, inputs, 4 * width, 1, stride, reduction)] if block == 0 else []
            reduction *= stride
            windows.append((name, width, 4 * width, 1, 1, reduction))
            inputs = 4 * width
    return windows


def count_work(windows):
    """Parameters with the norms' factors and summands, and the convolutions' multiply-adds for a pixel."""
    parameters, work = 2048 + 1, 0.0
    for name, inputs, outputs, kernel, stride, reduction in windows:
        if name != "pool":
            parameters += inputs * outputs * kernel**2 + 2 * outputs
            work += inputs * outputs * kernel**2 / (reduction * stride) ** 2
    return parameters, work


def count_halo_bytes(windows, side):
    """Of a step over one border as long as the image, both ways, maps and their gradients; and how often it waits."""
    with_halo = [(inputs, kernel - stride if stride > 1 else kernel - 1, reduction) for _, inputs, _, kernel, stride, reduction in windows if kernel > 1]
    return sum(2 * rows * side // reduction * channels * FLOAT for channels, rows, reduction in with_halo), 2 * len(with_halo)


def count_cut_bytes(side):
    """Of a step over a cut behind each stage: a map and its gradient."""
    return {
        name: 2 * channels * (side // reduction) ** 2 * FLOAT
        for name, channels, reduction in (("pool", 64, 4), ("layer1", 256, 4), ("layer2", 512, 8), ("layer3", 1024, 16))
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--side", type=int, default=16384, help="of a slide, in pixels (16384)")
    parser.add_argument("--tflops", type=float, default=7.85, help="of a GPU, a second (half of a V100's 15.7 in floats)")
    parser.add_argument("--gigabytes", type=float, default=10, help="between two GPUs, a second (four fifths of 100 Gbit)")
    arguments = parser.parse_args()
    side, windows = arguments.side, make_windows()
    parameters, work = count_work(windows)
    assert parameters == PARAMETERS, parameters
    gradient = SUM * parameters
    halo, waits = count_halo_bytes(windows, side)
    print(f"{parameters} parameters, {work:.0f} multiply-adds a pixel; exchanged in a step, slide of {side} x {side}, GB:")
    print(f"| slides or tiles dealt out | gradient there, weights back | {2 * gradient / 1e9:.2f} |")
    print(f"| spatial, each border | halos of {waits // 2} windows, {waits} waits | {halo / 1e9:.2f} |")
    for name, size in count_cut_bytes(side).items():
        print(f"| model parallel, cut behind {name} | map and its gradient | {size / 1e9:.2f} |")

    operations = 2 * work * WORK * HALO_WORK
    compute = operations * side**2 / (arguments.tflops * 1e12)
    tile = operations * TILE**2 / (arguments.tflops * 1e12)
    hop = gradient / (arguments.gigabytes * 1e9)
    print(f"a tile of {TILE}: {operations * TILE**2 / 1e12:.2f} TFLOP, {tile:.2f} s; a slide {compute:.1f} s; a gradient from rank to rank {hop * 1e3:.0f} ms")
    print("| GPUs, slides a step | compute s | bytes at rank 0, GB | exchange s | step s | times one GPU | ring s | times one GPU |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for ranks in RANKS:
        exchange = (ranks - 1 + math.ceil(math.log2(ranks))) * hop
        ring = 2 * (ranks - 1) / ranks * hop
        row = [ranks, f"{compute:.1f}", f"{(ranks - 1 + math.ceil(math.log2(ranks))) * gradient / 1e9:.1f}", f"{exchange:.2f}", f"{compute + exchange:.1f}"]
        row += [f"{ranks * compute / (compute + exchange):.1f}", f"{ring:.2f}", f"{ranks * compute / (compute + ring):.1f}"]
        print("| " + " | ".join(map(str, row)) + " |")


if __name__ == "__main__":
    main()
