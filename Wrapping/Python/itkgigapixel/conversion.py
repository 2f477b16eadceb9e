# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Slides as pyramids that any viewer opens."""

from __future__ import annotations

import operator
from typing import Optional

import itk

from itkgigapixel.errors import error_of, names_arguments
from itkgigapixel.files import check_output, open_slide
from itkgigapixel.folders import is_folder, run_in_folder
from itkgigapixel.progress import interruptible, running
from itkgigapixel.slide import Picture, Slide
from itkgigapixel.slide_content import Channels, Content, Path, Region, Window


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
    """Makes a pyramid of a slide, of one of its levels, or of a region.

    The pyramid is a TIFF (``*.pyramid.tif``) or an OME-TIFF (``*.ome.tif``). Compressed tiles are copied where that is
    possible. See :class:`itkgigapixel.Slide` for *level*, *mpp* and *region*.

    Parameters
    ----------
    slide : path-like or Slide
        The slide, or a folder of slides, as the program takes it.
    output : path-like
        The pyramid to write, ``*.tif``, in place of what stands there; or the folder for the pyramids of a folder.
    level : int, optional
        A stored level that becomes level 0 of the pyramid. None: 0.
    mpp : float, optional
        Micrometers per pixel of level 0 of the pyramid. Pictures are averaged, labels are picked. Tiles are copied where a
        level of the slide has this resolution.
    region : (int, int, int, int), optional
        Only this rectangle, (x, y, width, height) in pixels of level 0. None: all.
    channels : str, int or sequence of these, optional
        The channels that are written, as :class:`Slide` takes them. None: all.
    window : "auto" or (float, float), optional
        Makes a picture of the channels, added up in their colors, as :class:`Slide` takes it. None: values as they are
        stored.
    keep_label : bool, default False
        Keep label, macro and thumbnail images and the slide's texts, which may name a patient.
    keep_text : bool, default False
        Keep the slide's texts only: description, properties, dates.
    progress : bool, default False
        Show a tqdm bar.

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
        options = {"level": level, "mpp": mpp, "keep-label": keep_label, "keep-text": keep_text, **Content().but(channels, window).options()}
        rectangle = None if region is None else ",".join(str(operator.index(each)) for each in region)
        return run_in_folder("convert", slide, output, {**options, "region": rectangle}, progress)  # type: ignore[return-value]
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
