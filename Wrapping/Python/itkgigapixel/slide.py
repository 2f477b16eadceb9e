# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Slides as arrays."""

from __future__ import annotations

import math
import operator
import os
from typing import TYPE_CHECKING, Any, Callable, Iterator, NamedTuple, Optional, Sequence, TypeVar, Union

import itk
import numpy as np

from itkgigapixel.errors import GigapixelError, error_of, in_a_sentence, keep_warnings, names_arguments
from itkgigapixel.progress import interruptible, running

if TYPE_CHECKING:
    import dask.array
    import torch
    import xarray

Path = Union[str, os.PathLike]
Region = Sequence[int]

#: Readers of a slide that are kept, of one resolution each.
_READERS = 8


def file_name(path: Path) -> str:
    """A path as the C++ classes take it.

    :raises TypeError: no path
    :raises ValueError: a name that is cut short by a zero byte, or that is not UTF-8
    """
    name = os.fsdecode(path)
    if "\0" in name:
        raise error_of(ValueError, "E-FILE-NAME", f"the file name {name!r} has a zero byte in it", value=repr(name))
    try:
        name.encode()
    except UnicodeEncodeError:
        why = f"the file name {name!r} is not UTF-8, which ITK needs"
        raise error_of(ValueError, "E-FILE-NAME", why, "rename the file, or make a link to it", value=repr(name)) from None
    return name


def new_reader():
    """A reader of slides in C++. Its library is loaded now, where it was not, and none of ITK's wrapped ones."""
    from itkgigapixel.slide_reader import SlideReader

    return SlideReader()


def check_mpp(mpp: Optional[float], option: str = "mpp") -> None:
    """:raises ValueError: it is given, and is no resolution"""
    if mpp is not None and not 0 < float(mpp) < math.inf:
        why = f"a resolution is so many micrometers per pixel, above 0, not {mpp}"
        raise error_of(ValueError, "E-OPTION-VALUE", why, option=option, value=mpp)


def _four(region: Region) -> list:
    """:raises ValueError: they are not four numbers"""
    numbers = [each.item() if isinstance(each, np.generic) else each for each in region]
    if len(numbers) != 4:
        raise error_of(ValueError, "E-REGION", f"a region is (x, y, width, height), not {tuple(numbers)}", option="region", value=tuple(numbers))
    return numbers


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


class Channel(NamedTuple):
    """What a file says of a channel."""

    name: str
    #: (red, green, blue), 0 to 255; None where it says none
    color: Optional[tuple[int, int, int]]
    #: wavelengths in nm; None where it says none
    excitation: Optional[float]
    emission: Optional[float]


#: channels by their names, or their numbers from 1
Channels = Union[str, int, Sequence[Union[str, int]]]
#: "auto", or the values that become 0 and 255
Window = Union[str, Sequence[float]]


class Content(NamedTuple):
    """What is read of a slide's file, as ``itk.WholeSlideImageIO`` takes it."""

    image: str = ""  #: "": the main one
    channels: tuple[str, ...] = ()  #: (): all
    window: str = ""  #: "": samples as they are stored
    plane: str = ""  #: focal plane; "": the one that the image stands for

    def but(self, channels: Optional[Channels] = None, window: Optional[Window] = None) -> Content:
        """The same, but for what is not None."""
        content = self
        if channels is not None:
            several = [channels] if isinstance(channels, (str, int)) else channels
            content = content._replace(channels=tuple(each if isinstance(each, str) else str(operator.index(each)) for each in several))
        if window is not None:
            content = content._replace(window=window if isinstance(window, str) else ",".join(repr(float(each)) for each in window))
        return content

    def options(self) -> dict:
        """Those of the program."""
        return {"image": self.image, "plane": self.plane, "channel": self.channels, "window": self.window}


class _Grid(NamedTuple):
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


def _with_parameters(method: Method) -> Method:
    """Fills in the texts that methods have in common."""
    method.__doc__ = (method.__doc__ or "").format(**_PARAMETERS)
    return method


