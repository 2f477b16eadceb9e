# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Progress on terminals and in logs, --quiet, streams, and interruptions."""

import io
import json
import os
import pty
import re
import signal
import subprocess

import pytest
from PIL import Image

from conftest import PROGRAM, fails, find_codes, run
from test_stated_sizes import write_pages, write_sparse_dicom

# So large that it would take minutes: nobody waits for the end.
LARGE = ["--size", "60000x60000"]


def start_on_terminal(arguments):
    """The program with a terminal for its messages; returns the process and the terminal's other end."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [PROGRAM, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(theirs)
    return process, ours


def read_until(terminal, pattern):
    """Messages up to the first match, or all until the program closes its end."""
    text = ""
    while not re.search(pattern, text):
        try:
            data = os.read(terminal, 4096)
        except OSError:
            break
        if not data:
            break
        text += data.decode(errors="replace")
    return text


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interruption_leaves_nothing(tmp_path, number):
    process, terminal = start_on_terminal(["synthesize", tmp_path / "s.tif", *LARGE])
    shown = read_until(terminal, r"\d+ %")
    process.send_signal(number)
    shown += read_until(terminal, r"Interrupted")
    assert process.wait(timeout=120) == 130
    os.close(terminal)
    assert "Interrupted" in shown
    assert list(tmp_path.iterdir()) == []


def test_interrupted_overwriting_keeps_the_old_file(tmp_path):
    target = tmp_path / "s.tif"
    target.write_text("old")
    process, terminal = start_on_terminal(["synthesize", target, *LARGE, "--overwrite"])
    read_until(terminal, r"\d+ %")
    process.send_signal(signal.SIGINT)
    read_until(terminal, r"Interrupted")
    assert process.wait(timeout=120) == 130
    os.close(terminal)
    assert target.read_text() == "old" and len(list(tmp_path.iterdir())) == 1


def test_terminal_shows_percent_rate_and_time_left(tmp_path):
    process, terminal = start_on_terminal(["synthesize", tmp_path / "s.tif", *LARGE])
    shown = read_until(terminal, r"\d+ %.*left.*\r")
    process.kill()
    process.wait()
    os.close(terminal)
    assert re.search(r"\rsynthesize [^\r]*: \d+ %, [\d.]+ Mpx/s, [^\r]+ left\x1b\[K\r", shown), repr(shown)
    assert not (tmp_path / "s.tif").exists()  # not even when it is killed


def test_log_has_plain_lines(tmp_path):
    result = run("synthesize", tmp_path / "s.tif", "--size", "3000x2000")
    assert "\r" not in result.err and "\x1b" not in result.err
    lines = result.err.strip().splitlines()
    assert 1 <= len(lines) <= 12 and "Mpx/s" in lines[-1]


def test_quiet_and_json(tmp_path):
    result = run("synthesize", tmp_path / "s.tif", "--size", "400x300", "--quiet", "--json")
    assert result.err == "" and result.json["width"] == 400
    label = ["label", tmp_path / "s.tif", "--preset", "remedios2023"]
    result = run(*label, "-o", tmp_path / "m.tif", "--json")
    assert result.err != "" and result.json["width"] == 50
    result = run(*label, "-o", tmp_path / "n.tif", "-q")
    assert result.err == "" and "50 x 38" in result.out


def start_with(closed, *words, **streams):
    """With standard streams that are closed, which the next files to be opened get the numbers of."""
    words = [PROGRAM, *map(str, words)]
    return subprocess.run(words, text=True, preexec_fn=lambda: [os.close(number) for number in closed], **streams)


@pytest.mark.parametrize("closed", [(2,), (1, 2), (0, 1, 2)])
def test_closed_streams_are_no_files(tmp_path, closed):
    """What is said is not written into the output, which would have got the number of the stream."""
    words = ["--size", "6000x5000"]
    run("synthesize", tmp_path / "expected.tif", *words)
    finished = start_with(closed, "synthesize", tmp_path / "s.tif", *words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert finished.returncode == (1 if 1 in closed else 0)  # the result is said nowhere
    assert (tmp_path / "s.tif").read_bytes() == (tmp_path / "expected.tif").read_bytes()


@pytest.mark.parametrize("kind", ["full", "closed", "pipe"])
def test_a_result_that_nobody_gets(tmp_path, kind):
    """Is exit code 1; what was written is complete, and kept."""
    run("synthesize", tmp_path / "s.tif", "--size", "700x600")
    label = ["label", tmp_path / "s.tif", "--preset", "remedios2023"]
    expected = run(*label, "-o", tmp_path / "expected.tif", "--json").json

    def start(*words):
        if kind == "closed":
            return start_with((1,), *words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if kind == "pipe":
            ours, theirs = os.pipe()
            os.close(ours)
        else:
            theirs = os.open("/dev/full", os.O_WRONLY)
        finished = start_with((), *words, stdout=theirs, stderr=subprocess.PIPE)
        os.close(theirs)
        return finished

    codes = ["E-DISK-FULL" if kind == "full" else "E-OUTPUT-WRITE"]
    finished = start(*label, "-o", tmp_path / "m.tif", "--quiet")
    assert finished.returncode == 1 and find_codes(finished.stderr) == codes and finished.stderr.count("\n") == 1
    assert (tmp_path / "m.tif").read_bytes() == (tmp_path / "expected.tif").read_bytes()
    again = run(*label, "-o", tmp_path / "m.tif", "--json").json
    assert again["skipped"] and again["tissueFraction"] == expected["tissueFraction"]
    for words in (["info", tmp_path / "s.tif"], ["--help"], ["label", "--help"], ["--version"], ["--describe"], ["--codes"]):
        finished = start(*words)
        assert finished.returncode == 1 and find_codes(finished.stderr) == codes and finished.stderr.count("\n") == 1, words


@pytest.mark.parametrize("words", [[], ["lable"], ["label", "--lavel"], ["label"]])
def test_wrong_usage_that_nobody_hears(words):
    ours, theirs = os.pipe()
    os.close(ours)
    assert start_with((), *words, stdout=theirs, stderr=theirs).returncode == 2
    os.close(theirs)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_that_were_ignored_still_are(tmp_path, number):
    """As a script's shell ignores SIGINT for what it starts in the background."""
    process = subprocess.Popen(
        [PROGRAM, "synthesize", tmp_path / "s.tif", "--size", "6000x5000"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_IGN),
    )
    process.stderr.readline()  # progress: it has begun
    process.send_signal(number)
    assert "Interrupted" not in process.communicate(timeout=300)[1] and process.returncode == 0
    assert run("info", tmp_path / "s.tif", "--json").json["width"] == 6000


