# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Arguments: one table, from which parsing, help and the description for front ends come."""

import json

import pytest

from conftest import run

COMMANDS = json.loads(run("--describe").out)
NAMES = ["info", "label", "train", "segment", "evaluate", "overlay", "rasterize", "outline", "convert", "synthesize"]
NAMES += ["classify", "features", "plan", "networks", "import", "doctor"]


def wrong(*arguments):
    """Runs a wrong command line: exit code 2, one sentence that points to the help."""
    result = run(*arguments, code=2)
    assert result.out == ""
    assert len(result.err.strip().splitlines()) == 1 and "--help" in result.err
    return result.err


def test_commands_are_those_promised():
    assert [command["name"] for command in COMMANDS] == NAMES


@pytest.mark.parametrize("command", COMMANDS, ids=NAMES)
def test_help_shows_every_argument_and_an_example(command):
    text = run(command["name"], "--help").out
    filled = " ".join(text.split())
    for argument in command["arguments"]:
        name = argument["name"]
        assert (name if argument["positional"] else "--" + name) in text
        assert argument["description"]
        if "default" in argument:
            assert "default " + argument["default"] in filled
    assert command["examples"]
    for example in command["examples"]:
        assert example in text
        words = set(example.split())
        known = {"--" + argument["name"] for argument in command["arguments"]} | {"-o"}
        assert {word for word in words if word.startswith("-")} <= known
    assert all(len(line) <= 105 for line in text.splitlines())


@pytest.mark.parametrize("command", COMMANDS, ids=NAMES)
def test_arguments_are_defined_completely(command):
    for argument in command["arguments"]:
        if argument["type"] in ("integer", "number"):
            assert argument["minimum"] < argument["maximum"]
        if argument["type"] == "file":
            assert argument["channel"] in ("input", "output") and argument["content"]
        if argument["type"] == "choice":
            assert argument["default"] in argument["choices"]


def test_program_help_and_version():
    text = run("--help").out
    assert all(name in text for name in NAMES)
    assert run("--version").out.startswith("gigapixel ")


def test_command_is_missing_or_unknown():
    assert "command is missing" in wrong()
    assert "no command labell" in wrong("labell") and "Did you mean label?" in wrong("lable")
    assert "Did you mean" not in wrong("slides")


@pytest.mark.parametrize("command", COMMANDS, ids=NAMES)
def test_unknown_option(command):
    assert "--no-such-option" in wrong(command["name"], "--no-such-option")


def test_nearest_option_is_proposed():
    assert "Did you mean --preset?" in wrong("label", "a.svs", "-o", "b.tif", "--presett", "robust")


@pytest.mark.parametrize(
    "option, value, part",
    [
        ("--downsample", "0", "1 to 256"),
        ("--downsample", "eight", "whole number"),
        ("--downsample", "8.5", "whole number"),
        ("--downsample", "", "whole number"),
        ("--downsample", "99999999999999999999", "whole number"),
        ("--mpp", "nan", "number"),
        ("--mpp", "1e999", "number"),
        ("--mpp", "0.01", "0.05 to 1000"),
        ("--mpp", "4um", "number"),
        ("--preset", "nonsense", "remedios2023"),
        ("--slide-mpp", "1001", "0.05 to 1000"),
        ("--threads", "-1", "0 to 4096"),
        ("--output", "", "empty"),
    ],
)
def test_bad_values_of_label(option, value, part):
    others = [] if option == "--output" else ["-o", "b.tif"]
    message = wrong("label", "a.svs", *others, option, value)
    assert option in message and part in message
    assert option in wrong("label", "a.svs", *others, f"{option}={value}")


@pytest.mark.parametrize("value", ["2Q", "G", "-2G", "0", "2 G", "", "1e30G"])
def test_bad_memory(value):
    assert "--memory" in wrong("plan", "--size", "100x100", "--memory", value)


@pytest.mark.parametrize("value", ["100", "100x", "x100", "100x0", "100x-5", "100x100x100", "a x b", "99999999999x1"])
def test_bad_extent(value):
    assert "--size" in wrong("synthesize", "a.tif", "--size", value)


@pytest.mark.parametrize("value", ["1,2,3", "1,2,3,4,5", "0,0,0,5", "-1,0,5,5", "a,b,c,d", "1;2;3;4"])
def test_bad_region(value):
    assert "--region" in wrong("segment", "a.svs", "--model", "run", "-o", "b.tif", "--region", value)


def test_incomplete_and_contradictory():
    assert "needs --output OUT" in wrong("label", "a.svs")
    assert "needs SLIDE" in wrong("label", "-o", "b.tif")
    assert "wants a value" in wrong("label", "a.svs", "-o")
    assert "given twice" in wrong("label", "a.svs", "-o", "b.tif", "-o", "c.tif")
    assert "0.1 to 8" in wrong("synthesize", "a.tif", "--size", "100x100", "--mpp", "0.05")
    assert "exclude each other" in wrong("label", "a.svs", "-o", "b.tif", "--mpp", "4", "--downsample", "8")
    assert "takes no value" in wrong("label", "a.svs", "-o", "b.tif", "--quiet=yes")
    assert "three.tif" in wrong("evaluate", "one.tif", "two.tif", "three.tif")
    assert "go together" in wrong("info", "a.svs", "--associated", "macro")
    assert ".png" in wrong("overlay", "a.svs", "b.tif", "-o", "c.jpg")
    assert ".tif" in wrong("label", "a.svs", "-o", "mask.png")
    assert ".tif" in wrong("synthesize", "slide.svs", "--size", "100x100")


def test_default_and_alternative_do_not_contradict(tmp_path):
    # --downsample has a default; --mpp alone is right (and fails later, for there is no such slide).
    result = run("label", "no.svs", "-o", tmp_path / "b.tif", "--mpp", "4", code=1)
    assert "no.svs" in result.err


def test_double_dash_ends_options(tmp_path):
    result = run("info", "--", "--strange-name.svs", code=1, cwd=tmp_path)
    assert "--strange-name.svs" in result.err
