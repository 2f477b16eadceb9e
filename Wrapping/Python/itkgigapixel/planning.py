# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""What training and inference will take, before anything is started."""

from __future__ import annotations

from typing import Any, Optional, Unpack

from itkgigapixel.commands import run
from itkgigapixel.engine import file_of_model
from itkgigapixel.errors import error_of, in_a_sentence, names_arguments
from itkgigapixel.files import path_of
from itkgigapixel.option_table import PlanOptions
from itkgigapixel.options import program_options, takes_options
from itkgigapixel.slide import Slide
from itkgigapixel.slide_content import Path
from itkgigapixel.temporary import temporary_folder


@names_arguments
@in_a_sentence()
@takes_options
def plan(
    slide: Optional[Path | Slide] = None,
    network: Any = "unet",
    **options: Unpack[PlanOptions],
) -> dict[str, Any]:
    """Plans what training and inference will take on this machine: memory and tiles, and time where it is asked for.

    It is the command ``gigapixel plan``.

    Parameters
    ----------
    slide : path-like or Slide, optional
        A slide, or a volume for a network for volumes. None: *size* is given.
    network : str, path-like or itk.GigapixelModel, default "unet"
        A preset, the path of a JSON file, or a model.
    **options
        What training leaves as it is, whether inference sees patches, and how both are computed.

    Returns
    -------
    dict
        The figures by their names, as ``gigapixel plan --json`` prints them; ``plans`` has a row for each way of computing.

    Raises
    ------
    GigapixelError
        What cannot be read; a network that does not take the image.
    ValueError
        An argument out of its range.

    Examples
    --------
    >>> rows = gp.plan("slide.svs", "run", memory="2G")["plans"]
    >>> [row["peakBytes"] for row in rows if row["purpose"] == "training" and row["fits"]]
    """
    if slide is not None and options.get("size"):
        raise error_of(ValueError, "E-OPTION-CONFLICT", "a slide has its own size", "give one of them", option="size")
    slides = [] if slide is None else [slide]
    with temporary_folder() as folder:
        given = {"network": file_of_model(network, folder), **program_options("plan", options, slides)}
        return run("plan", given, [path_of(each) for each in slides])
