# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Errors of ITK without what only its developers understand."""

import contextlib
import re

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
