# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Masks beside their truth, as outlines, from outlines, and over their slide: commands of the program."""

from __future__ import annotations

import operator
from typing import Any, Optional, Sequence, Unpack

import numpy as np

from itkgigapixel.commands import run
from itkgigapixel.errors import in_a_sentence, names_arguments, renamed
from itkgigapixel.files import content_of, path_of, stated_of, with_mask
from itkgigapixel.option_table import EvaluateOptions
from itkgigapixel.options import program_options, takes_options
from itkgigapixel.slide import Slide
from itkgigapixel.slide_content import Channels, Path, Window, file_name


@names_arguments
@in_a_sentence()
@with_mask("prediction")
@with_mask("truth")
@takes_options
def evaluate(prediction: Path | np.ndarray, truth: Path | np.ndarray | None = None, **options: Unpack[EvaluateOptions]) -> dict[str, Any]:
    """Compares a mask with the truth pixel by pixel, or predictions of slides with their labels. Memory does not grow with a mask's rows.

    It is the command ``gigapixel evaluate``. Every value above 0 is object, of masks with classes (``label(classes=True)``) tissue alone.
    Volumes of labels are compared label by label, with distances of surfaces in mm. A table of predictions is one that :func:`classify`
    writes: areas under curves, balanced accuracy, calibration and more are told.

    Parameters
    ----------
    prediction : path-like or array of shape (y, x)
        The mask to judge: its file, or an array (y, x) of bool or uint8. Or a table of predictions (``.csv``).
    truth : path-like or array of shape (y, x), optional
        The mask to judge it by, of the same slide, at any resolution. None: *prediction* is a table.
    **options
        Parts of masks, and what is judged of predictions.

    Returns
    -------
    dict
        The figures by their names, as ``gigapixel evaluate --json`` prints them. None: not defined.

    Raises
    ------
    GigapixelError
        What cannot be read; options of predictions with a mask.
    ValueError
        Masks that do not cover the same area, or are none; an option that is out of its range.

    Examples
    --------
    >>> gp.evaluate("slide.mask.tif", "slide.truth.tif")["dice"]
    >>> gp.evaluate("predictions.csv", cohort="cohort.csv", split="test", pictures="figures")["rocAUC"]
    """
    given = program_options(options)
    names = [file_name(each) for each in (prediction, truth) if each is not None]
    return run("evaluate", {**given, "overwrite": "pictures" in given}, names)


@names_arguments
@in_a_sentence()
@with_mask("mask", takes_labels=True)
def outline(
    mask: Path | np.ndarray,
    slide: Path | Slide,
    output: Path,
    *,
    class_name: Optional[str] = None,
    instances: bool = False,
    origin: str = "slide",
    slide_mpp: Optional[float] = None,
) -> Path:
    """Writes a mask for other programs: its outlines for QuPath (``.geojson``), or a segmentation for 3D Slicer (``.seg.nrrd``).

    Parameters
    ----------
    mask : path-like or array of shape (y, x)
        The mask of the slide, at any resolution: its file, or an array of bool or of integers that covers the slide.
    slide : path-like or Slide
        The slide under the mask, whose size and resolution count.
    output : path-like
        What is written, in place of what stands there.
    class_name : str, optional
        Name of the object of a mask without classes. Classes have names of their own, and a name is refused. None: Tissue.
    instances : bool, default False
        Labels number objects, such as nuclei: each gets one outline, in the order of the labels.
    origin : {"slide", "bounds"}, default "slide"
        Where positions of outlines are counted from: "slide", or "bounds", the corner of the scanned area, as QuPath does.
    slide_mpp : float, optional
        Micrometers per pixel of level 0, where a slide says none, or nonsense. None: what a :class:`Slide` was given.

    Returns
    -------
    path-like
        *output*.

    Raises
    ------
    GigapixelError
        What cannot be read or written.
    ValueError
        An ending of *output*, a class or an *origin* that cannot be.

    Examples
    --------
    >>> gp.outline("slide.mask.tif", "slide.svs", "slide.geojson", class_name="Tumor")
    """
    options = {"like": path_of(slide), "output": file_name(output), "class-name": class_name or "", "overwrite": True}
    options["instances"] = instances or ""
    run("outline", {**options, "origin": "" if origin == "slide" else origin, **_options_of(slide, slide_mpp)}, [file_name(mask)])
    return output


