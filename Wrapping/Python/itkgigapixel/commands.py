# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Commands of the program ``gigapixel``, run in this process by the library that the program is made of."""

from __future__ import annotations

import contextlib
import functools
import importlib
import json
import os
import threading
import urllib.parse
from typing import Any

import numpy as np

from itkgigapixel.errors import MESSAGES, error_of, error_of_fields, text_of, warn
from itkgigapixel.progress import bar, command_at_work
from itkgigapixel.temporary import name_arguments

_turn = threading.Lock()  # a process runs one command at a time


def _renew_turn() -> None:
    """In a forked process nobody ends what another thread ran when it was forked."""
    global _turn
    _turn = threading.Lock()


os.register_at_fork(after_in_child=_renew_turn)


@functools.lru_cache(1)
def _library():
    # With the reader of slides, ITK's counters, factories and windows are those of the itk package.
    importlib.import_module("itkgigapixel.slide_reader")
    from itkgigapixel import application
    from itkgigapixel.engine import require_torch

    application.set_torch_finder(require_torch)
    return application


def run(command: str, options: dict, names: list[str], progress: bool = False):
    """What a command tells with ``--json``.

    :param options: by their names, switches True; those that are "" or False are left out, and a tuple is given word by word
    :param progress: show a tqdm bar
    :returns: of several files a list, in which those that failed have an "error" where others did not
    :raises GigapixelError: its first error, where nothing succeeded; its warnings are Python's
    """
    given = [(name, value) for name, values in options.items() for value in (values if isinstance(values, tuple) else (values,))]
    given = [(name, bool(value) if isinstance(value, np.bool_) else value) for name, value in given]
    words = [f"--{name}" if value is True else f"--{name}={value}" for name, value in given if value is not False and value != ""]
    for word in (*words, *names):
        if "\0" in word:  # C++ would cut it there
            raise error_of(ValueError, "E-OPTION-VALUE", f"{word!r} has a zero byte in it", "leave it out")
    library = _library()
    results: list = []
    diagnostics: list = []
    shown = bar(command) if progress else None

    def hear(kind: str, text: str, fraction: float) -> None:
        if kind == "progress":
            if shown is not None:
                _show(shown, text.rpartition(": ")[0], round(100 * fraction))
        elif kind == "message":
            MESSAGES.info("%s", name_arguments(text))
        else:
            (results if kind == "result" else diagnostics).append(json.loads(text))

    with contextlib.closing(shown) if shown is not None else contextlib.nullcontext():
        with command_at_work(library, _turn) as heeds_signals:
            code = library.run_command(command, [os.fsencode(word) for word in (*words, "--", *names)], hear, heeds_signals)
    result = _with_names(results[-1]) if results else None
    rows = [row for row in (result if isinstance(result, list) else [result]) if isinstance(row, dict)]
    told = [warning for row in rows for warning in row.get("warnings") or ()]
    texts = [text_of(warning) for warning in told]
    # Some show only while pixels are read, such as damage.
    told += [each for each in diagnostics if each["code"].startswith("W-") and text_of(each) not in texts]
    for warning in told:
        warn(warning)
    errors = [row["error"] for row in rows if row.get("error")]
    if code != 0 and not (isinstance(result, list) and 0 < len(errors) < len(rows)):
        raise error_of_fields(errors[0] if errors else {"code": "E-OTHER", "why": f"the command {command} failed"})
    return result


def _with_names(told: Any) -> Any:
    """Names that are not UTF-8 as Python has them, see ``os.fsdecode``. In JSON they are "bytes:" and numbers of bytes. Arguments
    in place of the files that stand for them."""
    if isinstance(told, dict):
        return {name: _with_names(each) for name, each in told.items()}
    if isinstance(told, list):
        return [_with_names(each) for each in told]
    if not isinstance(told, str):
        return told
    is_spelled = told.startswith("bytes:")
    return os.fsdecode(urllib.parse.unquote_to_bytes(told.removeprefix("bytes:"))) if is_spelled else name_arguments(told)


def _show(shown, title: str, percent: int) -> None:
    """A bar for each piece of work, such as a slide. Filters that stream begin anew for a strip, and a bar that goes back tells nothing."""
    if shown.desc != f"{title}: ":
        shown.reset()
        shown.set_description(title)
    shown.update(max(percent - shown.n, 0))
