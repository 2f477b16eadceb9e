# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Slides as pyramids that any viewer opens."""

from __future__ import annotations

import operator
from typing import Unpack

import itk

from itkgigapixel.errors import error_of, names_arguments
from itkgigapixel.files import check_output, open_slide
from itkgigapixel.folders import is_folder, run_in_folder
from itkgigapixel.option_table import ConvertOptions
from itkgigapixel.options import program_options, set_options, take, takes_options
from itkgigapixel.progress import interruptible, running
from itkgigapixel.slide import Picture, Slide
from itkgigapixel.slide_content import Path


@names_arguments
@interruptible()
@takes_options
def convert(slide: Path | Slide, output: Path, *, progress: bool = False, **options: Unpack[ConvertOptions]) -> Path:
    """Makes a pyramid of a slide, of one of its levels, or of a region.

    The pyramid is a TIFF (``*.pyramid.tif``) or an OME-TIFF (``*.ome.tif``). Compressed tiles are copied where that is
    possible. See :class:`itkgigapixel.Slide` for *level*, *mpp* and *region*.

    Parameters
    ----------
    slide : path-like or Slide
        The slide, or a folder of slides, as the program takes it.
    output : path-like
        The pyramid to write, ``*.tif``, in place of what stands there; or the folder for the pyramids of a folder.
    progress : bool, default False
        Show a tqdm bar.
    **options
        What is read of the slide, and what the pyramid keeps of it.

    Returns
    -------
    path-like or list of dict
        *output*. Of a folder: what ``gigapixel convert --json`` says of each slide, with an "error" where it failed.

    Raises
    ------
    GigapixelError
        What cannot be read or written.
    ValueError
        A level, resolution or region that the slide does not have; an *output* that is the slide itself, or whose name does
        not end in .tif or .tiff.

    Examples
    --------
    >>> gp.convert("slide.svs", "slide.pyramid.tif", mpp=1.0)
    'slide.pyramid.tif'
    """
    if is_folder(slide):
        return run_in_folder("convert", slide, output, program_options("convert", options), progress)  # type: ignore[return-value]
    level, mpp, region, channels, window = take(options, "level", "mpp", "region", "channels", "window")
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
    converter = itk.PyramidTIFFConverter.New(Slide=source)
    set_options(converter, "convert", options)
    converter.SetImageIO(itk.PyramidTIFFImageIO.New(FileName=name))
    converter.ChooseCompressor()
    if region is not None:
        converter.SetRegion([operator.index(each) for each in slide.inside(region)])
    with running(converter, "convert", progress):
        converter.Update()
    return output
