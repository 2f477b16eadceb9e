# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Networks of ONNX files, as PyTorch, TensorFlow, MATLAB and others write them."""

from __future__ import annotations

import pathlib
from typing import Optional, Sequence

import itk

from itkgigapixel.commands import run
from itkgigapixel.errors import error_of, in_a_sentence, names_arguments
from itkgigapixel.slide_content import Path, file_name
from itkgigapixel.temporary import temporary_folder


@names_arguments
@in_a_sentence()
def import_onnx(
    file: Path,
    path: Optional[Path] = None,
    *,
    name: str = "",
    logits: str = "",
    mean: Sequence[float] = (),
    deviation: Sequence[float] = (),
    mpp: float = 0.0,
    tile_size: int = 0,
    norms: str = "frozen",
    orientation: str = "",
    axis_order: str = "zyx",
) -> itk.GigapixelModel:
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
    name : str, default ""
        Name of the network. "": the file's.
    logits : str, default ""
        Name of the output that has the logits, where there are several. "": the first.
    mean : sequence of float, default ()
        Means of the pixels that it takes, as shares of 255, a number for each channel. (): 0.
    deviation : sequence of float, default ()
        Standard deviations, in the same units. (): 1.
    mpp : float, default 0.0
        Micrometers per pixel that it was trained at. 0: unknown.
    tile_size : int, default 0
        Side of the tiles' cores in pixels, up to a multiple of the stride. 0: 1024, of volumes 64.
    norms : {"frozen", "image"}, default "frozen"
        Statistics of batch norms that keep some: "frozen" are the kept ones, in training too (PyTorch's ``eval()``). Those
        of the "image" are of each channel over the whole slide or volume, in passes over it, as PyTorch's in training are
        of a batch of one.
    orientation : str, default ""
        Orientation of networks for volumes, as :func:`import_network` has it.
    axis_order : {"zyx", "xyz"}, default "zyx"
        Order of the axes of networks for volumes, as :func:`import_network` has it.

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
    if norms not in ("frozen", "image"):
        raise error_of(ValueError, "E-OPTION-VALUE", f'norms are "frozen" or "image", not {norms!r}', option="norms", value=norms)
    with temporary_folder() as folder:
        options = {
            "output": pathlib.Path(folder) / "model.safetensors" if path is None else file_name(path),
            "overwrite": True,
            "name": name,
            "logits": logits,
            "mean": ",".join(repr(float(each)) for each in mean),
            "deviation": ",".join(repr(float(each)) for each in deviation),
            "mpp": mpp or "",
            "tile-size": tile_size or "",
            "norms": norms,
            "orientation": orientation,
            "axis-order": axis_order,
        }
        run("import", options, [file_name(file)])
        return itk.GigapixelModel.Load(str(options["output"]))
