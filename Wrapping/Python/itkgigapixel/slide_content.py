# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""What is read of a slide: its file, levels, channels and values."""

from __future__ import annotations

import math
import operator
import os
from typing import Iterable, NamedTuple, Optional, Sequence, SupportsIndex, Union

import numpy as np

from itkgigapixel.errors import error_of

Path = Union[str, "os.PathLike[str]"]
Region = Sequence[int]


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


def list_of(values: Iterable, option: str) -> list:
    """:raises TypeError: they cannot be listed, such as a number or None"""
    if not isinstance(values, Iterable):
        raise error_of(TypeError, "E-OPTION-VALUE", f"{option} cannot be of the type {type(values).__name__}", option=option)
    return list(values)


def whole(number: SupportsIndex, option: str) -> int:
    """:raises TypeError: it is no whole number"""
    try:
        return operator.index(number)
    except TypeError:
        why = f"{option} is a whole number, not one of the type {type(number).__name__}"
        raise error_of(TypeError, "E-OPTION-VALUE", why, option=option) from None


def check_mpp(mpp: Optional[float], option: str = "mpp") -> None:
    """:raises ValueError: it is given, and is no resolution"""
    if mpp is not None and not 0 < float(mpp) < math.inf:
        why = f"a resolution is so many micrometers per pixel, above 0, not {mpp}"
        raise error_of(ValueError, "E-OPTION-VALUE", why, option=option, value=mpp)


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
            several = [channels] if isinstance(channels, (str, int, np.integer)) else list_of(channels, "channels")
            content = content._replace(channels=tuple(each if isinstance(each, str) else str(whole(each, "channels")) for each in several))
        if window is not None:
            values = window if isinstance(window, str) else ",".join(repr(float(each)) for each in list_of(window, "window"))
            content = content._replace(window=values)
        return content

    def set_on(self, process, prefix: str = "") -> None:
        """Sets them on a reader, or on a filter whose names for them begin with *prefix*."""
        for name, value in (("Image", self.image), ("FocalPlane", self.plane), ("Channels", self.channels), ("Window", self.window)):
            getattr(process, f"Set{prefix}{name}")(value)

    def options(self) -> dict:
        """Those of the program."""
        return {"image": self.image, "plane": self.plane, "channel": self.channels, "window": self.window}
