# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Tissue masks of slides."""

from __future__ import annotations

from typing import Any, Optional

import itk

from itkgigapixel.errors import error_of, names_arguments, renamed, warn
from itkgigapixel.files import check_mask, check_output, open_source, write
from itkgigapixel.folders import is_folder, run_in_folder
from itkgigapixel.progress import interruptible, running
from itkgigapixel.slide import Picture, Slide
from itkgigapixel.slide_content import Channels, Content, Path, Window, file_name


@interruptible()
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
    return list(itk.SlideTissueImageSource.GetPresets())


@renamed(mpp="slide_mpp")
@names_arguments
@interruptible()
def label(
    slide: Path | Slide,
    output: Optional[Path] = None,
    *,
    preset: Optional[str] = None,
    hints: Optional[Path] = None,
    downsample: int = 8,
    full_resolution: bool = False,
    classes: bool = False,
    slide_mpp: Optional[float] = None,
    channels: Optional[Channels] = None,
    window: Optional[Window] = None,
    progress: bool = False,
) -> Any:
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
    preset : str, optional
        One of :func:`presets`. None: the first of them.
    hints : path-like, optional
        Outlines that say what a place is, where a mask is wrong: GeoJSON in pixels of level 0, each outline of the class
        Tissue, Glass, Pen or Artifact. What lies in them is that, and what looks like it is judged anew. Of a folder of
        slides a folder with SLIDE-NAME.geojson. None: there are none.
    downsample : int, default 8
        Pixels of level 0 along a side of a pixel of the mask, 1 to 256. With 8, the mask of a slide at 20x has 4
        micrometers per pixel, which outlines of tissue need.
    full_resolution : bool, default False
        Enlarge the mask to the size of level 0.
    classes : bool, default False
        Give classes in place of 0 and 255: 0 glass, 1 tissue and, with the preset "model", 2 pen and 3 artifact.
    slide_mpp : float, optional
        Micrometers per pixel of level 0, where the slide says none, or nonsense.
    channels : str, int or sequence of these, optional
        Channels that show the tissue, as :class:`Slide` takes them. Several are added up in their colors. None: all, of
        other slides than gray or RGB of 8 bits all with signal, which is warned of.
    window : "auto" or (float, float), optional
        Values that become 0 and 255, as :class:`Slide` takes them. None: "auto", and of gray or RGB of 8 bits without *channels* no window.
    progress : bool, default False
        Show a tqdm bar.

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
    if downsample not in range(1, 257):
        why = f"the mask is 1 to 256 times coarser than level 0, not {downsample} times"
        raise error_of(ValueError, "E-OPTION-VALUE", why, option="downsample", value=downsample)
    if is_folder(slide):
        options = {"preset": preset, "hints": "" if hints is None else file_name(hints), "downsample": downsample, "full-resolution": full_resolution, "classes": classes, "slide-mpp": slide_mpp}
        return run_in_folder("label", slide, output, {**options, **Content().but(channels, window).options()}, progress)
    slide, io = open_source(slide, slide_mpp, channels, window, Picture)
    if output is not None:
        check_mask(check_output(output, slide.path))
    tissue = itk.SlideTissueImageSource.New(Slide=io, Downsample=int(downsample), FullResolution=bool(full_resolution))
    tissue.SetOutputClasses(bool(classes))
    if preset is not None:
        tissue.SetPreset(preset)
    if hints is not None:
        tissue.SetHints(file_name(hints))
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