class Slide:
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
        self.path = file_name(path)
        self._mpp = None if mpp is None else float(mpp)
        self._content = Content("" if image is None else str(image), plane="" if plane is None else str(plane)).but(channels, window)
        self.strict = bool(strict)
        self._io: Any = None
        self._io = self._open()
        self._resolutions: dict[float, Any] = {}  # readers by their resolution
        self._others: dict[Content, Slide] = {}  # the same file with other channels

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
        io.SetImage(self._content.image)
        io.SetFocalPlane(self._content.plane)
        io.SetChannels(self._content.channels)
        io.SetWindow(self._content.window)
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

    def __reduce__(self):
        return type(self), (self.path, self._mpp, self.strict, *self._content)

    def _like(self, kind: Optional[type] = None, mpp: Optional[float] = None, content: Optional[Content] = None) -> Slide:
        """The same slide, but for what is given."""
        return (kind or type(self))(self.path, self._mpp if mpp is None else mpp, self.strict, *(content or self._content))

    def _with(self, channels: Optional[Channels]) -> Slide:
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

    def __enter__(self) -> Slide:
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
    @_with_parameters
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
        chosen = 0 if level is None else operator.index(level)
        if not 0 <= chosen < self._io.GetNumberOfLevels():
            why = f"it has the levels 0 to {self._io.GetNumberOfLevels() - 1}, not {level}"
            raise error_of(ValueError, "E-SLIDE-LEVEL", why, file=self.path, option="level", value=level)
        return chosen

    def _grid(self, level: Optional[int], mpp: Optional[float]) -> _Grid:
        chosen = self.select(level, mpp)
        if mpp is None:
            width, height, downsample, of_level = self.levels[chosen]
            return _Grid(self._io, chosen, chosen, width, height, (downsample, downsample), of_level)
        io = self._at(mpp)
        number = io.GetLevel()
        downsample = tuple(io.GetLevelDownsamples(number))
        found = float(mpp) if io.IsResampled() else io.GetMicronsPerPixel()
        return _Grid(io, number, chosen, *io.GetLevelSize(number), downsample, found)

    @names_arguments
    @in_a_sentence()
    def inside(self, region: Region) -> list:
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

    def _rectangle(self, grid: _Grid, region: Optional[Region]) -> tuple[int, int, int, int]:
        """The region in pixels of the grid, inside the grid."""
        if region is None:
            return 0, 0, grid.width, grid.height
        x, y, width, height = self.inside(region)
        sides = []
        for first, length, downsample, size in zip((x, y), (width, height), grid.downsample, (grid.width, grid.height)):
            begin = min(int(first / downsample), size - 1)
            sides.append((begin, max(min(math.ceil((first + length) / downsample), size) - begin, 1)))
        return sides[0][0], sides[1][0], sides[0][1], sides[1][1]

    @interruptible()
    def _read(self, grid: _Grid, rectangle: tuple[int, int, int, int], gray: bool, pixels: Optional[np.ndarray] = None) -> np.ndarray:
        """:param pixels: where they go, without gaps; None: a new array"""
        channels = self._channels(gray)
        if pixels is None:
            pixels = np.empty((rectangle[3], rectangle[2], *channels), self.dtype)
        grid.io.ReadPixels(grid.number, *rectangle, *(channels or (1,)), pixels)
        return pixels

    @names_arguments
    @in_a_sentence()
    @_with_parameters
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
        value = given.astype(self.dtype) if given.dtype.kind in "buif" else None
        is_one = value is not None and (np.array_equal(value, given) or self.dtype.kind == "f")
        if value is None or not is_one or given.shape not in ((), shape):
            why = f"pixels of {self.dtype} and the shape {shape} cannot have the value {pad}"
            raise error_of(ValueError, "E-OPTION-VALUE", why, option="pad", value=pad)
        return value

    def _unbounded(self, grid: _Grid, region: Optional[Region]) -> list[int]:
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

    @in_a_sentence()
    @_with_parameters
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
        if operator.index(size) < 1:
            raise error_of(ValueError, "E-OPTION-VALUE", f"a thumbnail has at least 1 pixel, not {size}", option="size", value=size)
        if not self.mpp:  # some resolution is as good as any other here
            return self._like(mpp=1.0).thumbnail(size, gray)
        first = self.levels[0]
        mpp = max(first.width * self.mpp_x, first.height * self.mpp_y) / size
        return self.read(mpp=mpp, gray=gray) if mpp > max(self.mpp_x, self.mpp_y) else self.read(0, gray=gray)

    @names_arguments
    @in_a_sentence()
    @_with_parameters
    def image(
        self,
        level: Optional[int] = None,
        mpp: Optional[float] = None,
        region: Optional[Region] = None,
        gray: bool = False,
    ):
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

    def _geometry(self, grid: _Grid) -> tuple[list[float], list[float]]:
        """Spacing and center of the grid's first pixel in mm, (x, y)."""
        fine = [self._io.GetSpacing(axis) for axis in range(2)]
        return [s * d for s, d in zip(fine, grid.downsample)], [(d - 1) / 2 * s for s, d in zip(fine, grid.downsample)]

    @names_arguments
    @in_a_sentence()
    @_with_parameters
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

    def _with_coordinates(self, pixels, grid: _Grid, first: Sequence[int]) -> "xarray.DataArray":
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

    @_with_parameters
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
        if size < 1 or overlap < 0:
            why = f"tiles have a size of at least 1 and an overlap of at least 0 pixels, not {size} and {overlap}"
            raise error_of(ValueError, "E-OPTION-VALUE", why, option="size" if size < 1 else "overlap", value=size if size < 1 else overlap)
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
    @_with_parameters
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

        if operator.index(chunk) < 1:
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
    @_with_parameters
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
