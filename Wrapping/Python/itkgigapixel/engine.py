# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""PyTorch's libraries, which the engine needs for networks that are graphs of operations; models as bytes."""

import ctypes
import importlib.metadata
import importlib.util
import os
import pathlib

from itkgigapixel.built import TORCH, VERSION
from itkgigapixel.errors import error_of
from itkgigapixel.slide_content import file_name
from itkgigapixel.temporary import stand_in, temporary_folder


def require_torch(otherwise: str = "") -> None:
    """Load the libraries of PyTorch, without importing it.

    :param otherwise: what else may be done where they are missing, as it follows on "install it"
    :raises ImportError: one sentence that says what to install, where PyTorch is missing or of a minor version
        that the package was not built for (PyTorch's C++ interface changes with each), or where the engine's modules
        are missing or of another version
    """
    torch = f"PyTorch {' or '.join(filter(None, (', '.join(TORCH[:-1]), TORCH[-1])))}"
    for package, needed, matches in (
        ("torch", torch, lambda version: ".".join(version.split(".")[:2]) in TORCH),
        ("itk-gigapixel-torch", f"itk-gigapixel-torch {VERSION}", lambda version: version == VERSION),
    ):
        try:
            version = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            version = ""
        if not version or not matches(version):
            why = f"networks of any operations need {needed}, {f'but {version}' if version else 'which'} is {'' if version else 'not '}installed"
            do = f"install it (pip install 'itk-gigapixel[torch]=={VERSION}'){otherwise}"
            raise error_of(ImportError, "E-INSTALLATION", why, do)
    folder = pathlib.Path(importlib.util.find_spec("torch").origin).parent / "lib"
    try:
        for name in ("libc10.so", "libtorch_cpu.so"):
            ctypes.CDLL(str(folder / name))
    except OSError:  # it knows better where the libraries are that these need
        import torch  # noqa: F401


def file_of_model(model, folder: str) -> str:
    """Where the program finds a model: a file's or a run's name, or an ``itk.GigapixelModel``, which is saved into the folder.

    :raises TypeError: it is neither
    """
    import itk

    if isinstance(model, (str, bytes, os.PathLike)):
        return file_name(model)
    if not isinstance(model, itk.GigapixelModel):
        why = f"a model is what train() returned, a file or a folder, not {type(model).__name__}"
        raise error_of(TypeError, "E-OPTION-VALUE", why, option="model")
    path = str(pathlib.Path(folder) / "model.safetensors")
    model.Save(path)
    return stand_in(path, "model")


def text_of_model(model) -> str:
    """What ``repr`` says of an ``itk.GigapixelModel``."""
    mpp = model.GetMicronsPerPixel()
    resolution = f"{mpp:g} um" if mpp else "unknown resolution"
    return f"GigapixelModel({model.GetNetworkName()}: {resolution}, tiles of {model.GetTileSize()}, {model.GetIdentity()[:8]})"


def bytes_of_model(model) -> bytes:
    """A model as its safetensors file has it; what ``pickle`` keeps of an ``itk.GigapixelModel``."""
    with temporary_folder() as folder:
        path = pathlib.Path(folder) / "model.safetensors"
        model.Save(str(path))
        return path.read_bytes()


def model_of_bytes(content: bytes):
    """The ``itk.GigapixelModel`` of such a file."""
    import itk

    with temporary_folder() as folder:
        path = pathlib.Path(folder) / "model.safetensors"
        path.write_bytes(content)
        return itk.GigapixelModel.Load(str(path))
