# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Batches that a worker of PyTorch's DataLoader hands to the main process in memory which it uses again.

The system clears each page of new memory, which takes a quarter of the time in which a batch of patches is read into it.
"""

from __future__ import annotations

import contextlib
import fcntl
import math
import mmap
import operator
import os
from multiprocessing.reduction import ForkingPickler
from typing import Any, NamedTuple, Optional, Sequence

import numpy as np
import torch
from torch.utils.data._utils.collate import default_collate_fn_map

#: Bytes of a tensor from which on it lies in a buffer.
_LEAST = 1 << 16
#: Buffers that a worker keeps. PyTorch's default is two batches on their way, each with a buffer of images and one of masks.
_KEPT = 16
#: Values of a buffer's byte
_AS_PYTORCH, _BY_NAME, _ON_ITS_WAY = range(3)


class _Buffer:
    """A file in memory that tensors lie in, one after another. The byte behind them says how the next one is sent, see _send()."""

    def __init__(self, size: int):
        self.size = size
        self._file = os.memfd_create("itkgigapixel")
        os.truncate(self._file, size + 1)
        self._bytes = mmap.mmap(self._file, size + 1)
        self.memory = torch.frombuffer(self._bytes, dtype=torch.uint8, count=size)
        self.path = f"/proc/{os.getpid()}/fd/{self._file}"
        self.number = os.fstat(self._file).st_ino

    @property
    def way(self) -> int:
        return self._bytes[self.size]

    @way.setter
    def way(self, way: int) -> None:
        self._bytes[self.size] = way

    def take(self, size: int) -> Optional[torch.UntypedStorage]:
        """The first bytes as the storage of a tensor. None: there are fewer, or another tensor has them.

        Each storage opens the file anew and locks it. The system unlocks the file when all who have opened it have closed it:
        when no tensor has the storage, or the processes ended.
        """
        if self.size < size:
            return None
        with _opened(self.path) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return None
            if self.way == _ON_ITS_WAY:  # asked for now: before, the last tensor may not have been sent
                return None
            fcntl.flock(file, fcntl.LOCK_SH)  # so that the process that receives the tensor can lock it as well
            return _map(file, size)


@contextlib.contextmanager
def _opened(path: str):
    file = os.open(path, os.O_RDWR)
    try:
        yield file
    finally:
        os.close(file)


def _map(file: int, size: int) -> torch.UntypedStorage:
    return torch.UntypedStorage._new_shared_fd_cpu(file, size)  # type: ignore[attr-defined]


_buffers: list[_Buffer] = []
#: The most samples that a batch was made of in this process.
samples_at_once = 1


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
                _buffers.sort(key=operator.attrgetter("size"))  # the smallest that is large enough is taken
                return new_tensor(shape, dtype, shared)
    tensor = _view(torch.UntypedStorage._new_shared(size), shape, dtype)
    return tensor, tensor


def _view(storage: torch.UntypedStorage, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    return torch.empty(0, dtype=dtype).set_(storage).view(shape)


class Sample(dict[str, Any]):
    """A dict that PyTorch's default collation makes a :class:`Batch` of."""


class Batch(dict[str, Any]):
    """A dict that a worker sends faster than PyTorch does: without its connection, and its open file, for each tensor."""


class _Row(NamedTuple):
    """Integers, which are sent as values."""

    values: np.ndarray

    def open(self) -> torch.Tensor:
        return torch.from_numpy(self.values)


class _First(NamedTuple):
    """A tensor in a buffer, as PyTorch sends it. The receiving process tries whether it can open the buffer by its name."""

    tensor: torch.Tensor
    path: str
    size: int

    def open(self) -> torch.Tensor:
        with contextlib.suppress(OSError), _opened(self.path) as file:
            os.pwrite(file, bytes([_BY_NAME]), self.size)
        return self.tensor


class _Named(NamedTuple):
    """A tensor in a buffer, by its name. The byte keeps the buffer for it until the receiving process has locked the file."""

    path: str
    size: int
    dtype: torch.dtype
    place: tuple[int, torch.Size, tuple[int, ...]]

    def open(self) -> torch.Tensor:
        with _opened(self.path) as file:
            fcntl.flock(file, fcntl.LOCK_SH)
            os.pwrite(file, bytes([_BY_NAME]), self.size)
            return torch.empty(0, dtype=self.dtype).set_(_map(file, self.size), *self.place)


def _find_buffer(tensor: torch.Tensor) -> Optional[_Buffer]:
    """None: it lies elsewhere."""
    if not _buffers or not tensor.is_shared():
        return None
    number = os.fstat(tensor.untyped_storage()._share_fd_cpu_()[0]).st_ino
    return next((each for each in _buffers if each.number == number), None)


def _pack(value: Any) -> Any:
    if not _is_plain(value):
        return value
    if value.ndim == 1 and value.dtype == torch.int64:
        return _Row(value.numpy())
    if not _buffers or not value.is_shared():
        return value
    storage = value.untyped_storage()
    number = os.fstat(storage._share_fd_cpu_()[0]).st_ino
    buffer = next((each for each in _buffers if each.number == number), None)
    if buffer is None or buffer.way == _ON_ITS_WAY:  # the worker has sent it elsewhere as well
        return value
    if buffer.way == _AS_PYTORCH:
        return _First(value, buffer.path, buffer.size)
    buffer.way = _ON_ITS_WAY
    return _Named(buffer.path, buffer.size, value.dtype, (value.storage_offset(), value.shape, value.stride()))


def _send(batch: Batch):
    return _receive, ({name: _pack(value) for name, value in batch.items()},)


def _receive(batch: dict[str, Any]) -> dict[str, Any]:
    return {name: value.open() if isinstance(value, (_Row, _First, _Named)) else value for name, value in batch.items()}


def _is_plain(value: Any) -> bool:
    return type(value) is torch.Tensor and value.layout == torch.strided and value.device.type == "cpu" and not value.requires_grad


def collate(samples: Sequence[dict[str, Any]], *, collate_fn_map=None) -> Batch:
    """As PyTorch's default collation, but the axes of images keep their order in memory: they are not turned."""
    global samples_at_once
    samples_at_once = max(samples_at_once, len(samples))  # the last batch of an epoch may be smaller
    batch = Batch()
    for name, first in samples[0].items():
        values = [sample[name] for sample in samples]
        if not all(_is_plain(each) and each.dtype == first.dtype for each in values):
            batch[name] = torch.utils.data.default_collate(values)
        elif _is_one_after_another(values):
            batch[name] = first.as_strided((len(values), *first.shape), (first.numel(), *first.stride()))
        else:
            order = sorted(range(first.ndim), key=first.stride, reverse=True)
            tensor, memory = new_tensor((len(samples), *(first.shape[axis] for axis in order)), first.dtype, shared=True)
            torch.stack([each.permute(order) for each in values], out=memory)
            batch[name] = tensor.permute(0, *(1 + order.index(axis) for axis in range(first.ndim)))
    return batch


def _is_one_after_another(tensors: Sequence[torch.Tensor]) -> bool:
    """Whether they lie so in a buffer: all of a batch were read into it, and need not be copied."""
    first, memory = tensors[0], tensors[0].untyped_storage().data_ptr()
    return _find_buffer(first) is not None and all(
        each.untyped_storage().data_ptr() == memory
        and (each.shape, each.stride()) == (first.shape, first.stride())
        and each.storage_offset() == first.storage_offset() + k * first.numel()
        for k, each in enumerate(tensors)
    )


default_collate_fn_map[Sample] = collate
ForkingPickler.register(Batch, _send)
