# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Slides as arrays."""

from __future__ import annotations

import math
import operator
import os
from typing import TYPE_CHECKING, Iterator, NamedTuple, Optional, Sequence, Union

import itk
import numpy as np

from itkgigapixel.errors import in_a_sentence
from itkgigapixel.progress import interruptible

if TYPE_CHECKING:
    import dask.array
    import torch
    import xarray

Path = Union[str, os.PathLike]
Region = Sequence[int]


def file_name(path: Path) -> str:
    """A path as the C++ classes take it.

    :raises TypeError: no path
    :raises ValueError: a name that is cut short by a zero byte, or that is not UTF-8
    """
    name = os.fsdecode(path)
    if "\0" in name:
        raise ValueError(f"The file name {name!r} has a zero byte in it")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise ValueError(f"The file name {name!r} is not UTF-8, which ITK needs: rename the file, or make a link to it") from None
    return name


class Level(NamedTuple):
    """One level of a slide's pyramid."""

    width: int
    height: int
    downsample: float
    #: micrometers per pixel, 0 where the slide does not say
    mpp: float


class Tile(NamedTuple):
    """A rectangle of a level: its first pixel, in pixels of the level, and its pixels, (y, x, channels) or (y, x)."""

    x: int
    y: int
    pixels: np.ndarray


