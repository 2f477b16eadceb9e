# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""The table of codes is what the sources use, and what the reference page says."""

import pathlib
import re
import shlex
import shutil
import subprocess

import pytest
from conftest import PROGRAM, fails, find_codes, run

SOURCES = pathlib.Path(__file__).parents[2]


def used_codes():
    """Each code in a string of the sources, with one file that has it. The table itself does not count."""
    found = {}
    for folder in ("Modules", "Filters", "Wrapping"):
        for path in sorted((SOURCES / folder).rglob("*")):
            if path.suffix in (".cxx", ".h", ".hxx", ".py", ".swg") and path.name != "gigapixelCodes.cxx":
                for code in re.findall(r'"([EW]-[A-Z0-9]+(?:-[A-Z0-9]+)*)"', path.read_text()):
                    found.setdefault(code, path)
    return found


def table():
    return re.findall(r"^\| `([EW]-[A-Z0-9-]+)` \|", run("--codes").out, re.M)


def test_each_code_of_the_sources_stands_in_the_table():
    assert {code: path for code, path in used_codes().items() if code not in table()} == {}


def test_the_table_is_sorted_and_has_each_code_once():
    codes = table()
    assert codes == sorted(set(codes)) and len(codes) > 50
    assert len(examples()) > 30


def test_the_reference_page_is_what_the_program_prints():
    assert (SOURCES / "Documentation/Codes.md").read_text() == run("--codes").out, f"{PROGRAM} --codes > Documentation/Codes.md"


def try_codes(words, exits, folder):
    """The codes on stderr of a command that ends in one of the ways."""
    finished = subprocess.run([PROGRAM, *words], cwd=folder, capture_output=True, text=True, timeout=300)
    assert finished.returncode in exits, finished.stderr
    return find_codes(finished.stderr)


def examples():
    """Triples of a code, a command that is wrong and one that is right. Other examples are entries of files, or lines of programs."""
    rows = re.findall(r"^\| `([EW]-[A-Z0-9-]+)` \|.*<br>Wrong: `(.+?)`<br>Right: `(.+?)` \|$", run("--codes").out, re.M)
    return [row for row in rows if row[1].split()[0] == "gigapixel"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """All that the examples name."""
    folder = tmp_path_factory.mktemp("examples")
    run("synthesize", "slide.tif", "--size", "1024x1024", "--seed", "2", "--truth", "truth.tif", cwd=folder)
    run("synthesize", "wide.tif", "--size", "3000x512", "--truth", "other.tif", cwd=folder)
    run("label", "slide.tif", "-o", "mask.tif", cwd=folder)
    run("outline", "mask.tif", "--like", "slide.tif", "-o", "outlines.geojson", cwd=folder)
    (folder / "cohort.csv").write_text("slide,mask,split\nslide.tif,mask.tif,train\n")
    run("train", "--cohort", "cohort.csv", "-o", "run", "--network", "remedios2023", "--epochs", "1", cwd=folder)
    shutil.copy(SOURCES / "Modules/Network/networks/remedios2023.json", folder / "network.json")
    (folder / "notes.txt").write_text("no table\n")
    (folder / "empty").mkdir()
    (folder / "slides").mkdir()
    shutil.copy(folder / "slide.tif", folder / "slides/a.tif")
    return folder


@pytest.mark.parametrize("code, wrong, right", examples())
def test_the_wrong_example_has_the_code_and_the_right_one_has_not(code, wrong, right, files, tmp_path):
    for command, is_wrong in ((wrong, True), (right, False)):
        folder = tmp_path / ("wrong" if is_wrong else "right")
        shutil.copytree(files, folder)
        words = shlex.split(command)[1:]
        allowed = (1, 2) if is_wrong and code.startswith("E-") else (0,)
        codes = try_codes(words, allowed, folder)
        assert (code in codes) == is_wrong, (command, codes)


def test_an_error_has_its_fields_in_json(tmp_path):
    missing = tmp_path / "nowhere.tif"
    refused = fails("info", missing)
    assert refused.code == "E-FILE-MISSING" and refused.file == str(missing)
    assert refused.why and refused.do


def test_wrong_usage_has_its_fields_in_json():
    refused = fails("info", "a.tif", "--levell", "1", code=2)
    assert refused.code == "E-OPTION-UNKNOWN" and refused.option == "--levell"
    refused = fails("train", "--epochs", "-1", code=2)
    assert refused.code == "E-OPTION-VALUE" and (refused.option, refused.value) == ("--epochs", "-1")


# Sources whose exceptions need no code, with the reason.
ALLOWED = {}

RAW = re.compile(
    r"throw std::(?:runtime_error|invalid_argument|length_error|domain_error|out_of_range|logic_error)\b"
    r"|throw itk::ExceptionObject\b|\bitk(?:Generic)?ExceptionMacro\("
    r"|\bitkGenericOutputMacro\(|\bitkWarningMacro\((?!<< (?:gigapixel::)?Remember\()"
    r'|throw UsageError\(\s*(?:std::string\()?"'
)


def test_each_refusal_and_warning_of_the_sources_has_a_code():
    """A new exception is a Refusal, an InvalidArgument, a UsageError or a GigapixelException with a Diagnostic."""
    found = {}
    for folder in ("Modules", "Filters", "Wrapping"):
        for path in sorted((SOURCES / folder).rglob("*")):
            name = str(path.relative_to(SOURCES))
            if path.suffix in (".cxx", ".h", ".hxx") and name not in ALLOWED:
                code = re.sub(r"/\*.*?\*/|//[^\n]*", "", path.read_text(), flags=re.S)  # comments may name them
                if number := len(RAW.findall(code)):
                    found[name] = number
    assert found == {}
