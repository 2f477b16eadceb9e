# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Tissue masks of slides."""

from __future__ import annotations

from typing import Any, Optional, Unpack

import itk

from itkgigapixel.errors import error_of, names_arguments, renamed, warn
from itkgigapixel.files import check_mask, check_output, open_source, write
from itkgigapixel.folders import is_folder, run_in_folder
from itkgigapixel.option_table import PRESETS, LabelOptions
from itkgigapixel.options import program_options, set_options, take, takes_options
from itkgigapixel.progress import interruptible, running
from itkgigapixel.slide import Picture, Slide
from itkgigapixel.slide_content import Path


def presets() -> list[str]:
    """Names of the ways to label tissue.

    Returns
    -------
    list of str
        Presets of :func:`label`, the default first.

    Examples
    --------
    >>> gp.presets()[0]
    'auto'
    """
    return list(PRESETS)


@renamed(mpp="slide_mpp")
@names_arguments
@interruptible()
@takes_options
def label(slide: Path | Slide, output: Optional[Path] = None, *, progress: bool = False, **options: Unpack[LabelOptions]) -> Any:
    """Labels the tissue of a slide: 255 where there is tissue, else 0 (or classes).

    The mask's pixels are *downsample* times coarser than those of level 0.

    The same mask, to the bit, as of the program ``gigapixel label`` (both are ``itk.SlideTissueImageSource``). The slide
    is streamed: memory does not grow with it. A preset that does not suit the slide is warned of.

    Parameters
    ----------
    slide : path-like or Slide
        The slide, which is streamed; or a folder of slides, as the program takes it.
    output : path-like, optional
        The folder for the results of a folder; or a file to write, in place of what stands there; ``*.pyramid.tif`` becomes a pyramid that slide viewers open,
        ``*.ome.tif`` an OME-TIFF.
    progress : bool, default False
        Show a tqdm bar.
    **options
        How tissue is found, what the mask tells of it, and what is seen of the slide.

    Returns
    -------
    itk.Image, path-like or list of dict
        The mask as an ITK image, or *output* if that is given. Of a folder a list of dicts: what ``gigapixel label --json``
        says of each slide, with an "error" where it failed.

    Raises
    ------
    GigapixelError
        An unknown *preset* or channel; what cannot be read or written.
    ValueError
        A *downsample* out of its range; an *output* that is the slide itself, or of a kind that ITK does not write, or with
        lossy compression (.jpg), or an OME-TIFF.

    Examples
    --------
    >>> gp.label("slide.svs", "slide.mask.pyramid.tif")
    'slide.mask.pyramid.tif'
    """
    downsample = options.get("downsample", 8)
    if downsample not in range(1, 257):
        why = f"the mask is 1 to 256 times coarser than level 0, not {downsample} times"
        raise error_of(ValueError, "E-OPTION-VALUE", why, option="downsample", value=downsample)
    if is_folder(slide):
        return run_in_folder("label", slide, output, program_options("label", options), progress)
    slide, io = open_source(slide, *take(options, "slide_mpp", "channels", "window"), Picture)
    if output is not None:
        check_mask(check_output(output, slide.path))
    tissue = itk.SlideTissueImageSource.New(Slide=io)
    set_options(tissue, "label", options)
    tissue.UpdateOutputInformation()
    advice = tissue.GetAdvice()
    if advice:
        warn({"code": "W-TISSUE-PRESET", "file": slide.path, "why": advice.rstrip(".")})
    if output is None:
        with running(tissue, "label", progress):
            tissue.Update()
        return tissue.GetOutput()
    write(tissue, io, output, "label", progress)
    return output
