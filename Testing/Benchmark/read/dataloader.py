#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Compares patches from PyTorch's DataLoader with the same patches read by as many processes without it.

    dataloader.py [SLIDE...] [--patch 224] [--mpp 0.5] [--workers 2] [--rounds 5]

It needs the Python package and PyTorch. Without a slide it draws one. Rounds alternate, and each reads all patches once. The
processes stay from round to round. The first round, in which they open slides, is not counted. Medians are printed. Each
way of the DataLoader is compared with the loop that reads the same patches in the same order: neighbors share tiles, which the
reader keeps for a while, so that another order has another speed.
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


def read_share(slides, places, patch, mpp, barrier, rounds):
    """What a user writes without a DataLoader: a loop around Slide.read."""
    opened = [gp.Slide(slide) for slide in slides]
    side = [round(patch * mpp / slide.mpp_x) for slide in opened]
    for _ in range(rounds):
        barrier.wait()
        for number, x, y in places:
            assert opened[number].read(mpp=mpp, region=(x, y, side[number], side[number])).size
        barrier.wait()


class Raw:
    def __init__(self, slides, patches, workers, rounds, order):
        self.barrier = multiprocessing.Barrier(workers + 1)
        places = patches.places[order].tolist()
        for k in range(workers):
            share = places[len(places) * k // workers : len(places) * (k + 1) // workers]
            arguments = (slides, share, patches.patch, patches.mpp, self.barrier, rounds)
            multiprocessing.Process(target=read_share, args=arguments, daemon=True).start()

    def read(self):
        self.barrier.wait()
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

        def load(**how):
            return Loaded(gp.torch.PatchStream(patches, **how), arguments.workers, arguments.batch)

        def loop(stream):
            return Raw(slides, patches, arguments.workers, arguments.rounds + 1, stream.order())

        row_by_row, shuffled = "Slide.read, row by row", "Slide.read, shuffled"
        ways = {  # and the loop that each is compared with
            row_by_row: (loop(gp.torch.PatchStream(patches, shuffle=False)), row_by_row),
            "PatchStream, batched by the DataLoader": (load(shuffle=False), row_by_row),
            "PatchStream, batch_size": (load(shuffle=False, batch_size=arguments.batch), row_by_row),
            shuffled: (loop(gp.torch.PatchStream(patches)), shuffled),
            "PatchStream, batch_size, shuffled": (load(batch_size=arguments.batch), shuffled),
        }
        seconds = {name: [] for name in ways}
        for _ in range(arguments.rounds + 1):
            for name, (way, _) in ways.items():
                begin = time.perf_counter()
                way.read()
                seconds[name].append(time.perf_counter() - begin)
        seconds = {name: found[1:] for name, found in seconds.items()}
        print(f"{len(patches)} patches of {patches.patch} pixels, {arguments.workers} workers, {arguments.rounds} rounds\n")
        print("| way | patches per second | of the loop |\n| --- | --- | --- |")
        for name, (_, compared) in ways.items():
            ratio = statistics.median(raw / own for raw, own in zip(seconds[compared], seconds[name]))
            print(f"| {name} | {len(patches) / statistics.median(seconds[name]):.0f} | {ratio:.2f} |")


if __name__ == "__main__":
    main()
