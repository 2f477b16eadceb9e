# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""PyTorch and xarray are imported when they are used. ITK's libraries do it when they are loaded, which takes seconds and 800 MB."""

import functools
from typing import Callable

import itk.support.helpers


def _at_first_call(decorate: Callable) -> Callable:
    """A decorator that does its work when the function is called."""

    def decorate_later(function: Callable) -> Callable:
        @functools.lru_cache(1)
        def decorated() -> Callable:
            return decorate(function)

        @functools.wraps(function)
        def called(*args, **kwargs):
            return decorated()(*args, **kwargs)

        return called

    return decorate_later


def import_at_first_call() -> None:
    """For ITK's functions that take tensors and xarrays in place of images, in libraries that are loaded from now on."""
    itk.support.helpers.accept_array_like_xarray_torch = _at_first_call(itk.support.helpers.accept_array_like_xarray_torch)
