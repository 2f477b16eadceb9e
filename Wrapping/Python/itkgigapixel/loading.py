# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""How ITK loads its wrapped libraries."""

import sys

import itk.support.base
import itkConfig


class _Loader(itk.support.base.LibraryLoader):
    """ITK's own goes into the folder of its libraries meanwhile, and all threads with it: there they would look for files with relative
    names, and write others. Linux finds the libraries without that."""

    def __init__(self) -> None:
        self.old_path = sys.path

    def setup(self) -> None:
        self.old_path = sys.path
        sys.path = [itkConfig.swig_lib, itkConfig.swig_py, *sys.path]

    def cleanup(self) -> None:
        sys.path = self.old_path


def load_without_leaving_the_folder() -> None:
    """For libraries that are loaded from now on."""
    itk.support.base.LibraryLoader = _Loader
