#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""How well the presets of `gigapixel label` find tissue: intersection over union with the truth.

    evaluate_presets.py --program build/bin/gigapixel [--work FOLDER] [--json FILE] [--overlays]

Synthetic slides (6000 x 6000 at 0.5 um, the label grid at 4 um): plain ones, ones with artifacts, brown ones with
artifacts; the seeds below were not used to choose any number of a preset; compared on the label grid, where a pixel of
the truth is what most of its 8 x 8 pixels are. Real slides, where they lie in
$GIGAPIXEL_TEST_DATA: against the outlines in annotations/. "raw threshold" is the first stage alone:
the mean of 8 x 8 pixels is at most 230. --overlays writes a picture of every mask into the work folder.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy
import openslide

HERE = Path(__file__).resolve().parent
SIZE = "6000x6000"
SYNTHETIC = {
    "plain": ([201, 202, 203, 204, 205, 206], []),
    "artifacts": ([211, 212, 213, 214, 215, 216], ["--artifacts"]),
    "brown, artifacts": ([221, 222, 223, 224], ["--artifacts", "--brown"]),
}
PRESETS = ["remedios2023", "robust", "ihc", "fluorescence", "rules", "model"]
# slide, outlines, options: resolutions that the files do not tell, or tell wrongly.
REAL = [
    ("slides/cmu-1-small-region.svs", "cmu-1-small-region", []),
    ("slides/CMU-1-Small-Region.jpeg.tiff", "cmu-1-small-region", ["--slide-mpp", "0.499"]),
    ("slides/CMU-1-Small-Region.webp.tiff", "cmu-1-small-region", ["--slide-mpp", "0.499"]),
    ("slides/camelyon_B_1152x700.tif", "camelyon_B_1152x700", ["--downsample", "1"]),
    ("slides/fluorescence-dapi.ndpi", "fluorescence-dapi", []),
    ("dicom/cmu-1-small-region", "cmu-1-small-region", ["--slide-mpp", "0.499"]),
    ("dicom/multi_frame_jpeg_camelyon_challenge_image.dcm", "camelyon_B_1152x700", ["--downsample", "1"]),
]


class Program:
    def __init__(self, path, work, overlays):
        self.path, self.work, self.overlays = Path(path).resolve(), work, overlays

    def run(self, *arguments):
        done = subprocess.run([str(self.path), *map(str, arguments), "--json"], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip().splitlines()[-1])
        return json.loads(done.stdout)

    def judge(self, slide, compare, options):
        """IoU of each preset's mask, as compare(mask) says, and which preset `rules` takes."""
        result = {}
        for preset in PRESETS:
            mask = self.work / f"{Path(slide).name}.{preset}.tif"
            labeled = self.run("label", slide, "-o", mask, "--preset", preset, "--overwrite", *options)
            result[preset] = compare(mask)
            if preset == "rules":
                result["chosen"] = labeled["preset"]
            if self.overlays:
                picture = self.work / f"{Path(slide).name}.{preset}.png"
                self.run("overlay", slide, mask, "-o", picture, "--overwrite", *options_for_resolution(options))
        return result


def options_for_resolution(options):
    return options if "--slide-mpp" in options else []


def read(file, level=0):
    slide = openslide.OpenSlide(str(file))
    return numpy.asarray(slide.read_region((0, 0), level, slide.level_dimensions[level]))[..., :3]


def overlap(mask, truth):
    return float((mask & truth).sum() / (mask | truth).sum())


def reduce_truth(file):
    """On the label grid: what most of the 8 x 8 pixels are."""
    truth = read(file)[..., 0] > 0
    return truth.reshape(truth.shape[0] // 8, 8, truth.shape[1] // 8, 8).mean(axis=(1, 3)) > 0.5


def judge_synthetic(program):
    results = []
    for kind, (seeds, options) in SYNTHETIC.items():
        for seed in seeds:
            slide, truth = program.work / f"{seed}.tif", program.work / f"{seed}.truth.tif"
            program.run("synthesize", slide, "--size", SIZE, "--seed", seed, "--truth", truth, *options, "--overwrite")
            tissue = reduce_truth(truth)
            dark = read(slide, level=3).mean(axis=2) <= 230
            result = {"slide": f"{seed} ({kind})", "kind": kind, "raw threshold": overlap(dark, tissue)}
            results.append(result | program.judge(slide, lambda mask: overlap(read(mask)[..., 0] > 0, tissue), []))
            print(".", end="", file=sys.stderr, flush=True)
    return results


def judge_real(program, folder):
    results = []
    for name, outlines, options in REAL:
        slide = folder / name
        if not slide.exists():
            print(f"{slide} is not there: left out", file=sys.stderr)
            continue
        if slide.is_dir():  # a DICOM series: its largest file is the slide
            slide = max(slide.iterdir(), key=lambda file: file.stat().st_size)
        truth = program.work / f"{Path(name).name}.truth.tif"
        resolution = options_for_resolution(options)
        try:
            drawn = HERE / "annotations" / f"{outlines}.geojson"
            exact = ["--downsample", 1, "--overwrite", *resolution]
            program.run("rasterize", drawn, "--like", slide, "-o", truth, *exact)
            compare = lambda mask: program.run("evaluate", mask, truth)["iou"]  # noqa: E731
            results.append({"slide": name, "kind": "real"} | program.judge(slide, compare, options))
        except RuntimeError as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
        print(".", end="", file=sys.stderr, flush=True)
    return results


def print_table(results):
    columns = ["raw threshold", *PRESETS]
    print("| slide | " + " | ".join(columns) + " | chosen by rules |\n|" + " --- |" * (len(columns) + 2))
    for result in results:
        cells = [f"{result[column]:.3f}" if column in result else "" for column in columns]
        print(f"| {result['slide']} | " + " | ".join(cells) + f" | {result['chosen']} |")
    for kind in SYNTHETIC:
        rows = [result for result in results if result["kind"] == kind]
        cells = [f"{numpy.mean([row[column] for row in rows]):.3f}" for column in columns]
        print(f"| mean ({kind}) | " + " | ".join(cells) + " | |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/bin/gigapixel")
    parser.add_argument("--work", type=Path, help="keep slides and masks here")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--overlays", action="store_true")
    arguments = parser.parse_args()
    data = Path(os.environ.get("GIGAPIXEL_TEST_DATA", ""))
    with tempfile.TemporaryDirectory() as temporary:
        work = arguments.work or Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        program = Program(arguments.program, work, arguments.overlays)
        results = judge_synthetic(program) + judge_real(program, data)
    print(file=sys.stderr)
    print_table(results)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
