# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Slides as files: what they say of themselves, and their grids of pixels."""

from __future__ import annotations

import math
from typing import Any, Callable, Iterable, NamedTuple, Optional, Self, TypeVar, Union

import numpy as np

from itkgigapixel.errors import GigapixelError, error_of, in_a_sentence, keep_warnings, names_arguments
from itkgigapixel.progress import interruptible, running
from itkgigapixel.slide_content import Channel, Channels, Content, Level, Path, Region, Window, check_mpp, file_name, whole

#: Readers of a slide that are kept, of one resolution each.
_READERS = 8


def new_reader():
    """A reader of slides in C++. Its library is loaded now, where it was not, and none of ITK's wrapped ones."""
    from itkgigapixel.slide_reader import SlideReader

    return SlideReader()


def _four(region: Region) -> list[int]:
    """:raises ValueError: they are not four numbers"""
    numbers = [each.item() if isinstance(each, np.generic) else each for each in region] if isinstance(region, Iterable) else [region]
    if len(numbers) != 4 or not all(isinstance(each, (int, float)) for each in numbers):
        raise error_of(ValueError, "E-REGION", f"a region is (x, y, width, height), not {tuple(numbers)}", option="region", value=tuple(numbers))
    return numbers


class Grid(NamedTuple):
    """Pixels to read: those of a level, or of a resolution."""

    io: Any  #: that reads them
    number: int  #: as the reader counts them
    level: int  #: that they are, or are made of
    width: int
    height: int
    downsample: tuple[float, float]  #: pixels of level 0 in one, along x and y
    mpp: float  #: 0: unknown


class _Closed:
    """In place of the reader of a slide that was closed."""

    def __init__(self, path: str):
        self._path = path

    def __getattr__(self, name: str):
        raise error_of(ValueError, "E-CALL-ORDER", "the slide is closed", "open it again", file=self._path)


Method = TypeVar("Method", bound=Callable)

#: of methods that read, whose texts name them
_PARAMETERS = {
    "level": """level : int, optional
            The number of a stored level, 0 for the finest. None: 0, unless *mpp* is given.""",
    "mpp": """mpp : float, optional
            Micrometers per pixel, above 0, in place of *level*. None: those of the level.""",
    "region": """region : (int, int, int, int), optional
            A rectangle (x, y, width, height) in pixels of level 0. None: the whole slide.""",
    "gray": """gray : bool, default False
            Read luma instead of RGB, (y, x), which is faster.""",
    "channels": """channels : str, int or sequence of these, optional
            Channels of the file in the order that is wanted, by names or numbers from 1. None: those of the slide.""",
    "raises": """Raises
        ------
        GigapixelError
            Pixels that cannot be read.
        ValueError
            A level, resolution or region that the slide does not have.""",
}


def with_parameters(method: Method) -> Method:
    """Fills in the texts that methods have in common."""
    method.__doc__ = (method.__doc__ or "").format(**_PARAMETERS)
    return method


