# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Tissue masks of slides."""

from __future__ import annotations

import math
import os
from typing import Optional

import itk

from itkgigapixel.progress import running
from itkgigapixel.slide import Path, Slide, file_name


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
    path, io = _source(slide, mpp)
    if output is not None:
        check_output(output, path)
    level, block = _label_grid(io, downsample)
    io.SetLevel(level)
    reader = itk.ImageFileReader[itk.Image[itk.RGBPixel[itk.UC], 2]].New(FileName=path, ImageIO=io)
    tissue = _filter_type().New(Input=reader.GetOutput())
    tissue.SetPreset(preset)
    tissue.SetShrinkFactor(block)
    if output is None:
        with running(tissue, "label", progress):
            tissue.Update()
        return tissue.GetOutput()
    write(tissue, output, "label", progress)
    return output


def _label_grid(io, downsample: int) -> tuple[int, int]:
    """The coarsest level, stored or reduced by the codec, of which blocks of whole pixels make the mask exactly, and the
    side of a block: the program's rule."""
    wanted = [math.ceil(side / downsample) for side in io.GetLevelSize(0)]
    best = 0, downsample
    for level in range(1, io.GetNumberOfLevels() + io.GetNumberOfReducedLevels()):
        factor = downsample / io.GetLevelDownsample(level)
        block = round(factor)
        if 1 <= block < best[1] and abs(factor - block) < 1e-6:
            if [math.ceil(side / block) for side in io.GetLevelSize(level)] == wanted:
                best = level, block
    return best


def _source(slide: Path | Slide, mpp: Optional[float], gray: bool = False):
    """The file of a slide, and a reader of its own of which levels may be chosen."""
    if not isinstance(slide, Slide) or mpp is not None:
        slide = Slide(slide.path if isinstance(slide, Slide) else slide, mpp)
    io = slide._open()
    io.SetGray(gray)
    return slide.path, io


def check_output(output: Path, slide: str) -> str:
    """The slide is read while the result is written, so that one file for both would be the end of it.

    :returns: the output's name
    :raises ValueError: it is one file, or none can have that name"""
    name = file_name(output)
    if not name:
        raise ValueError("The output has no name: give it one, or leave it out to get an image")
    if os.path.exists(name) and os.path.samefile(name, slide):
        raise ValueError(f"{name} is the slide itself: name another file to write")
    return name


def write(source, output: Path, description: str, progress: bool) -> None:
    """Streams a filter's image into a file."""
    image = source.GetOutput()
    name = file_name(output)
    writer = itk.ImageFileWriter[type(image)].New(Input=image, FileName=name)
    if name.endswith((".pyramid.tif", ".pyramid.tiff")):
        writer.SetImageIO(itk.PyramidTIFFImageIO.New())
    elif itk.ImageIOFactory.CreateImageIO(name, itk.CommonEnums.IOFileMode_WriteMode) is None:
        raise ValueError(f"ITK writes no such file as {name}: end its name in .pyramid.tif, .tif, .nrrd or .png")
    with running(writer, description, progress, source):
        writer.Update()
