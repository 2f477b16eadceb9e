# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Calls with all arguments that functions had in the version whose runs are in Testing/CommandLine/runs, and their defaults."""

import warnings

import itkgigapixel as gp
import pytest
from conftest import refused

COMPUTING = {"memory": 0, "tile_size": 0, "device": "cpu"}
SLIDE = {"level": None, "slide_mpp": None}
TRAIN = {
    "validation": (), "labels": False, "objective": "", "network": None, "weights": "", "partial_weights": False, "calibrate": 0, "freeze": (),
    "tissue": "", "level": 0, "mpp": None, "slide_mpp": None, "epochs": 50, "optimizer": "adam", "momentum": 0.9, "weight_decay": None,
    "clip_gradient": 0.0, "learning_rate": None, "learning_rate_schedule": "constant", "learning_rate_decay": 1.0, "plateau_patience": 0,
    "warmup": 0, "images_per_step": 1, "early_stopping": 0, "loss": "", "class_weights": (), "ignored_label": None, "augment": True,
    "jitter": 0.0, "balance": False, "seed": 1, "shared_memory": False, "scratch": "", "precision": None, "resume": False, "progress": False,
}  # fmt: skip
PATCHES = {"semantics": "whole", "mirror": False}
CALLS = {
    "train": lambda folder: gp.train([(f"{folder}/none.svs", f"{folder}/none.tif")], folder / "run", **COMPUTING, **TRAIN),
    "segment": lambda folder: gp.segment(
        folder / "none.svs", "tissue", folder / "out.tif", probability=False, threshold=None, fill_holes=False, tissue="", region=None, patch=512,
        overlap=0.25, blending="gaussian", scratch="", shared_memory=False, precision="fp32", progress=False, **COMPUTING, **SLIDE, **PATCHES,
    ),
    "segment_volume": lambda folder: gp.segment_volume(
        folder / "none.nii.gz", folder / "none", threshold=None, scratch="", patch=None, overlap=None, **COMPUTING, **PATCHES
    ),
    "classify": lambda folder: gp.classify([folder / "none.svs"], folder / "none", tissue="", maps=False, map_class="", precision="fp32", **COMPUTING, **SLIDE),
    "label": lambda folder: gp.label(folder / "none.svs", preset=None, downsample=8, full_resolution=False, classes=False, slide_mpp=None, progress=False),
    "convert": lambda folder: gp.convert(folder / "none.svs", folder / "o.tif", level=None, mpp=None, region=None, keep_label=False, progress=False),
    "features": lambda folder: gp.features(
        folder / "none.svs", abs, patch=224, mpp=0.5, overlap=0.0, tissue="", preset=None, least_tissue=0.25, batch=32, device=None, workers=2,
        mean=(0.485, 0.456, 0.406), deviation=(0.229, 0.224, 0.225), progress=False,
    ),
    "import_onnx": lambda folder: gp.import_onnx(
        folder / "none.onnx", folder / "m.safetensors", name="", logits="", mean=(), deviation=(), mpp=0.0, tile_size=0, norms="frozen"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_arguments_go_on(name, tmp_path):
    """All are taken: it is the file that is missed, and nothing is written."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of names that are others now
        with refused(FileNotFoundError, "E-FILE-MISSING"):
            CALLS[name](tmp_path)
    assert list(tmp_path.iterdir()) == []
