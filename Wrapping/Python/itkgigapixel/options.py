# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Arguments that come from the program's table of options."""

from __future__ import annotations

import functools
import inspect
import os

from itkgigapixel.errors import error_of
from itkgigapixel.learning import DOCUMENTATION, TABLE, LearningOptions
from itkgigapixel.slide import file_name


def takes_options(function):
    """For a function with ``**options``: help and completion show each of them, and one that is none is refused."""
    signature = inspect.signature(function)
    own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
    learning = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=LearningOptions.__annotations__[name])
        for name, (_, default) in TABLE.items()
    ]

    @functools.wraps(function)
    def checked(*args, **kwargs):
        for name in kwargs.keys() - checked.__signature__.parameters.keys():
            raise error_of(TypeError, "E-OPTION-UNKNOWN", f"{function.__name__}() has no argument {name}", option=name)
        return function(*args, **kwargs)

    checked.__signature__ = signature.replace(parameters=[*own, *learning])
    checked.__doc__ = (function.__doc__ or "").replace("    :param options: how the network learns", DOCUMENTATION)
    return checked


def set_options(trainer, options: LearningOptions) -> None:
    """Those that are None stay as they are without the option."""
    for name, value in options.items():
        if value is None:
            continue
        if name == "learning_rate" and not value > 0:  # 0 is the network's for the trainer, which a mistake is not to mean
            why = f"learning_rate has to be above 0, not {value}"
            raise error_of(ValueError, "E-OPTION-VALUE", why, "give None for the network's", option=name, value=value)
        if TABLE[name][1] == ():
            value = [value] if isinstance(value, str) else list(value)
        elif isinstance(value, (str, os.PathLike)):
            value = file_name(value)
        getattr(trainer, f"Set{TABLE[name][0]}")(value)
