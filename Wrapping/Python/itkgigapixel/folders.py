# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Folders in place of a slide: all slides directly in them, as the program takes them."""

from __future__ import annotations

import os
from typing import Callable, Optional

from itkgigapixel.commands import run
from itkgigapixel.errors import GigapixelError, error_of
from itkgigapixel.slide import Slide
from itkgigapixel.slide_content import Path, file_name

_FIELDS = ("code", "file", "option", "value", "why", "do")


def is_folder(slide: Path | Slide) -> bool:
    return isinstance(slide, (str, bytes, os.PathLike)) and os.path.isdir(slide)


def _folder(output: Optional[Path]) -> str:
    """:raises ValueError: none was given"""
    if output is None:
        why = "the slides of a folder need a folder for their results"
        raise error_of(ValueError, "E-OPTION-NEEDS", why, "name one as the output", option="output")
    return os.path.join(file_name(output), "")


def run_in_folder(command: str, folder: Path, output: Optional[Path], options: dict, progress: bool = False) -> list[dict]:
    """What the program makes of the folder: results that are there already stay, and a manifest tells how they were made.

    :param options: by the program's names; False and None: not given
    :returns: what ``--json`` says of each slide, with an "error" where it failed"""
    given = {name: "" if value is None or value is False else value for name, value in options.items()}
    if command == "convert":
        return _list(run(command, given, [file_name(folder), _folder(output)], progress))
    return _list(run(command, {"output": _folder(output), **given}, [file_name(folder)], progress))


def _list(rows) -> list[dict]:
    return rows if isinstance(rows, list) else [rows]


def call_in_folder(function: Callable[[str, str], dict], folder: Path, output: Optional[Path], ending: str) -> list[dict]:
    """What a function makes of each slide, as the program tells it; results are written anew.

    :param function: takes the names of the slide and of its result
    :raises GigapixelError: the first one, where all fail"""
    target, rows, errors = _folder(output), [], []
    os.makedirs(target, exist_ok=True)
    for row in _list(run("info", {}, [file_name(folder)])):
        if not row.get("error"):
            stem = os.path.splitext(os.path.basename(row["slide"]))[0].removesuffix(".pyramid").removesuffix(".ome")
            try:
                row = function(row["slide"], os.path.join(target, stem + ending))
            except GigapixelError as error:
                errors.append(error)
                row = {"slide": row["slide"], "error": {name: getattr(error, name) for name in _FIELDS}}
        rows.append(row)
    if errors and all(row.get("error") for row in rows):
        raise errors[0]
    return rows
