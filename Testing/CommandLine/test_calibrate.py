# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""train --calibrate: batch norms begin with the statistics of training slides."""

import json
import struct

import numpy as np
import pytest
import tifffile

from conftest import fails, run

pytestmark = pytest.mark.usefixtures("network")

SLIDES = 6
WORDS = ["--network", "resnet18:width=4", "--tile-size", 64, "--learning-rate", 1e-9, "--no-augmentation"]


@pytest.fixture(scope="module")
def cohort(tmp_path_factory):
    folder = tmp_path_factory.mktemp("calibrate")
    rows = ["slide,label,split"]
    for i in range(SLIDES):
        pixels = np.random.default_rng(i).integers(20 * i, 255, (70 + i, 90, 3), dtype=np.uint8)
        tifffile.imwrite(folder / f"{i}.tif", pixels, tile=(64, 64), photometric="rgb", resolution=(20000, 20000), resolutionunit="CENTIMETER")
        rows.append(f"{i}.tif,{'b' if i % 2 else 'a'},train")
    (folder / "cohort.csv").write_text("\n".join(rows) + "\n")
    return folder


def read(path):
    """Its arrays by name."""
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    header.pop("__metadata__")
    parts = {name: (entry["data_offsets"], entry["shape"]) for name, entry in header.items() if entry["dtype"] == "F32"}
    return {name: np.frombuffer(data[8 + size + a : 8 + size + b], "<f4").reshape(shape) for name, ((a, b), shape) in parts.items()}


def convolve(path, weight):
    """What the first norm of a ResNet gets: 7 x 7 pixels every 2."""
    pixels = (tifffile.imread(path) / 255 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
    padded = np.pad(pixels, ((3, 3), (3, 3), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (7, 7), (0, 1))[::2, ::2]
    return np.einsum("yxcij,ocij->oyx", windows, weight.astype(float)).reshape(len(weight), -1)


def test_the_first_norm_has_the_statistics_of_its_slides(cohort, tmp_path):
    table = cohort / "cohort.csv"
    run("train", "--cohort", table, "-o", tmp_path / "three", *WORDS, "--epochs", 1, "--calibrate", 3)
    arrays = read(tmp_path / "three" / "last.safetensors")
    seen = np.concatenate([convolve(cohort / f"{i}.tif", arrays["conv1.weight"]) for i in (0, 2, 4)], axis=1)  # evenly from six
    assert arrays["bn1.running_mean"] == pytest.approx(seen.mean(1), abs=1e-5)
    assert arrays["bn1.running_var"] == pytest.approx(seen.var(1), rel=1e-5)
    run("train", "--cohort", table, "-o", tmp_path / "none", *WORDS, "--epochs", 1)
    arrays = read(tmp_path / "none" / "last.safetensors")
    assert not arrays["bn1.running_mean"].any() and (arrays["bn1.running_var"] == 1).all()


def test_networks_that_label_pixels(cohort, tmp_path):
    labels = tmp_path / "labels.tif"
    tifffile.imwrite(labels, np.indices((70, 90)).sum(0).astype("u1") // 80 * 255)
    (tmp_path / "cohort.csv").write_text(f"slide,mask,split\n{cohort / '0.tif'},{labels},train\n")
    words = ["train", "--cohort", tmp_path / "cohort.csv", "--network", "unet:base=4,depth=2", "--epochs", 1, "--calibrate", 1]
    run(*words, "-o", tmp_path / "run", "--class-weights", "1,2")
    run(*words, "-o", tmp_path / "other")
    statistics = [{name: values.tolist() for name, values in read(tmp_path / name / "last.safetensors").items() if "running" in name} for name in ("run", "other")]
    assert statistics[0] == statistics[1] and any(value != 0 for values in statistics[0].values() for value in values)


def test_it_is_of_the_run(cohort, tmp_path):
    words = ["train", "--cohort", cohort / "cohort.csv", *WORDS, "-o"]
    run(*words, tmp_path / "resumed", "--epochs", 1, "--calibrate", 100)
    run(*words, tmp_path / "resumed", "--epochs", 2, "--resume")
    run(*words, tmp_path / "whole", "--epochs", 2, "--calibrate", 100)
    resumed, whole = (read(tmp_path / name / "last.safetensors") for name in ("resumed", "whole"))
    assert all(np.array_equal(resumed[name], whole[name]) for name in whole)
    refused = fails(*words, tmp_path / "whole", "--epochs", 3, "--resume", "--calibrate", 4)
    assert (refused.code, refused.value) == ("E-RUN-CONFLICT", "calibrate")


def test_there_have_to_be_norms(cohort, tmp_path):
    operations = [
        {"name": "x", "type": "input", "channels": 3},
        {"name": "p", "type": "adaptive_avg_pool2d", "inputs": ["x"], "output_size": 1},
        {"name": "f", "type": "conv2d", "inputs": ["p"], "out_channels": 1, "kernel_size": 1},
    ]
    network = {"name": "color", "input": {"channels": 3}, "operations": operations, "output": "f", "loss": {"type": "binary cross-entropy"}}
    (tmp_path / "color.json").write_text(json.dumps(network))
    words = ["train", "--cohort", cohort / "cohort.csv", "-o", tmp_path / "run", "--epochs", 1, "--calibrate", 2]
    assert fails(*words, "--network", tmp_path / "color.json").code == "E-OPTION-APPLIES"
