# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""What networks that label images say of whole slides."""

from __future__ import annotations

import os
import pathlib
from typing import Any, NamedTuple, Optional, Sequence, Unpack

import itk

from itkgigapixel.commands import run
from itkgigapixel.engine import file_of_model
from itkgigapixel.errors import GigapixelError, argument_of, error_of, error_of_fields, names_arguments, renamed, warn
from itkgigapixel.files import with_mask
from itkgigapixel.option_table import ClassifyOptions
from itkgigapixel.options import program_options, takes_options
from itkgigapixel.progress import interruptible
from itkgigapixel.slide import Slide
from itkgigapixel.slide_content import Path, file_name, list_of
from itkgigapixel.temporary import temporary_folder


class Classification(NamedTuple):
    """What a model says of one slide."""

    slide: str
    predicted: str | list[str] | None  #: the most probable class, or the grade; the findings that are there; else None
    probabilities: dict[str, float]  #: of each class, finding or grade, in the model's order; exclusive classes and grades sum to 1
    map: object = None  #: what the label comes from, an ITK image of floats in mm, where it was asked for
    values: dict[str, float] = {}  #: of a model that says values
    error: Optional[GigapixelError] = None  #: why there is nothing of all that: the slide failed, and others did not


class Classifications(list[Classification]):
    """What a model says of several slides, in their order: a :class:`Classification` for each, also for those that failed."""

    @property
    def failures(self) -> list[GigapixelError]:
        """The errors of the slides that failed, each with the slide as its ``file``."""
        return [each.error for each in self if each.error is not None]


@renamed(mpp="slide_mpp")
@names_arguments
@with_mask("tissue")
@interruptible()
@takes_options
def classify(
    slides: Path | Slide | Sequence[Path | Slide],
    model: Path | itk.GigapixelModel,
    *,
    maps: bool = False,
    progress: bool = False,
    **options: Unpack[ClassifyOptions],
) -> Classification | Any:
    """Classifies whole slides with a network that was trained on slide-level labels.

    The model gives classes and their probabilities, exactly, in the memory that you allow. Or it gives what else it was
    trained for: findings, a grade, values, or the probabilities of surviving until given times. It is the command
    ``gigapixel classify``.

    Parameters
    ----------
    slides : path-like, Slide or sequence of these
        A slide, several, or a folder of them.
    model : itk.GigapixelModel or path-like
        What :func:`train` returned of slides with labels, a model file, or the folder of a run (its best model).
    maps : bool, default False
        Say also what each label comes from: attention, of networks that pool by it, else the activation of a class
        (grad-CAM); takes twice the time.
    progress : bool, default False
        Show a tqdm bar.
    **options
        What is said beside the label, and how it is computed.

    Returns
    -------
    Classification or list of Classification
        A :class:`Classification` of the slide, or of several a list, in the order of the slides. Of several, one that fails
        has an ``error``, a warning says so, and ``failures`` of the list has all errors.

    Raises
    ------
    GigapixelError
        A slide or model that cannot be read, or does not suit the other; of several slides only where all fail.
    TypeError
        The *model* is none.
    ValueError
        There is no slide, or several state different resolutions or images.

    Examples
    --------
    >>> gp.classify("slide.svs", "labels-run").probabilities
    {'normal': 0.08, 'tumor': 0.92}
    """
    is_one = isinstance(slides, (str, bytes, os.PathLike, Slide))
    given = [slides] if is_one else list_of(slides, "slides")
    names = [each.path if isinstance(each, Slide) else file_name(each) for each in given]
    if not names:
        raise error_of(ValueError, "E-OPTION-MISSING", "there is no slide to classify", option="slides")
    own = program_options("classify", options, given)
    with temporary_folder() as folder:
        own["model"] = file_of_model(model, folder)
        own["output"] = pathlib.Path(folder) / "predictions.csv"
        own["maps"] = pathlib.Path(folder) / "maps" if maps else ""
        told = run("classify", own, names, progress)
        rows = [told] if isinstance(told, dict) else told
        images = [_read_map(row["map"]) if maps and not row.get("error") else None for row in rows]
    found = Classifications(
        Classification(row["slide"], row.get("predicted"), row.get("probabilities", {}), image, row.get("values", {}), _error_of(row))
        for row, image in zip(rows, images)
    )
    for error in found.failures:
        warn({"code": "W-SLIDE-FAILED", "file": error.file, "why": f"it failed, and other slides did not: {error.why}", "do": error.do})
    return found[0] if is_one and isinstance(told, dict) else found


def _error_of(row) -> Optional[GigapixelError]:
    if not row.get("error"):
        return None
    fields = {**row["error"], "file": row["error"].get("file") or row["slide"]}
    return error_of_fields({**fields, "option": argument_of(fields.get("option"), classify)})


def _read_map(told):
    """Where it lies on the slide: the file's own resolution may be coarser than those of slides are, and count as unknown."""
    # itk.imread of a type of pixels asks ITK's own reader of TIFF first, which refuses them.
    reader = itk.ImageFileReader[itk.Image[itk.F, 2]].New(FileName=told["file"], ImageIO=itk.WholeSlideImageIO.New())
    reader.Update()
    image = reader.GetOutput()
    image.SetSpacing(told["spacing"])
    image.SetOrigin(told["origin"])
    return image
