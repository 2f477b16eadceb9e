# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""The command ``gigapixel``: starts the program that the package brings with it."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys

from itkgigapixel.errors import MESSAGES, error_of_fields, fields_of_text, text_of, warn

PROGRAM = pathlib.Path(__file__).parent / "bin" / "gigapixel"


def environment() -> dict[str, str]:
    """That of this process, and where training on whole images finds PyTorch's libraries."""
    found = dict(os.environ)
    torch = importlib.util.find_spec("torch")
    if torch is not None and torch.origin:
        folders = [str(pathlib.Path(torch.origin).parent / "lib"), found.get("LD_LIBRARY_PATH", "")]
        found["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, folders))
    return found


def run(command: str, options: dict, names: list[str]):
    """What a command of the program tells with ``--json``, of a process of its own.

    :param options: by their names, switches True; those that are "" are left out, and a tuple is given word by word
    :returns: of several files a list, in which those that failed have an "error" where others did not
    :raises GigapixelError: its first error, where nothing succeeded; its warnings are Python's
    """
    given = [(name, value) for name, values in options.items() for value in (values if isinstance(values, tuple) else (values,))]
    words = [f"--{name}" if value is True else f"--{name}={value}" for name, value in given if value != ""]
    whole = [str(PROGRAM), command, *words, "--json", "--quiet", "--", *names]
    finished = subprocess.run(whole, env=environment(), capture_output=True, text=True)
    try:
        result = json.loads(finished.stdout)
    except ValueError:  # it ended before it could say anything
        result = None
    rows = [row for row in (result if isinstance(result, list) else [result]) if isinstance(row, dict)]
    told = [warning for row in rows for warning in row.get("warnings") or ()]
    for warning in told:
        warn(warning)
    some_failed = isinstance(result, list) and {bool(row.get("error")) for row in rows} == {True, False}
    if finished.returncode != 0 and not some_failed:
        for row in rows:
            if row.get("error"):
                raise error_of_fields(row["error"])
        said = finished.stderr.strip().removeprefix("gigapixel: ")
        raise error_of_fields(fields_of_text(said or f"the program gigapixel ended with {finished.returncode}", "E-OTHER"))
    texts = [text_of(warning) for warning in told]
    for line in finished.stderr.splitlines():
        text = line.removeprefix("gigapixel: ")
        fields = fields_of_text(text, "")
        if not fields["code"].startswith("W-"):
            MESSAGES.info("%s", line)
        elif text not in texts:  # such as of damage, which shows while pixels are read
            warn(fields)
    return result


def main() -> None:
    os.execve(PROGRAM, [str(PROGRAM), *sys.argv[1:]], environment())
