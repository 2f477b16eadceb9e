# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""OpenSlide runs in a process of its own for each slide that it opens, and for no other one. A file or a tile that ends it
is refused, and nothing else; where its program is missing, so is what only OpenSlide opens."""

import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import time

import numpy
import openslide
import pytest
import tifffile

import vendor_slides
from conftest import PROGRAM, fails, find_codes, run

LARGER_FILES = "allow larger files (ulimit -f), or choose a disk whose file system holds them."
KNOWN = openslide.__library_version__ == "3.4.1"  # whose ways to fail these are


@pytest.fixture()
def beside(tmp_path):
    """A copy of the library with nothing beside it, and the environment in which the program takes it; with a reader that
    tells each time that it is started, if wanted."""
    libraries = pathlib.Path(PROGRAM).parents[1] / "lib"
    if not (libraries / "libGigapixelWholeSlide.so").exists():
        pytest.skip("the readers are no library of their own in this build")
    folder = tmp_path / "lib"
    folder.mkdir()
    for library in libraries.glob("libGigapixelWholeSlide.so*"):
        shutil.copy(library, folder, follow_symlinks=False)

    def take(with_reader, script=f"echo started >>{folder}/started\nexec {libraries}/ITKGigapixel/openslide-reader"):
        if with_reader:
            reader = folder / "ITKGigapixel/openslide-reader"
            reader.parent.mkdir()
            reader.write_text(f"#!/bin/sh\n{script}\n")
            reader.chmod(0o755)
        return {**os.environ, "LD_LIBRARY_PATH": str(folder)}

    return folder, take


def write(name, folder, edit=vendor_slides.no_edit):
    return vendor_slides.write(vendor_slides.WRITERS[name](edit), folder)


def write_large(folder):
    """1280 pixels a side, of which 5 x 5 regions of 256 are asked for."""
    pages = [(pixels, "Objective Power=20;OverlapsXY= 0 0 0 0", vendor_slides.TILED) for pixels in vendor_slides.draw_levels(1280, 640)]
    content = vendor_slides.write_pages(pages, vendor_slides.no_edit, software="MedScan", resolution=(0.5, 0.5))
    return vendor_slides.write({"large.tif": content}, folder)


def trouble(what):
    """The environment in which OpenSlide runs into it: see Testing/WholeSlide/TroubledOpenSlide.cxx."""
    if "GIGAPIXEL_TROUBLED_OPENSLIDE" not in os.environ:
        pytest.skip("the library with troubles was not built")
    return {**os.environ, "GIGAPIXEL_OPENSLIDE": os.environ["GIGAPIXEL_TROUBLED_OPENSLIDE"], "GIGAPIXEL_TROUBLE": what}


def refused(slide, refusal):
    """What is wrong with a slide that cannot be opened."""
    begin, end = f"gigapixel: {slide}: it cannot be opened: ", "; get the file again from where it came, or convert it to a tiled TIFF."
    assert refusal.startswith(begin) and refusal.endswith(f"{end} [{refusal.code}]")
    return refusal[len(begin) : refusal.index(end)]


def say(why, remedy):
    """The two fields of an error as a message has them."""
    return f"{why}; {remedy}" if remedy else why


def refused_tile(column, row, what, remedy="get the file again from where it came, or leave that region out"):
    return f"the tile at {column},{row} of level 0 cannot be decoded: {what}; {remedy}"


def read(path):
    with tifffile.TiffFile(path) as file:
        return file.pages[0].asarray()


def find_readers(parent):
    """Numbers of the processes that this one has started for OpenSlide."""
    children = pathlib.Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return [int(child) for child in children if os.readlink(f"/proc/{child}/exe").endswith("openslide-reader")]


def is_told_by_doctor(sentence, environment):
    """As what is wrong, in an installation that is not healthy therefore. Returns what doctor says."""
    doctor = run("doctor", "--json", env=environment, code=1).json
    assert doctor["openslideProblem"].startswith(sentence) and doctor["openslideProblem"].endswith(".")
    assert doctor["healthy"] is False and doctor["writeTest"]["passed"]
    text = run("doctor", env=environment, code=1).out
    assert f"which only it opens are refused: {doctor['openslideProblem']}\n" in text and text.endswith("\nSomething is wrong.\n")
    return doctor


def test_it_is_found():
    doctor = run("doctor", "--json").json
    assert os.access(doctor["openslideReader"], os.X_OK) and doctor["openslideProblem"] is None and doctor["healthy"]
    assert f"{doctor['openslide']}, in a process of its own for each slide" in run("doctor").out


def test_without_it_what_only_openslide_opens_is_refused(beside, tmp_path, synthetic):
    folder, take = beside
    environment = take(with_reader=False)
    program = folder / "ITKGigapixel/openslide-reader"
    missing = f"OpenSlide's program {program} is missing; install all of ITKGigapixel again."
    slide = write("trestle", tmp_path)
    refusal = fails("info", slide, env=environment)
    assert (refusal.code, refusal.file) == ("E-INSTALLATION", str(slide)) and missing in refusal
    slide = write("mirax", tmp_path)
    refusal = fails("info", slide, env=environment)
    assert (refusal.code, refusal.file) == ("E-INSTALLATION", str(slide)) and missing in refusal
    for slide in (synthetic[0], write("aperio", tmp_path)):
        assert run("info", slide, "--check", "--json", env=environment).json == run("info", slide, "--check", "--json").json
    doctor = is_told_by_doctor(missing, environment)
    assert doctor["openslide"] is None and doctor["openslideReader"] is None


@pytest.mark.parametrize("says, what", [(["0", "3.4.1", ""], "is of another version; install all of ITKGigapixel again."), ([], "ends before it can be asked; ")])
def test_a_program_that_is_not_ours(beside, tmp_path, says, what):
    """Of another version, whose first message has another number, or one that says nothing."""
    folder, take = beside
    texts = b"".join(struct.pack("<I", len(text)) + text.encode() for text in says)
    message = folder / "message"
    message.write_bytes(struct.pack("<I", len(texts)) + texts if says else b"")
    environment = take(with_reader=True, script=f"cat {message} >&0; sleep {10 if says else 0}")
    slide = write("trestle", tmp_path)
    program = folder / "ITKGigapixel/openslide-reader"
    sentence = f"OpenSlide's program {program} {what}"
    refusal = fails("info", slide, env=environment)
    assert (refusal.code, refusal.file) == ("E-INSTALLATION", str(slide)) and sentence in refusal
    is_told_by_doctor(sentence, environment)


def test_a_program_that_does_not_start(beside, tmp_path):
    folder, take = beside
    environment = take(with_reader=True)
    program = folder / "ITKGigapixel/openslide-reader"
    program.write_bytes(b"none")  # which the system does not know how to start
    is_told_by_doctor(f"OpenSlide's program {program} cannot be started (Exec format error); ", environment)


def test_once_for_a_slide_that_openslide_opens(beside, tmp_path, synthetic):
    folder, take = beside
    environment = take(with_reader=True)
    for slide in (synthetic[0], write("aperio", tmp_path)):
        run("info", slide, "--check", env=environment)
    assert not (folder / "started").exists()
    for number, vendor in enumerate(("trestle", "mirax", "ndpi", "philips"), 1):
        run("info", write(vendor, tmp_path), "--check", env=environment)
        assert (folder / "started").read_text().splitlines() == ["started"] * number, vendor
    run("convert", write("vms", tmp_path), tmp_path / "out.tif", "--threads", 2, env=environment)
    assert (folder / "started").read_text().splitlines() == ["started"] * 5


@pytest.mark.skipif(not KNOWN, reason="of OpenSlide 3.4.1")
def test_it_says_what_happened(tmp_path):
    def edit(old, new):
        return lambda text: text.replace(old, new)

    def refuse(name, change):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        slide = write(name, folder, change)
        return refused(slide, fails("info", slide))

    assert refuse("leica", edit("<objective>20</objective>", "")) == "OpenSlide crashes on it"
    assert refuse("sakura", edit("'SVGigaPixelImage'", "NULL")) == "OpenSlide crashes on it"  # when it looks what it is
    endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT 'T;0|0;1;0;' || x AS id, x AS data FROM c"
    script = edit("CREATE TABLE 'Unique' (id TEXT, data BLOB);", f"CREATE TABLE 'Kept' (id TEXT, data BLOB);\nCREATE VIEW 'Unique' AS {endless};")
    sentence = refuse("sakura", lambda text: script(text).replace("INTO 'Unique'", "INTO 'Kept'"))
    assert sentence in ("OpenSlide takes more than 10 s for it", "OpenSlide takes more than 60 s for it")  # where many compute
    assert refuse("mirax", edit("[GENERAL]", "[SPECIFIC]")) == "OpenSlide says: Can't find GENERAL group"


@pytest.mark.skipif(not KNOWN, reason="of OpenSlide 3.4.1")
def test_it_says_how_much_memory_it_took(tmp_path):
    files = vendor_slides.mirax()
    index = files["slide/Index.dat"]
    # The size of the record of positions, four bytes before its last number.
    size = (9 * 12).to_bytes(4, "little")
    assert index.count(size) == 1
    files["slide/Index.dat"] = index.replace(size, (0x7FFFFFF0).to_bytes(4, "little"))
    refusal = fails("info", vendor_slides.write(files, tmp_path))
    assert refusal.code == "E-SLIDE-FORMAT" and "1 GiB" in refusal.why


@pytest.mark.parametrize("threads", [1, 8])
@pytest.mark.parametrize("kind, what", [("crash", "crashes on it"), ("exit", "crashes on it"), ("memory", "takes more than 1 GiB of memory for it")])
def test_a_tile_that_ends_it_is_refused(tmp_path, kind, what, threads):
    slide, out = write_large(tmp_path), tmp_path / "out.tif"
    environment = trouble(f"{kind} 600,300")
    info = run("info", slide, "--check", "--json", "--threads", threads, env=environment, code=1).json
    sentence = refused_tile(2, 1, f"OpenSlide {what}")
    assert info["undecodableTiles"] == 1 and say(info["error"]["why"], info["error"]["do"]).endswith(sentence)
    refusal = fails("convert", slide, out, "--threads", threads, env=environment)
    assert str(slide) in refusal and say(refusal.why, refusal.do).endswith(sentence)
    assert not out.exists()
    pixels = numpy.asarray(openslide.OpenSlide(slide).read_region((0, 0), 0, (1280, 1280)))[..., :3]
    for x, y, width, height in ((0, 0, 1280, 256), (0, 256, 512, 256), (768, 256, 512, 256), (0, 512, 1280, 768)):
        run("convert", slide, out, "--region", f"{x},{y},{width},{height}", "--compression", "deflate", "--threads", threads, "--overwrite", env=environment)
        assert numpy.array_equal(read(out), pixels[y : y + height, x : x + width])


def test_what_does_not_answer_is_not_the_files_fault(tmp_path):
    """OpenSlide waits without end, and computes nothing."""
    slide = write_large(tmp_path)
    words = [PROGRAM, "info", slide, "--check", "--json", "--threads", "2"]
    opening = subprocess.Popen(words, env=trouble("hang open"), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    what = "OpenSlide gave no answer in 60 s, and hardly computed: the disk or the network may not answer"
    remedy = "check that the file can be read, and try again"
    info = run(*words[1:], env=trouble("hang 600,300"), code=1).json
    assert info["undecodableTiles"] == 1
    assert say(info["error"]["why"], info["error"]["do"]).endswith(refused_tile(2, 1, what, remedy))
    assert f"gigapixel: {slide}: it cannot be opened: {what}; {remedy}. [E-" in opening.communicate(timeout=100)[1]
    assert opening.returncode == 1


@pytest.mark.parametrize("signal", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_ends_waiting_for_it(tmp_path, signal):
    """Where it does not answer, long before that is a failure."""
    slide, troubles = write_large(tmp_path), tmp_path / "troubles"
    words = [PROGRAM, "info", slide, "--check", "--threads", "2"]
    environment = {**trouble("hang 600,300"), "GIGAPIXEL_TROUBLES": str(troubles)}
    process = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 50
    while not troubles.exists():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal)
    out, said = process.communicate(timeout=30)
    assert (process.returncode, out, said.splitlines()[-1]) == (130, "", "gigapixel: Interrupted.")


@pytest.mark.parametrize("limit", range(4, 12))
def test_too_few_file_descriptors(tmp_path, limit):
    """Whatever can be read with so few is read, and nothing is blamed for what there are too few for."""
    slide = write("mirax", tmp_path)
    words = ["sh", "-c", 'ulimit -n "$1" && shift && exec "$@"', "sh", str(limit), PROGRAM, "info", slide, "--check", "--quiet", "--json"]
    finished = subprocess.run(words, capture_output=True, text=True, timeout=300)
    if finished.returncode == 0:
        assert json.loads(finished.stdout)["undecodableTiles"] == 0
    else:
        assert finished.returncode == 1 and json.loads(finished.stdout)["error"]["code"] == "E-FILE-ACCESS", finished
        assert "ulimit -n" in finished.stderr


def test_a_limit_to_files_is_not_the_files_fault(tmp_path):
    """To which the memory belongs that pixels come through."""
    slide = write("mirax", tmp_path)
    words = ["sh", "-c", 'ulimit -f 10 && exec "$@"', "sh", PROGRAM, "info", slide, "--check", "--quiet", "--json"]
    info = json.loads(subprocess.run(words, capture_output=True, text=True, timeout=300).stdout)
    assert info["undecodableTiles"] > 1
    assert say(info["error"]["why"], info["error"]["do"]).endswith("files may not be as large here; " + LARGER_FILES.rstrip("."))


def test_a_program_in_the_folder_that_we_are_in_is_not_started(tmp_path):
    """Where the system does not say where our files lie, as where there is no /proc."""
    slide, started = write("mirax", tmp_path), tmp_path / "started"
    reader = tmp_path / "ITKGigapixel/openslide-reader"
    reader.parent.mkdir()
    reader.write_text(f"#!/bin/sh\ntouch {started}\n")
    reader.chmod(0o755)
    hide = 'mount -t tmpfs none /proc && exec "$@"'
    words = ["unshare", "--mount", "sh", "-c", hide, "sh", PROGRAM, "info", slide, "--json"]
    if "GIGAPIXEL_SANITIZED" in os.environ or subprocess.run([*words[:4], "mount -t tmpfs none /proc"], capture_output=True).returncode != 0:
        pytest.skip("nothing can be mounted here, or a sanitizer needs /proc")
    finished = subprocess.run(words, capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert not started.exists(), finished
    assert finished.returncode == 0 or find_codes(finished.stderr) == ["E-INSTALLATION"]


def test_an_empty_name_of_a_library_is_none(tmp_path):
    slide = write("mirax", tmp_path)
    assert run("info", slide, "--json", env={**os.environ, "GIGAPIXEL_OPENSLIDE": ""}).json == run("info", slide, "--json").json


@pytest.mark.parametrize("place", ["detect", "open"])
def test_a_file_that_ends_it_is_refused(tmp_path, place):
    for vendor in ("mirax", "trestle", "leica"):
        slide = write(vendor, tmp_path)
        assert refused(slide, fails("info", slide, env=trouble(f"crash {place}"))) == "OpenSlide crashes on it"
    # Its tiles are decoded here, without what OpenSlide would say of the file.
    info = run("info", write("ndpi", tmp_path), "--check", "--json", env=trouble(f"crash {place}")).json
    assert info["width"] == 256 and info["undecodableTiles"] == 0
    slide = write("vms", tmp_path)
    sentence = refused(slide, fails("info", slide, env=trouble(f"spin {place}")))
    assert sentence in ("OpenSlide takes more than 10 s for it", "OpenSlide takes more than 60 s for it")  # where many compute


def test_a_library_that_is_none(tmp_path):
    library = tmp_path / "libopenslide.so"
    library.write_bytes(b"none")
    environment = {**os.environ, "GIGAPIXEL_OPENSLIDE": str(library)}
    sentence = f"OpenSlide's library does not load ({library}: "
    refusal = fails("info", write("mirax", tmp_path), env=environment)
    assert refusal.code == "E-INSTALLATION" and sentence in refusal
    assert "install it (Debian: libopenslide0" in is_told_by_doctor(sentence, environment)["openslideProblem"]


def is_running(process):
    try:
        return "Z" not in pathlib.Path(f"/proc/{process}/stat").read_text().split(")")[1]
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_it_ends_with_the_program(tmp_path):
    slide = write_large(tmp_path)
    for place in ("600,300", "open"):
        words = [PROGRAM, "info", slide, "--check", "--quiet"]
        troubles = tmp_path / place
        process = subprocess.Popen(words, env={**trouble(f"hang {place}"), "GIGAPIXEL_TROUBLES": str(troubles)})
        deadline = time.monotonic() + 50
        while not troubles.exists():
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.01)
        (reader,) = find_readers(process.pid)
        process.kill()
        process.wait()
        while is_running(reader):
            assert time.monotonic() < deadline
            time.sleep(0.01)


def test_threads_read_the_same(tmp_path):
    slide = write_large(tmp_path)
    for threads in (1, 8):
        run("convert", slide, tmp_path / f"{threads}.tif", "--compression", "deflate", "--threads", threads)
    assert (tmp_path / "1.tif").read_bytes() == (tmp_path / "8.tif").read_bytes()
