# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""MeshNets of brainchop (https://github.com/neuroneural/brainchop-models) as modules of PyTorch."""

from __future__ import annotations

import json
import pathlib
import struct
from typing import TYPE_CHECKING

from itkgigapixel.errors import error_of, in_a_sentence, names_arguments
from itkgigapixel.slide_content import Path

if TYPE_CHECKING:
    import torch


@names_arguments
@in_a_sentence()
def load_meshnet(folder: Path, *, gelu: str = "none") -> "torch.nn.Module":
    """One of brainchop's networks for volumes, from its folder: an ``nn.Module`` for :func:`import_network`.

    ``gp.import_network(gp.load_meshnet("model5_gw_ae"), "model5.safetensors", example=(96, 96, 96), normalization={"type": "percentiles", "low": 2, "high": 98})``

    Convolutions behind each other (Fedorov et al., End-to-end learning of brain tissue segmentation from imperfect labeling, IJCNN
    2017) are those of ``layers.json``, where there is one, else of ``model.json``; weights are those of ``model.pth``, be it a
    safetensors file or a pickle, of which tensors alone are read. Behind each convolution but the last one is what the file says, an
    ELU or a GELU, else a ReLU. Biases are those for which there are arrays; batch norms that the file names, and for which there are none,
    change nothing and are left out. The networks take brains of voxels of 1 mm, whose 2nd percentile is 0 and whose 98th is 1, cut off there
    (``normalization={"type": "percentiles", "low": 2, "high": 98}`` of :func:`import_network`): so does brainchop's program. Between the least
    and the greatest voxel they may find no brain at all.

    Parameters
    ----------
    folder : path-like
        Folder with ``model.pth``, and ``layers.json`` or ``model.json``.
    gelu : {"none", "tanh"}, default "none"
        Approximation of GELU: "none" is by the error function, as PyTorch does; "tanh" is that of tinygrad, which brainchop
        runs its networks by.

    Returns
    -------
    torch.nn.Module
        The module in evaluation mode, its arrays under the names that the file has.

    Raises
    ------
    ValueError
        One sentence: the files are not those of such a network.
    OSError
        What cannot be read.

    Examples
    --------
    >>> module = gp.load_meshnet("model5_gw_ae")
    >>> scale = {"type": "percentiles", "low": 2, "high": 98}
    >>> model = gp.import_network(module, "model5.safetensors", example=(96, 96, 96), normalization=scale)
    """
    import torch
    from torch import nn

    if gelu not in ("none", "tanh"):
        why = f'gelu is "none" (by the error function) or "tanh", not {gelu!r}'
        raise error_of(ValueError, "E-OPTION-VALUE", why, option="gelu", value=gelu)
    folder = pathlib.Path(folder)
    file, blocks = _read_blocks(folder)
    arrays = _read_arrays(folder / "model.pth")
    make = {"gelu": lambda: nn.GELU(gelu), "elu": nn.ELU, "relu": nn.ReLU}

    class MeshNet(nn.Module):
        """Convolutions behind each other, under the names of brainchop's files."""

        def __init__(self):
            super().__init__()
            self.model = nn.Sequential()

        def forward(self, x):
            return self.model(x)

    module = MeshNet()
    for words, norm, activation in blocks:
        index = len(module.model)
        nested = any(key.startswith(f"model.{index}.0.") for key in arrays)  # "model.0.0.weight"
        name = f"model.{index}{'.0' if nested else ''}"
        _check_convolution(words, arrays.get(name + ".weight"), file)
        keys = ("in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation")
        layers = [nn.Conv3d(**{key: words[key] for key in keys}, bias=name + ".bias" in arrays)]  # of mindgrab the last one, which layers.json says has none
        layers += [nn.GroupNorm(words["out_channels"], words["out_channels"], affine=False)] if norm else []
        layers += [make[activation]()] if activation else []
        for layer in [nn.Sequential(*layers)] if nested else layers:
            module.model.append(layer)
    try:
        module.load_state_dict(arrays)
    except RuntimeError as error:
        why = f"it has other arrays than {file} says: {str(error).splitlines()[-1].strip()}"
        raise error_of(ValueError, "E-WEIGHTS-MISMATCH", why, file=folder / "model.pth") from None
    return module.eval()


