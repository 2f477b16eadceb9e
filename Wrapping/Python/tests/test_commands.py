# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Commands of the program in Python's own process: what they leave behind there, in several threads, and when they are stopped."""

import contextlib
import json
import logging
import os
import pathlib
import signal
import subprocess
import sys
import threading

import itk
import itkgigapixel as gp
import numpy as np
import pytest
from conftest import refused
from itkgigapixel.commands import run

PROGRAM = pathlib.Path(gp.__file__).parent / "bin" / "gigapixel"


def test_the_result_is_the_programs(drawn):
    told = subprocess.run([PROGRAM, "evaluate", drawn[1], drawn[1], "--json"], check=True, capture_output=True).stdout
    assert gp.evaluate(drawn[1], drawn[1]) == json.loads(told)


def test_predictions_are_evaluated(tmp_path):
    """With the options of the program. Of two patients both are ranked rightly."""
    (tmp_path / "p.csv").write_text("slide,p_a,p_b\n1.svs,0.9,0.1\n2.svs,0.2,0.8\n3.svs,0.3,0.7\n4.svs,0.5,0.5\n")
    (tmp_path / "c.csv").write_text("slide,patient,label,split\n1.svs,x,a,test\n2.svs,x,a,test\n3.svs,y,b,test\n4.svs,z,a,train\n")
    words = ["--cohort", tmp_path / "c.csv", "--split", "test", "--case", "patient", "--positive-class", "b"]
    told = subprocess.run([PROGRAM, "evaluate", tmp_path / "p.csv", *words, "--json"], check=True, capture_output=True).stdout
    options = {"cohort": tmp_path / "c.csv", "split": "test", "case": "patient", "positive_class": "b"}
    assert gp.evaluate(tmp_path / "p.csv", **options) == json.loads(told)
    figures = gp.evaluate(tmp_path / "p.csv", **options, pictures=tmp_path / "figures", bins=np.int64(5))
    assert (figures["cases"], figures["rocAUC"]) == (2, 1) and (tmp_path / "figures" / "roc.svg").exists()
    gp.evaluate(tmp_path / "p.csv", **options, pictures=tmp_path / "figures")  # in place of what stands there
    with refused(ValueError, "E-OPTION-VALUE", option="bins"):
        gp.evaluate(tmp_path / "p.csv", **options, bins=0)
    with refused(TypeError, "E-OPTION-UNKNOWN"):
        gp.evaluate(tmp_path / "p.csv", splits="test")


def test_what_the_process_had_is_as_before(drawn, tmp_path):
    """Threads of ITK, strictness, and where its warnings go: also after a command that fails."""
    threads = itk.MultiThreaderBase.GetGlobalDefaultNumberOfThreads()
    most = itk.MultiThreaderBase.GetGlobalMaximumNumberOfThreads()
    window = itk.OutputWindow.GetInstance()
    run("label", {"output": tmp_path / "mask.tif", "threads": 1, "strict": True}, [drawn[0]])
    with refused(ValueError, "E-OPTION-VALUE"):
        run("label", {"output": tmp_path / "mask.tif", "threads": 1, "strict": True, "downsample": 0}, [drawn[0]])
    assert itk.MultiThreaderBase.GetGlobalDefaultNumberOfThreads() == threads
    assert itk.MultiThreaderBase.GetGlobalMaximumNumberOfThreads() == most
    assert itk.OutputWindow.GetInstance() == window
    assert not itk.WholeSlideImageIO.GetGlobalDefaultStrict()


def test_files_are_read_by_itk_as_before(tmp_path):
    """The command has readers of its own for PNG and NRRD, which ITK finds as well."""
    pixels = np.random.default_rng(3).integers(0, 2, (40, 60), np.uint8) * 255
    for name in ("first.png", "second.nrrd"):
        itk.imwrite(itk.image_from_array(pixels), tmp_path / name)
    assert gp.evaluate(tmp_path / "first.png", tmp_path / "first.png")["dice"] == 1
    for name in ("first.png", "second.nrrd"):
        assert np.array_equal(itk.array_from_image(itk.imread(tmp_path / name)), pixels)