class SlideFile:
    """What a slide's file says, and where its pixels lie. :class:`itkgigapixel.Slide` reads them."""

    _gives_warnings = True
    _as_picture = False

    @names_arguments
    @in_a_sentence()
    def __init__(
        self,
        path: Path,
        mpp: Optional[float] = None,
        strict: bool = False,
        image: Union[str, int, None] = None,
        channels: Optional[Channels] = None,
        window: Optional[Window] = None,
        plane: Union[int, str, None] = None,
    ):
        check_mpp(mpp)
        self.path: str = file_name(path)
        self._mpp = None if mpp is None else float(mpp)
        self._content = Content("" if image is None else str(image), plane="" if plane is None else str(plane)).but(channels, window)
        self.strict: bool = bool(strict)
        self._io: Any = None
        self._io = self._open()
        self._resolutions: dict[float, Any] = {}  # readers by their resolution
        self._others: dict[Content, Self] = {}  # the same file with other channels

    @interruptible()
    def _open(self, mpp: Optional[float] = None):
        if isinstance(self._io, _Closed):
            self._io.Open  # refuses
        io = new_reader()
        keep_warnings()
        io.SetFileName(self.path)
        if self.strict:  # else the default of the process holds
            io.SetStrict(True)
        if self._mpp is not None:
            io.SetLevelZeroMicronsPerPixel(self._mpp)
        self._content.set_on(io)
        io.SetAsPicture(self._as_picture)
        if mpp is not None:
            io.SetMicronsPerPixel(mpp)
        io.SetGiveWarnings(self._gives_warnings and self._io is None)  # the first reader gives them
        with running(io, "windows", False):  # which are found once, and may take long
            io.ReadImageInformation()
        return io

    def _at(self, mpp: float):
        """The slide, read at a resolution."""
        check_mpp(mpp)
        mpp = float(mpp)
        io = self._resolutions.get(mpp)
        if io is None:
            try:
                with in_a_sentence():
                    io = self._open(mpp)
            except GigapixelError as error:
                if error.code != "E-SLIDE-RESOLUTION":
                    raise
                raise error_of(ValueError, error.code, error.why, error.do, file=self.path, option="mpp", value=mpp) from None
            if len(self._resolutions) >= _READERS:
                self._resolutions = {}
            self._resolutions[mpp] = io
        return io

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path, self._mpp, self.strict, *self._content)

    def _like(self, kind: Optional[type] = None, mpp: Optional[float] = None, content: Optional[Content] = None) -> Self:
        """The same slide, but for what is given."""
        return (kind or type(self))(self.path, self._mpp if mpp is None else mpp, self.strict, *(content or self._content))

    def _with(self, channels: Optional[Channels]) -> Self:
        """The slide with these channels."""
        content = self._content.but(channels)
        if content == self._content:
            return self
        self._io.GetLevel()  # refuses where the slide is closed
        if content not in self._others:
            if len(self._others) >= _READERS:
                self._others = {}
            self._others[content] = self._like(content=content)
        return self._others[content]

    def close(self) -> None:
        """Close the file.

        Reading is then a ValueError. A slide that is not used any more is closed without it.

        Examples
        --------
        >>> slide.close()
        """
        self._io = _Closed(self.path)
        self._resolutions = {}
        self._others = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if isinstance(self._io, _Closed):
            return f"Slide({self.path!r}: closed)"
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
        """Micrometers per pixel of level 0, the mean of x and y; 0 where it is unknown."""
        return self._io.GetMicronsPerPixel()

    @property
    def mpp_x(self) -> float:
        """Width of a pixel of level 0 in micrometers, 0 where it is unknown."""
        return self._io.GetSpacing(0) * 1000 if self.mpp else 0.0

    @property
    def mpp_y(self) -> float:
        """Height of a pixel of level 0 in micrometers, 0 where it is unknown."""
        return self._io.GetSpacing(1) * 1000 if self.mpp else 0.0

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
        """The type of a sample: uint8, uint16, float32, or uint32 of labels that number objects."""
        name = self._io.GetSampleType()
        return np.dtype({"unsigned_char": np.uint8, "unsigned_short": np.uint16, "unsigned_int": np.uint32, "float": np.float32}[name])

    @property
    def channels(self) -> list[str]:
        """What is read without *gray*: "red", "green" and "blue" of a picture, else the file's names, "0", "1", ... where
        it has none."""
        if self._is_picture():
            return ["red", "green", "blue"]
        count = self._io.GetNumberOfComponents()
        names = self.properties.get("gigapixel.channel-names", "").split("\n")
        return names if len(names) == count and all(names) else [str(channel) for channel in range(count)]

    @property
    def channel_entries(self) -> list[Channel]:
        """What the file says of each channel that is read: name, color and wavelengths."""
        texts = self._io.ListChannels()
        entries = (texts[i : i + 4] for i in range(0, len(texts), 4))
        return [Channel(name, tuple(bytes.fromhex(color[1:])) or None, float(x) or None, float(m) or None) for name, color, x, m in entries]

    def _is_picture(self) -> bool:
        """Whether it is RGB or gray of 8 bits, which are read as either."""
        kind = self._io.GetPixelKind()
        is_chosen = bool(self._content.channels or self._content.window) and not self._as_picture
        return self.dtype == np.uint8 and kind in ("rgb", "scalar") and not is_chosen

    def _channels(self, gray: bool) -> tuple[int, ...]:
        """The shape of a pixel."""
        count = 1 if gray else len(self.channels)
        if gray and not self._is_picture() and self._io.GetNumberOfComponents() > 1:
            why = f"it has the channels {', '.join(self.channels)}, which have no gray"
            raise error_of(ValueError, "E-SLIDE-CHANNELS", why, "read them all", file=self.path, option="gray")
        return () if count == 1 else (count,)

    @property
    def properties(self) -> dict[str, str]:
        """All properties under OpenSlide's names."""
        texts = self._io.ListProperties()
        return dict(zip(texts[::2], texts[1::2]))

    @property
    def associated(self) -> dict[str, np.ndarray]:
        """Label, macro, thumbnail, ... as arrays (y, x, 3)."""
        return {name: self._associated(name) for name in self._io.GetAssociatedImageNames()}

    @in_a_sentence()
    def _associated(self, name: str) -> np.ndarray:
        io = new_reader()
        io.SetFileName(self.path)
        io.SetAssociatedImage(name)
        io.ReadImageInformation()
        pixels = np.empty((io.GetDimensions(1), io.GetDimensions(0), io.GetNumberOfComponents()), np.uint8)
        io.ReadImage(pixels)
        return pixels

    @names_arguments
    @in_a_sentence()
    @with_parameters
    def select(self, level: Optional[int] = None, mpp: Optional[float] = None) -> int:
        """The level that is meant, or that pixels of a resolution are made of.

        Parameters
        ----------
        {level}
        {mpp}

        Returns
        -------
        int
            The number of the level; 0 without either.

        {raises} Both *level* and *mpp*.

        Examples
        --------
        >>> slide.select(mpp=8.0)
        2
        """
        if level is not None and mpp is not None:
            raise error_of(ValueError, "E-OPTION-CONFLICT", "level and mpp are two ways to say one thing", "give one of them", option="mpp", value=mpp)
        if mpp is not None:
            return self._at(mpp).GetSourceLevel()
        chosen = 0 if level is None else whole(level, "level")
        if not 0 <= chosen < self._io.GetNumberOfLevels():
            why = f"it has the levels 0 to {self._io.GetNumberOfLevels() - 1}, not {level}"
            raise error_of(ValueError, "E-SLIDE-LEVEL", why, file=self.path, option="level", value=level)
        return chosen

    def _grid(self, level: Optional[int], mpp: Optional[float]) -> Grid:
        chosen = self.select(level, mpp)
        if mpp is None:
            width, height, downsample, of_level = self.levels[chosen]
            return Grid(self._io, chosen, chosen, width, height, (downsample, downsample), of_level)
        io = self._at(mpp)
        number = io.GetLevel()
        downsample = tuple(io.GetLevelDownsamples(number))
        found = float(mpp) if io.IsResampled() else io.GetMicronsPerPixel()
        return Grid(io, number, chosen, *io.GetLevelSize(number), downsample, found)

    @names_arguments
    @in_a_sentence()
    def inside(self, region: Region) -> list[int]:
        """The part of a region that lies on the slide.

        Parameters
        ----------
        region : (int, int, int, int)
            A rectangle (x, y, width, height) in pixels of level 0.

        Returns
        -------
        list of int
            The four numbers as Python's own (sums of NumPy's small integers wrap around), without what lies beyond the right
            or lower edge.

        Raises
        ------
        ValueError
            They are not four, or the region is empty or does not begin inside the slide.

        Examples
        --------
        >>> slide.inside((900, 0, 512, 512))  # of a slide of 1024 x 1024 pixels
        [900, 0, 124, 512]
        """
        numbers = _four(region)
        x, y, width, height = numbers
        first = self.levels[0]
        if not (width >= 1 and height >= 1 and 0 <= x < first.width and 0 <= y < first.height):
            why = f"the region {tuple(numbers)} is not inside its {first.width} x {first.height} pixels"
            raise error_of(ValueError, "E-REGION", why, file=self.path, option="region", value=tuple(numbers))
        return [x, y, min(width, first.width - x), min(height, first.height - y)]

    def _rectangle(self, grid: Grid, region: Optional[Region]) -> tuple[int, int, int, int]:
        """The region in pixels of the grid, inside the grid."""
        if region is None:
            return 0, 0, grid.width, grid.height
        x, y, width, height = self.inside(region)
        sides = []
        for first, length, downsample, size in zip((x, y), (width, height), grid.downsample, (grid.width, grid.height)):
            begin = min(int(first / downsample), size - 1)
            sides.append((begin, max(min(math.ceil((first + length) / downsample), size) - begin, 1)))
        return sides[0][0], sides[1][0], sides[0][1], sides[1][1]

    def _unbounded(self, grid: Grid, region: Optional[Region]) -> list[int]:
        """The region in pixels of the grid, also beyond the grid."""
        if region is None:
            return [0, 0, grid.width, grid.height]
        numbers = _four(region)
        x, y, width, height = numbers
        if not (width >= 1 and height >= 1 and all(map(math.isfinite, numbers))):
            raise error_of(ValueError, "E-REGION", f"the region {tuple(numbers)} is empty", file=self.path, option="region", value=tuple(numbers))
        begins = [math.floor(first / downsample) for first, downsample in zip((x, y), grid.downsample)]
        ends = [math.ceil((first + length) / downsample) for first, length, downsample in zip((x, y), (width, height), grid.downsample)]
        return [*begins, *(end - begin for begin, end in zip(begins, ends))]

    def _geometry(self, grid: Grid) -> tuple[list[float], list[float]]:
        """Spacing and center of the grid's first pixel in mm, (x, y)."""
        fine = [self._io.GetSpacing(axis) for axis in range(2)]
        return [s * d for s, d in zip(fine, grid.downsample)], [(d - 1) / 2 * s for s, d in zip(fine, grid.downsample)]