class Slide:
    """A whole-slide image, read region by region.

    :param path: what ``itk.WholeSlideImageIO`` reads: Aperio SVS, Hamamatsu NDPI, DICOM, tiled TIFF, and all that OpenSlide
        opens (where openslide-bin is installed)
    :param mpp: the resolution of level 0 in micrometers per pixel where the file says none, or nonsense; what a file says
        plausibly stays
    :param strict: make the first damaged tile that is read an error, also where this slide is what something is made of;
        otherwise such a tile gives what pixels can be decoded, with a warning
    :raises ValueError: an *mpp* that is not above 0
    :raises RuntimeError: a sentence that names the file, what is wrong with it and what to do

    All methods may be called from several threads at once. A slide can be pickled: the other process opens it again.

    In all methods *level* chooses a level by its number, *mpp* the coarsest one that is not coarser than so many
    micrometers per pixel (10 % tolerance); *region* is ``(x, y, width, height)`` in pixels of level 0, whatever the level,
    and becomes those pixels of the level that it touches (what lies beyond the right or lower edge is left out); *gray* reads Rec. 601 luma instead of RGB (faster: of JPEG
    only the luma channel is decoded). A level, resolution or region that the slide does not have is a ValueError.

    Pictures of 8 bits, gray ones as well, are read as RGB, transparency composited onto the background. Everything else
    comes as it is stored: samples of 16 bits or float, one channel as (y, x), several as (y, x, channels).
    """

    def __init__(self, path: Path, mpp: Optional[float] = None, strict: bool = False):
        if mpp is not None and not 0 < float(mpp) < math.inf:
            raise ValueError(f"A resolution is so many micrometers per pixel, above 0, not {mpp}")
        self.path = file_name(path)
        self._mpp = None if mpp is None else float(mpp)
        self.strict = bool(strict)
        self._io = self._open()

    @interruptible()
    def _open(self):
        io = itk.WholeSlideImageIO.New()
        io.SetFileName(self.path)
        if self.strict:  # else the default of the process holds
            io.StrictOn()
        if self._mpp is not None:
            io.SetLevelZeroMicronsPerPixel(self._mpp)
        with in_a_sentence():
            io.ReadImageInformation()
        return io

    def __reduce__(self):
        return Slide, (self.path, self._mpp, self.strict)

    def __repr__(self):
        first = self.levels[0]
        levels = f"{len(self.levels)} level{'s' if len(self.levels) > 1 else ''}"
        resolution = f"{self.mpp:g} um" if self.mpp else "unknown resolution"
        return f"Slide({self.path!r}: {first.width} x {first.height}, {levels}, {resolution}, {self.decoder})"

    @property
    def levels(self) -> list[Level]:
        """The levels, finest first."""
        downsamples = [self._io.GetLevelDownsample(k) for k in range(self._io.GetNumberOfLevels())]
        return [Level(*self._io.GetLevelSize(k), d, self.mpp * d) for k, d in enumerate(downsamples)]

    @property
    def mpp(self) -> float:
        """Micrometers per pixel of level 0, 0 where it is unknown."""
        return self._io.GetMicronsPerPixel()

    @property
    def vendor(self) -> str:
        """The scanner's maker as OpenSlide names it, or "generic-tiff"."""
        return self._io.GetVendor()

    @property
    def decoder(self) -> str:
        """How pixels are got, e.g. "tiles (JPEG)" or "OpenSlide 4.0.1"."""
        return self._io.GetDecoder()

    @property
    def dtype(self) -> np.dtype:
        """The type of a sample: uint8, uint16 or float32."""
        name = self._io.GetComponentTypeAsString(self._io.GetComponentType())
        return np.dtype({"unsigned_char": np.uint8, "unsigned_short": np.uint16, "float": np.float32}[name])

    @property
    def channels(self) -> list[str]:
        """What is read without *gray*: "red", "green" and "blue" of a picture, else the file's names, "0", "1", ... where
        it has none."""
        if self._is_picture():
            return ["red", "green", "blue"]
        count = self._io.GetNumberOfComponents()
        names = self.properties.get("gigapixel.channel-names", "").split("\n")
        return names if len(names) == count and all(names) else [str(channel) for channel in range(count)]

    def _is_picture(self) -> bool:
        """Whether it is RGB or gray of 8 bits, which are read as either."""
        kind = self._io.GetPixelTypeAsString(self._io.GetPixelType())
        return self.dtype == np.uint8 and kind in ("rgb", "scalar")

    def _channels(self, gray: bool) -> tuple[int, ...]:
        """The shape of a pixel."""
        count = 1 if gray else len(self.channels)
        if gray and not self._is_picture() and self._io.GetNumberOfComponents() > 1:
            raise ValueError(f"{self.path} has the channels {', '.join(self.channels)}, which have no gray: read them all")
        return () if count == 1 else (count,)

    @property
    def properties(self) -> dict[str, str]:
        """All properties under OpenSlide's names."""
        dictionary = self._io.GetMetaDataDictionary()
        return {key: str(dictionary[key]) for key in dictionary.GetKeys()}

    @property
    def associated(self) -> dict[str, np.ndarray]:
        """Label, macro, thumbnail, ... as arrays (y, x, 3)."""
        return {name: self._associated(name) for name in self._io.GetAssociatedImageNames()}

    def _associated(self, name: str) -> np.ndarray:
        io = itk.WholeSlideImageIO.New()
        io.SetAssociatedImage(name)
        return itk.array_from_image(itk.imread(self.path, imageio=io))

    def select(self, level: Optional[int] = None, mpp: Optional[float] = None) -> int:
        """The number of the level that *level* or *mpp* means; 0 without either."""
        if level is not None and mpp is not None:
            raise ValueError("Give level or mpp, not both")
        if mpp is None:
            chosen = 0 if level is None else operator.index(level)
            if not 0 <= chosen < self._io.GetNumberOfLevels():
                raise ValueError(f"{self.path} has the levels 0 to {self._io.GetNumberOfLevels() - 1}, not {level}")
            return chosen
        if not self.mpp:
            raise ValueError(f"The resolution of {self.path} is unknown: give its mpp when opening it, or ask for a level")
        fine = [k for k, each in enumerate(self.levels) if each.mpp <= mpp * 1.1]
        if not fine:
            raise ValueError(f"{self.path} has {self.mpp:g} um per pixel at its finest level, which is coarser than {mpp:g}")
        return fine[-1]

    def inside(self, region: Region) -> list:
        """The four numbers of a region, as Python's own (sums of NumPy's small integers wrap around), without what lies
        beyond the right or lower edge.

        :raises ValueError: they are not four, or the region is empty or does not begin inside the slide
        """
        numbers = [each.item() if isinstance(each, np.generic) else each for each in region]
        if len(numbers) != 4:
            raise ValueError(f"A region is (x, y, width, height), not {tuple(numbers)}")
        x, y, width, height = numbers
        first = self.levels[0]
        if not (width >= 1 and height >= 1 and 0 <= x < first.width and 0 <= y < first.height):
            raise ValueError(f"The region {tuple(numbers)} is not inside {self.path} of {first.width} x {first.height} pixels")
        return [x, y, min(width, first.width - x), min(height, first.height - y)]

    def _rectangle(self, level: int, region: Optional[Region]) -> tuple[int, int, int, int]:
        """The region in pixels of the level, inside the level."""
        size = self.levels[level]
        if region is None:
            return 0, 0, size.width, size.height
        x, y, width, height = self.inside(region)
        left, top = (min(int(v / size.downsample), n - 1) for v, n in ((x, size.width), (y, size.height)))
        right = min(math.ceil((x + width) / size.downsample), size.width)
        bottom = min(math.ceil((y + height) / size.downsample), size.height)
        return left, top, max(right - left, 1), max(bottom - top, 1)

    @interruptible()
    def _read(self, level: int, rectangle: tuple[int, int, int, int], gray: bool) -> np.ndarray:
        channels = self._channels(gray)
        pixels = np.empty((rectangle[3], rectangle[2], *channels), self.dtype)
        with in_a_sentence():
            self._io.ReadPixels(level, *rectangle, *(channels or (1,)), pixels)
        return pixels

    def read(
        self,
        level: Optional[int] = None,
        mpp: Optional[float] = None,
        region: Optional[Region] = None,
        gray: bool = False,
    ) -> np.ndarray:
        """Pixels as an array of *dtype*, (y, x, channels), of one channel (y, x). See the class for the parameters."""
        level = self.select(level, mpp)
        return self._read(level, self._rectangle(level, region), gray)

    def image(
        self,
        level: Optional[int] = None,
        mpp: Optional[float] = None,
        region: Optional[Region] = None,
        gray: bool = False,
    ):
        """Pixels as an ITK image in its place: spacing and origin in mm, as ``itk.imread`` gives for the whole level."""
        level = self.select(level, mpp)
        rectangle = self._rectangle(level, region)
        pixels = self._read(level, rectangle, gray)
        sample = {"uint8": itk.UC, "uint16": itk.US, "float32": itk.F}[self.dtype.name]
        if pixels.ndim == 2:
            kind = itk.Image[sample, 2]
        else:
            kind = itk.Image[itk.RGBPixel[sample], 2] if self._is_picture() else itk.VectorImage[sample, 2]
        image = itk.image_from_array(pixels, ttype=kind)
        spacing, origin = self._geometry(level)
        image.SetSpacing(spacing)
        image.SetOrigin([o + s * i for o, s, i in zip(origin, spacing, rectangle)])
        return image

    def _geometry(self, level: int) -> tuple[list[float], list[float]]:
        """Spacing and center of the level's first pixel in mm, (x, y)."""
        fine = [self._io.GetSpacing(axis) for axis in range(2)]
        downsample = self.levels[level].downsample
        return [s * downsample for s in fine], [(downsample - 1) / 2 * s for s in fine]

    def xarray(
        self,
        level: Optional[int] = None,
        mpp: Optional[float] = None,
        region: Optional[Region] = None,
        gray: bool = False,
    ) -> "xarray.DataArray":
        """Pixels with the coordinates of their centers in mm (pixels where the resolution is unknown)."""
        level = self.select(level, mpp)
        rectangle = self._rectangle(level, region)
        return self._with_coordinates(self._read(level, rectangle, gray), level, rectangle[:2])

    def _with_coordinates(self, pixels, level: int, first: Sequence[int]) -> "xarray.DataArray":
        import xarray

        spacing, origin = self._geometry(level)
        counts = pixels.shape[1], pixels.shape[0]
        x, y = (o + s * (i + np.arange(n)) for o, s, i, n in zip(origin, spacing, first, counts))
        coordinates = {"y": y, "x": x}
        if pixels.ndim == 3:
            coordinates["c"] = self.channels
        attributes = {"units": "mm" if self.mpp else "pixel", "level": level, "mpp": self.levels[level].mpp}
        return xarray.DataArray(pixels, coordinates, ("y", "x", "c")[: pixels.ndim], self.path, attributes)

    def tiles(
        self,
        size: int = 1024,
        level: Optional[int] = None,
        mpp: Optional[float] = None,
        region: Optional[Region] = None,
        gray: bool = False,
        overlap: int = 0,
    ) -> Iterator[Tile]:
        """Row by row, tiles of *size* pixels of the level; those at the right and bottom are as small as what is left.

        :param overlap: pixels by which tiles reach over their grid on all sides, as far as there are any in the region
        :raises ValueError: a *size* below 1, an *overlap* below 0
        """
        if size < 1 or overlap < 0:
            raise ValueError(f"Tiles have a size of at least 1 and an overlap of at least 0 pixels, not {size} and {overlap}")
        level = self.select(level, mpp)
        left, top, width, height = self._rectangle(level, region)
        right, bottom = left + width, top + height
        for y in range(top, bottom, size):
            for x in range(left, right, size):
                x0, y0 = max(x - overlap, left), max(y - overlap, top)
                x1, y1 = min(x + size + overlap, right), min(y + size + overlap, bottom)
                yield Tile(x0, y0, self._read(level, (x0, y0, x1 - x0, y1 - y0), gray))

    def dask(
        self,
        level: Optional[int] = None,
        mpp: Optional[float] = None,
        gray: bool = False,
        chunk: int = 2048,
    ) -> "dask.array.Array":
        """A level as a lazy dask array in chunks of *chunk* x *chunk* pixels; nothing is read before it is computed.

        :raises ValueError: a *chunk* below 1
        """
        import dask.array

        if operator.index(chunk) < 1:
            raise ValueError(f"Chunks have a side of at least 1 pixel, not {chunk}")
        level = self.select(level, mpp)
        size = self.levels[level]
        channels = self._channels(gray)

        def block(block_info=None):
            (y0, y1), (x0, x1) = block_info[None]["array-location"][:2]
            return self._read(level, (x0, y0, x1 - x0, y1 - y0), gray)

        chunks = dask.array.core.normalize_chunks(
            (min(chunk, size.height), min(chunk, size.width), *channels), (size.height, size.width, *channels)
        )
        return dask.array.map_blocks(block, chunks=chunks, dtype=self.dtype, meta=np.empty((0,) * len(chunks), self.dtype))

    def tensor(
        self,
        level: Optional[int] = None,
        mpp: Optional[float] = None,
        region: Optional[Region] = None,
        gray: bool = False,
    ) -> "torch.Tensor":
        """Pixels as a torch tensor of *dtype*, (channels, y, x): a view of what was read, without a copy."""
        import torch

        pixels = torch.from_numpy(self.read(level, mpp, region, gray))
        return pixels[None] if pixels.ndim == 2 else pixels.permute(2, 0, 1)
