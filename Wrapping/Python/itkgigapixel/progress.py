# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""What takes long: a bar for it, and Ctrl-C."""

import contextlib
import signal
import threading

import itk


def _tqdm(description: str):
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm(total=100, desc=description, unit="%", bar_format="{l_bar}{bar}| {elapsed}<{remaining}{postfix}")


@contextlib.contextmanager
def _interruptible(process):
    """Ctrl-C becomes an abort of the process object, then KeyboardInterrupt. Python's own way, an exception out of an
    observer, would be printed by ITK and end as a RuntimeError that says nothing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    interrupted = []

    def abort(*_):
        interrupted.append(True)
        process.AbortGenerateDataOn()

    before = signal.signal(signal.SIGINT, abort)
    try:
        yield
    except RuntimeError:
        if not interrupted:
            raise
    finally:
        signal.signal(signal.SIGINT, before)
    if interrupted:
        raise KeyboardInterrupt


@contextlib.contextmanager
def running(process, description: str, show: bool):
    """For a block that updates an ITK process object: Ctrl-C stops it at its next progress event, and where *show* is
    true and tqdm is installed, a bar follows it, which is what the block gets."""
    shown = _tqdm(description) if show else None

    def follow():  # without a bar as well: Python hears of Ctrl-C when it runs
        if shown is not None:
            shown.update(max(round(100 * process.GetProgress()) - shown.n, 0))

    tag = process.AddObserver(itk.ProgressEvent(), follow)
    try:
        with _interruptible(process):
            yield shown
        if shown is not None:
            shown.update(100 - shown.n)
    finally:
        process.RemoveObserver(tag)
        if shown is not None:
            shown.close()
