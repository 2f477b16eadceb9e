# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Progress on terminals and in logs, --quiet, streams, and interruptions."""

import os
import pty
import re
import signal
import subprocess

import pytest

from conftest import PROGRAM, run

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
    result = run("label", tmp_path / "s.tif", "-o", tmp_path / "m.tif", "--json")
    assert result.err != "" and result.json["width"] == 50
    result = run("label", tmp_path / "s.tif", "-o", tmp_path / "n.tif", "-q")
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
    expected = run("label", tmp_path / "s.tif", "-o", tmp_path / "expected.tif", "--json").json

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

    reason = {"full": "No space left on device", "closed": "Bad file descriptor", "pipe": "Broken pipe"}[kind]
    sentence = f"gigapixel: The result could not be written to the standard output ({reason}); where the command has written files, these are complete.\n"
    finished = start("label", tmp_path / "s.tif", "-o", tmp_path / "m.tif", "--quiet")
    assert finished.returncode == 1 and finished.stderr == sentence
    assert (tmp_path / "m.tif").read_bytes() == (tmp_path / "expected.tif").read_bytes()
    again = run("label", tmp_path / "s.tif", "-o", tmp_path / "m.tif", "--json").json
    assert again["skipped"] and again["tissueFraction"] == expected["tissueFraction"]
    if kind != "pipe":  # which ends a program that says no more than this
        for words in (["info", tmp_path / "s.tif"], ["--help"], ["label", "--help"], ["--version"], ["--describe"]):
            finished = start(*words)
            assert finished.returncode == 1 and finished.stderr == sentence, words
