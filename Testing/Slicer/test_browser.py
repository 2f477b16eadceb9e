# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""A slide and its segmentation as a browser shows them, drawn by Slicer's own views (trame-slicer): the right pixels at
the right place."""

import io
import pathlib
import shutil
import socket
import subprocess
import sys
import time
import urllib.request

import numpy
import pytest
import tifffile
from conftest import run
from PIL import Image

pytest.importorskip("trame_slicer", reason="PyPI's trame-slicer is not installed")
playwright = pytest.importorskip("playwright.sync_api", reason="PyPI's playwright is not installed")
CHROMIUM = shutil.which("chromium")
FILL = numpy.array([0.10, 0.75, 0.35]) * 255
OPACITY = 0.3


@pytest.fixture
def address(slide, tmp_path):
    """Of a server that shows the slide's level 1 and its tissue."""
    run("SlideRegion", slide=slide[0], level=1, volume=tmp_path / "slide.nrrd", picture=tmp_path / "slide.png")
    run("TissueLabel", slide=slide[0], outputSegmentation=tmp_path / "tissue.seg.nrrd", mask=tmp_path / "tissue.tif")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [pathlib.Path(__file__).with_name("browser_view.py"), "slide.nrrd", "tissue.seg.nrrd", str(port)]
    with open(tmp_path / "server.log", "w") as log:
        server = subprocess.Popen([sys.executable, *words], cwd=tmp_path, stdout=log, stderr=log)
    address = f"http://127.0.0.1:{port}/"
    end = time.monotonic() + 120
    while True:
        try:
            urllib.request.urlopen(address)
            break
        except OSError:
            assert time.monotonic() < end and server.poll() is None, (tmp_path / "server.log").read_text()
            time.sleep(0.2)
    yield address
    server.terminate()
    server.wait()


def look(address):
    """The view's pixels when they have come to rest."""
    with playwright.sync_playwright() as driver:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=arguments)
        page = browser.new_page(viewport={"width": 900, "height": 700})
        page.goto(address)
        view = page.wait_for_selector("img, canvas", timeout=120000)
        seen, end = None, time.monotonic() + 120
        while time.monotonic() < end:
            before, seen = seen, view.screenshot()
            if before == seen and numpy.ptp(numpy.array(Image.open(io.BytesIO(seen)).convert("L"))) > 50:
                break
            time.sleep(1)
        browser.close()
    return Image.open(io.BytesIO(seen)).convert("RGB")


def longest_run(flags):
    """Begin and end of the longest run of True."""
    ends = numpy.flatnonzero(numpy.diff(numpy.concatenate([[False], flags, [False]]).astype(int))).reshape(-1, 2)
    return ends[numpy.argmax(ends[:, 1] - ends[:, 0])]


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
def test_slide_and_segmentation(address, tmp_path):
    seen = look(address)
    seen.save(tmp_path / "seen.png")
    pixels = numpy.array(seen).astype(float)
    # The slide is bright and the view around it dark, but for a slider: its rectangle is the longest run of bright lines.
    bright = pixels.min(2) > 60
    left, right = longest_run(bright.mean(0) > 0.3)
    top, bottom = longest_run(bright.mean(1) > 0.3)
    assert (right - left) / (bottom - top) == pytest.approx(2600 / 2200, rel=0.01)
    size = (int(right - left), int(bottom - top))
    slide = numpy.array(Image.open(tmp_path / "slide.png").resize(size, Image.BILINEAR)).astype(float)
    mask = Image.fromarray(tifffile.imread(tmp_path / "tissue.tif")).resize(size, Image.NEAREST)
    mask = numpy.array(mask)[..., None] > 0
    shown = pixels[top:bottom, left:right]
    expected = numpy.where(mask, (1 - OPACITY) * slide + OPACITY * FILL, slide)
    # Scaled in two ways and compressed as JPEG, so on the average; without the segmentation, or upside down, it is far off.
    assert 0.1 < mask.mean() < 0.9
    assert numpy.abs(shown - expected).mean() < 6
    assert numpy.abs(shown - slide).mean() > 12
    assert numpy.abs(shown[::-1] - expected).mean() > 12
