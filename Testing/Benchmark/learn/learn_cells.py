#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Cells of multiplexed images, by a network of two of their channels: train, segment, evaluate, measure and overlay, as a user types it.

    learn_cells.py IMAGES [--program gigapixel] [--output FOLDER] [--epochs 200]

IMAGES is a folder of pairs NAME_imc.tiff (channels of floats) and NAME_mask.tiff (numbers of cells), as BodenmillerGroup/cytomapper has
them in inst/extdata (GPL; imaging mass cytometry of pancreas by Damond et al. 2019, CC BY 4.0: 1 um, 100 x 100 pixels). Each image is
the test of a network that learned from the others. Otsu's threshold of the histone channel is the rule beside it.
"""

import argparse
import json
import pathlib
import subprocess

import numpy
import tifffile

CHANNELS = ["H3", "CD99", "PIN", "CD8a", "CDH"]  # of these images, as their paper has them
LEARNED = ["--channel", "H3", "--channel", "CD99"]


def find_otsu(values):
    counts, edges = numpy.histogram(values, 256)
    centers = (edges[:-1] + edges[1:]) / 2
    below, above = numpy.cumsum(counts), numpy.cumsum(counts[::-1])[::-1]
    means = numpy.cumsum(counts * centers) / numpy.maximum(below, 1)
    means_above = (numpy.cumsum((counts * centers)[::-1]) / numpy.maximum(above[::-1], 1))[::-1]
    return centers[numpy.argmax(below[:-1] * above[1:] * (means[:-1] - means_above[1:]) ** 2)]


def get_dice(one, other):
    return 2 * (one & other).sum() / (one.sum() + other.sum())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("images", type=pathlib.Path)
    parser.add_argument("--program", default="gigapixel")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("cells"))
    parser.add_argument("--epochs", type=int, default=200)
    options = parser.parse_args()

    def run(*words):
        done = subprocess.run([options.program, *map(str, words), "--quiet", "--json"], check=True, capture_output=True, text=True)
        return json.loads(done.stdout)

    options.output.mkdir(parents=True)
    names = sorted(path.name.removesuffix("_imc.tiff") for path in options.images.glob("*_imc.tiff"))
    truths, nuclei = {}, {}
    for name in names:
        pixels = tifffile.imread(options.images / f"{name}_imc.tiff")
        labels = tifffile.imread(options.images / f"{name}_mask.tiff")
        truths[name], nuclei[name] = labels > 0, pixels[0]
        metadata = {"axes": "CYX", "PhysicalSizeX": 1.0, "PhysicalSizeY": 1.0, "Channel": {"Name": CHANNELS}}
        tifffile.imwrite(options.output / f"{name}.ome.tif", pixels, photometric="minisblack", tile=(64, 64), metadata=metadata)
        tifffile.imwrite(options.output / f"{name}.cells.tif", truths[name].astype(numpy.uint8) * 255, tile=(64, 64), resolution=(1e4, 1e4), resolutionunit="CENTIMETER")
    print("| test image | Dice | Otsu of H3 | cells measured |\n| --- | ---: | ---: | ---: |")
    for test in names:
        rows = [f"{name}.ome.tif,{name}.cells.tif,{'test' if name == test else 'train'}" for name in names]
        cohort = options.output / f"without-{test}.csv"
        cohort.write_text("slide,mask,split\n" + "\n".join(rows) + "\n")
        model, mask = options.output / f"run-{test}", options.output / f"{test}.mask.tif"
        slide = options.output / f"{test}.ome.tif"
        run("train", "--cohort", cohort, "-o", model, "--network", "unet:channels=2", *LEARNED, "--window", "auto", "--epochs", options.epochs)
        run("segment", slide, "--model", model, "-o", mask)
        figures = run("evaluate", mask, options.output / f"{test}.cells.tif")
        found = tifffile.imread(mask, key=0) > 0
        assert abs(get_dice(found, truths[test]) - figures["dice"]) < 1e-9
        run("overlay", slide, mask, "-o", options.output / f"{test}.png", *LEARNED)
        run("measure", mask, "--slide", slide, "-o", options.output / f"{test}.csv", "--channel", "CD8a", "--window", "auto")
        cells = len((options.output / f"{test}.csv").read_text().splitlines()) - 1
        otsu = get_dice(nuclei[test] > find_otsu(nuclei[test]), truths[test])
        print(f"| {test} | {figures['dice']:.3f} | {otsu:.3f} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
