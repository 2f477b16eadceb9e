# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Folders that last as long as a block."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import shutil
import tempfile
from typing import Iterator, Optional


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
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
