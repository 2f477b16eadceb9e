# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Errors of ITK without what only its developers understand."""

import contextlib
import functools
import re
import warnings
from typing import Callable, TypeVar

Function = TypeVar("Function", bound=Callable)

#: the line of the sources, and the address of the object
_PLACE = re.compile(r"\A(?:[^\n]+:\d+:\n)?\s*(?:(?:ITK ERROR|itk::ERROR): \w+\(0x[0-9a-f]+\): )?")


@contextlib.contextmanager
def in_a_sentence():
    """A RuntimeError out of the block begins with what is wrong."""
    try:
        yield
    except RuntimeError as error:
        error.args = (_PLACE.sub("", str(error)).rstrip(),)
        raise


def without(**arguments: str) -> Callable[[Function], Function]:
    """For functions that earlier versions gave such arguments: what to say in their place."""

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def checked(*args, **kwargs):
            for name in arguments.keys() & kwargs.keys():
                raise TypeError(f"{function.__name__}() has no argument {name} any more: {arguments[name]}")
            return function(*args, **kwargs)

        return checked

    return decorate


def renamed(**names: str) -> Callable[[Function], Function]:
    """For functions whose arguments had other names, old=new: those go on, with a FutureWarning."""

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def named(*args, **kwargs):
            for old in names.keys() & kwargs.keys():
                if names[old] in kwargs:
                    raise TypeError(f"{function.__name__}() has been given {names[old]} and {old}, its former name")
                warnings.warn(f"The argument {old} of {function.__name__}() is named {names[old]} now", FutureWarning, stacklevel=2)
                kwargs[names[old]] = kwargs.pop(old)
            return function(*args, **kwargs)

        return named

    return decorate


#: what took the place of strategies
NO_STRATEGY = 'tile_size="image" takes images in one piece ("whole"), shared_memory=True from memory that CPU and GPU share ("unified"); without both they go through in tiles ("streamed")'
#: what took the place of a folder of decoded pixels
NO_CACHE = "convert slides that decode slowly into pyramids that do not (itkgigapixel.convert), and train on those"
