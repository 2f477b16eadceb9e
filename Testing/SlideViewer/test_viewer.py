# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""The viewer on a virtual screen: what it shows against OpenSlide's and tifffile's pixels, at rest and moved."""

import os
import subprocess
import time

import numpy
import openslide
import pytest
import tifffile
from PIL import Image

VIEWER = os.environ["SLIDE_VIEWER"]
PROGRAM = os.environ["GIGAPIXEL_PROGRAM"]
SIZE = (400, 300)
ORANGE = numpy.array([255, 176, 0])


@pytest.fixture(scope="module")
def screen(tmp_path_factory):
    """A virtual screen: its environment, and the file that holds what it shows."""
    folder = tmp_path_factory.mktemp("screen")
    read, write = os.pipe()
    command = ["Xvfb", "-displayfd", str(write), "-screen", "0", "800x600x24", "-fbdir", str(folder), "-nolisten", "tcp"]
    server = subprocess.Popen(command, pass_fds=[write], stderr=subprocess.DEVNULL)
    os.close(write)
    display = os.read(read, 20).decode().strip()
    assert display, "Xvfb did not start"
    yield {**os.environ, "DISPLAY": f":{display}"}, folder / "Xvfb_screen0"
    server.terminate()
    server.wait()


@pytest.fixture(scope="module")
def slide(tmp_path_factory):
    """2600 x 2200 pixels at 0.5 um with levels, and the mask of its tissue at 1/8."""
    folder = tmp_path_factory.mktemp("slide")
    path, mask = folder / "slide.tif", folder / "mask.tif"
    subprocess.run([PROGRAM, "synthesize", path, "--size", "2600x2200", "--seed", "5", "--quiet"], check=True)
    subprocess.run([PROGRAM, "label", path, "-o", mask, "--preset", "remedios2023", "--quiet"], check=True)
    return path, mask


def shoot(screen, target, *arguments):
    words = [VIEWER, *map(str, arguments), "--size", "{}x{}".format(*SIZE), "--screenshot", target]
    subprocess.run(words, env=screen[0], check=True, timeout=60)
    return numpy.asarray(Image.open(target).convert("RGB")).astype(int)


def place(x, y, level=0):
    """Arguments that put the pixel x, y of a level (each half as fine) onto the window's first."""
    spacing = 0.5e-3 * 2**level
    origin = (2**level - 1) / 2 * 0.5e-3
    center = [origin + (first + side / 2 - 0.5) * spacing for first, side in zip((x, y), SIZE)]
    return ["--center", "{:.9f},{:.9f}".format(*center), "--resolution", spacing * 1e3]


def read(path, x, y, level=0):
    with openslide.OpenSlide(str(path)) as opened:
        region = opened.read_region((x * 2**level, y * 2**level), level, SIZE)
    return numpy.asarray(region)[..., :3].astype(int)


def below_text(picture):
    """Without the rows where the viewer writes coordinates and scale."""
    return picture[40:-50]


@pytest.mark.parametrize("level, x, y", [(0, 1000, 700), (0, 1217, 933), (1, 300, 250)])
def test_pixels_are_openslides(screen, slide, tmp_path, level, x, y):
    shown = shoot(screen, tmp_path / "s.png", slide[0], *place(x, y, level))
    # 2: the graphics card samples in the middle of a pixel only up to the precision of its floats.
    assert numpy.abs(below_text(shown - read(slide[0], x, y, level))).max() <= 2
    assert (shown[:40] != read(slide[0], x, y, level)[:40]).any(), "no coordinates are written"
    assert (shown[-20:, 10:14] == 0).all(axis=-1).any(), "no scale bar is drawn"


@pytest.mark.parametrize("opacity", [0.3, 1])
def test_mask_lies_over_the_slide(screen, slide, tmp_path, opacity):
    x, y = 800, 640
    shown = shoot(screen, tmp_path / "s.png", *slide, "--opacity", opacity, *place(x, y))
    mask = tifffile.imread(slide[1], level=0).repeat(8, 0).repeat(8, 1)[y : y + SIZE[1], x : x + SIZE[0]]
    assert 0.01 < (mask > 0).mean() < 1, "this place tells nothing"
    colors = read(slide[0], x, y)
    expected = numpy.where(mask[..., None] > 0, colors * (1 - opacity) + ORANGE * opacity, colors)
    assert numpy.abs(below_text(shown - expected)).max() <= 3


def test_the_whole_slide_is_shown_first(screen, slide, tmp_path):
    shown = shoot(screen, tmp_path / "s.png", slide[0])
    width = round(2600 * 300 / 2200)
    left = (SIZE[0] - width) // 2
    assert (shown[60:-60, : left - 2] == 255).all() and (shown[60:-60, left + width + 2 :] == 255).all()
    with Image.open(slide[0]) as picture:
        small = numpy.asarray(picture.convert("RGB").resize((width, 300), Image.BOX)).astype(int)
    # A level that fits is drawn by linear interpolation, the reference is a mean: the same picture, not the same pixels.
    assert numpy.abs(below_text(shown[:, left : left + width] - small)).mean() < 6


