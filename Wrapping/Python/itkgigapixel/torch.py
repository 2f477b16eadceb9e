# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Patches of slides for PyTorch's DataLoader.

>>> patches = gp.torch.PatchDataset(["a.svs", "b.svs"], patch=224, mpp=0.5, tissue="masks/")
>>> stream = gp.torch.PatchStream(patches, shuffle=True, seed=1, batch_size=32)
>>> for batch in torch.utils.data.DataLoader(stream, batch_size=None, num_workers=2):
...     module(batch["image"].float() / 255)
"""

from __future__ import annotations

import collections
import math
import operator
import os
from typing import Any, Callable, Iterator, Optional, Sequence, Union

import itk
import numpy as np
import torch

from itkgigapixel import torch_shared
from itkgigapixel.errors import error_of, in_a_sentence, names_arguments
from itkgigapixel.features import _check, _Places, _Tissue, find_mask, place_mask, squeeze
from itkgigapixel.files import check_mask_array
from itkgigapixel.progress import interruptible
from itkgigapixel.slide import Slide
from itkgigapixel.slide_content import Path, list_of, whole
from itkgigapixel.slide_file import new_reader
from itkgigapixel.torch_shared import Batch, Sample, collate, new_tensor

__all__ = ["PatchDataset", "PatchStream"]

Mask = Union[Path, np.ndarray]

#: Slides that a process keeps open.
_OPEN = 16
#: Neighboring patches are read one after another, in squares with so many along a side: they share tiles of the slide.
_SQUARE = 8
#: Decoded bytes of the squares that are mixed. It is half of what the cache of tiles holds by default.
_MIXED = 64 << 20

_TYPES = {
    "char": np.int8,
    "unsigned_char": np.uint8,
    "short": np.int16,
    "unsigned_short": np.uint16,
    "int": np.int32,
    "unsigned_int": np.uint32,
    "long": np.int64,
    "unsigned_long": np.uint64,
    "long_long": np.int64,
    "unsigned_long_long": np.uint64,
}


class _Quiet(Slide):
    """A slide whose warnings were given when the dataset was made."""

    _gives_warnings = False


class _Target:
    """Classes of a mask at the centers of a patch's pixels."""

    def __init__(self, mask: Mask, slide: Slide, downsample: Sequence[float]):
        """:param downsample: pixels of level 0 in one of a patch, along x and y"""
        self._io = None
        if isinstance(mask, np.ndarray):
            self._values = check_mask_array(mask, "masks")
            spacing, origin = (1, 1), (0, 0)
        else:
            name = find_mask(mask, slide.path)
            if name.lower().endswith((".tif", ".tiff")):
                spacing, origin = self._open(name, slide, min(downsample))
            else:
                io = itk.ImageIOFactory.CreateImageIO(name, itk.CommonEnums.IOFileMode_ReadMode)
                if io is not None:
                    io.SetExpandRGBPalette(False)
                image = itk.imread(name, imageio=io)
                self._values = squeeze(itk.array_from_image(image))
                spacing, origin = image.GetSpacing(), image.GetOrigin()
            if self._io is None and (self._values.ndim != 2 or self._values.dtype.kind not in "bui"):
                raise error_of(ValueError, "E-MASK-FORMAT", "it is not one channel of whole numbers", file=name, option="masks")
        self.size = self._size if self._io is not None else self._values.shape[::-1]
        self._pixel, self._origin = place_mask(slide, self.size, spacing, origin)
        ends = [o + p * n for o, p, n in zip(self._origin, self._pixel, self.size)]
        if any(end <= 0 or begin >= length for begin, end, length in zip(self._origin, ends, slide.levels[0][:2])):
            raise error_of(ValueError, "E-MASK-GRID", "its mask lies outside", file=slide.path, option="masks")

    def _open(self, name: str, slide: Slide, downsample: float):
        """Spacing and origin of the coarsest level that is not coarser than the patches."""
        io = new_reader()
        io.SetFileName(name)
        io.SetStoredValues(True)
        io.ReadImageInformation()
        finest = slide.levels[0].width / io.GetLevelSize(0)[0]
        fine = [k for k in range(io.GetNumberOfLevels()) if io.GetLevelDownsample(k) * finest <= downsample * 1.01]
        self._level = fine[-1] if fine else 0
        io.SetLevel(self._level)
        io.ReadImageInformation()
        kind = io.GetSampleType()
        if io.GetNumberOfComponents() != 1 or kind not in _TYPES:
            raise error_of(ValueError, "E-MASK-FORMAT", "it is not one channel of whole numbers", file=name, option="masks")
        self._io, self._dtype, self._size = io, _TYPES[kind], io.GetLevelSize(self._level)
        spacing = [io.GetSpacing(axis) for axis in range(2)] if io.GetMicronsPerPixel() else [1, 1]
        return spacing, [io.GetOrigin(axis) for axis in range(2)]

    def read(self, rectangle: Sequence[int], downsample: Sequence[float], patch: int) -> np.ndarray:
        """(y, x) of int64, 0 where the mask does not reach."""
        places = []
        for axis in range(2):
            centers = (rectangle[axis] + np.arange(patch) + 0.5) * downsample[axis]
            places.append(np.floor((centers - self._origin[axis]) / self._pixel[axis]).astype(np.int64))
        inside = [(0 <= p) & (p < n) for p, n in zip(places, self.size)]
        classes = np.zeros((patch, patch), np.int64)
        if all(each.any() for each in inside):
            (x, y), (in_x, in_y) = (p[i] for p, i in zip(places, inside)), inside
            classes[np.ix_(in_y, in_x)] = self._region(x[0], y[0], x[-1] + 1 - x[0], y[-1] + 1 - y[0])[np.ix_(y - y[0], x - x[0])]
        return classes

    def _region(self, x: int, y: int, width: int, height: int) -> np.ndarray:
        if self._io is None:
            return self._values[y : y + height, x : x + width]
        values = np.empty((int(height), int(width)), self._dtype)
        self._io.ReadPixels(self._level, int(x), int(y), int(width), int(height), 1, values)
        return values