def _read_blocks(folder):
    """The file that says them, and of each convolution its arguments, whether a norm follows, and the activation behind."""
    file = folder / "layers.json"
    if not file.exists():
        file = folder / "model.json"
    try:
        content = json.loads(file.read_text())
        if "forward_pass" in content:
            return file, _follow_passes(content["forward_pass"])
        activation = next((name for name in ("elu", "gelu") if content.get(name)), "relu")
        norm = bool(content.get("bnorm"))
        *inner, last = content["layers"]
        return file, [*((words, norm, activation) for words in inner), (last, False, "")]
    except (KeyError, TypeError, ValueError) as error:
        why = f"it is no list of a MeshNet's layers: {type(error).__name__} {str(error).splitlines()[0] if str(error) else ''}".rstrip()
        raise error_of(ValueError, "E-NETWORK-FORMAT", why, file=file) from None


def _follow_passes(passes):
    blocks = []
    for step in passes:
        kind, words = step["op"], step.get("params", {})
        if kind == "conv3d":
            blocks.append((words, False, ""))
        elif kind == "group_norm" and blocks and words["num_groups"] == words["num_channels"]:
            blocks[-1] = (blocks[-1][0], True, blocks[-1][2])
        elif kind in ("gelu", "elu", "relu") and blocks:
            blocks[-1] = (*blocks[-1][:2], kind)
        elif kind != "batch_norm3d":
            raise ValueError(f"no {kind} is known here")
    return blocks


def _check_convolution(words, weight, file):
    """So that nothing larger is made than the array that there is."""
    numbers = {key: words.get(key) for key in ("in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation")}
    if any(type(number) is not int or not (0 if key == "padding" else 1) <= number <= 4096 for key, number in numbers.items()):
        raise error_of(ValueError, "E-NETWORK-FORMAT", f"it says impossible numbers of a convolution: {numbers}", file=file)
    shape = (words["out_channels"], words["in_channels"], *[words["kernel_size"]] * 3)
    if weight is None or tuple(weight.shape) != shape:
        why = f"model.pth has other arrays than it says: {'none' if weight is None else list(weight.shape)} in the place of {list(shape)}"
        raise error_of(ValueError, "E-WEIGHTS-MISMATCH", why, file=file)


def _read_arrays(path):
    import torch

    with open(path, "rb") as stream:
        content = stream.read(8)
        if content[:2] == b"PK":
            try:
                arrays = torch.load(path, map_location="cpu", weights_only=True)
                return {key: value for key, value in arrays.items() if isinstance(value, torch.Tensor)}
            except Exception as error:  # torch.load raises anything
                raise error_of(ValueError, "E-MODEL-FORMAT", f"it is no file of tensors: {str(error).splitlines()[0]}", file=path) from None
        content += stream.read()
    try:
        (length,) = struct.unpack_from("<Q", content)
        header = json.loads(content[8 : 8 + length])
        header.pop("__metadata__", None)
        arrays = {}
        for key, entry in header.items():
            begin, end = entry["data_offsets"]
            if entry["dtype"] != "F32":
                raise ValueError(f"{entry['dtype']} of {key}")
            arrays[key] = torch.frombuffer(bytearray(content[8 + length + begin : 8 + length + end]), dtype=torch.float32).reshape(entry["shape"])
        return arrays
    except (KeyError, RuntimeError, TypeError, ValueError, struct.error) as error:
        why = f"it is neither a safetensors file of floats nor an archive of PyTorch: {str(error).splitlines()[0]}"
        raise error_of(ValueError, "E-MODEL-FORMAT", why, file=path) from None