def framebuffer(file, corner):
    """The window's pixels on the virtual screen, which Xvfb keeps as an XWD file."""
    data = file.read_bytes()
    header = numpy.frombuffer(data, ">u4", 25)
    start = int(header[0]) + 12 * int(header[19])  # behind the header, with its name, and the color map
    stride, rows, columns = int(header[12]), int(header[5]), int(header[4])
    pixels = numpy.frombuffer(data, "u1", stride * rows, start).reshape(rows, stride)[:, : columns * 4]
    pixels = pixels.reshape(rows, columns, 4)[..., 2::-1].astype(int)
    return pixels[corner[1] : corner[1] + SIZE[1], corner[0] : corner[0] + SIZE[0]]


def wait_for(condition):
    end = time.monotonic() + 30
    while not condition() and time.monotonic() < end:
        time.sleep(0.1)
    assert condition()


def test_zoom_pan_and_opacity_by_hand(screen, slide, tmp_path):
    environment, file = screen
    words = [VIEWER, *map(str, slide), "--size", "{}x{}".format(*SIZE), *map(str, place(1000, 700))]

    def hand(*words):
        return subprocess.run(["xdotool", *map(str, words)], env=environment, capture_output=True, text=True, check=True).stdout

    def shows(expected):
        return numpy.abs(below_text(framebuffer(file, corner) - expected)).max() <= 4

    def expect(*arguments):
        return shoot(screen, tmp_path / "e.png", *slide, *arguments)

    viewer = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL)
    try:
        window = hand("search", "--sync", "--onlyvisible", "--name", slide[0].name).split()[0]
        geometry = dict(line.split("=") for line in hand("getwindowgeometry", "--shell", window).split())
        corner = int(geometry["X"]), int(geometry["Y"])
        first = expect(*place(1000, 700))
        wait_for(lambda: shows(first))
        hand("mousemove", corner[0] + 200, corner[1] + 150, "mousedown", 1)
        hand("mousemove", corner[0] + 140, corner[1] + 170, "mouseup", 1)
        moved = expect(*place(1060, 680))
        assert numpy.abs(moved - first).max() > 50
        wait_for(lambda: shows(moved))
        hand("mousemove", corner[0] + 200, corner[1] + 150, "windowfocus", window, "key", "m")
        bare = shoot(screen, tmp_path / "b.png", slide[0], *place(1060, 680))
        wait_for(lambda: shows(bare))
        hand("key", "m", "click", 5)  # one turn of the wheel: to 0.8 about the pixel below the pointer, which is 200, 150
        center = [(first + side) * 0.5e-3 - 0.5 * 0.625e-3 for first, side in zip((1060, 680), (200, 150))]
        away = expect("--center", "{:.9f},{:.9f}".format(*center), "--resolution", 0.625)
        wait_for(lambda: shows(away))
        hand("key", "q")
        assert viewer.wait(timeout=20) == 0
    finally:
        if viewer.poll() is None:
            viewer.kill()
            viewer.wait()


@pytest.mark.parametrize(
    "arguments, code, words",
    [
        ([], 2, "a slide is needed"),
        (["SLIDE", "--opacity", "2"], 2, "from 0 to 1"),
        (["SLIDE", "--size", "10x10"], 2, "64x64"),
        (["SLIDE", "--center", "a,b"], 2, "does not take"),
        (["SLIDE", "--center", "nan,0"], 2, "wants numbers"),
        (["SLIDE", "--screenshot", "SLIDE"], 2, "end '"),
        (["SLIDE", "--wrong", "1"], 2, "no option"),
        (["nothing.svs", "--screenshot", "OUT"], 1, "nothing.svs"),
        (["SLIDE", "--screenshot", "no/such/folder/x.png"], 1, "can not be written"),
    ],
)
def test_errors_are_sentences(screen, slide, tmp_path, arguments, code, words):
    names = {"SLIDE": slide[0], "OUT": tmp_path / "o.png"}
    result = subprocess.run(
        [VIEWER, *[names.get(word, word) for word in arguments]], env=screen[0], capture_output=True, text=True, cwd=tmp_path
    )
    assert result.returncode == code and words in result.stderr, result.stderr
    assert len(result.stderr.strip().splitlines()) == 1 and list(tmp_path.iterdir()) == []


def test_the_slide_is_no_screenshot(screen, slide, tmp_path):
    own = tmp_path / "slide.png"
    own.write_bytes(slide[0].read_bytes())
    (tmp_path / "link.png").symlink_to(own)
    os.mkfifo(tmp_path / "pipe.png")
    for name, words in (("slide.png", "what is shown"), ("link.png", "what is shown"), ("pipe.png", "no file")):
        command = [VIEWER, own, "--screenshot", tmp_path / name]
        result = subprocess.run(command, env=screen[0], capture_output=True, text=True, timeout=60)
        assert result.returncode == 1 and words in result.stderr, result.stderr
    assert own.read_bytes() == slide[0].read_bytes() and (tmp_path / "pipe.png").is_fifo()


def test_without_a_screen(slide):
    environment = {key: value for key, value in os.environ.items() if key != "DISPLAY"}
    result = subprocess.run([VIEWER, slide[0]], env=environment, capture_output=True, text=True)
    assert result.returncode == 1 and "xvfb-run" in result.stderr