class PatchDataset(torch.utils.data.Dataset[dict[str, Any]]):
    """Patches of slides, by their number: a dataset of PyTorch in map style.

    Patches lie in rows and columns from the first pixel of each slide on, as far as whole ones fit, row by row, slide by slide,
    as those of :func:`itkgigapixel.features`. Memory does not grow with the slides.

    A DataLoader may fork or spawn its workers. Each process opens the slides itself, and keeps the last 16 open.

    Each patch is a dict, which PyTorch's default collation makes batches of:

    - "image": a tensor (3, *patch*, *patch*),
    - "mask": a tensor (*patch*, *patch*) of torch.int64, where *masks* are given,
    - "slide": the number of the slide; "x" and "y": the patch's first pixel at level 0.

    Images, also those of batches, are in PyTorch's channels_last format.

    Parameters
    ----------
    slides : sequence of path-like or Slide
        Files, or :class:`itkgigapixel.Slide`, RGB or gray, of 8 bits.
    patch : int, default 224
        Side of a patch in pixels. 224 is what most encoders of pathology take.
    mpp : float, optional
        Micrometers per pixel, the same for all slides. None: 0.5, which is 20x, unless *level* is given.
    level : int, optional
        A stored level to read, in place of *mpp*, also of slides without a resolution.
    overlap : float, default 0.0
        What neighboring patches share of a side, 0 to below 1.
    tissue : path-like or sequence of masks, optional
        Where there is tissue: a folder of masks that are named as :func:`itkgigapixel.label` names them, or for each slide
        a mask (a file, or an array (y, x) of bool or uint8 that covers the slide). None: everywhere.
    preset : str, optional
        A preset of :func:`itkgigapixel.presets` to find the tissue with, in place of masks.
    least_tissue : float, default 0.25
        Patches with less than this share of tissue, 0 to 1, are left out.
    masks : path-like or sequence of masks, optional
        Targets, a folder or one for each slide, as *tissue*. Classes are picked at the centers of pixels. They come as the
        mask stores them: masks that label or segment wrote have 0 and 255. A pixel beyond the mask has 0. None: no targets.
    dtype : torch.dtype, default torch.uint8
        Type of images. torch.uint8, 0 to 255, is the smallest to hand from process to process. A type of floats is 0 to 1.
    transform : callable, optional
        A function of an image. None: images stay as they are.
    transforms : callable, optional
        A function of an image and its mask, where *masks* are given.

    Raises
    ------
    GigapixelError
        What cannot be read.
    ValueError
        An argument out of its range, a slide without a resolution, or smaller than a patch, or of other pixels, a mask
        beside its slide; no patch at all.

    Examples
    --------
    >>> patches = gp.torch.PatchDataset(["a.svs"], patch=256, mpp=0.5, masks=["a-mask.pyramid.tif"], dtype=torch.float32)
    >>> patches[0]["image"].shape
    torch.Size([3, 256, 256])
    """

    @names_arguments
    @in_a_sentence()
    def __init__(
        self,
        slides: Sequence[Path | Slide],
        *,
        patch: int = 224,
        mpp: Optional[float] = None,
        level: Optional[int] = None,
        overlap: float = 0.0,
        tissue: Path | Sequence[Mask] | None = None,
        preset: Optional[str] = None,
        least_tissue: float = 0.25,
        masks: Path | Sequence[Mask] | None = None,
        dtype: torch.dtype = torch.uint8,
        transform: Optional[Callable[[torch.Tensor], Any]] = None,
        transforms: Optional[Callable[[torch.Tensor, torch.Tensor], tuple[Any, Any]]] = None,
    ):
        if isinstance(slides, (str, bytes, os.PathLike, Slide)):
            slides = [slides]
        if mpp is not None and level is not None:
            raise error_of(ValueError, "E-OPTION-CONFLICT", "level and mpp are two ways to say one thing", "give one of them", option="mpp", value=mpp)
        if level is None and mpp is None:
            mpp = 0.5
        _check(patch, 1 if mpp is None else mpp, overlap, least_tissue, 1, 1)
        if tissue is not None and preset is not None:
            why = "masks of the tissue and a preset to find it with are given"
            raise error_of(ValueError, "E-OPTION-CONFLICT", why, "give one of them", option="preset", value=preset)
        if dtype != torch.uint8 and not dtype.is_floating_point:
            raise error_of(ValueError, "E-OPTION-VALUE", f"images are torch.uint8 or floats, not {dtype}", option="dtype", value=dtype)
        if transforms is not None and (masks is None or transform is not None):
            why = "transforms are of an image and its mask"
            raise error_of(ValueError, "E-OPTION-CONFLICT", why, "give masks, and no transform", option="transforms")
        self.patch, self.mpp, self.level, self.overlap = operator.index(patch), None if mpp is None else float(mpp), level, float(overlap)
        self.dtype, self.transform, self.transforms = dtype, transform, transforms
        given = [each if isinstance(each, Slide) else Slide(each) for each in list_of(slides, "slides")]
        self._slides = [each.__reduce__()[1] for each in given]  # a reader is of one process
        self._masks = _one_each(masks, len(given), "masks")
        if len({each is None for each in self._masks}) > 1:
            raise error_of(ValueError, "E-OPTION-VALUE", "some slides have a mask, and others none", "give each slide one, or none", option="masks")
        self._ready: collections.OrderedDict = collections.OrderedDict()
        self._process = os.getpid()
        self._places, self._squares, bytes_of_square = self._find(given, _one_each(tissue, len(given), "tissue"), preset, least_tissue)
        self.mixed_squares = max(1, _MIXED // max(bytes_of_square, 1))
        if len(self._places) == 0:
            raise error_of(ValueError, "E-MASK-GRID", "no slide has a patch with enough tissue", "look at the masks", option="least_tissue", value=least_tissue)

    def _find(self, slides: list[Slide], tissue: list, preset: Optional[str], least_tissue: float):
        """Slide, x and y of each patch, the number of its square, and the most bytes that a square is made of."""
        places, squares, count, largest = [], [], 0, 0
        for number, slide in enumerate(slides):
            grid = _Places(slide, self.patch, self.mpp, self.overlap, self.level)
            found = grid.list()
            row_of_squares = math.ceil(slide.levels[0].width / grid.step[0] / _SQUARE)
            column, row = (np.rint(found[:, axis] / grid.step[axis]).astype(np.int64) // _SQUARE for axis in range(2))
            if tissue[number] is not None or preset is not None:
                shares = _Tissue(slide, tissue[number], preset, grid.side).shares(found, grid.side)
                kept = shares >= least_tissue
                found, column, row = found[kept], column[kept], row[kept]
            if self._masks[number] is not None:
                _Target(self._masks[number], slide, grid.grid.downsample)  # what is wrong is told before an epoch begins
            finer = slide.levels[grid.grid.level].downsample
            largest = max(largest, round(3 * (_SQUARE * self.patch) ** 2 * math.prod(grid.grid.downsample) / finer**2))
            places.append(np.column_stack([np.full(len(found), number), found]))
            _, numbers = np.unique(row * row_of_squares + column, return_inverse=True)
            squares.append(numbers + count)
            count += int(numbers.max()) + 1 if len(numbers) else 0
        if not places:
            raise error_of(ValueError, "E-OPTION-VALUE", "there is no slide to take patches of", option="slides")
        return np.concatenate(places).astype(np.int64), np.concatenate(squares).astype(np.int64), largest

    def __len__(self) -> int:
        """How many patches there are."""
        return len(self._places)

    @property
    def places(self) -> np.ndarray:
        """(n, 3) of int64: the number of the slide, and x and y of the first pixel at level 0, of each patch."""
        return self._places

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_ready": collections.OrderedDict()}

    def _open(self, number: int):
        """A slide and its mask, of this process."""
        if self._process != os.getpid():
            self._ready, self._process = collections.OrderedDict(), os.getpid()
        ready = self._ready.pop(number, None)
        if ready is None:
            grid = _Places(_Quiet(*self._slides[number]), self.patch, self.mpp, self.overlap, self.level)
            mask = self._masks[number]
            ready = grid, None if mask is None else _Target(mask, grid.slide, grid.grid.downsample)
            while len(self._ready) >= _OPEN:
                self._ready.popitem(last=False)
        self._ready[number] = ready
        return ready

    @interruptible()  # once for all patches: within it, none of them changes the handler of signals
    def _read(self, places: np.ndarray, shared: bool) -> dict[str, torch.Tensor]:
        """Images, in the channels_last format, in which pixels are read, and masks. *shared*: see new_tensor."""
        shape = len(places), self.patch, self.patch
        images, memory = new_tensor((*shape, 3), self.dtype, shared)
        pixels = memory if self.dtype == torch.uint8 else torch.empty((*shape, 3), dtype=torch.uint8)
        masks, classes = (None, None) if self._masks[0] is None else new_tensor(shape, torch.int64, shared)
        for k, (number, x, y) in enumerate(places.tolist()):
            grid, target = self._open(number)
            grid.read_into(pixels[k].numpy(), (x, y))
            if target is not None and classes is not None:
                classes[k].numpy()[:] = target.read(grid.rectangle((x, y)), grid.grid.downsample, self.patch)
        if pixels is not memory:
            torch.div(pixels.to(self.dtype), 255, out=memory)
        images = images.permute(0, 3, 1, 2)
        return {"image": images} if masks is None else {"image": images, "mask": masks}

    def __getitem__(self, index: int) -> dict[str, Any]:
        """One patch, see the class; numbers below 0 count from the end.

        :raises IndexError: there is no such patch
        """
        return self._samples([operator.index(index)], shared=False)[0]

    def __getitems__(self, numbers: Sequence[int] | np.ndarray) -> list[dict[str, Any]]:
        """The patches of a batch, as a DataLoader asks for them: a worker reads them into memory that it uses again."""
        return self._samples(numbers, shared=True)

    def _samples(self, numbers: Sequence[int] | np.ndarray, shared: bool) -> list[dict[str, Any]]:
        places = self._places[np.asarray(numbers)]
        read = self._read(places, shared)
        samples = []
        for k, place in enumerate(places.tolist()):
            sample = Sample((name, values[k]) for name, values in read.items())
            sample.update(zip(("slide", "x", "y"), place))
            if self.transforms is not None:
                sample["image"], sample["mask"] = self.transforms(sample["image"], sample["mask"])
            elif self.transform is not None:
                sample["image"] = self.transform(sample["image"])
            samples.append(sample)
        return samples

    def batch(self, numbers: Sequence[int] | np.ndarray) -> dict[str, Any]:
        """Patches as PyTorch's default collation makes a batch of them. Without transforms they are not copied.

        Parameters
        ----------
        numbers : sequence of int
            Numbers of patches, as those of ``patches[number]``.

        Returns
        -------
        dict of str to torch.Tensor
            The same as of one patch, with an axis of patches before the others.

        Raises
        ------
        GigapixelError
            Pixels that cannot be read.

        Examples
        --------
        >>> patches.batch([0, 1, 2])["image"].shape
        torch.Size([3, 3, 224, 224])
        """
        if self.transform is not None or self.transforms is not None:
            return collate(self.__getitems__(numbers))
        places = self._places[np.asarray(numbers)]
        batch = Batch(self._read(places, shared=True))
        batch.update(zip(("slide", "x", "y"), torch.from_numpy(places.T.copy())))
        return batch


def _one_each(masks: Path | Sequence[Mask] | None, count: int, option: str) -> list:
    if masks is None or isinstance(masks, (str, bytes, os.PathLike)):
        return [masks] * count
    if isinstance(masks, np.ndarray) or len(masks) != count:
        why = f"there are {count} slides, and not as many masks"
        raise error_of(ValueError, "E-OPTION-VALUE", why, "give a folder, or a list of one for each slide", option=option)
    return list(masks)


class PatchStream(torch.utils.data.IterableDataset[dict[str, Any]]):
    """The patches of a :class:`PatchDataset` one after another, so that each tile of a slide is decoded about once.

    The order follows from *seed* and the epoch. It is cut into as many parts of equal length as there are ranks, and each of these
    into as many as there are workers, so that an epoch has the same patches for any number of both, each once. What a single process
    gets is this order; with several workers the DataLoader takes batches from them in turn.

    Parameters
    ----------
    patches : PatchDataset
        The dataset of the patches.
    shuffle : bool, default True
        Mix squares of 8 x 8 neighboring patches, so many at a time as the cache of decoded tiles holds
        (``patches.mixed_squares``): where one ends, another begins; False: row by row, slide by slide.
    seed : int, default 0
        The same one gives the same order, in any process.
    rank : int, optional
        Number of this process of *ranks*, from 0 on.
    ranks : int, optional
        Processes that share the patches. None: as torch.distributed says when the dataset is made, else as the environment
        that torchrun sets (RANK, WORLD_SIZE), else 1.
    even : bool, default False
        Leave out the last patches of the order, fewer than *ranks*, so that all ranks have the same number.
    batch_size : int, optional
        Patches of a batch, which the stream then makes itself, without copies: DataLoader(stream, batch_size=None). None:
        the DataLoader makes batches. The last batch of each worker may be smaller.

    Raises
    ------
    ValueError
        A *rank* that is not below *ranks*, a *batch_size* below 1.

    Examples
    --------
    >>> stream = gp.torch.PatchStream(patches, seed=1, batch_size=32)
    >>> loader = torch.utils.data.DataLoader(stream, batch_size=None, num_workers=2)
    >>> for epoch in range(10):
    ...     stream.set_epoch(epoch)
    ...     for batch in loader: ...
    """

    @names_arguments
    def __init__(
        self,
        patches: PatchDataset,
        *,
        shuffle: bool = True,
        seed: int = 0,
        rank: Optional[int] = None,
        ranks: Optional[int] = None,
        even: bool = False,
        batch_size: Optional[int] = None,
    ):
        if batch_size is not None and whole(batch_size, "batch_size") < 1:
            raise error_of(ValueError, "E-OPTION-VALUE", f"batch_size is at least 1, not {batch_size}", option="batch_size", value=batch_size)
        if (rank is None) != (ranks is None):
            raise error_of(ValueError, "E-OPTION-NEEDS", "rank and ranks are given together", "give both", option="rank", value=rank)
        if rank is None or ranks is None:
            rank, ranks = _find_rank()
        if not 0 <= whole(rank, "rank") < whole(ranks, "ranks"):
            raise error_of(ValueError, "E-OPTION-VALUE", f"a rank is 0 to {ranks - 1}, not {rank}", option="rank", value=rank)
        if whole(seed, "seed") < 0:
            raise error_of(ValueError, "E-OPTION-VALUE", f"seed is at least 0, not {seed}", option="seed", value=seed)
        self.patches, self.shuffle, self.seed = patches, bool(shuffle), operator.index(seed)
        self.rank, self.ranks, self.even, self.batch_size = rank, ranks, bool(even), batch_size
        self._epoch = torch.zeros((), dtype=torch.int64).share_memory_()  # workers that stay hear of the next one

    def set_epoch(self, epoch: int) -> None:
        """Gives the next epoch another order. Without it all epochs have the order of epoch 0.

        Parameters
        ----------
        epoch : int
            Number of the epoch, from 0 on.

        Examples
        --------
        >>> stream.set_epoch(1)
        """
        self._epoch.fill_(whole(epoch, "epoch"))

    def order(self) -> np.ndarray:
        """The order of this epoch's patches, for all ranks and workers.

        Returns
        -------
        array of shape (n,)
            Numbers of the patches.

        Examples
        --------
        >>> patches.places[stream.order()[0]]  # slide, x and y of the first patch
        """
        numbers = np.arange(len(self.patches))
        if not self.shuffle:
            return numbers
        rng = np.random.default_rng([self.seed, int(self._epoch)])
        squares = self.patches._squares
        begin = rng.permutation(int(squares.max()) + 1)[squares]  # of each patch's square
        # One square after another begins. Each lasts as long as so many others take to begin: tiles are decoded at an even pace.
        return numbers[np.argsort(begin + self.patches.mixed_squares * rng.random(len(numbers)))]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        worker = torch.utils.data.get_worker_info()
        order = self.order()
        if self.even:
            order = order[: len(order) // self.ranks * self.ranks]
        order = np.array_split(order, self.ranks)[self.rank]
        if worker is not None:
            order = np.array_split(order, worker.num_workers)[worker.id]
        if self.batch_size is None:
            begin = 0
            while begin < len(order):  # a batch at once, as soon as it is known how many patches the DataLoader makes one of
                count = torch_shared.samples_at_once if worker is not None else 1
                yield from self.patches._samples(order[begin : begin + count], shared=count > 1)
                begin += count
            return
        for begin in range(0, len(order), self.batch_size):
            yield self.patches.batch(order[begin : begin + self.batch_size])


def _find_rank() -> tuple[int, int]:
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_rank(), torch.distributed.get_world_size()
    return int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
