#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Compares patches from PyTorch's DataLoader with the same patches read by as many processes without it.

    dataloader.py [SLIDE...] [--patch 224] [--mpp 0.5] [--workers 2] [--rounds 5]

It needs the Python package and PyTorch. Without a slide it draws one. Rounds alternate, and each reads all patches once. The
processes stay from round to round. The first round, in which they open slides, is not counted. Medians are printed. Each
way of the DataLoader is compared with two loops that read the same patches in the same order: neighbors share tiles, which the
reader keeps for a while, so that another order has another speed. One loop only reads. The other one also copies batches to
memory that it shares with the main process, and tells it where they are: the least that a DataLoader has to do.

On cores that are busy with it alone, the CPU time of all processes decides. It also compares where other programs run.
"""

import argparse
import multiprocessing
import os
import statistics
import tempfile
import time
from pathlib import Path

import itk
import itkgigapixel as gp
import torch


def draw(folder):
    source = itk.SyntheticSlideImageSource.New()
    source.SetSize(12000, 12000)
    source.SetSeed(1)
    drawn = str(Path(folder, "slide.pyramid.tif"))
    itk.imwrite(source.GetOutput(), drawn)
    return drawn


def read_share(slides, places, patches, barrier, rounds, batch, memory, worker, free, full):
    """What a user writes without a DataLoader: a loop around Slide.read. *memory*: buffers to hand batches over in, or None."""
    opened = [gp.Slide(slide) for slide in slides]
    side = [round(patches.patch * patches.mpp / slide.mpp_x) for slide in opened]
    for _ in range(rounds):
        barrier.wait()
        for begin in range(0, len(places), batch):
            share = places[begin : begin + batch]
            buffer = free.get() if memory is not None else None
            for k, (number, x, y) in enumerate(share):
                pixels = opened[number].read(mpp=patches.mpp, region=(x, y, side[number], side[number]))
                if memory is not None:
                    memory[buffer, k] = pixels
            full.put((worker, buffer, len(share))) if memory is not None else None
        barrier.wait()


def cpu_seconds():
    """Of this process and its children."""
    ticks = 0
    for child in multiprocessing.active_children():
        fields = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])  # user and system
    return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")


class Raw:
    """Processes that read, and hand over what they read if *buffers* are more than 0."""

    def __init__(self, slides, patches, workers, rounds, order, batch, buffers):
        self.barrier, self.full, self.free, self.buffers = multiprocessing.Barrier(workers + 1), multiprocessing.SimpleQueue(), [], buffers
        places = patches.places[order].tolist()
        self.count = len(places)
        for k in range(workers):
            share = places[len(places) * k // workers : len(places) * (k + 1) // workers]
            memory = torch.zeros((buffers, batch, patches.patch, patches.patch, 3), dtype=torch.uint8).share_memory_().numpy() if buffers else None
            self.free.append(multiprocessing.SimpleQueue())
            for buffer in range(buffers):
                self.free[k].put(buffer)
            arguments = (slides, share, patches, self.barrier, rounds, batch, memory, k, self.free[k], self.full)
            multiprocessing.Process(target=read_share, args=arguments, daemon=True).start()

    def read(self):
        self.barrier.wait()
        received = 0
        while self.buffers and received < self.count:
            worker, buffer, count = self.full.get()
            received += count
            self.free[worker].put(buffer)
        self.barrier.wait()


class Loaded:
    def __init__(self, stream, workers, batch):
        self.stream = stream
        batch = None if stream.batch_size else batch
        self.loader = torch.utils.data.DataLoader(stream, batch_size=batch, num_workers=workers, persistent_workers=True, prefetch_factor=4)

    def read(self):
        assert sum(len(samples["image"]) for samples in self.loader) == len(self.stream.patches)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("slides", nargs="*")
    parser.add_argument("--patch", type=int, default=224)
    parser.add_argument("--mpp", type=float, default=0.5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        slides = arguments.slides or [draw(folder)]
        patches = gp.torch.PatchDataset(slides, patch=arguments.patch, mpp=arguments.mpp)

        def loop(stream, buffers):
            return Raw(slides, patches, arguments.workers, arguments.rounds + 1, stream.order(), arguments.batch, buffers)

        ways = {}  # and the loops that each is compared with
        for order in ("row by row", "shuffled"):
            streams = [gp.torch.PatchStream(patches, shuffle=order == "shuffled", batch_size=size) for size in (None, arguments.batch)]
            compared = f"Slide.read, {order}", f"Slide.read, handed over, {order}"
            for name, buffers in zip(compared, (0, 6)):
                ways[name] = loop(streams[0], buffers), compared
            for name, stream in zip(("batched by the DataLoader", "batch_size"), streams):
                ways[f"PatchStream, {name}, {order}"] = Loaded(stream, arguments.workers, arguments.batch), compared
        seconds, cpu = {name: [] for name in ways}, {name: [] for name in ways}
        for _ in range(arguments.rounds + 1):
            for name, (way, _) in ways.items():
                begin, cpu_begin = time.perf_counter(), cpu_seconds()
                way.read()
                seconds[name].append(time.perf_counter() - begin)
                cpu[name].append(cpu_seconds() - cpu_begin)
        print(f"{len(patches)} patches of {patches.patch} pixels, {arguments.workers} workers, {arguments.rounds} rounds\n")
        print("| way | patches per second | of reading | of handing over | by CPU time of reading | of handing over |")
        print("| --- | --- | --- | --- | --- | --- |")
        for name, (_, compared) in ways.items():
            ratios = [statistics.median(a / b for a, b in zip(of[other][1:], of[name][1:])) for of in (seconds, cpu) for other in compared]
            speed = len(patches) / statistics.median(seconds[name][1:])
            print(f"| {name} | {speed:.0f} | " + " | ".join(f"{ratio:.2f}" for ratio in ratios) + " |")


if __name__ == "__main__":
    main()
