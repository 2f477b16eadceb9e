# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Ctrl-C, which must never be lost: sent to interpreters that end by nothing else."""

import pathlib
import random
import signal
import subprocess
import sys
import time

import pytest

#: Each goes on for ever, and begins with what is slow for the first time: libraries that are loaded when they are used.
WORK = {
    "label": "while True: gp.label(sys.argv[1], downsample=4, preset='robust')",
    "read": "while True: gp.Slide(sys.argv[1]).read(level=2)",
    "segment": "while True: gp.segment(sys.argv[1], 'tissue')",
    "train": "gp.train([sys.argv[1:3]], epochs=10**9)",
}


def interrupt(work: str, files, wait) -> None:
    """Sends the signal after *wait*, once the package is imported; the interpreter has to end by KeyboardInterrupt."""
    code = f"import sys, itkgigapixel as gp\nprint(flush=True)\n{WORK[work]}"
    arguments = [sys.executable, "-c", code, *files]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
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
    gp.Slide(sys.argv[1])
except KeyboardInterrupt:
    print("interrupted", *seen)
"""
    run = subprocess.run([sys.executable, "-c", code, drawn[0]], capture_output=True, text=True)
    assert run.stdout == "interrupted __spec__\n", run.stderr


@pytest.mark.parametrize("library", ["_ITKCommonPython", "_ITKIOImageBasePython", "_GigapixelPython", "_GigapixelNetworkPython"])
def test_while_a_library_is_loaded(drawn, library):
    """It is mapped, but not yet initialized: Python's exceptions are cleared in there."""

    def wait(process):
        maps = pathlib.Path(f"/proc/{process.pid}/maps")
        while process.poll() is None and library not in maps.read_text():
            pass

    interrupt("segment", drawn, wait)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("work", WORK)
def test_in_the_first_two_seconds(drawn, work, seed):
    until = time.monotonic() + random.Random(f"{work} {seed}").uniform(0, 2)

    def wait(process):
        while process.poll() is None and time.monotonic() < until:
            time.sleep(0.001)

    interrupt(work, drawn, wait)
