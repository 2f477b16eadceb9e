# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Every command that writes, each with a small input: what is interrupted in one of them must be so in all."""

import functools
import os

import pytest

from conftest import TRAIN, run, weights

COMMANDS = {
    "synthesize": ["synthesize", "out/slide.tif", "--size", "900x700", "--truth", "out/truth.tif"],
    "convert": ["convert", "slide.tif", "out/copy.tif"],
    "convert to deflate": ["convert", "slide.tif", "out/copy.tif", "--compression", "deflate"],
    "label": ["label", "slide.tif", "-o", "out/mask.tif", "--full-resolution"],
    "overlay": ["overlay", "slide.tif", "truth.tif", "-o", "out/picture.png"],
    "outline": ["outline", "truth.tif", "--like", "slide.tif", "-o", "out/outlines.geojson"],
    "outline to a segmentation": ["outline", "truth.tif", "--like", "slide.tif", "-o", "out/mask.seg.nrrd"],
    "measure": ["measure", "truth.tif", "--slide", "slide.tif", "-o", "out/table.csv"],
    "rasterize": ["rasterize", "outlines.geojson", "--like", "slide.tif", "-o", "out/mask.tif", "--downsample", "1"],
    "segment": ["segment", "slide.tif", "--model", "tissue", "-o", "out/mask.tif", "--probability", "out/probability.tif"],
    "classify": ["classify", "a.tif", "--model", "labels-run", "-o", "out/predictions.csv", "--maps", "out/maps"],
    "features": ["features", "a.tif", "--model", "labels-run", "-o", "out/a.h5"],
    "evaluate": ["evaluate", "predictions.csv", "--pictures", "out/pictures"],
    "import": ["import", "network.onnx", "-o", "out/model.safetensors"],
    "train": [*TRAIN, "--cohort", "cohort.csv", "-o", "out/run", "--epochs", "3", "--learning-rate", "0.01"],
}
OF_NETWORKS = ("segment", "classify", "features", "import", "train")


@functools.lru_cache(None)
def is_built(command):
    return command not in OF_NETWORKS or run("doctor", "--json").json["network"]["installed"]


def begin(command, inputs, folder):
    """The words of a command that writes into a folder of its own."""
    if not is_built(command):
        pytest.skip("the engine was not built")
    folder.mkdir()
    return [str(folder / word[4:]) if word.startswith("out/") else word for word in COMMANDS[command]] + ["--quiet"]


def get_words_again(command, words, folder):
    """The words of the command that goes on where one was interrupted."""
    outputs = get_outputs(folder)
    if command == "train":
        return words + ["--resume"]
    # Those that do not know their own outputs, and one that does as long as its table is not there.
    knowsNot = command in ("overlay", "outline", "outline to a segmentation", "measure", "rasterize", "evaluate", "import") and outputs
    return words + ["--overwrite"] if knowsNot or "predictions.csv" in outputs else words


def get_outputs(folder):
    """Names and bytes of the finished files; of a run's checkpoint its numbers, for its text may name times."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.startswith(".")]
    return {str(path.relative_to(folder)): weights(path.parent) if path.name == "last.safetensors" else path.read_bytes() for path in files}


def get_unfinished(folder, failed=False):
    """Hidden and partial files; of a command that failed without what classify goes on from (.TABLE.unfinished)."""
    names = [name for _, _, names in os.walk(folder) for name in names if name.startswith(".") or name.endswith(".part")]
    return [name for name in names if not (failed and name.endswith(".unfinished"))]
