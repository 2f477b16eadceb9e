#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Compares patches from PyTorch's DataLoader with the same patches read by as many processes without it.

    dataloader.py [SLIDE...] [--patch 224] [--mpp 0.5] [--workers 2] [--rounds 5]

It needs the Python package and PyTorch. Without a slide it draws one. Rounds alternate. A round reads all patches once, starts
its processes before the clock, and has their slides open. The median of each is printed, and the ratio of both.
"""

import argparse
import multiprocessing
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


def read_share(slides, places, patch, mpp, ready, start):
    """What a user writes without a DataLoader: a loop around Slide.read."""
    opened = [gp.Slide(slide) for slide in slides]
    side = [patch * mpp / slide.mpp_x for slide in opened]
    for slide in opened:
        slide.read(mpp=mpp, region=(0, 0, 1, 1))
    ready.wait()
    start.wait()
    for number, x, y in places:
        assert opened[number].read(mpp=mpp, region=(x, y, round(side[number]), round(side[number]))).size
    ready.wait()


def time_raw(slides, patches, workers):
    ready, start = multiprocessing.Barrier(workers + 1), multiprocessing.Event()
    places = patches.places.tolist()
    shares = [places[len(places) * k // workers : len(places) * (k + 1) // workers] for k in range(workers)]
    processes = [multiprocessing.Process(target=read_share, args=(slides, share, patches.patch, patches.mpp, ready, start)) for share in shares]
    for process in processes:
        process.start()
    ready.wait()
    begin = time.perf_counter()
    start.set()
    ready.wait()
    seconds = time.perf_counter() - begin
    for process in processes:
        process.join()
    return seconds


class Warm(torch.utils.data.IterableDataset):
    """First one item, with which a worker has opened the slides, then the stream."""

    def __init__(self, stream):
        self.stream = stream

    def __iter__(self):
        yield self.stream.patches[0]
        yield from self.stream


def time_loader(stream, workers, batch):
    loader = iter(torch.utils.data.DataLoader(Warm(stream), batch_size=batch, num_workers=workers, prefetch_factor=2))
    begin, count = time.perf_counter(), 0
    for samples in loader:
        count += len(samples["image"])
    assert count == len(stream.patches) + max(workers, 1)
    return time.perf_counter() - begin


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
        ways = {
            "Slide.read": lambda: time_raw(slides, patches, arguments.workers),
            "PatchStream, row by row": lambda: time_loader(gp.torch.PatchStream(patches, shuffle=False), arguments.workers, arguments.batch),
            "PatchStream, shuffled": lambda: time_loader(gp.torch.PatchStream(patches), arguments.workers, arguments.batch),
        }
        seconds = {name: [] for name in ways}
        for _ in range(arguments.rounds):
            for name, way in ways.items():
                seconds[name].append(way())
        print(f"{len(patches)} patches of {patches.patch} pixels, {arguments.workers} workers, {arguments.rounds} rounds\n")
        print("| way | patches per second | of Slide.read |\n| --- | --- | --- |")
        for name, found in seconds.items():
            ratio = statistics.median(raw / own for raw, own in zip(seconds["Slide.read"], found))
            print(f"| {name} | {len(patches) / statistics.median(found):.0f} | {ratio:.2f} |")


if __name__ == "__main__":
    main()
