# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""The command ``gigapixel``: starts the program that the package brings with it."""

import importlib.util
import os
import pathlib
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


def main() -> None:
    os.execve(PROGRAM, [str(PROGRAM), *sys.argv[1:]], environment())
