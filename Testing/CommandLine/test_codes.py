# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""The table of codes is what the sources use, and what the reference page says."""

import pathlib
import re

from conftest import PROGRAM, fails, run

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


def test_the_reference_page_is_what_the_program_prints():
    assert (SOURCES / "Documentation/Codes.md").read_text() == run("--codes").out, f"{PROGRAM} --codes > Documentation/Codes.md"


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
