# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Arguments that come from the program's table of options."""

from __future__ import annotations

import functools
import inspect
import operator
import os
import re
from types import SimpleNamespace
from typing import Callable, Iterable, Sequence, TypeVar

import numpy as np

from itkgigapixel.errors import error_of
from itkgigapixel import option_table
from itkgigapixel.files import content_of, stated_of
from itkgigapixel.option_table import DOCUMENTATION, TABLES, TAKEN
from itkgigapixel.slide_content import file_name


Function = TypeVar("Function", bound=Callable)


def takes_options(function: Function) -> Function:
    """For a function with ``**options``: help and completion show each of them, and one that is none is refused."""
    signature = inspect.signature(function)
    own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
    types = getattr(option_table, "".join(word.capitalize() for word in function.__name__.split("_")) + "Options").__annotations__
    of_table = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=types[name])
        for name, (_, _, default) in TABLES[function.__name__].items()
    ]

    @functools.wraps(function)
    def checked(*args, **kwargs):
        for name in kwargs.keys() - checked.__signature__.parameters.keys():
            raise error_of(TypeError, "E-OPTION-UNKNOWN", f"{function.__name__}() has no argument {name}", option=name)
        # Neither the program nor ITK's classes know NumPy's numbers.
        given = {name: value.item() if isinstance(value, np.generic) else value for name, value in kwargs.items()}
        return function(*args, **given)

    checked.__signature__ = signature.replace(parameters=[*own, *of_table])
    checked.__doc__ = re.sub(r" *\*\*options\n.*", lambda _: DOCUMENTATION[function.__name__], function.__doc__ or "")
    return checked


def take(options: dict, *names: str) -> list:
    """Takes these out of the options; None: not given."""
    return [options.pop(name, None) for name in names]


def complete(function: str, options: dict) -> SimpleNamespace:
    """All options of a function, with the defaults of those that are not given."""
    return SimpleNamespace(**{**{name: default for name, (*_, default) in TABLES[function].items()}, **options})


def set_options(process, function: str, options: dict) -> None:
    """Those that are None stay as they are without the option.

    :param process: the filter that has the properties
    :param function: whose arguments they are
    """
    for name, value in options.items():
        if value is None:
            continue
        _, setter, default = TABLES[function][name]
        if name == "learning_rate" and not value > 0:  # 0 is the network's for the trainer, which a mistake is not to mean
            why = f"learning_rate has to be above 0, not {value}"
            raise error_of(ValueError, "E-OPTION-VALUE", why, "give None for the network's", option=name, value=value)
        if name in _CONVERSIONS:
            value = _CONVERSIONS[name](value)
        elif default == ():
            value = [value] if isinstance(value, str) else list(value)
        elif isinstance(value, (str, bytes, os.PathLike)):
            value = file_name(value)
        elif isinstance(default, bool):
            value = bool(value)
        elif isinstance(default, int) and isinstance(value, float) and value.is_integer():
            value = int(value)
        try:
            getattr(process, f"Set{setter}")(value)
        except (TypeError, OverflowError):  # of SWIG, which names the method of C++
            raise error_of(TypeError, "E-OPTION-VALUE", f"{name} cannot be {value!r}", option=name, value=value) from None


def program_options(function: str, options: dict, slides: Iterable = ()) -> dict:
    """The same for the program; switches that are off, and what holds without the option, are left out.

    :param function: whose arguments they are
    :param slides: those of the call: what a :class:`Slide` was given holds where no argument says it"""
    slides = list(slides)
    own = {name: options.get(name) for name in ("slide_mpp", "channels", "window")}
    own["slide_mpp"], strict = stated_of(slides, own["slide_mpp"])
    content = content_of(slides, own["channels"], own["window"])
    given = {**content.options(), "slide-mpp": own["slide_mpp"], "strict": strict}
    for name, (option, _, default) in TABLES[function].items():
        value = options.get(name)
        is_zero = isinstance(value, (int, float)) and value == 0
        if name in own or value is None or (is_zero and (default == 0 or name in _CONVERSIONS)):
            continue
        if option in _TEXTS:
            value = _TEXTS[option](value)
        elif isinstance(value, (bytes, os.PathLike)):
            value = file_name(value)
        elif isinstance(value, Sequence) and not isinstance(value, str):
            value = tuple(value)
        given[option] = value
    return {name: value for name, value in given.items() if name in TAKEN[function] and value is not None and value is not False and value not in ("", ())}


def _bytes(memory: int | str) -> int:
    if not isinstance(memory, str):
        return memory
    amount = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT]?)i?B?", memory.strip(), re.IGNORECASE)
    if not amount:
        why = f'memory is a number of bytes or a text like "2G" or "512M", not "{memory}"'
        raise error_of(ValueError, "E-OPTION-VALUE", why, option="memory", value=memory)
    return int(float(amount[1]) * 1024 ** "_KMGT".index(amount[2].upper() or "_"))


def _tile_size(side: int | str) -> int:
    if side == "image":
        return -1
    if isinstance(side, str) or side < 0:
        why = f'a tile has a side of so many pixels, 0 for what is fitting, or is the "image", not {side!r}'
        raise error_of(ValueError, "E-OPTION-VALUE", why, option="tile_size", value=side)
    return side


_CONVERSIONS = {"memory": _bytes, "tile_size": _tile_size}


def _numbers(values: Sequence[float]) -> str:
    return ",".join(repr(float(each)) for each in values)


def _integers(values: Sequence[int], separator: str = ",") -> str:
    return separator.join(str(operator.index(each)) for each in values)


def _names(names: str | Iterable[str]) -> str | tuple[str, ...]:
    return names if isinstance(names, str) else tuple(names)


#: Of what the program takes as one text; names of files that were not checked on the way here.
_TEXTS = {"class": _names, "tissue": file_name, "hints": file_name, "slides": file_name, "region": _integers, "size": lambda sides: _integers(sides, "x"), "mean": _numbers, "deviation": _numbers}
