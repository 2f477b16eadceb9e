# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""What masks and other results hold: a table of all components, and a page of HTML on all slides."""

from __future__ import annotations

import contextlib
import csv
import os
import pathlib
from typing import Optional, Sequence, Unpack

import numpy as np

from itkgigapixel.commands import run
from itkgigapixel.errors import error_of, in_a_sentence, names_arguments, renamed
from itkgigapixel.files import path_of, write_mask
from itkgigapixel.option_table import MeasureOptions, ReportOptions
from itkgigapixel.options import program_options, takes_options
from itkgigapixel.slide import Slide
from itkgigapixel.slide_content import Path, file_name, list_of
from itkgigapixel.temporary import temporary_folder


@names_arguments
@in_a_sentence()
@takes_options
def measure(
    masks: Path | np.ndarray | Sequence[Path],
    slide: Optional[Path | Slide] = None,
    output: Optional[Path] = None,
    **options: Unpack[MeasureOptions],
) -> list[dict[str, float | int | str | None]]:
    """Size and shape of each connected component of masks, and its colors in the slide. ``pandas.DataFrame(rows)`` makes a table of it.

    It is the command ``gigapixel measure``. Figures are those of
    scikit-image's ``regionprops``. Memory does not grow with the rows of a mask.

    Parameters
    ----------
    masks : path-like, sequence of path-like, or array of shape (y, x)
        A mask's file, several, or a folder of them (``*.pyramid.tif``); or an array (y, x) of bool or of
        integers.
    slide : path-like or Slide, optional
        The slide under the mask, or the folder of the masks' slides. None: colors are not measured.
    output : path-like, optional
        A table (``.csv``) to write as well, in place of what stands there; the mask of an array is called ``array`` in it.
    **options
        What a component is, and what is measured of the slide.

    Returns
    -------
    list of dict
        A row for each component of each label, and one for all of a label (``component`` 0): by the names of the table's
        columns. None: not known.

    Raises
    ------
    GigapixelError
        What cannot be read or written; of several masks only where all fail.
    ValueError
        An argument out of its range.

    Examples
    --------
    >>> rows = gp.measure("slide.mask.pyramid.tif", "slide.svs")
    >>> pandas.DataFrame(rows)
    """
    slides = [] if slide is None else [slide]
    given = program_options("measure", options, slides)
    with temporary_folder() as folder:
        table = pathlib.Path(folder, "table.csv") if output is None else pathlib.Path(file_name(output))
        names = [write_mask(masks, folder, "masks", takes_labels=True)] if isinstance(masks, np.ndarray) else _names_of(masks, "masks")
        run("measure", {**given, "slide": path_of(slide) if slides else "", "output": table, "overwrite": True}, names)
        if isinstance(masks, np.ndarray):
            table.write_bytes(table.read_bytes().replace(os.fsencode(names[0]), b"array"))
        with open(table, newline="", encoding="utf-8", errors="surrogateescape") as file:  # as Python has names that are not UTF-8
            rows = [{name: _value_of(text, name) for name, text in row.items()} for row in csv.DictReader(file)]
    return [{**row, "mask": None} for row in rows] if isinstance(masks, np.ndarray) else rows


@renamed(size="picture_size")
@names_arguments
@in_a_sentence()
@takes_options
def report(results: Path | Sequence[Path], output: Path, **options: Unpack[ReportOptions]) -> Path:
    """One page of HTML on a batch of slides: pictures with masks, areas, doubts, probabilities, curves and figures.

    It is the command ``gigapixel report``. The page needs no network. Above
    40 MB its pictures lie in a folder beside it, which is warned of, and so is what the results do not hold.

    Parameters
    ----------
    results : path-like or sequence of path-like
        Folders of masks and results, runs, tables with a column ``slide``, results of ``--json``; one of them, or several.
    output : path-like
        The page (``.html``), in place of what stands there.
    **options
        What the page shows of slides.

    Returns
    -------
    path-like
        *output*.

    Raises
    ------
    GigapixelError
        What cannot be read or written.
    ValueError
        An argument out of its range.

    Examples
    --------
    >>> gp.report("masks", "report.html", slides="slides")
    'report.html'
    """
    run("report", {**program_options("report", options), "output": file_name(output), "overwrite": True}, _names_of(results, "results"))
    return output


def _names_of(files: Path | Sequence[Path], option: str) -> list[str]:
    names = [file_name(each) for each in ([files] if isinstance(files, (str, bytes, os.PathLike)) else list_of(files, option))]
    if not names:
        raise error_of(ValueError, "E-OPTION-MISSING", "there is no file", "name one", option=option)
    return names


#: columns of texts
_TEXTS = ("mask", "slide", "class")


def _value_of(text: str, column: str) -> float | int | str | None:
    if text == "" or column in _TEXTS:
        return text or None
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text
