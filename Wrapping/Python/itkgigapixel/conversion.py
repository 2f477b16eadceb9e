# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Slides as pyramids that any viewer opens."""

from __future__ import annotations

import operator
from typing import Optional

import itk

from itkgigapixel.errors import error_of, names_arguments
from itkgigapixel.files import check_output, open_slide
from itkgigapixel.progress import interruptible, running
from itkgigapixel.slide import Channels, Path, Picture, Region, Slide, Window


@names_arguments
@interruptible()
def convert(
    slide: Path | Slide,
    output: Path,
    *,
    level: Optional[int] = None,
    mpp: Optional[float] = None,
    region: Optional[Region] = None,
    channels: Optional[Channels] = None,
    window: Optional[Window] = None,
    keep_label: bool = False,
    keep_text: bool = False,
    progress: bool = False,
) -> Path:
    """Makes a pyramid (``*.pyramid.tif``, or OME-TIFF: ``*.ome.tif``) of a slide, one of its levels, or a region, copying compressed
    tiles where it can. See :class:`itkgigapixel.Slide` for *level*, *mpp* and *region*.

    :param mpp: micrometers per pixel of level 0 of the pyramid. Pictures are averaged, labels are picked. Tiles are copied where a
        level of the slide has this resolution
    :param channels: the channels that are written, as :class:`Slide` takes them; None: all
    :param window: makes a picture of the channels, added up in their colors, as :class:`Slide` takes it; None: values as they are stored
    :param keep_label: keep label, macro and thumbnail images and the slide's texts, which may name a patient
    :param keep_text: keep the slide's texts only: description, properties, dates
    :param progress: show a tqdm bar
    :returns: *output*
    :raises GigapixelError: what cannot be read or written. Also a ValueError: a level, resolution or region that the slide does not
        have; an *output* that is the slide itself, or whose name does not end in .tif or .tiff
    """
    slide = open_slide(slide, None, channels, window, Slide if window is None else Picture)
    name = check_output(output, slide.path)
    if not name.lower().endswith((".tif", ".tiff")):
        raise error_of(ValueError, "E-OUTPUT-ENDING", "it is to be a pyramid TIFF", "end its name in .pyramid.tif", file=name, option="output")
    if mpp is None:
        source = slide._open()
        source.SetLevel(slide.select(level))
        source.ReadImageInformation()
    else:
        slide.select(level, mpp)  # which refuses what cannot be
        source = slide._open(float(mpp))
    converter = itk.PyramidTIFFConverter.New(Slide=source, KeepLabel=bool(keep_label), KeepText=bool(keep_text))
    converter.SetImageIO(itk.PyramidTIFFImageIO.New(FileName=name))
    converter.ChooseCompressor()
    if region is not None:
        converter.SetRegion([operator.index(each) for each in slide.inside(region)])
    with running(converter, "convert", progress):
        converter.Update()
    return output
