# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Masks beside their truth, as outlines, from outlines, and over their slide: commands of the program."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from itkgigapixel.commands import run
from itkgigapixel.errors import in_a_sentence, names_arguments, renamed
from itkgigapixel.files import path_of, with_mask
from itkgigapixel.option_table import EvaluateOptions, OutlineOptions, OverlayOptions, RasterizeOptions
from itkgigapixel.options import program_options, takes_options
from itkgigapixel.slide import Slide
from itkgigapixel.slide_content import Path, file_name


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
    given = program_options("evaluate", options)
    names = [file_name(each) for each in (prediction, truth) if each is not None]
    return run("evaluate", {**given, "overwrite": "pictures" in given}, names)


@names_arguments
@in_a_sentence()
@with_mask("mask", takes_labels=True)
@takes_options
def outline(mask: Path | np.ndarray, slide: Path | Slide, output: Path, **options: Unpack[OutlineOptions]) -> Path:
    """Writes a mask for other programs: its outlines for QuPath (``.geojson``), or a segmentation for 3D Slicer (``.seg.nrrd``).

    Parameters
    ----------
    mask : path-like or array of shape (y, x)
        The mask of the slide, at any resolution: its file, or an array of bool or of integers that covers the slide.
    slide : path-like or Slide
        The slide under the mask, whose size and resolution count.
    output : path-like
        What is written, in place of what stands there.
    **options
        What outlines are called, and where they lie.

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
    given = program_options("outline", options, [slide])
    run("outline", {**given, "like": path_of(slide), "output": file_name(output), "overwrite": True}, [file_name(mask)])
    return output


@names_arguments
@in_a_sentence()
@takes_options
def rasterize(outlines: Path, slide: Path | Slide, output: Path, **options: Unpack[RasterizeOptions]) -> Path:
    """Fills outlines, and writes them as a mask pyramid: 255 where the center of a pixel lies inside, 0 elsewhere.

    Parameters
    ----------
    outlines : path-like
        GeoJSON (QuPath), or XML of ASAP, ImageScope or HALO, in level-0 pixels.
    slide : path-like or Slide
        The slide under the outlines, whose size and resolution count.
    output : path-like
        The mask (``.tif``), in place of what stands there.
    **options
        Which outlines are filled, with what, and where they lie.

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
    given = {"origin": "slide", **program_options("rasterize", options, [slide])}  # which the shell warns of where nothing was said
    run("rasterize", {**given, "like": path_of(slide), "output": file_name(output), "overwrite": True}, [file_name(outlines)])
    return output


@renamed(size="picture_size")
@names_arguments
@in_a_sentence()
@with_mask("mask")
@takes_options
def overlay(slide: Path | Slide, mask: Path | np.ndarray, output: Path, **options: Unpack[OverlayOptions]) -> Path:
    """Writes a picture of the slide with the mask tinted and outlined; each class of a mask with classes has its color.

    Parameters
    ----------
    slide : path-like or Slide
        The slide, or a volume, with labels on its grid.
    mask : path-like or array of shape (y, x)
        The mask of the slide, at any resolution: its file, or an array of bool or uint8 that covers the slide.
    output : path-like
        The picture (``.png``), in place of what stands there.
    **options
        How large the picture is, and what it shows of the slide.

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
    given = program_options("overlay", options, [slide])
    run("overlay", {**given, "output": file_name(output), "overwrite": True}, [path_of(slide), file_name(mask)])
    return output
