# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Ctrl-C, which must never be lost: sent to interpreters that end by nothing else."""

import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import pytest

from itkgigapixel import progress

#: Each goes on for ever, and begins with what is slow for the first time: libraries that are loaded when they are used.
WORK = {
    "evaluate": "while True: gp.evaluate(sys.argv[2], sys.argv[2])",
    "label": "while True: gp.label(sys.argv[1], downsample=4, preset='robust')",
    "read": "while True: gp.Slide(sys.argv[1]).read(level=2)",
    "segment": "while True: gp.segment(sys.argv[1], 'tissue')",
    "train": "gp.train([sys.argv[1:3]], network='remedios2023', epochs=10**6)",
}


ALL = bool(os.environ.get("GIGAPIXEL_TEST_ALL"))


def heed_ctrl_c() -> None:
    """In a process before it begins: what a shell starts in the background has been told to ignore the signal."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def interrupt(work: str, files, wait) -> None:
    """Sends the signal after *wait*, once the package is imported; the interpreter has to end by KeyboardInterrupt."""
    code = f"import sys, itkgigapixel as gp\nprint(flush=True)\n{WORK[work]}"
    arguments = [sys.executable, "-c", code, *files]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(arguments, preexec_fn=heed_ctrl_c, **pipes) as process:
        try:
            process.stdout.readline()
            wait(process)
            process.send_signal(signal.SIGINT)
            told = process.communicate(timeout=60)[1]
        except subprocess.TimeoutExpired:
            process.kill()
            pytest.fail(f"Ctrl-C was lost: {process.communicate()[1]}")
    assert told.rstrip().endswith("KeyboardInterrupt") and process.returncode == -signal.SIGINT, told


def test_where_cpython_drops_exceptions(drawn):
    """The signal comes while a library that is loaded looks for the module itk: an exception there is cleared."""
    code = """
import signal, sys, itk, itkgigapixel as gp
look, seen = type(itk).__getattribute__, []
def interrupted(self, name):
    if name == "__spec__" and not seen:
        seen.append(name)
        signal.raise_signal(signal.SIGINT)
    return look(self, name)
type(itk).__getattribute__ = interrupted
try:
    gp.label(sys.argv[1])
except KeyboardInterrupt:
    print("interrupted", *seen)
"""
    run = subprocess.run([sys.executable, "-c", code, drawn[0]], capture_output=True, text=True, preexec_fn=heed_ctrl_c)
    assert run.stdout == "interrupted __spec__\n", run.stderr


#: The first and the last that is loaded, of ITK and of ours, or these and two between.
LIBRARIES = ["_ITKCommonPython", "_ITKIOImageBasePython", "_GigapixelPython", "_GigapixelNetworkPython"]


@pytest.mark.parametrize("library", LIBRARIES if ALL else [LIBRARIES[0], LIBRARIES[-1]])
def test_while_a_library_is_loaded(drawn, library):
    """It is mapped, but not yet initialized: Python's exceptions are cleared in there."""

    def wait(process):
        maps = pathlib.Path(f"/proc/{process.pid}/maps")
        while process.poll() is None and library not in maps.read_text():
            pass

    interrupt("segment", drawn, wait)


#: How often each is interrupted; CI takes one part of the two seconds for each, another one for the next.
PARTS = 6
SIGNALS = [(work, part) for work in WORK for part in range(PARTS)]
if not ALL:
    SIGNALS = [(work, (2 * place + 1) * PARTS // (2 * len(WORK))) for place, work in enumerate(WORK)]


@pytest.mark.parametrize(("work", "part"), SIGNALS)
def test_in_the_first_two_seconds(drawn, work, part):
    seconds = (part + random.Random(f"{work} {part}").random()) * 2 / PARTS

    def wait(process):
        until = time.monotonic() + seconds
        while process.poll() is None and time.monotonic() < until:
            time.sleep(0.001)

    interrupt(work, drawn, wait)


def test_a_handler_that_raises_nothing_costs_no_result():
    """It hears of the signal; what was finished all the same is there, and what was not is told of."""
    heard = []
    before = signal.signal(signal.SIGINT, lambda *what: heard.append(what))
    try:
        with progress.interruptible():
            signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            with progress.interruptible():
                signal.raise_signal(signal.SIGINT)
                raise RuntimeError("it was stopped")
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(heard) == 2