def test_several_threads(drawn, tmp_path):
    """They take turns; each gets its own result, warnings and error."""
    results: dict = {}

    def evaluate(number: int) -> None:
        try:
            truth = drawn[1] if number % 2 else str(tmp_path / f"{number}.tif")
            results[number] = gp.evaluate(drawn[1], truth)["dice"]
        except gp.GigapixelError as error:
            results[number] = (error.code, error.file)

    threads = [threading.Thread(target=evaluate, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {number: 1 if number % 2 else ("E-FILE-MISSING", str(tmp_path / f"{number}.tif")) for number in range(8)}


def test_messages_are_logged(drawn, tmp_path, caplog):
    run("label", {"output": tmp_path / "mask.tif"}, [drawn[0]])
    assert caplog.records and {(each.name, each.levelname) for each in caplog.records} == {("itkgigapixel", "INFO")}


def test_a_bar_for_each_slide(drawn, tmp_path, monkeypatch):
    """A bar reaches its end for each slide of a folder."""
    tqdm = pytest.importorskip("tqdm.auto")
    ends = []

    class Bar(tqdm.tqdm):
        def update(self, n=1):
            super().update(n)
            ends.append((self.desc, self.n))

    monkeypatch.setattr(tqdm, "tqdm", Bar)
    (tmp_path / "slides").mkdir()
    for name in ("a", "b"):
        os.symlink(drawn[0], tmp_path / "slides" / f"{name}.tif")
    assert len(gp.label(tmp_path / "slides", tmp_path / "masks", progress=True)) == 2
    assert len({title for title, percent in ends if percent == 100}) == 2, ends


class Caller(logging.Handler):
    """Calls a function while a command runs, with the first message that it logs."""

    def __init__(self, call):
        super().__init__()
        self.call = call

    def emit(self, record):
        call, self.call = self.call, lambda: None
        call()


@contextlib.contextmanager
def calling(call):
    logger = logging.getLogger("itkgigapixel")
    handler, level = Caller(call), logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)


def test_a_slide_that_is_opened_meanwhile(drawn, tmp_path):
    """The window for its warnings does not bring back that of the command."""
    window = itk.OutputWindow.GetInstance()
    with calling(lambda: gp.Slide(drawn[0]).read(level=2)):
        run("label", {"output": tmp_path / "mask.tif"}, [drawn[0]])
    assert itk.OutputWindow.GetInstance() == window


def test_an_exception_ends_the_command(drawn, tmp_path):
    """Such as of a handler of signals, which may come while a message is logged."""

    class Late(Exception):
        pass

    def fail():
        raise Late

    with calling(fail), pytest.raises(Late):
        run("label", {"output": tmp_path / "mask.tif"}, [drawn[0]])
    run("label", {"output": tmp_path / "other.tif"}, [drawn[0]])


def test_a_command_out_of_a_command(drawn, tmp_path):
    """It would wait for the end of the one that waits for it."""
    with calling(lambda: gp.evaluate(drawn[1], drawn[1])), refused(gp.GigapixelError, "E-CALL-ORDER"):
        run("label", {"output": tmp_path / "mask.tif"}, [drawn[0]])
    assert gp.evaluate(drawn[1], drawn[1])["dice"] == 1


def test_what_is_asked_while_a_command_begins_counts(drawn, tmp_path, monkeypatch):
    """And not for the next one."""
    from itkgigapixel import application

    begin = application.run_command

    def asked(*arguments):
        application.request_interruption()
        return begin(*arguments)

    monkeypatch.setattr(application, "run_command", asked)
    with pytest.raises(gp.GigapixelError):
        run("label", {"output": tmp_path / "mask.tif"}, [drawn[0]])
    monkeypatch.undo()
    run("label", {"output": tmp_path / "mask.tif"}, [drawn[0]])


@pytest.fixture
def slides(drawn, tmp_path):
    """A folder of so many slides that labeling them does not end by itself meanwhile."""
    folder = tmp_path / "slides"
    folder.mkdir()
    for place in range(40):
        os.symlink(drawn[0], folder / f"{place}.tif")
    return folder


STOPPED = """
import signal, sys, threading, itkgigapixel as gp
{setting}
def label():
    gp.label(sys.argv[1], sys.argv[2], downsample=1, preset="model", progress=False)
print(flush=True)
{work}
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_end_the_process_and_leave_no_part(slides, tmp_path, number):
    """A signal that ends Python at once ends the command first, in order."""
    code = STOPPED.format(setting="", work="label()")
    with subprocess.Popen([sys.executable, "-c", code, slides, tmp_path / "masks"], stdout=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        while process.poll() is None and not list((tmp_path / "masks").glob("*.tif")):
            pass
        process.send_signal(number)
        process.wait(60)
    assert process.returncode == -number
    masks = list((tmp_path / "masks").glob("*.tif"))
    assert 0 < len(masks) < 40
    assert all(gp.Slide(mask).read(gray=True).any() for mask in masks)  # each is whole
    assert not [name for name in os.listdir(tmp_path / "masks") if ".part" in name or name.startswith(".tmp")]


def test_python_ends_while_a_thread_runs_a_command(slides, tmp_path):
    """A thread that nobody waits for is asked to stop; the process does not abort."""
    code = STOPPED.format(setting="import time", work="threading.Thread(target=label, daemon=True).start(); time.sleep(2)")
    finished = subprocess.run([sys.executable, "-c", code, slides, tmp_path / "masks"], capture_output=True, text=True, timeout=120)
    assert finished.returncode == 0, finished.stderr


def test_a_process_that_is_forked_meanwhile_ends(slides, tmp_path):
    """The command that its end would wait for is its parent's alone."""
    work = """
threading.Thread(target=label, daemon=True).start()
import os, time
from itkgigapixel import progress
while not os.path.isdir(sys.argv[2]):
    time.sleep(0.01)
held, child = len(progress._at_work), os.fork()
if child == 0:
    os._exit(len(progress._at_work))
print(held, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    code = STOPPED.format(setting="", work=work)
    told = subprocess.run([sys.executable, "-c", code, slides, tmp_path / "masks"], capture_output=True, text=True, check=True, timeout=120).stdout
    assert told.split() == ["1", "0"]


def test_a_process_that_is_forked_meanwhile_removes_nothing(drawn, tmp_path):
    """The folder in which its parent writes the mask is there to the end."""
    work = """
thread = threading.Thread(target=label)
thread.start()
import os, pathlib, time
folder = pathlib.Path(sys.argv[2]).parent
while thread.is_alive() and not any(each.name.startswith(".") for each in folder.iterdir()):
    time.sleep(0.001)
child = os.fork()
if child == 0:
    sys.exit(0)
os.waitpid(child, 0)
thread.join()
"""
    mask = tmp_path / "masks" / "mask.tif"
    mask.parent.mkdir()
    finished = subprocess.run([sys.executable, "-c", STOPPED.format(setting="", work=work), drawn[0], mask], capture_output=True, text=True, timeout=120)
    assert [each.name for each in mask.parent.iterdir()] == ["mask.tif"], finished.stderr


def test_a_switch_of_numpy(drawn):
    """As comparisons of arrays give it."""
    assert gp.evaluate(drawn[1], drawn[1], partial=np.True_) == gp.evaluate(drawn[1], drawn[1], partial=True)
    assert gp.evaluate(drawn[1], drawn[1], partial=np.False_) == gp.evaluate(drawn[1], drawn[1])


def test_libraries_that_are_loaded_meanwhile(drawn, tmp_path):
    """Relative names are those of the folder of the process, whatever another thread loads."""
    code = """
import os, sys, itk, itkgigapixel as gp
folder, seen = os.getcwd(), set()
sys.addaudithook(lambda event, arguments: seen.add(str(arguments[0])) if event == "os.chdir" else None)
gp.label(sys.argv[1])
itk.median_image_filter
gp.evaluate(sys.argv[2], sys.argv[2])
print(seen or "stays")
"""
    assert subprocess.run([sys.executable, "-c", code, *drawn], capture_output=True, text=True, check=True).stdout == "stays\n"


def test_libtorch_is_loaded_by_what_needs_it(drawn):
    """Evaluating maps none of it."""
    code = "import sys, itkgigapixel as gp; gp.evaluate(sys.argv[1], sys.argv[1]); print('libtorch' in open('/proc/self/maps').read())"
    told = subprocess.run([sys.executable, "-c", code, drawn[1]], capture_output=True, text=True, check=True).stdout
    assert told == "False\n"
