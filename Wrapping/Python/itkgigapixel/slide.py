# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Slides as arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator, Optional, Sequence, Union

import itk
import numpy as np

from itkgigapixel.errors import error_of, in_a_sentence, names_arguments
from itkgigapixel.progress import interruptible
from itkgigapixel.slide_content import Channels, Region, Tile, whole
from itkgigapixel.slide_file import Grid, SlideFile, with_parameters

if TYPE_CHECKING:
    import dask.array
    import torch
    import xarray


class Slide(SlideFile):
    """A whole-slide image, read region by region.

    All methods may be called from several threads at once. A slide can be pickled: the other process opens it again.

    Methods have the same parameters:

    - *level* reads a stored level, by its number.
    - *mpp* reads pixels of exactly so many micrometers, along x and y. Each is the mean of the area that it covers, weighted by the
      covered part of each pixel of the next finer level. The first one begins where the slide begins. The size is that of the finer
      level divided by the factor, rounded up. The last row and column are means of what lies on the slide; they are left out where
      that is 1 % of them or less. A level whose grid differs by less than half a pixel over the whole slide is read as it
      is stored. A resolution more than 10 % finer than level 0 is refused. Labels (a palette, one bit, masks of this package) are
      picked at the center and not averaged.
    - *region* is ``(x, y, width, height)`` in pixels of level 0. It becomes all pixels that it touches, at any level or resolution.
      What lies beyond the right or lower edge is left out.
    - *gray* reads Rec. 601 luma instead of RGB. It is faster: of JPEG only the luma channel is decoded.

    A level, resolution or region that the slide does not have is a :class:`GigapixelError` and a ValueError.

    Pictures of 8 bits, gray ones as well, are read as RGB, transparency composited onto the background. Everything else
    comes as it is stored: samples of 16 bits or float, one channel as (y, x), several as (y, x, channels). So do channels that are
    chosen.

    Parameters
    ----------
    path : path-like
        A file that ``itk.WholeSlideImageIO`` reads: Aperio SVS, Hamamatsu NDPI, DICOM, tiled TIFF, and all that OpenSlide
        opens (where openslide-bin is installed).
    mpp : float, optional
        The resolution of level 0 in micrometers per pixel where the file says none, or nonsense. A plausible one in the
        file stays. None: what the file says.
    strict : bool, default False
        Make the first damaged tile that is read an error, also where something is made from this slide. Otherwise such a
        tile gives what pixels can be decoded, with a warning.
    image : str or int, optional
        Which image of the file, by its name or its number, where it has several. None: the main one.
    channels : str, int or sequence of these, optional
        A channel, or several in the order that is wanted, by names or numbers from 1 (a name comes first). None: all.
        Pixels of one are (y, x).
    window : "auto" or (float, float), optional
        Values of samples that become 0 and 255 of 8 bits, ``(LOW, HIGH)``; "auto": the 0.1 and 99.9 percentile of each
        channel, the same for the whole slide. None: samples as they are stored.
    plane : int or {"middle", "max", "focus"}, optional
        Which focal plane of the image, by its number from the lowest; "max" is the maximum of all planes, "focus" the
        sharpest pixels of them. None: the plane nearest to the focus, or the middle one.

    Raises
    ------
    GigapixelError
        A file that cannot be read as a slide.
    ValueError
        An *mpp* that is not above 0.

    Examples
    --------
    >>> with gp.Slide("slide.svs") as slide:      # the file is closed at the end of the block
    ...     pixels = slide.read(mpp=2.0)
    """

    @interruptible()
    def _read(self, grid: Grid, rectangle: tuple[int, int, int, int], gray: bool, pixels: Optional[np.ndarray] = None) -> np.ndarray:
        """:param pixels: where they go, without gaps; None: a new array"""
        channels = self._channels(gray)
        if pixels is None:
            pixels = np.empty((rectangle[3], rectangle[2], *channels), self.dtype)
        grid.io.ReadPixels(grid.number, *rectangle, *(channels or (1,)), pixels)
        grid.io.ReportDamage()  # now: later it would be of no line of the caller's
        return pixels

    @names_arguments
    @in_a_sentence()
    @with_parameters
    def read(
        self,
        level: Optional[int] = None,
        mpp: Optional[float] = None,
        region: Optional[Region] = None,
        gray: bool = False,
        pad: Union[float, Sequence[float], None] = None,
        channels: Optional[Channels] = None,
    ) -> np.ndarray:
        """Pixels as an array.

        Parameters
        ----------
        {level}
        {mpp}
        {region}
        {gray}
        pad : float or sequence of float, optional
            The value of pixels beyond the slide, one, or one for each channel, in the range of *dtype*. The region may then
            begin or end outside the slide, or lie beside it, and the array has all of it. None: what lies beyond the right
            or lower edge is left out, and a region that begins outside is refused, since few networks should see made-up
            pixels.
        {channels}

        Returns
        -------
        array of shape (y, x, channels)
            Pixels of *dtype*; of one channel (y, x).

        {raises} A *pad* that is no value of *dtype*.

        Examples
        --------
        >>> slide.read(region=(-100, -100, 512, 512), pad=255).shape  # white around the slide
        (512, 512, 3)
        >>> slide.read(region=(0, 0, 512, 512), channels=["DAPI", 3]).shape  # of an immunofluorescence slide
        (512, 512, 2)
        """
        if channels is not None:
            return self._with(channels).read(level, mpp, region, gray, pad)
        grid = self._grid(level, mpp)
        if pad is None:
            return self._read(grid, self._rectangle(grid, region), gray)
        left, top, width, height = self._unbounded(grid, region)
        pixels = np.empty((height, width, *self._channels(gray)), self.dtype)
        pixels[:] = self._value(pad, pixels.shape[2:])
        x0, y0, x1, y1 = max(left, 0), max(top, 0), min(left + width, grid.width), min(top + height, grid.height)
        if x0 < x1 and y0 < y1:
            pixels[y0 - top : y1 - top, x0 - left : x1 - left] = self._read(grid, (x0, y0, x1 - x0, y1 - y0), gray)
        return pixels

    def _value(self, pad: Union[float, Sequence[float]], shape: tuple[int, ...]) -> np.ndarray:
        given = np.asarray(pad)
        with np.errstate(invalid="ignore", over="ignore"):  # what does not fit is refused below
            value = given.astype(self.dtype) if given.dtype.kind in "buif" else None
        is_one = value is not None and (np.array_equal(value, given) or self.dtype.kind == "f")
        if value is None or not is_one or given.shape not in ((), shape):
            why = f"pixels of {self.dtype} and the shape {shape} cannot have the value {pad}"
            raise error_of(ValueError, "E-OPTION-VALUE", why, option="pad", value=pad)
        return value

    @in_a_sentence()
    @with_parameters
    def thumbnail(self, size: int = 512, gray: bool = False) -> np.ndarray:
        """The whole slide with a longer side of *size* pixels, or as it is where it is smaller.

        Pixels are square, and means of the area that they cover (labels are picked), as those of *mpp*.

        Parameters
        ----------
        size : int, default 512
            Longer side in pixels, at least 1. 512 fits into a report and takes little time from the levels that slides have.
        {gray}

        Returns
        -------
        array of shape (y, x, channels)
            Pixels of *dtype*; of one channel (y, x).

        {raises} A *size* below 1.

        Examples
        --------
        >>> PIL.Image.fromarray(slide.thumbnail(1024)).save("overview.png")
        """
        if whole(size, "size") < 1:
            raise error_of(ValueError, "E-OPTION-VALUE", f"a thumbnail has at least 1 pixel, not {size}", option="size", value=size)
        if not self.mpp:  # some resolution is as good as any other here
            return self._like(mpp=1.0).thumbnail(size, gray)
        first = self.levels[0]
        mpp = max(first.width * self.mpp_x, first.height * self.mpp_y) / size
        return self.read(mpp=mpp, gray=gray) if mpp > max(self.mpp_x, self.mpp_y) else self.read(0, gray=gray)

    @names_arguments
    @in_a_sentence()
    @with_parameters
    def image(
        self,
        level: Optional[int] = None,
        mpp: Optional[float] = None,
        region: Optional[Region] = None,
        gray: bool = False,
    ) -> Any:
        """Pixels as an ITK image in its place.

        Parameters
        ----------
        {level}
        {mpp}
        {region}
        {gray}

        Returns
        -------
        itk.Image
            Pixels with spacing and origin in mm, as ``itk.imread`` gives them for the whole level.

        {raises}

        Examples
        --------
        >>> itk.imwrite(slide.image(mpp=8.0), "small.nrrd")
        """
        grid = self._grid(level, mpp)
        rectangle = self._rectangle(grid, region)
        pixels = self._read(grid, rectangle, gray)
        sample = {"uint8": itk.UC, "uint16": itk.US, "uint32": itk.UI, "float32": itk.F}[self.dtype.name]
        if pixels.ndim == 2:
            kind = itk.Image[sample, 2]
        else:
            kind = itk.Image[itk.RGBPixel[sample], 2] if self._is_picture() else itk.VectorImage[sample, 2]
        image = itk.image_from_array(pixels, ttype=kind)
        spacing, origin = self._geometry(grid)
        image.SetSpacing(spacing)
        image.SetOrigin([o + s * i for o, s, i in zip(origin, spacing, rectangle)])
        return image

    @names_arguments
    @in_a_sentence()
    @with_parameters
    def xarray(
        self,
        level: Optional[int] = None,
        mpp: Optional[float] = None,
        region: Optional[Region] = None,
        gray: bool = False,
        channels: Optional[Channels] = None,
    ) -> "xarray.DataArray":
        """Pixels with the coordinates of their centers, and the names of their channels.

        Parameters
        ----------
        {level}
        {mpp}
        {region}
        {gray}
        {channels}

        Returns
        -------
        xarray.DataArray
            Pixels with coordinates in mm, or in pixels where the resolution is unknown.

        {raises}

        Examples
        --------
        >>> slide.xarray(level=2).sel(x=5.0, y=3.0, method="nearest")  # the pixel 5 mm from the left
        """
        if channels is not None:
            return self._with(channels).xarray(level, mpp, region, gray)
        grid = self._grid(level, mpp)
        rectangle = self._rectangle(grid, region)
        return self._with_coordinates(self._read(grid, rectangle, gray), grid, rectangle[:2])

    def _with_coordinates(self, pixels, grid: Grid, first: Sequence[int]) -> "xarray.DataArray":
        import xarray

        spacing, origin = self._geometry(grid)
        counts = pixels.shape[1], pixels.shape[0]
        x, y = (o + s * (i + np.arange(n)) for o, s, i, n in zip(origin, spacing, first, counts))
        coordinates = {"y": y, "x": x}
        if pixels.ndim == 3:
            coordinates["c"] = self.channels
        elif self._content.channels:
            coordinates["c"] = self.channels[0]
        attributes = {"units": "mm" if self.mpp else "pixel", "level": grid.level, "mpp": grid.mpp}
        return xarray.DataArray(pixels, coordinates, ("y", "x", "c")[: pixels.ndim], self.path, attributes)

    @with_parameters
    def tiles(
        self,
        size: int = 1024,
        level: Optional[int] = None,
        mpp: Optional[float] = None,
        region: Optional[Region] = None,
        gray: bool = False,
        overlap: int = 0,
    ) -> Iterator[Tile]:
        """Tiles of a level or resolution, row by row.

        Parameters
        ----------
        size : int, default 1024
            Side of a tile in pixels, at least 1. Those at the right and bottom are as small as what is left.
        {level}
        {mpp}
        {region}
        {gray}
        overlap : int, default 0
            Pixels, at least 0, by which tiles reach over their grid on all sides, as far as there are any in the region.

        Yields
        ------
        Tile
            First pixel and pixels of a tile.

        {raises} A *size* or *overlap* out of its range.

        Examples
        --------
        >>> sum((tile.pixels < 200).sum() for tile in slide.tiles(level=1, gray=True))
        """
        for name, number, least in (("size", size, 1), ("overlap", overlap, 0)):
            if not isinstance(number, (int, np.integer)) or number < least:
                why = f"tiles have a size of at least 1 and an overlap of at least 0 pixels, not {size} and {overlap}"
                raise error_of(ValueError, "E-OPTION-VALUE", why, option=name, value=number)
        grid = self._grid(level, mpp)
        left, top, width, height = self._rectangle(grid, region)
        right, bottom = left + width, top + height
        for y in range(top, bottom, size):
            for x in range(left, right, size):
                x0, y0 = max(x - overlap, left), max(y - overlap, top)
                x1, y1 = min(x + size + overlap, right), min(y + size + overlap, bottom)
                yield Tile(x0, y0, self._read(grid, (x0, y0, x1 - x0, y1 - y0), gray))

    @names_arguments
    @in_a_sentence()
    @with_parameters
    def dask(
        self,
        level: Optional[int] = None,
        mpp: Optional[float] = None,
        gray: bool = False,
        chunk: int = 2048,
    ) -> "dask.array.Array":
        """A level or resolution as a lazy array, of which nothing is read before it is computed.

        Parameters
        ----------
        {level}
        {mpp}
        {gray}
        chunk : int, default 2048
            Side of a chunk in pixels, at least 1.

        Returns
        -------
        dask.array.Array
            Pixels of *dtype*, (y, x, channels), of one channel (y, x).

        {raises} A *chunk* below 1.

        Examples
        --------
        >>> slide.dask(level=1).mean(axis=(0, 1)).compute()
        """
        import dask.array

        if whole(chunk, "chunk") < 1:
            raise error_of(ValueError, "E-OPTION-VALUE", f"chunks have a side of at least 1 pixel, not {chunk}", option="chunk", value=chunk)
        grid = self._grid(level, mpp)
        channels = self._channels(gray)

        def block(block_info=None):
            (y0, y1), (x0, x1) = block_info[None]["array-location"][:2]
            return self._read(grid, (x0, y0, x1 - x0, y1 - y0), gray)

        shape = (grid.height, grid.width, *channels)
        chunks = dask.array.core.normalize_chunks((min(chunk, grid.height), min(chunk, grid.width), *channels), shape)
        return dask.array.map_blocks(block, chunks=chunks, dtype=self.dtype, meta=np.empty((0,) * len(chunks), self.dtype))

    @names_arguments
    @in_a_sentence()
    @with_parameters
    def tensor(
        self,
        level: Optional[int] = None,
        mpp: Optional[float] = None,
        region: Optional[Region] = None,
        gray: bool = False,
    ) -> "torch.Tensor":
        """Pixels as a tensor of PyTorch: a view of what was read, without a copy.

        Parameters
        ----------
        {level}
        {mpp}
        {region}
        {gray}

        Returns
        -------
        torch.Tensor
            Pixels of *dtype*, (channels, y, x).

        {raises}

        Examples
        --------
        >>> module(slide.tensor(mpp=0.5, region=(0, 0, 512, 512))[None] / 255)
        """
        import torch

        pixels = torch.from_numpy(self.read(level, mpp, region, gray))
        return pixels[None] if pixels.ndim == 2 else pixels.permute(2, 0, 1)


class Picture(Slide):
    """A slide of which other channels than gray or RGB of 8 bits are added up in their colors, as the program's ``label`` sees it."""

    _as_picture = True
