# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Tissue masks of slides."""

from __future__ import annotations

from typing import Optional

import itk

from itkgigapixel.errors import in_a_sentence
from itkgigapixel.files import check_output, open_source, write
from itkgigapixel.progress import running
from itkgigapixel.slide import Path, Slide


def presets() -> list[str]:
    """Names of the ways to label tissue, the published one first."""
    return list(_filter_type().GetPresets())


def _filter_type():
    return itk.TissueLabelImageFilter[itk.Image[itk.RGBPixel[itk.UC], 2], itk.Image[itk.UC, 2]]


def label(
    slide: Path | Slide,
    output: Optional[Path] = None,
    *,
    preset: str = "remedios2023",
    downsample: int = 8,
    mpp: Optional[float] = None,
    progress: bool = False,
):
    """The tissue mask of a slide, 255 where there is tissue, else 0, on a grid *downsample* times coarser than level 0.

    The slide is streamed: memory does not grow with it. It is read, as by the program ``gigapixel label``, at the coarsest
    level of which whole pixels make one of the mask.

    :param output: a file to write, in place of what stands there; ``*.pyramid.tif`` becomes a pyramid that slide viewers
        open
    :param preset: one of :func:`presets`
    :param downsample: pixels of level 0 along a side of a pixel of the mask, 1 to 256
    :param mpp: micrometers per pixel of level 0, where the slide says none, or nonsense
    :param progress: show a tqdm bar
    :returns: the mask as an ITK image, or *output* if that is given
    :raises ValueError: a *downsample* out of its range; an *output* that is the slide itself, or of a kind that ITK does not
        write
    :raises RuntimeError: an unknown *preset*; what cannot be read or written
    """
    if downsample not in range(1, 257):
        raise ValueError(f"The mask is 1 to 256 times coarser than level 0, not {downsample} times")
    path, io = open_source(slide, mpp)
    if output is not None:
        check_output(output, path)
    level = io.GetLevelForBlocks(downsample)
    io.SetLevel(level)
    reader = itk.ImageFileReader[itk.Image[itk.RGBPixel[itk.UC], 2]].New(FileName=path, ImageIO=io)
    tissue = _filter_type().New(Input=reader.GetOutput())
    with in_a_sentence():
        tissue.SetPreset(preset)
    tissue.SetShrinkFactor(round(downsample / io.GetLevelDownsample(level)))
    if output is None:
        with running(tissue, "label", progress):
            tissue.Update()
        return tissue.GetOutput()
    write(tissue, output, "label", progress)
    return output
