# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Tissue masks of slides."""

from __future__ import annotations

import os
from typing import Optional

import itk

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

    :param output: a file to write; ``*.pyramid.tif`` becomes a pyramid that slide viewers open
    :param preset: one of :func:`presets`
    :param mpp: micrometers per pixel of level 0, where the slide says none, or nonsense
    :param progress: show a tqdm bar
    :returns: the mask as an ITK image, or *output* if that is given
    """
    path, io = _source(slide, mpp)
    steps = [level.downsample for level in Slide(path, mpp).levels]
    level = max(k for k, step in enumerate(steps) if downsample % step == 0)
    io.SetLevel(level)
    reader = itk.ImageFileReader[itk.Image[itk.RGBPixel[itk.UC], 2]].New(FileName=path, ImageIO=io)
    tissue = _filter_type().New(Input=reader.GetOutput())
    tissue.SetPreset(preset)
    tissue.SetShrinkFactor(downsample // int(steps[level]))
    if output is None:
        with running(tissue, "label", progress):
            tissue.Update()
        return tissue.GetOutput()
    write(tissue, output, "label", progress)
    return output


def _source(slide: Path | Slide, mpp: Optional[float], gray: bool = False):
    path = slide.path if isinstance(slide, Slide) else os.fspath(slide)
    mpp = mpp if mpp is not None else getattr(slide, "_mpp", None)
    io = itk.WholeSlideImageIO.New()
    io.SetGray(gray)
    if mpp is not None:
        io.SetLevelZeroMicronsPerPixel(mpp)
    return path, io


def write(source, output: Path, description: str, progress: bool) -> None:
    """Streams a filter's image into a file."""
    image = source.GetOutput()
    writer = itk.ImageFileWriter[type(image)].New(Input=image, FileName=os.fspath(output))
    if os.fspath(output).endswith((".pyramid.tif", ".pyramid.tiff")):
        writer.SetImageIO(itk.PyramidTIFFImageIO.New())
    with running(writer, description, progress):
        writer.Update()
