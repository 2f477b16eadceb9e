# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Masks beside their truth, as outlines, from outlines, and over their slide: commands of the program, each a process of its own."""

from __future__ import annotations

import operator
from typing import Any, Optional, Sequence

import numpy as np

from itkgigapixel.errors import in_a_sentence, names_arguments
from itkgigapixel.files import content_of, path_of, stated_of, with_mask
from itkgigapixel.program import run
from itkgigapixel.slide import Channels, Path, Slide, Window, file_name


@names_arguments
@in_a_sentence()
@with_mask("prediction")
@with_mask("truth")
def evaluate(prediction: Path | np.ndarray, truth: Path | np.ndarray, *, partial: bool = False) -> dict[str, Any]:
    """Compares two masks pixel by pixel: Dice, IoU, sensitivity, specificity and more. Memory does not grow with their rows.

    Every value above 0 is object, of masks with classes (``label(classes=True)``) tissue alone. Volumes of labels are compared label by
    label, with distances of surfaces in mm.

    :param prediction: the mask to judge: its file, or an array (y, x) of bool or uint8
    :param truth: the mask to judge it by, of the same slide, at any resolution
    :param partial: *prediction* covers a part of *truth*, and they are compared there alone
    :returns: the figures by their names, as ``gigapixel evaluate --json`` prints them; None: not defined

    >>> gp.evaluate("slide.mask.tif", "slide.truth.tif")["dice"]
    """
    return run("evaluate", {"partial": partial or ""}, [file_name(prediction), file_name(truth)])


@names_arguments
@in_a_sentence()
@with_mask("mask")
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

    :param mask: of the slide, at any resolution: its file, or an array (y, x) of bool, uint8, uint16 or uint32 that covers the
        slide
    :param slide: its size and resolution count
    :param output: what is written, in place of what stands there
    :param class_name: of the object of a mask without classes (None: Tissue); classes have names of their own, and a name is refused
    :param instances: labels number objects, such as nuclei: each gets one outline, in the order of the labels
    :param origin: where positions of outlines are counted from: "slide", or "bounds", the corner of the scanned area, as QuPath does
    :param slide_mpp: micrometers per pixel of level 0, where a slide says none, or nonsense; None: what a :class:`Slide` was given
    :returns: *output*

    >>> gp.outline("slide.mask.tif", "slide.svs", "slide.geojson", class_name="Tumor")
    """
    options = {"like": path_of(slide), "output": file_name(output), "class": class_name or "", "overwrite": True}
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
    downsample: int = 8,
    origin: str = "slide",
    slide_mpp: Optional[float] = None,
) -> Path:
    """Fills outlines, and writes them as a mask pyramid: 255 where the center of a pixel lies inside, 0 elsewhere.

    :param outlines: GeoJSON (QuPath), or XML of ASAP, ImageScope or HALO, in level-0 pixels
    :param slide: its size and resolution count
    :param output: the mask (``.tif``), in place of what stands there
    :param class_names: only outlines of these classes; of several, the first becomes 1, the second 2 and so on
    :param instances: number the outlines that are drawn, from 1, in 16 or 32 bit
    :param downsample: so many level-0 pixels along each axis make one pixel of the mask
    :param origin: where positions are counted from, as of :func:`outline`
    :param slide_mpp: as of :func:`outline`
    :returns: *output*

    >>> gp.rasterize("slide.geojson", "slide.svs", "slide.truth.tif", class_names=["Tumor"])
    """
    options = {"like": path_of(slide), "output": file_name(output), "downsample": operator.index(downsample), "overwrite": True}
    names = [class_names] if isinstance(class_names, str) else list(class_names)
    options["instances"] = instances or ""
    run("rasterize", {**options, "class": tuple(names), "origin": origin, **_options_of(slide, slide_mpp)}, [file_name(outlines)])
    return output


@names_arguments
@in_a_sentence()
@with_mask("mask")
def overlay(
    slide: Path | Slide,
    mask: Path | np.ndarray,
    output: Path,
    *,
    size: int = 1024,
    partial: bool = False,
    slide_mpp: Optional[float] = None,
    channels: Optional[Channels] = None,
    window: Optional[Window] = None,
) -> Path:
    """Writes a picture of the slide with the mask tinted and outlined; each class of a mask with classes has its color.

    :param slide: or a volume, with labels on its grid
    :param mask: of the slide, at any resolution: its file, or an array (y, x) of bool or uint8 that covers the slide
    :param output: the picture (``.png``), in place of what stands there
    :param size: longer side of the picture in pixels
    :param partial: the mask covers a part of the slide
    :param slide_mpp: micrometers per pixel of level 0, where a slide says none, or nonsense; None: what a :class:`Slide` was given
    :param channels: that are shown, as of :func:`label`
    :param window: as of :func:`label`
    :returns: *output*

    >>> gp.overlay("slide.svs", "slide.mask.tif", "look.png")
    """
    options = {"output": file_name(output), "size": operator.index(size), "partial": partial or "", "overwrite": True}
    options.update(_options_of(slide, slide_mpp), **content_of([slide], channels, window).options())
    run("overlay", options, [path_of(slide), file_name(mask)])
    return output


def _options_of(slide: Path | Slide, slide_mpp: Optional[float]) -> dict[str, Any]:
    mpp, _ = stated_of([slide], slide_mpp)
    return {"slide-mpp": "" if mpp is None else mpp, "image": content_of([slide]).image or ""}
