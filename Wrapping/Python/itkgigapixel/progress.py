# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""What takes long: a bar for it, and Ctrl-C."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import threading
from typing import Callable

import itk

from itkgigapixel.errors import error_of, in_a_sentence, warn


def bar(description: str, total: int = 100, unit: str = "%"):
    """A bar with the time left, or None, with a warning, where tqdm is not installed."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        why = "no bar is shown, as tqdm is not installed"
        warn({"code": "W-OPTION-NO-EFFECT", "option": "progress", "why": why, "do": "install it (pip install tqdm)"})
        return None
    return tqdm(
        total=total,
        desc=description,
        unit=unit,
        bar_format="{l_bar}{bar}| {elapsed}<{remaining}{postfix}",
    )


_at_work: list = []  # process objects that are updated now, each with its thread
_idle = threading.Condition()
_ending = False


def _forget_other_threads() -> None:
    """A forked process has none of them: it would wait in vain for what they run, or for a lock that one of them held."""
    global _idle
    _idle = threading.Condition()
    _at_work[:] = [(thread, process) for thread, process in _at_work if thread == threading.get_ident()]


os.register_at_fork(after_in_child=_forget_other_threads)


@atexit.register
def _stop_all() -> None:
    """A thread that Python does not wait for would come back from C++ to an interpreter that is gone, and end the process
    with an abort: what runs is stopped, and waited for, while Python is still there."""
    global _ending
    with _idle:
        _ending = True
        for _, process in _at_work:
            process.AbortGenerateDataOn()
        _idle.wait_for(lambda: not _at_work, timeout=10)


@contextlib.contextmanager
def _counted(*processes):
    _stay_when_python_ends()
    entries = [(threading.get_ident(), process) for process in processes]
    with _idle:
        _at_work.extend(entries)
    try:
        yield
    finally:
        with _idle:
            for entry in entries:
                _at_work.remove(entry)
            _idle.notify_all()
        _stay_when_python_ends()


def _stay_when_python_ends() -> None:
    """Keeps a thread that nobody waits for from beginning something else."""
    if _ending and threading.current_thread().daemon:
        threading.Event().wait()


_signals: list = []  # Ctrl-C since the main thread entered interruptible()
_stoppable: list = []  # process objects of the main thread that Ctrl-C stops


def _stop() -> None:
    for process in _stoppable:
        process.AbortGenerateDataOn()


def _remember(*what) -> None:
    _signals.append(what)
    _stop()


@contextlib.contextmanager
def interruptible():
    """For what a function of this package does, from its first line to its last: Ctrl-C stops the process object that is
    at work, and becomes KeyboardInterrupt where nothing can drop it. Errors have a code, see :func:`in_a_sentence`.

    Python's own way raises an exception in whatever runs at that moment. Much of that is called out of C, which cannot
    pass it on: out of an observer it would be printed by ITK, and end as a RuntimeError that says nothing. And while a
    wrapped library is loaded it would be lost: the library looks for another in the module ``itk``, whose attributes are
    looked up by Python code, and CPython clears what is raised there (``import_ensure_initialized``), so that a signal
    that came while the library was mapped did nothing at all."""
    before = signal.getsignal(signal.SIGINT) if threading.current_thread() is threading.main_thread() else None
    if before not in (None, _remember):  # another thread, or within another of these
        _signals.clear()
    if before is _remember or not callable(before):  # nobody listens to Ctrl-C here
        with in_a_sentence():
            yield
        return
    signal.signal(signal.SIGINT, _remember)
    finished = False
    try:
        with in_a_sentence():
            yield
        finished = True
    except Exception:
        if not _signals:
            raise
    finally:
        signal.signal(signal.SIGINT, before)
    if _signals:
        before(*_signals[0])
        if not finished:  # a handler that raises nothing: what was asked for is not there, but what is done is not lost
            raise KeyboardInterrupt


@contextlib.contextmanager
def _stopped_by_ctrl_c(*processes):
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    if _signals and signal.getsignal(signal.SIGINT) is _remember:
        raise KeyboardInterrupt
    _stoppable.extend(processes)
    try:
        yield
    finally:
        del _stoppable[-len(processes) :]


class _Command:
    """A command, as what is stopped like a process object of ITK."""

    def __init__(self, library):
        self.AbortGenerateDataOn = library.request_interruption


@contextlib.contextmanager
def command_at_work(library, turn: threading.Lock):
    """For a block that runs a command of the program: it waits for its turn, and is asked to stop when Python ends.

    Ctrl-C is heard by the command itself in the main thread, which the block gets to know as True. The command hands the
    signal on to Python when it has stopped.

    :raises GigapixelError: this thread runs one, and would wait for itself"""
    command = _Command(library)
    with interruptible():
        if any(thread == threading.get_ident() and isinstance(process, _Command) for thread, process in _at_work):
            why = "a command runs in this thread, and a handler of its messages or of signals begins another"
            raise error_of(RuntimeError, "E-CALL-ORDER", why, "let the handler return first")
        while not turn.acquire(timeout=0.1):
            if _signals and threading.current_thread() is threading.main_thread():
                raise KeyboardInterrupt
        try:
            with _counted(command), _stopped_by_ctrl_c(command):
                yield threading.current_thread() is threading.main_thread()
        finally:
            library.forget_interruption()  # not before: what was asked while the command began counts
            turn.release()


def _observe(process, call: Callable[[], None]) -> int:
    """Has a process object call at each progress event. One of ``itk`` loads ITK's wrapped libraries for it; our reader does not."""
    ours = getattr(process, "AddProgressObserver", None)
    return process.AddObserver(itk.ProgressEvent(), call) if ours is None else ours(call)


@contextlib.contextmanager
def running(process, description: str, show: bool, source=None):
    """For a block that updates an ITK process object: Ctrl-C stops it at its next progress event, and where *show* is
    true and tqdm is installed, a bar follows it, which is what the block gets.

    :param source: what the process object gets its pixels from, where it tells of itself only when it has them all (a
        writer of a file that is not streamed), and would hear of Ctrl-C no earlier"""
    shown = bar(description) if show else None

    def listen():  # Python hears of Ctrl-C when it runs; a process object that begins forgets that it was to stop
        if _signals:
            _stop()

    def follow():
        if shown is not None:
            shown.update(max(round(100 * process.GetProgress()) - shown.n, 0))
        listen()

    heard = [(process, follow)]
    if source is not None:
        heard.append((source, listen))
    tags = [(each, _observe(each, call)) for each, call in heard]
    try:
        processes = [each for each, _ in heard]
        with interruptible(), in_a_sentence(), _counted(*processes), _stopped_by_ctrl_c(*processes):
            yield shown
        if shown is not None:
            shown.update(100 - shown.n)
    finally:
        for each, tag in tags:
            each.RemoveObserver(tag)
        if shown is not None:
            shown.close()
