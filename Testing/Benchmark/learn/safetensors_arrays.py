# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Weights of a model file for PyTorch."""

import json
import pathlib
import struct


def load(path):
    """A safetensors file: its arrays of floats by name."""
    import torch

    data = pathlib.Path(path).read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    arrays = {}
    for name, entry in json.loads(data[8 : 8 + size]).items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            arrays[name] = torch.frombuffer(bytearray(data[begin:end]), dtype=torch.float32).reshape(entry["shape"])
    return arrays
