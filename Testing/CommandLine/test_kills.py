# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Every command that writes, killed at any time, and two of a kind at once: under a name there is the whole file or none,
and the same command goes on where the killed one was."""

import os
import random
import subprocess
import time

import pytest

from conftest import PROGRAM, find_codes, run
from writing_commands import COMMANDS, begin, get_outputs, get_unfinished, get_words_again

KILLS = int(os.environ.get("GIGAPIXEL_KILLS", 3))  # of each command
SEED = os.environ.get("GIGAPIXEL_KILL_SEED", "1")
PAIRS = int(os.environ.get("GIGAPIXEL_PAIRS", 1))


def start(words, cwd):
    return subprocess.Popen([PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd)


def kill_after(seconds, words, cwd):
    """\\return whether it was still running"""
    process = start(words, cwd)
    try:
        process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
    return process.returncode < 0


@pytest.fixture(scope="module")
def whole(inputs, tmp_path_factory):
    """Of each command what it writes undisturbed, and how long that takes."""
    known = {}

    def get(command):
        if command not in known:
            folder = tmp_path_factory.mktemp("whole") / "out"
            words = begin(command, inputs, folder)
            begun = time.monotonic()
            run(*words, cwd=inputs)
            known[command] = get_outputs(folder), time.monotonic() - begun
        return known[command]

    return get


@pytest.fixture(scope="module", autouse=True)
def counts():
    counts = {}
    yield counts
    for command, (killed, finished) in counts.items():
        print(f"{command:20} {killed:4} killed, {finished:4} were done before")


@pytest.mark.parametrize("command", COMMANDS)
def test_killed_at_any_time(command, inputs, whole, counts, tmp_path):
    expected, seconds = whole(command)
    times = random.Random(SEED + command)
    killed = number = 0
    while number < KILLS or killed == 0:
        assert number < KILLS + 10, "each time it was done before it could be killed"
        folder = tmp_path / str(number)
        words = begin(command, inputs, folder)
        killed += kill_after(times.uniform(0, seconds / max(1, number - KILLS + 2)), words, inputs)
        number += 1
        if command != "train":  # which keeps what is finished
            assert get_outputs(folder).items() <= expected.items()
        run(*get_words_again(command, words, folder), cwd=inputs)
        assert get_outputs(folder) == expected and get_unfinished(folder) == []
    counts[command] = killed, number - killed


@pytest.mark.parametrize("command", COMMANDS)
def test_two_at_once(command, inputs, whole, tmp_path):
    expected, _ = whole(command)
    for number in range(PAIRS):
        folder = tmp_path / str(number)
        words = begin(command, inputs, folder)
        pair = [start(words, inputs) for _ in range(2)]
        said = [process.communicate()[1] for process in pair]
        codes = [process.returncode for process in pair]
        assert 0 in codes and set(codes) <= {0, 1}, said
        for code, text in zip(codes, said):
            assert code == 0 or (text.startswith("gigapixel: ") and len(text.splitlines()) == len(find_codes(text)) == 1), text
        assert get_outputs(folder) == expected and get_unfinished(folder, failed=1 in codes) == []
