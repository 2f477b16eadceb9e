# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""What OpenSlide does to a file is tried out in another process first: once for each slide that OpenSlide opens, for no
other one, and not where the program for it is missing."""

import os
import pathlib
import shutil

import openslide
import pytest

import vendor_slides
from conftest import PROGRAM, fails, run

KNOWN = openslide.__library_version__ == "3.4.1"  # whose ways to fail these are


@pytest.fixture()
def beside(tmp_path):
    """A copy of the library with nothing beside it, and the environment in which the program takes it; with a probe that
    keeps a list of what it was started for, if wanted."""
    libraries = pathlib.Path(PROGRAM).parents[1] / "lib"
    if not (libraries / "libGigapixelWholeSlide.so").exists():
        pytest.skip("the readers are no library of their own in this build")
    folder = tmp_path / "lib"
    folder.mkdir()
    for library in libraries.glob("libGigapixelWholeSlide.so*"):
        shutil.copy(library, folder, follow_symlinks=False)

    def take(with_probe):
        if with_probe:
            probe = folder / "ITKGigapixel/openslide-probe"
            probe.parent.mkdir()
            probe.write_text(f'#!/bin/sh\necho "$2" >>{folder}/started\nexec {libraries}/ITKGigapixel/openslide-probe "$@"\n')
            probe.chmod(0o755)
        return {**os.environ, "LD_LIBRARY_PATH": str(folder)}

    return folder, take


def write(name, folder, edit=vendor_slides.no_edit):
    return vendor_slides.write(vendor_slides.WRITERS[name](edit), folder)


def test_it_is_found():
    doctor = run("doctor", "--json").json
    assert os.access(doctor["openslideProbe"], os.X_OK)
    assert f"{doctor['openslide']}, each file tried out by a probe first" in run("doctor").out


def test_slides_are_read_without_it(beside, tmp_path):
    _, take = beside
    environment = take(with_probe=False)
    slide = write("trestle", tmp_path)
    assert run("info", slide, "--check", "--json", env=environment).json == run("info", slide, "--check", "--json").json
    assert run("doctor", "--json", env=environment).json["openslideProbe"] is None
    assert "without its probe, so that a damaged file may end the program" in run("doctor", env=environment).out


def test_once_for_a_slide_that_openslide_opens(beside, tmp_path, synthetic):
    folder, take = beside
    environment = take(with_probe=True)
    for slide in (synthetic[0], write("aperio", tmp_path)):
        run("info", slide, "--check", env=environment)
    assert not (folder / "started").exists()
    slides = [write("trestle", tmp_path), write("mirax", tmp_path)]
    run("info", *slides, "--check", env=environment)
    assert (folder / "started").read_text().splitlines() == [str(slide) for slide in slides]


@pytest.mark.skipif(not KNOWN, reason="of OpenSlide 3.4.1")
def test_it_says_what_happened(tmp_path):
    def edit(old, new):
        return lambda text: text.replace(old, new)

    def refuse(name, change):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        slide = write(name, folder, change)
        sentence = fails("info", slide)
        remedy = "; get the file again from where it came, or convert it to a tiled TIFF."
        assert sentence.startswith(f"gigapixel: {slide}: it cannot be opened: ") and sentence.endswith(remedy)
        return sentence[len(f"gigapixel: {slide}: it cannot be opened: ") : -len(remedy)]

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
    assert "OpenSlide takes more than 1 GiB of memory for it" in fails("info", vendor_slides.write(files, tmp_path))
