# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Arguments: one table, from which parsing, help and the description for front ends come."""

import json

import pytest

from conftest import fails, run

COMMANDS = json.loads(run("--describe").out)
NAMES = ["info", "label", "train", "segment", "evaluate", "overlay", "report", "status", "rasterize", "outline", "measure",
         "convert", "synthesize"]
NAMES += ["classify", "features", "plan", "networks", "import", "doctor"]


def wrong(*arguments):
    """Runs a wrong command line: exit code 2, one sentence that points to the help."""
    refused = fails(*arguments, code=2)
    assert refused.do.endswith("--help")
    return refused


def wrong_about(option, value, *arguments):
    """The code of a wrong command line whose error is about this option and value."""
    refused = wrong(*arguments)
    assert (refused.option, refused.value) == (option, value or None)
    return refused.code


def test_commands_are_those_promised():
    assert [command["name"] for command in COMMANDS] == NAMES


@pytest.mark.parametrize("command", COMMANDS, ids=NAMES)
def test_help_shows_every_argument_and_an_example(command):
    short, text = (run(command["name"], help).out for help in ("--help", "--help-all"))
    filled = " ".join(text.split())
    for argument in command["arguments"]:
        name = argument["name"]
        assert all((name if argument["positional"] else "--" + name) in each for each in (short, text))
        assert argument["description"] and len(argument["description"].split()) <= 15  # the rest is for --help-all
        if "default" in argument:
            assert "default " + argument["default"] in filled
    assert command["examples"]
    for example in command["examples"]:
        assert example in text and command["examples"][0] in short
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


def test_every_command_on_slides_can_be_told_which_image_of_the_file():
    opens_slides = {"info", "label", "train", "segment", "overlay", "report", "rasterize", "outline", "measure", "convert", "classify",
                    "features", "plan"}
    for option in ("image", "plane"):
        assert {command["name"] for command in COMMANDS if any(each["name"] == option for each in command["arguments"])} == opens_slides


def test_help_of_the_longest_commands_fits_on_two_screens():
    assert len(run("train", "--help").out.splitlines()) <= 70 and len(run("segment", "--help").out.splitlines()) <= 50


def test_help_says_units():
    assert "(µm/px)" in run("label", "--help").out and "0.05 to 1000 µm/px" in run("label", "--help-all").out


def test_program_help_and_version():
    text = run("--help").out
    assert all(name in text for name in NAMES)
    assert run("--version").out.startswith("gigapixel ")


def test_command_is_missing_or_unknown():
    assert run(code=2).codes == ["E-COMMAND-MISSING"]
    for word in ("labell", "lable", "slides"):
        assert wrong_about(None, word, word) == "E-COMMAND-UNKNOWN"
    assert "label?" in wrong("labell").do and "label?" in wrong("lable").do and "?" not in wrong("slides").do


@pytest.mark.parametrize("command", COMMANDS, ids=NAMES)
def test_unknown_option(command):
    assert wrong_about("--no-such-option", None, command["name"], "--no-such-option") == "E-OPTION-UNKNOWN"


def test_nearest_option_is_proposed():
    refused = wrong("label", "a.svs", "-o", "b.tif", "--presett", "robust")
    assert refused.code == "E-OPTION-UNKNOWN" and refused.option == "--presett" and "--preset?" in refused.do


@pytest.mark.parametrize(
    "option, value, wanted",
    [
        ("--downsample", "0", "1 to 256"),
        ("--downsample", "eight", ""),
        ("--downsample", "8.5", ""),
        ("--downsample", "", ""),
        ("--downsample", "99999999999999999999", ""),
        ("--mpp", "nan", ""),
        ("--mpp", "1e999", ""),
        ("--mpp", "0.01", "0.05 to 1000"),
        ("--mpp", "4um", ""),
        ("--preset", "nonsense", "remedios2023"),
        ("--slide-mpp", "1001", "0.05 to 1000"),
        ("--threads", "-1", "0 to 4096"),
        ("--output", "", ""),
    ],
)
def test_bad_values_of_label(option, value, wanted):
    """The range, or the names, are those of the table."""
    others = [] if option == "--output" else ["-o", "b.tif"]
    for words in ([option, value], [f"{option}={value}"]):
        assert wrong_about(option, value, "label", "a.svs", *others, *words) == "E-OPTION-VALUE"
        assert wanted in wrong("label", "a.svs", *others, *words).why


@pytest.mark.parametrize("value", ["2Q", "G", "-2G", "0", "2 G", "", "1e30G"])
def test_bad_memory(value):
    assert wrong_about("--memory", value, "plan", "--size", "100x100", "--memory", value) == "E-OPTION-VALUE"


@pytest.mark.parametrize("value", ["100", "100x", "x100", "100x0", "100x-5", "100x100x100", "a x b", "99999999999x1"])
def test_bad_extent(value):
    assert wrong_about("--size", value, "synthesize", "a.tif", "--size", value) == "E-OPTION-VALUE"


@pytest.mark.parametrize("value", ["1,2,3", "1,2,3,4,5", "0,0,0,5", "-1,0,5,5", "a,b,c,d", "1;2;3;4"])
def test_bad_region(value):
    words = ["segment", "a.svs", "--model", "run", "-o", "b.tif", "--region", value]
    assert wrong_about("--region", value, *words) == "E-OPTION-VALUE"


