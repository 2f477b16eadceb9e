# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""What takes long: a bar for it, and Ctrl-C."""

import contextlib

import itk


def _tqdm(description: str):
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm(total=100, desc=description, unit="%", bar_format="{l_bar}{bar}| {elapsed}<{remaining}{postfix}")


@contextlib.contextmanager
def running(process, description: str, show: bool):
    """For a block that updates an ITK process object: Ctrl-C stops it at its next progress event, and where *show* is
    true and tqdm is installed, a bar follows it, which is what the block gets."""
    shown = _tqdm(description) if show else None
    interrupts = []

    def follow():
        try:
            if shown is not None:
                shown.update(max(round(100 * process.GetProgress()) - shown.n, 0))
        except KeyboardInterrupt as interrupt:  # ITK would print it and say that an observer failed
            interrupts.append(interrupt)
            process.AbortGenerateDataOn()

    tag = process.AddObserver(itk.ProgressEvent(), follow)
    try:
        yield shown
        if shown is not None:
            shown.update(100 - shown.n)
    except RuntimeError:
        if interrupts:
            raise KeyboardInterrupt from None
        raise
    finally:
        process.RemoveObserver(tag)
        if shown is not None:
            shown.close()
