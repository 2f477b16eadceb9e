# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""What takes long: a bar for it, and Ctrl-C."""

import atexit
import contextlib
import signal
import threading
import warnings

import itk

from itkgigapixel.errors import in_a_sentence


def _tqdm(description: str):
    try:
        from tqdm.auto import tqdm
    except ImportError:
        warnings.warn("No bar is shown, as tqdm is not installed: pip install tqdm", stacklevel=2)
        return None
    return tqdm(
        total=100,
        desc=description,
        unit="%",
        bar_format="{l_bar}{bar}| {elapsed}<{remaining}{postfix}",
    )


_at_work: list = []  # process objects that are updated now, in whatever thread
_idle = threading.Condition()
_ending = False


@atexit.register
def _stop_all() -> None:
    """A thread that Python does not wait for would come back from C++ to an interpreter that is gone, and end the process
    with an abort: what runs is stopped, and waited for, while Python is still there."""
    global _ending
    with _idle:
        _ending = True
        for process in _at_work:
            process.AbortGenerateDataOn()
        _idle.wait_for(lambda: not _at_work, timeout=10)


@contextlib.contextmanager
def _counted(*processes):
    _stay_when_python_ends()
    with _idle:
        _at_work.extend(processes)
    try:
        yield
    finally:
        with _idle:
            for process in processes:
                _at_work.remove(process)
            _idle.notify_all()
        _stay_when_python_ends()


def _stay_when_python_ends() -> None:
    """Keeps a thread that nobody waits for from beginning something else."""
    if _ending and threading.current_thread().daemon:
        threading.Event().wait()


@contextlib.contextmanager
def _interruptible(*processes):
    """Ctrl-C becomes an abort of the process objects, then KeyboardInterrupt. Python's own way, an exception out of an
    observer, would be printed by ITK and end as a RuntimeError that says nothing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    interrupted = []

    def abort(*_):
        interrupted.append(True)
        for process in processes:
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
def running(process, description: str, show: bool, source=None):
    """For a block that updates an ITK process object: Ctrl-C stops it at its next progress event, and where *show* is
    true and tqdm is installed, a bar follows it, which is what the block gets.

    :param source: what the process object gets its pixels from, where it tells of itself only when it has them all (a
        writer of a file that is not streamed), and would hear of Ctrl-C no earlier"""
    shown = _tqdm(description) if show else None

    def follow():  # without a bar as well: Python hears of Ctrl-C when it runs
        if shown is not None:
            shown.update(max(round(100 * process.GetProgress()) - shown.n, 0))

    heard = [(process, follow)]
    if source is not None:
        heard.append((source, lambda: None))
    tags = [(each, each.AddObserver(itk.ProgressEvent(), call)) for each, call in heard]
    try:
        processes = [each for each, _ in heard]
        with in_a_sentence(), _counted(*processes), _interruptible(*processes):
            yield shown
        if shown is not None:
            shown.update(100 - shown.n)
    finally:
        for each, tag in tags:
            each.RemoveObserver(tag)
        if shown is not None:
            shown.close()
