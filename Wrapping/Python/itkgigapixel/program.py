# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""The command ``gigapixel``: starts the program that the package brings with it."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys

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

    :param options: by their names, switches True; those that are "" are left out
    :raises RuntimeError: its sentence
    """
    words = [f"--{name}" if value is True else f"--{name}={value}" for name, value in options.items() if value != ""]
    whole = [str(PROGRAM), command, *words, "--json", "--quiet", "--", *names]
    finished = subprocess.run(whole, env=environment(), capture_output=True, text=True)
    if finished.returncode != 0:
        raise RuntimeError(finished.stderr.strip().removeprefix("gigapixel: "))
    return json.loads(finished.stdout)


def main() -> None:
    os.execve(PROGRAM, [str(PROGRAM), *sys.argv[1:]], environment())
