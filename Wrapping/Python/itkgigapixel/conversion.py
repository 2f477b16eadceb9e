# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Slides as pyramids that any viewer opens."""

from __future__ import annotations

import operator
from typing import Optional

import itk

from itkgigapixel.errors import in_a_sentence
from itkgigapixel.files import check_output
from itkgigapixel.progress import interruptible, running
from itkgigapixel.slide import Path, Region, Slide


@interruptible()
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
    :raises ValueError: a level, resolution or region that the slide does not have; an *output* that is the slide itself, or
        whose name does not end in .tif or .tiff
    :raises RuntimeError: what cannot be read or written
    """
    slide = slide if isinstance(slide, Slide) else Slide(slide)
    name = check_output(output, slide.path)
    if not name.lower().endswith((".tif", ".tiff")):
        raise ValueError(f"{name} is to be a pyramid TIFF: end it in .pyramid.tif")
    source = slide._open()
    source.SetLevel(slide.select(level, mpp))
    if mpp is not None:  # a level that the codec makes may be nearer
        source.SetMicronsPerPixel(mpp)
    with in_a_sentence():
        source.ReadImageInformation()
    converter = itk.PyramidTIFFConverter.New(Slide=source, KeepLabel=bool(keep_label))
    converter.SetImageIO(itk.PyramidTIFFImageIO.New(FileName=name))
    converter.ChooseCompressor()
    if region is not None:
        converter.SetRegion([operator.index(each) for each in slide.inside(region)])
    with running(converter, "convert", progress):
        converter.Update()
    return output