EVIL = "\x1b[31mEVIL\x07\x9b\x7f\u202e"


def stays_on_its_line(text):
    """Whether a terminal only shows it, line by line: what Python calls printable are the characters that do no more."""
    return all(line.isprintable() for line in text.split("\n"))


def show(*words):
    """The three texts that a terminal may get, the last one JSON."""
    finished = [subprocess.run([PROGRAM, *map(str, [*words, *more])], capture_output=True, check=True) for more in ([], ["--json"])]
    return [text.decode() for text in (finished[0].stdout, finished[0].stderr, finished[1].stdout)]


def test_names_of_associated_images_in_a_slide(tmp_path):
    """They are words of this program or numbers of pages, and never the text of the page."""
    image = io.BytesIO()
    Image.new("L", (64, 64), 9).save(image, "JPEG")
    sound = image.getvalue()
    damaged = sound[:-2] + 9 * sound[-9:-2] + sound[-2:]
    first, second = b"Aperio x\nab|MPP = 0.5\0", f"Aperio\n{EVIL} x\0".encode()
    values = first + second + sound + damaged
    gray = [(256, 4, 1, 64), (257, 4, 1, 64), (258, 3, 1, 8), (259, 3, 1, 7), (262, 3, 1, 1), (277, 3, 1, 1)]
    texts, jpeg = 16 + len(first), 16 + len(first) + len(second)
    tiles = [(270, 2, len(first), 16), (322, 4, 1, 64), (323, 4, 1, 64), (324, 4, 1, jpeg), (325, 4, 1, len(sound))]
    strip = [(270, 2, len(second), texts), (273, 4, 1, jpeg + len(sound)), (278, 4, 1, 64), (279, 4, 1, len(damaged))]
    slide = tmp_path / "named.svs"
    write_pages(slide, [[*gray, *tiles], [*gray, *strip], [*gray, *strip]], values)
    out, _, listed = show("info", slide)
    assert [image["name"] for image in json.loads(listed)["associatedImages"]] == ["page 2", "page 3"]
    assert "EVIL" not in out + listed and stays_on_its_line(out) and stays_on_its_line(listed)
    _, warning, _ = show("info", slide, "--associated", "page 2", "--output", tmp_path / "picture.png", "--overwrite")
    assert find_codes(warning) == ["W-SLIDE-DAMAGED"] and "EVIL" not in warning and stays_on_its_line(warning)


def test_names_of_channels_and_images_in_a_slide(tmp_path):
    name = EVIL.replace("\x1b", "").replace("\x07", "")  # which XML cannot hold
    pixels = f'<Pixels SizeX="16" SizeY="16" SizeC="2" SizeZ="1" SizeT="1"><Channel Name="{name}"/><Channel Name="Größe"/></Pixels>'
    xml = f'<OME><Image Name="{name}">{pixels}</Image></OME>\0'.encode()
    gray = [(256, 4, 1, 16), (257, 4, 1, 16), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 1), (277, 3, 1, 1)]
    tiles = [(322, 4, 1, 16), (323, 4, 1, 16), (324, 4, 1, 16 + len(xml)), (325, 4, 1, 256)]
    slide = tmp_path / "channels.ome.tif"
    write_pages(slide, [[*gray, *tiles, (270, 2, len(xml), 16)], [*gray, *tiles]], xml + bytes(256))
    out, _, listed = show("info", slide)
    assert json.loads(listed)["channelNames"] == [name, "Größe"]
    assert [image["name"] for image in json.loads(listed)["images"]] == [name]
    assert "([31mEVIL\\xc2\\x9b\\x7f\\xe2\\x80\\xae, Größe)" in out
    assert "\\u009b\\u007f\\u202e" in listed and "Größe" in listed
    assert stays_on_its_line(out) and stays_on_its_line(listed)
    refused = fails("info", slide, "--image", "another")
    assert refused.code == "E-SLIDE-IMAGE" and name in refused.do and stays_on_its_line(refused)


def test_names_of_files_beside_a_dicom_slide(tmp_path):
    write_sparse_dicom(tmp_path / "slide.dcm", 16)
    whole = (tmp_path / "slide.dcm").read_bytes()
    (tmp_path / f"{EVIL}.dcm").write_bytes(whole[: whole.index(b"1.2.3.4")])
    out, warnings, _ = show("info", tmp_path / "slide.dcm")
    assert "\\x1b[31mEVIL\\x07\\xc2\\x9b" in out and "[W-SLIDE-PARTS]" in out
    assert stays_on_its_line(out) and stays_on_its_line(warnings)
    _, warnings, _ = show("convert", tmp_path / "slide.dcm", tmp_path / "out.tif", "--overwrite")
    assert "[W-SLIDE-PARTS]" in warnings and stays_on_its_line(warnings)
