# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Networks of ONNX files, as PyTorch, TensorFlow, MATLAB and others write them."""

from __future__ import annotations

import pathlib
from typing import Optional, Unpack

import itk

from itkgigapixel.commands import run
from itkgigapixel.errors import in_a_sentence, names_arguments
from itkgigapixel.option_table import ImportOnnxOptions
from itkgigapixel.options import program_options, takes_options
from itkgigapixel.slide_content import Path, file_name
from itkgigapixel.temporary import temporary_folder


@names_arguments
@in_a_sentence()
@takes_options
def import_onnx(file: Path, path: Optional[Path] = None, **options: Unpack[ImportOnnxOptions]) -> itk.GigapixelModel:
    """Takes over the network of an ONNX file, with its weights, to train and run it on whole slides, or on volumes.

    It is the command ``gigapixel import``; neither PyTorch nor the package
    ``onnx`` is needed. Batch norms keep their statistics, dropout is left out, and so is a sigmoid or softmax over classes at the end.
    Several inputs become one image with their channels behind each other, in the file's order.

    Parameters
    ----------
    file : path-like
        The network, with all of its weights, or beside a file of them (external data).
    path : path-like, optional
        The model file to write (``*.safetensors``), in place of what stands there. None: none is.
    **options
        What the network is called, and how its images and volumes are.

    Returns
    -------
    itk.GigapixelModel
        The model: for :func:`segment`, to go on with by ``train(network=path, weights=path)``, for
        :func:`to_torch`.

    Raises
    ------
    ValueError
        Other *norms*.
    RuntimeError
        What cannot be read or written, or taken over, with the complete list of operations that are missing.

    Examples
    --------
    >>> model = gp.import_onnx("network.onnx", "model.safetensors", mpp=0.5)
    """
    given = program_options("import_onnx", options)
    with temporary_folder() as folder:
        output = str(pathlib.Path(folder) / "model.safetensors") if path is None else file_name(path)
        run("import", {**given, "output": output, "overwrite": True}, [file_name(file)])
        return itk.GigapixelModel.Load(output)
