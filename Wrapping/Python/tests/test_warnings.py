# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Warnings are Python's, as of the line that called the package: nothing comes out at the process's standard error."""

import subprocess
import sys
import tempfile

import itk
import itkgigapixel as gp
import numpy as np
import pytest
import tifffile
from itkgigapixel.errors import in_a_sentence


@pytest.fixture
def damaged(tmp_path):
    """A slide with a tile of which a part is no JPEG."""
    path = tmp_path / "damaged.tif"
    pixels = np.random.default_rng(1).integers(0, 256, (600, 800, 3), np.uint8)
    resolution = {"resolution": (20000, 20000), "resolutionunit": "CENTIMETER"}
    tifffile.imwrite(path, pixels, tile=(256, 256), photometric="rgb", compression="jpeg", **resolution)
    with tifffile.TiffFile(path) as file:
        middle = file.pages[0].dataoffsets[5] + file.pages[0].databytecounts[5] // 2
    content = bytearray(path.read_bytes())
    content[middle : middle + 200] = bytes(range(1, 201))
    path.write_bytes(content)
    return str(path)


CALLS = {
    "read": lambda slide, folder: gp.Slide(slide).read(),
    "tiles": lambda slide, folder: list(gp.Slide(slide).tiles(256)),
    "thumbnail": lambda slide, folder: gp.Slide(slide).thumbnail(100),
    "label": lambda slide, folder: gp.label(slide, preset="remedios2023"),
    "convert": lambda slide, folder: gp.convert(slide, folder / "converted.pyramid.tif"),
    "overlay": lambda slide, folder: gp.overlay(slide, np.ones((600, 800), bool), folder / "look.png"),
    "measure": lambda slide, folder: gp.measure(np.ones((600, 800), bool), slide),
    "patches": lambda slide, folder: list(gp.torch.PatchDataset([slide], patch=200, mpp=0.5)),
}


@pytest.mark.parametrize("name", CALLS)
def test_damage_is_told_of_the_line_that_called(damaged, tmp_path, capfd, name):
    with pytest.warns(gp.GigapixelWarning) as given:
        CALLS[name](damaged, tmp_path)
    places = {(each.filename, each.lineno) for each in given if getattr(each.message, "code", "") == "W-SLIDE-DAMAGED"}
    assert places == {(__file__, CALLS[name].__code__.co_firstlineno)}
    assert capfd.readouterr().err == ""


def test_warnings_of_itk_itself(capfd):
    """They have no code of ours. What a user debugs stays where ITK writes it."""
    with pytest.warns(gp.GigapixelWarning) as given, in_a_sentence():
        window = itk.OutputWindow.GetInstance()
        window.DisplayWarningText("WARNING: In /a/b.cxx, line 5\nReader (0x1f): it is strange\n\n")
        window.DisplayText("debugged\n")
    (warning,) = given
    assert (warning.message.code, warning.message.why, warning.filename) == ("W-OTHER", "it is strange", __file__)
    assert capfd.readouterr().err == "debugged\n"


def test_a_process_where_all_warnings_are_errors(drawn):
    """The wrapped libraries give some of SWIG's when they make their first objects, and do not stand it that these are errors."""
    code = """
import sys, warnings, numpy as np, itkgigapixel as gp
warnings.simplefilter("error")
gp.Slide(sys.argv[1]).read(level=2)
gp.label(sys.argv[1])
mask = np.zeros((40, 60), bool)
mask[10:20] = True
try:
    gp.measure(mask)
except gp.GigapixelWarning as warning:
    print(warning.code)
"""
    finished = subprocess.run([sys.executable, "-c", code, drawn[0]], capture_output=True, text=True)
    assert (finished.returncode, finished.stdout) == (0, "W-MASK-RESOLUTION\n"), finished.stderr


def test_what_is_in_memory_is_named_by_its_argument(drawn, tmp_path, caplog):
    """It lies in a file meanwhile, which nobody knows."""
    mask = np.tri(60, 80, dtype=bool)
    with pytest.warns(gp.GigapixelWarning) as given:
        gp.measure(mask)
        gp.overlay(drawn[0], np.zeros((2000, 3000), bool), tmp_path / "look.png", picture_size=256)
    found = {each.message.code: each.message for each in given}
    assert {code: (each.file, each.option) for code, each in found.items()} == {
        "W-MASK-RESOLUTION": (None, "masks"),
        "W-DOUBT-MASK-EMPTY": (None, "mask"),
    }
    with pytest.raises(gp.GigapixelError) as raised:
        gp.evaluate(mask, np.ones((60, 50), bool))
    assert raised.value.file is None and raised.value.option in ("prediction", "truth")
    told = [*map(str, found.values()), str(raised.value), *caplog.messages]
    assert len(told) > 3 and [text for text in told if f"{tempfile.gettempdir()}/tmp" in text] == []