def test_incomplete_and_contradictory():
    assert wrong_about("--output", None, "label", "a.svs") == "E-OPTION-MISSING"
    assert wrong_about("SLIDE", None, "label", "-o", "b.tif") == "E-OPTION-MISSING"
    assert run("label", "a.svs", "-o", code=2).codes == ["E-OPTION-VALUE"]
    assert wrong_about("--output", "c.tif", "label", "a.svs", "-o", "b.tif", "-o", "c.tif") == "E-OPTION-REPEATED"
    assert wrong_about("--slide-mpp", "0.05", "synthesize", "a.tif", "--size", "100x100", "--slide-mpp", "0.05") == "E-OPTION-VALUE"
    refused = wrong("label", "a.svs", "-o", "b.tif", "--mpp", "4", "--downsample", "8")
    assert refused.code == "E-OPTION-CONFLICT" and refused.option in ("--mpp", "--downsample")
    assert wrong_about("--quiet", "yes", "label", "a.svs", "-o", "b.tif", "--quiet=yes") == "E-OPTION-VALUE"
    assert wrong_about(None, "three.tif", "evaluate", "one.tif", "two.tif", "three.tif") == "E-OPTION-UNKNOWN"
    assert wrong_about("--associated", "macro", "info", "a.svs", "--associated", "macro") == "E-OPTION-NEEDS"
    words = ["import", "a.onnx", "-o", "m.safetensors"]
    assert wrong_about("--logits", None, *words, "--weights", "a.pt", "--logits", "b") == "E-OPTION-CONFLICT"
    assert wrong_about("--deviation", "1,2", *words, "--deviation", "1,2") == "E-OPTION-NEEDS"
    assert wrong_about("--mean", "1,b", *words, "--deviation", "1,2", "--mean", "1,b") == "E-OPTION-VALUE"
    assert wrong_about("--output", "c.jpg", "overlay", "a.svs", "b.tif", "-o", "c.jpg") == "E-OUTPUT-ENDING"
    assert wrong_about("--output", "mask.png", "label", "a.svs", "-o", "mask.png") == "E-OUTPUT-ENDING"
    assert wrong_about("OUT", "slide.svs", "synthesize", "slide.svs", "--size", "100x100") == "E-OUTPUT-ENDING"


def test_default_and_alternative_do_not_contradict(tmp_path):
    # --downsample has a default; --mpp alone is right (and fails later, for there is no such slide).
    refused = fails("label", "no.svs", "-o", tmp_path / "b.tif", "--mpp", "4")
    assert refused.code == "E-FILE-MISSING" and refused.file == "no.svs"


def test_double_dash_ends_options(tmp_path):
    result = run("info", "--json", "--", "--strange-name.svs", code=1, cwd=tmp_path)
    error = result.json["error"]
    assert error["code"] == "E-FILE-MISSING" and error["file"] == "--strange-name.svs"


def test_former_names_go_with_a_warning():
    """Each means what the present name means; a value of the former choice is the switch, the other value nothing."""
    plan = ["plan", "--size", "800x600", "--network", "remedios2023", "--json"]
    for former, present in (
        (["--semantics", "patch", "--patch", 256], ["--sliding-window", "--patch", 256]),
        (["--semantics=patch"], ["--sliding-window"]),
        (["--semantics", "whole"], []),
        (["--semantics=whole"], []),
    ):
        told, expected = run(*plan, *former), run(*plan, *present)
        assert told.codes == ["W-OPTION-RENAMED"] and expected.codes == []
        assert [row["semantics"] for row in told.json["plans"]] == [row["semantics"] for row in expected.json["plans"]]
        assert [row["tiles"] for row in told.json["plans"]] == [row["tiles"] for row in expected.json["plans"]]
    for words in (["--semantics", "some"], ["--semantics="], ["--semantics"]):
        refused = fails(*plan, *words, code=2)
        assert (refused.code, refused.option) == ("E-OPTION-VALUE", "--semantics")
    for words in (["--semantics", "patch", "--semantics", "whole"], ["--semantics", "whole", "--sliding-window"]):
        assert fails(*plan, *words, code=2).code == "E-OPTION-REPEATED"
    # What stands behind an option is its value, be it a former name.
    assert wrong_about("--memory", "--semantics", *plan[:-1], "--memory", "--semantics", "patch") == "E-OPTION-VALUE"
    # The command takes the present name only where it has no option of the former one.
    refused = fails(*plan, "--by", "patient", code=2)
    assert (refused.code, refused.option) == ("E-OPTION-UNKNOWN", "--by")
    assert fails(*plan, "--", "--semantics", "patch", code=2).code == "E-OPTION-UNKNOWN"


def test_former_names_of_figures(tmp_path):
    (tmp_path / "p.csv").write_text("slide,patient,label,p_a,p_b\n1.svs,x,a,0.9,0.1\n2.svs,x,a,0.8,0.2\n3.svs,y,b,0.3,0.7\n")
    former = run("evaluate", tmp_path / "p.csv", "--by=patient", "--positive", "a", "--json")
    present = run("evaluate", tmp_path / "p.csv", "--case", "patient", "--positive-class", "a", "--json")
    assert former.codes == ["W-OPTION-RENAMED"] * 2 and former.json["cases"] == present.json["cases"] == 2
    assert former.json["positive"] == present.json["positive"] == "a"
