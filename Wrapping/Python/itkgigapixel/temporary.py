# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Folders that last as long as a block."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import shutil
import tempfile
from typing import Iterator, Mapping, Optional


@contextlib.contextmanager
def temporary_folder(prefix: Optional[str] = None, dir: Optional[os.PathLike] = None) -> Iterator[str]:
    """As Python's TemporaryDirectory. But a process that is forked meanwhile leaves the folder alone when it ends: what its parent
    writes there would be lost."""
    folder = tempfile.mkdtemp(prefix=prefix, dir=dir)
    remove = functools.partial(_remove, folder, os.getpid())
    atexit.register(remove)
    try:
        yield folder
    finally:
        atexit.unregister(remove)
        remove()


def _remove(folder: str, process: int) -> None:
    for file in [file for file in _arguments if os.path.dirname(file) == folder]:
        del _arguments[file]
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


_arguments: dict[str, str] = {}  # by the file that stands for it


def stand_in(file: str, argument: str) -> str:
    """A file in a temporary folder for what an argument holds in memory. Errors and warnings name the argument, as nobody else
    knows the file.

    :returns: the file"""
    _arguments[file] = argument
    return file


def with_arguments(fields: Mapping) -> dict:
    """The fields of an error or a warning, with arguments in place of their files."""
    named = {name: name_arguments(text) if isinstance(text, str) else text for name, text in fields.items()}
    argument = _arguments.get(fields.get("file") or "")
    return named if argument is None else {**named, "file": None, "option": argument}


def name_arguments(text: str) -> str:
    """A text with arguments in place of their files."""
    for file, argument in list(_arguments.items()):
        text = text.replace(file, argument)
    return text
