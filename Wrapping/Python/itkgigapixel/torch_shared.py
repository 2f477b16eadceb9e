# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Batches that a worker of PyTorch's DataLoader hands to the main process in memory which it uses again.

The system clears each page of new memory, which takes a quarter of the time in which a batch of patches is read into it.
"""

from __future__ import annotations

import contextlib
import fcntl
import math
import mmap
import os
from multiprocessing.reduction import ForkingPickler
from typing import Any, Optional, Sequence

import torch
from torch.utils.data._utils.collate import default_collate_fn_map

#: Bytes of a tensor from which on it lies in a buffer.
_LEAST = 1 << 16
#: Buffers that a worker keeps. PyTorch's default is two batches on their way, each with a buffer of images and one of masks.
_KEPT = 16


class _Buffer:
    """A file in memory that tensors lie in, one after another."""

    def __init__(self, size: int):
        self._file = os.memfd_create("itkgigapixel")
        os.truncate(self._file, size)
        self.memory = torch.frombuffer(mmap.mmap(self._file, size), dtype=torch.uint8)

    def take(self, size: int) -> Optional[torch.UntypedStorage]:
        """The first bytes as the storage of a tensor. None: there are fewer, or another tensor has them.

        Each storage opens the file anew and locks it. PyTorch sends what was opened to the process that receives the tensor.
        The system unlocks the file when all processes have closed it: when no tensor has the storage, or the processes ended.
        """
        if len(self.memory) < size:
            return None
        opened = os.open(f"/proc/self/fd/{self._file}", os.O_RDWR)
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return torch.UntypedStorage._new_shared_fd_cpu(opened, size)  # type: ignore[attr-defined]
        except BlockingIOError:
            return None
        finally:
            os.close(opened)


_buffers: list[_Buffer] = []


def new_tensor(shape: Sequence[int], dtype: torch.dtype, shared: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """A tensor without values to hand over, and one in the same memory to write the values into.

    Where they are *shared*, a worker sends the first one without a copy. The pages of the second one are mapped already: to map
    those of the first one for writing would take longer than to write them.
    """
    size = math.prod(shape) * dtype.itemsize
    if not shared or size < _LEAST or torch.utils.data.get_worker_info() is None:
        tensor = torch.empty(shape, dtype=dtype)
        return tensor, tensor
    with contextlib.suppress(OSError):  # of a system without such files or /proc, or without one more file
        if torch.multiprocessing.get_sharing_strategy() == "file_descriptor":
            for buffer in _buffers:
                if storage := buffer.take(size):
                    return _view(storage, shape, dtype), buffer.memory[:size].view(dtype).view(shape)
            if len(_buffers) < _KEPT:
                _buffers.append(_Buffer(size))
                return new_tensor(shape, dtype, shared)
    tensor = _view(torch.UntypedStorage._new_shared(size), shape, dtype)
    return tensor, tensor


def _view(storage: torch.UntypedStorage, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    return torch.empty(0, dtype=dtype).set_(storage).view(shape)


class Sample(dict[str, Any]):
    """A dict that PyTorch's default collation makes a :class:`Batch` of."""


class Batch(dict[str, Any]):
    """A dict that sends rows of integers as values. A tensor that is shared costs 0.2 ms and an open file, see the benchmark."""


def _send(batch: Batch):
    rows = [name for name, values in batch.items() if _is_plain(values) and values.ndim == 1 and values.dtype == torch.int64]
    return _receive, (batch | {name: batch[name].numpy() for name in rows}, rows)


def _receive(batch: dict[str, Any], rows: Sequence[str]) -> dict[str, Any]:
    return batch | {name: torch.from_numpy(batch[name]) for name in rows}


def _is_plain(value: Any) -> bool:
    return type(value) is torch.Tensor and value.layout == torch.strided and value.device.type == "cpu" and not value.requires_grad


def collate(samples: Sequence[dict[str, Any]], *, collate_fn_map=None) -> Batch:
    """As PyTorch's default collation, but the axes of images keep their order in memory: they are not turned."""
    batch = Batch()
    for name, first in samples[0].items():
        values = [sample[name] for sample in samples]
        if all(_is_plain(each) and each.dtype == first.dtype for each in values):
            order = sorted(range(first.ndim), key=first.stride, reverse=True)
            tensor, memory = new_tensor((len(samples), *(first.shape[axis] for axis in order)), first.dtype, shared=True)
            torch.stack([each.permute(order) for each in values], out=memory)
            batch[name] = tensor.permute(0, *(1 + order.index(axis) for axis in range(first.ndim)))
        else:
            batch[name] = torch.utils.data.default_collate(values)
    return batch


default_collate_fn_map[Sample] = collate
ForkingPickler.register(Batch, _send)
