# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Networks patch by patch, against the formula of sliding window inference with PyTorch's layers."""

import itertools
import math

import itk
import itkgigapixel as gp
import numpy as np
import pytest
import torch
from conftest import GRAY, image, PROBABILITY, refused
from remedios import load, logits, parameters


def begins(length: int, side: int, step: int) -> list[int]:
    if length < side:
        return [-((side - length) // 2)]
    return [min(k * step, length - side) for k in range(math.ceil((length - side) / step) + 1)]


def blend(pixels: np.ndarray, network, side: int, overlap: float, gaussian: bool, mirror: bool) -> np.ndarray:
    """Probabilities of two classes: patches on white, weighted means of their logits."""
    axis = torch.arange(side, dtype=torch.float64) - (side - 1) / 2
    along = torch.exp(-(axis**2) / (2 * (0.125 * side) ** 2))
    weight = torch.clamp(along[:, None] * along[None], min=1e-3) if gaussian else torch.ones(side, side)
    height, width = pixels.shape
    margin = side
    padded = np.full((height + 2 * margin, width + 2 * margin), 255, np.uint8)
    padded[margin:-margin, margin:-margin] = pixels
    total = torch.zeros(2, *padded.shape, dtype=torch.float64)
    step = max(1, int(side * (1 - overlap)))
    for y, x in itertools.product(begins(height, side, step), begins(width, side, step)):
        place = slice(y + margin, y + margin + side), slice(x + margin, x + margin + side)
        flips = [(), (0,), (1,), (0, 1)] if mirror else [()]
        results = [torch.flip(network(np.flip(padded[place], f)), f) for f in flips]
        total[0][place] += weight * torch.stack(results).mean(0)
        total[1][place] += weight
    blended = (total[0] / total[1])[margin:-margin, margin:-margin]
    return torch.sigmoid(blended).numpy()


@pytest.mark.parametrize(
    "size, side, overlap, blending, mirror",
    [
        ((653, 777), 256, 0.25, "gaussian", False),
        ((333, 401), 128, 0.5, "constant", False),
        ((201, 777), 256, 0.3, "gaussian", True),
        ((100, 77), 128, 0.25, "gaussian", False),
    ],
)
def test_patches_are_blended_as_the_formula_says(picture, start, size, side, overlap, blending, mirror):
    pixels = picture[0][: size[0], : size[1]]
    weights = parameters(load(start / "last.safetensors")[1])
    with torch.no_grad():
        theirs = blend(pixels, lambda patch: logits(patch, weights), side, overlap, blending == "gaussian", mirror)
    results = []
    for units, divisions in ((1, 1), (2, 7), (3, 40)):
        network = itk.GigapixelUNetImageFilter[GRAY, PROBABILITY].New(Input=image(pixels))
        network.SetModelFileName(str(start))
        network.SetPatches({"side": side, "overlap": overlap, "blending": blending, "mirror": mirror})
        network.SetNumberOfWorkUnits(units)
        streamer = itk.StreamingImageFilter[PROBABILITY, PROBABILITY].New(Input=network.GetOutput(), NumberOfStreamDivisions=divisions)
        streamer.Update()
        results.append(itk.array_from_image(streamer.GetOutput()))
    assert np.ptp(theirs) > 1e-3
    assert np.abs(results[0] - theirs).max() < 1e-5
    assert all(np.array_equal(results[0], other) for other in results[1:])


def test_segment_takes_patches(drawn, start):
    patches = {"sliding_window": True, "patch": 256, "overlap": 0}
    whole, patch = (itk.array_from_image(gp.segment(drawn[0], start, probability=True, **how)) for how in ({}, patches))
    difference = np.abs(whole.astype(int) - patch)[:256, :256]
    assert difference.max() > 1 >= difference[64:192, 64:192].max()  # farther from the borders than the halo
    for options in ({"patch": 128}, {"mirror": True}, {"blending": "mean"}):
        with refused(ValueError, "E-OPTION-NEEDS", option=next(iter(options))):
            gp.segment(drawn[0], start, **options)
    with refused(ValueError, "E-OPTION-VALUE", option="semantics", value="tile"):
        gp.segment(drawn[0], start, semantics="tile")  # the former name of the argument
    with pytest.warns(FutureWarning):
        former = gp.segment(drawn[0], start, probability=True, semantics="patch", patch=256, overlap=0)
    assert np.array_equal(itk.array_from_image(former), patch)
    with refused(ValueError, "E-OPTION-VALUE"):
        gp.segment(drawn[0], start, sliding_window=True, blending="mean")
    with refused(RuntimeError, "E-OPTION-VALUE", value="100"):
        gp.segment(drawn[0], start, sliding_window=True, patch=100)
    with refused(RuntimeError, "E-OPTION-CONFLICT"):
        gp.segment(drawn[0], start, sliding_window=True, tile_size=256)
