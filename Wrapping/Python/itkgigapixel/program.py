# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""The command ``gigapixel``: starts the program that the package brings with it."""

import importlib.util
import os
import pathlib
import sys


def main() -> None:
    program = pathlib.Path(__file__).parent / "bin" / "gigapixel"
    torch, openslide = (importlib.util.find_spec(name) for name in ("torch", "openslide_bin"))
    if torch is not None and torch.origin:  # where train and segment find PyTorch's libraries
        folders = [str(pathlib.Path(torch.origin).parent / "lib"), os.environ.get("LD_LIBRARY_PATH", "")]
        os.environ["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, folders))
    if openslide is not None and openslide.origin:
        library = pathlib.Path(openslide.origin).parent / "libopenslide.so.1"
        os.environ.setdefault("GIGAPIXEL_OPENSLIDE", str(library))
    os.execv(program, [str(program), *sys.argv[1:]])
