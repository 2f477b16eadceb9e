# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""The matrix fails exactly where one of its cells did, or where there is none."""

import json
import pathlib
import subprocess
import sys

import pytest

TABLE = pathlib.Path(__file__).with_name("lab_table.py")
PASSED = {"passed": True, "system": "Debian", "python": "3.13.5", "packages": {"torch": "2.10.0"}, "seconds": 60, "steps": {"draw": "ok"}}


def table(*arguments):
    return subprocess.run([sys.executable, TABLE, *map(str, arguments)], capture_output=True, text=True)


@pytest.mark.parametrize(
    "status, result, passes",
    [
        (0, PASSED, True),
        (139, PASSED, False),  # a crash after all steps
        (1, {**PASSED, "passed": False, "steps": {"draw": "failed: a | b\nc"}}, False),
        (1, None, False),  # not installed
    ],
)
def test_a_cell_fails_the_matrix(tmp_path, status, result, passes):
    (tmp_path / "cells").mkdir()
    assert table("add", tmp_path / "cells/first.json", 0, write(tmp_path, PASSED)).returncode == 0
    assert table("add", tmp_path / "cells/second.json", status, write(tmp_path, result)).returncode == 0
    printed = table("print", tmp_path / "cells")
    assert printed.returncode == (0 if passes else 1)
    assert [line.count("|") for line in printed.stdout.splitlines()] == [6] * 4
    cells = json.loads((tmp_path / "cells/table.json").read_text())
    assert {name: cell["passed"] for name, cell in cells.items()} == {"first": True, "second": passes}
    assert table("print", tmp_path / "cells").stdout == printed.stdout  # its own file is no cell


def test_no_cell_is_a_failure(tmp_path):
    assert table("print", tmp_path).returncode == 1


def write(folder, result):
    path = folder / "result.json"
    path.unlink(missing_ok=True)
    if result is not None:
        path.write_text(json.dumps(result))
    return path
