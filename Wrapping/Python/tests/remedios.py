# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""The preset remedios2023 in PyTorch's own layers, with the weights of a model file."""

import json
import pathlib
import struct

import numpy as np
import torch


def load(path) -> tuple[dict, dict[str, torch.Tensor]]:
    """A safetensors file, read by its specification: 8 bytes of header size, JSON, data."""
    data = pathlib.Path(path).read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    types = {"F32": torch.float32, "F64": torch.float64}
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] in types:
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            tensors[name] = torch.frombuffer(bytearray(data[begin:end]), dtype=types[entry["dtype"]]).reshape(entry["shape"])
    return header["__metadata__"], tensors


def parameters(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Weights and biases; what the step of 1e-30 made of a bias of 0 is 0 again, since ReLU's gradient tells them apart."""
    return {
        k: torch.where(v.abs() < 1e-20, torch.zeros_like(v), v).double().requires_grad_()
        for k, v in tensors.items()
        if k.endswith((".weight", ".bias")) and k[0] == "L"
    }


def logits(pixels: np.ndarray, p: dict[str, torch.Tensor]) -> torch.Tensor:
    """The preset remedios2023 in PyTorch, double precision, on the whole canvas (a multiple of 32 of background); (y, x), or
    (class, y, x) where it ends in several classes."""
    height, width = pixels.shape
    canvas = torch.zeros(1, 1, -(-height // 32) * 32, -(-width // 32) * 32, dtype=torch.float64)
    canvas[0, 0, :height, :width] = torch.from_numpy((255 - pixels.astype(np.float64)) / 255)
    convolve, transpose, relu = torch.conv2d, torch.conv_transpose2d, torch.relu

    def layer(function, x, name, **how):
        return function(x, p[f"{name}.weight"], p[f"{name}.bias"], **how)

    one = relu(layer(convolve, canvas, "L1", stride=8, padding=4))
    two = relu(layer(convolve, one, "L2", stride=2, padding=1))
    four = relu(layer(convolve, relu(layer(convolve, two, "L3", stride=2, padding=1)), "L4", padding=1))
    five = relu(layer(transpose, four, "L5", stride=2)) + two
    six = relu(layer(transpose, five, "L6", stride=2)) + one
    return layer(transpose, six, "L7", stride=8)[0, :, :height, :width].squeeze(0)
