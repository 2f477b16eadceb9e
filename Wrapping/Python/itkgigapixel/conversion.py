# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Slides as pyramids that any viewer opens."""

from __future__ import annotations

import os
from typing import Optional

import itk

from itkgigapixel.progress import running
from itkgigapixel.slide import Path, Region, Slide


def convert(
    slide: Path | Slide,
    output: Path,
    *,
    level: Optional[int] = None,
    mpp: Optional[float] = None,
    region: Optional[Region] = None,
    keep_label: bool = False,
    progress: bool = False,
) -> Path:
    """Makes a pyramid (``*.pyramid.tif``) of a slide, one of its levels, or a region, copying compressed tiles where it
    can. See :class:`itkgigapixel.Slide` for *level*, *mpp* and *region*.

    :param keep_label: keep label, macro and thumbnail pictures and the slide's properties, which may name a patient
    :param progress: show a tqdm bar
    :returns: *output*
    """
    slide = slide if isinstance(slide, Slide) else Slide(slide)
    source = itk.WholeSlideImageIO.New(FileName=slide.path, Level=slide.select(level, mpp))
    source.ReadImageInformation()
    converter = itk.PyramidTIFFConverter.New(Slide=source, KeepLabel=keep_label)
    converter.SetImageIO(itk.PyramidTIFFImageIO.New(FileName=os.fspath(output)))
    if region is not None:
        converter.SetRegion(region)
    with running(converter, "convert", progress):
        converter.Update()
    return output
