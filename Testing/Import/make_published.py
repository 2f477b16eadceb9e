#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Writes published.npz: what onnxruntime and PyTorch compute with published networks, which then the tests need not.

    GIGAPIXEL_TEST_DATA=FOLDER make_published.py

- brainchop's network for axial slices (https://github.com/neuroneural/brainchop-models, whose parent project is MIT; the file has no licence of its own), of two slices of its T1
  volume, which have no ties: labels, and each eighth pixel's probabilities.
- akamaster's ResNet-20 (https://github.com/akamaster/pytorch_resnet_cifar10, BSD-2), of a part of an H&E picture (Data
  Science Bowl 2018, CC0): its last map in double, and the hashes of its arrays.

Neither networks nor pictures are stored. Needs NumPy, Pillow, PyTorch and onnxruntime.
"""

import hashlib
import pathlib

import numpy
import onnxruntime
import torch
from torch.nn import functional

from published import AXIAL, DEVIATION, MEAN, RESNET, list_pictures, make_places, read_picture, read_volume

SLICES = (96, 160)
TIE = 1e-4
PART = (100, 120, 172, 216)  # of the first picture: top, left, bottom, right


def compute_axial(session, pixels):
    """Probabilities of height, width, classes."""
    scaled = pixels.astype(numpy.float32)[None] / numpy.float32(255)
    (probabilities,) = session.run(None, {"input_5": scaled[..., :1], "input_6": scaled[..., 1:]})
    return probabilities[0]


def read_state():
    state = torch.load(RESNET, map_location="cpu", weights_only=True)["state_dict"]
    return {key.removeprefix("module."): value for key, value in state.items()}


def standardize(pixels):
    return torch.from_numpy(((pixels / 255 - numpy.array(MEAN)) / numpy.array(DEVIATION)).astype(numpy.float32).transpose(2, 0, 1)[None].copy())


def compute_trunk(state, maps):
    """Features of a quarter of the image's sides, in the maps' precision."""
    state = {key: value.to(maps.dtype) for key, value in state.items()}

    def normalize(name, x):
        return functional.batch_norm(x, state[name + ".running_mean"], state[name + ".running_var"], state[name + ".weight"], state[name + ".bias"])

    with torch.no_grad():
        x = normalize("bn1", functional.conv2d(maps, state["conv1.weight"], padding=1)).relu()
        for stage, channels in ((1, 16), (2, 32), (3, 64)):
            for block in range(3):
                name, stride = f"layer{stage}.{block}", 2 if stage > 1 and block == 0 else 1
                y = normalize(name + ".bn1", functional.conv2d(x, state[name + ".conv1.weight"], stride=stride, padding=1)).relu()
                y = normalize(name + ".bn2", functional.conv2d(y, state[name + ".conv2.weight"], padding=1))
                if stride == 2:
                    x = functional.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, channels // 4, channels // 4))
                x = (x + y).relu()
    return x[0].numpy()


def main():
    session, volume = onnxruntime.InferenceSession(str(AXIAL)), read_volume()
    expected = numpy.stack([compute_axial(session, make_places(volume[z], z)) for z in SLICES])
    ordered = numpy.sort(expected, 3)
    print("brainchop", numpy.bincount(expected.argmax(3).ravel()))
    assert (ordered[..., -1] - ordered[..., -2]).min() > TIE
    top, left, bottom, right = PART
    state, maps = read_state(), standardize(read_picture(list_pictures()[0])[top:bottom, left:right])
    features = compute_trunk(state, maps.double())
    rounding = abs(compute_trunk(state, maps) - features).max()
    print("ResNet-20", features.shape, f"up to {features.max():.2f}; PyTorch's floats differ by {rounding:.1e}")
    hashes = {key: hashlib.sha256(value.numpy().tobytes()).hexdigest() for key, value in state.items()}
    numpy.savez_compressed(
        pathlib.Path(__file__).with_name("published.npz"),
        **{
            "brainchop/slices": numpy.array(SLICES),
            "brainchop/labels": expected.argmax(3).astype(numpy.uint8),
            "brainchop/probabilities": expected[:, ::8, ::8],
            "resnet20/part": numpy.array(PART),
            "resnet20/features": features,
            "resnet20/arrays": numpy.array(list(hashes)),
            "resnet20/hashes": numpy.array(list(hashes.values())),
        },
    )


if __name__ == "__main__":
    main()
