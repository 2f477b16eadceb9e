# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""A bar for what takes long."""

import contextlib

import itk


@contextlib.contextmanager
def bar(process, description: str, show: bool):
    """While the block runs, the progress of an ITK process object as a tqdm bar, if *show* and tqdm is installed."""
    if not show:
        yield None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        yield None
        return
    with tqdm(total=100, desc=description, unit="%", bar_format="{l_bar}{bar}| {elapsed}<{remaining}{postfix}") as shown:

        def follow():
            shown.update(max(round(100 * process.GetProgress()) - shown.n, 0))

        tag = process.AddObserver(itk.ProgressEvent(), follow)
        try:
            yield shown
            shown.update(100 - shown.n)
        finally:
            process.RemoveObserver(tag)
