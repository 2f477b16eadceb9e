# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""The command ``gigapixel``: starts the program that the package brings with it."""

import importlib.util
import os
import pathlib
import sys


def main() -> None:
    program = pathlib.Path(__file__).parent / "bin" / "gigapixel"
    torch = importlib.util.find_spec("torch")
    if torch is not None and torch.origin:  # where training on whole images finds PyTorch's libraries
        folders = [str(pathlib.Path(torch.origin).parent / "lib"), os.environ.get("LD_LIBRARY_PATH", "")]
        os.environ["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, folders))
    os.execv(program, [str(program), *sys.argv[1:]])