@names_arguments
@in_a_sentence()
def rasterize(
    outlines: Path,
    slide: Path | Slide,
    output: Path,
    *,
    class_names: Sequence[str] = (),
    instances: bool = False,
    downsample: Optional[int] = None,
    origin: str = "slide",
    slide_mpp: Optional[float] = None,
) -> Path:
    """Fills outlines, and writes them as a mask pyramid: 255 where the center of a pixel lies inside, 0 elsewhere.

    Parameters
    ----------
    outlines : path-like
        GeoJSON (QuPath), or XML of ASAP, ImageScope or HALO, in level-0 pixels.
    slide : path-like or Slide
        The slide under the outlines, whose size and resolution count.
    output : path-like
        The mask (``.tif``), in place of what stands there.
    class_names : sequence of str, default ()
        Only outlines of these classes. Among several, the first becomes 1, the second 2 and so on. (): all, as 255.
    instances : bool, default False
        Number the outlines, in 16 or 32 bit: by their names, as :func:`outline` gives them, or else from 1.
    downsample : int, optional
        Level-0 pixels along a side of a pixel of the mask, 1 to 256. None: 8, which is what :func:`label`
        takes, or 1 with *instances*.
    origin : {"slide", "bounds"}, default "slide"
        Where positions are counted from, as in :func:`outline`.
    slide_mpp : float, optional
        Micrometers per pixel of level 0, as in :func:`outline`.

    Returns
    -------
    path-like
        *output*.

    Raises
    ------
    GigapixelError
        What cannot be read or written.
    ValueError
        Outlines outside of the slide, a class that the file does not have, or an argument out of its range.

    Examples
    --------
    >>> gp.rasterize("slide.geojson", "slide.svs", "slide.truth.tif", class_names=["Tumor"])
    """
    options = {"like": path_of(slide), "output": file_name(output), "downsample": "" if downsample is None else operator.index(downsample), "overwrite": True}
    names = [class_names] if isinstance(class_names, str) else list(class_names)
    options["instances"] = instances or ""
    run("rasterize", {**options, "class": tuple(names), "origin": origin, **_options_of(slide, slide_mpp)}, [file_name(outlines)])
    return output


@renamed(size="picture_size")
@names_arguments
@in_a_sentence()
@with_mask("mask")
def overlay(
    slide: Path | Slide,
    mask: Path | np.ndarray,
    output: Path,
    *,
    picture_size: int = 1024,
    partial: bool = False,
    slide_mpp: Optional[float] = None,
    channels: Optional[Channels] = None,
    window: Optional[Window] = None,
) -> Path:
    """Writes a picture of the slide with the mask tinted and outlined; each class of a mask with classes has its color.

    Parameters
    ----------
    slide : path-like or Slide
        The slide, or a volume, with labels on its grid.
    mask : path-like or array of shape (y, x)
        The mask of the slide, at any resolution: its file, or an array of bool or uint8 that covers the slide.
    output : path-like
        The picture (``.png``), in place of what stands there.
    picture_size : int, default 1024
        Longer side of the picture in pixels. 1024 fits on a screen.
    partial : bool, default False
        The mask covers a part of the slide.
    slide_mpp : float, optional
        Micrometers per pixel of level 0, where a slide says none, or nonsense. None: what a :class:`Slide` was given.
    channels : str, int or sequence of these, optional
        Channels that are shown, as in :func:`label`.
    window : "auto" or (float, float), optional
        Values that become 0 and 255, as in :func:`label`.

    Returns
    -------
    path-like
        *output*.

    Raises
    ------
    GigapixelError
        What cannot be read or written.
    ValueError
        A mask that does not belong to the slide, or an argument out of its range.

    Examples
    --------
    >>> gp.overlay("slide.svs", "slide.mask.tif", "look.png")
    """
    options = {"output": file_name(output), "picture-size": operator.index(picture_size), "partial": partial or "", "overwrite": True}
    options.update(_options_of(slide, slide_mpp), **content_of([slide], channels, window).options())
    run("overlay", options, [path_of(slide), file_name(mask)])
    return output


def _options_of(slide: Path | Slide, slide_mpp: Optional[float]) -> dict[str, Any]:
    mpp, _ = stated_of([slide], slide_mpp)
    content = content_of([slide])
    return {"slide-mpp": "" if mpp is None else mpp, "image": content.image, "plane": content.plane}
