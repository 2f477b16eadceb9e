# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""What a pipeline begins with and ends in: a slide's file, and the file of its result."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import pathlib
import tempfile
from typing import Callable, Iterable, Optional

import itk
import numpy as np

from itkgigapixel.errors import FULL, Function, error_of, in_a_sentence
from itkgigapixel.progress import running
from itkgigapixel.slide import Slide
from itkgigapixel.slide_content import Channels, Content, Path, Window, file_name
from itkgigapixel.temporary import stand_in, temporary_folder


def open_slide(slide: Path | Slide, mpp: Optional[float] = None, channels: Optional[Channels] = None, window: Optional[Window] = None, kind: type = Slide) -> Slide:
    """A slide with what is not None.

    :param kind: Picture: where it has other channels than gray or RGB of 8 bits, or some are chosen, they are added up in their colors"""
    if not isinstance(slide, Slide):
        return kind(slide, mpp, channels=channels, window=window)
    content = slide._content.but(channels, window)
    is_same = mpp is None and content == slide._content and (isinstance(slide, kind) or slide._is_picture())
    return slide if is_same else slide._like(kind, mpp, content)


def open_source(slide: Path | Slide, mpp: Optional[float], channels: Optional[Channels] = None, window: Optional[Window] = None, kind: type = Slide):
    """As :func:`open_slide`, and a reader of its own of which levels may be chosen."""
    slide = open_slide(slide, mpp, channels, window, kind)
    return slide, slide._open()


def path_of(slide: Path | Slide) -> str:
    return slide.path if isinstance(slide, Slide) else file_name(slide)


def stated_of(slides: Iterable, slide_mpp: Optional[float]) -> tuple[Optional[float], bool]:
    """What all slides of one call are read with.

    :param slides: some of them :class:`Slide`
    :returns: the resolution of level 0 where files say none, None: none was stated, and whether damage is an error
    :raises ValueError: *slide_mpp* is None, and the slides state several resolutions, or some of them none"""
    slides = list(slides)
    stated = {each._mpp if isinstance(each, Slide) else None for each in slides}
    if slide_mpp is None and len(stated) > 1:
        numbers = ", ".join("none" if mpp is None else f"{mpp:g} um" for mpp in sorted(stated, key=lambda mpp: mpp or 0))
        why = f"the slides state different resolutions ({numbers})"
        raise error_of(ValueError, "E-OPTION-CONFLICT", why, "give slide_mpp, or those alike in one call", option="slide_mpp", value=numbers)
    strict = any(isinstance(each, Slide) and each.strict for each in slides)
    return (next(iter(stated), None) if slide_mpp is None else slide_mpp), strict


def content_of(slides: Iterable, channels: Optional[Channels] = None, window: Optional[Window] = None) -> Content:
    """What all slides of one call are of their files.

    :param slides: some of them :class:`Slide`
    :param channels: of all of them; None: their own, and so with the *window*
    :raises ValueError: they are of different images or channels"""
    contents = {(each._content if isinstance(each, Slide) else Content()).but(channels, window) for each in slides}
    if len(contents) > 1:
        why = "the slides are of different images or channels of their files"
        raise error_of(ValueError, "E-OPTION-CONFLICT", why, "give those alike in one call", option="slides")
    return contents.pop() if contents else Content().but(channels, window)


@contextlib.contextmanager
def strictness(strict: bool):
    """Damaged tiles of all slides that are opened meanwhile are errors."""
    before = itk.WholeSlideImageIO.GetGlobalDefaultStrict()
    itk.WholeSlideImageIO.SetGlobalDefaultStrict(strict or before)
    try:
        yield
    finally:
        itk.WholeSlideImageIO.SetGlobalDefaultStrict(before)


def check_output(output: Path, slide: str) -> str:
    """The slide is read while the result is written, so that one file for both would be the end of it.

    :returns: the output's name
    :raises ValueError: it is one file, or none can have that name"""
    name = file_name(output)
    if not name:
        raise error_of(ValueError, "E-FILE-NAME", "the output has no name", "give it one, or leave it out to get an image", option="output")
    if os.path.exists(name) and os.path.samefile(name, slide):
        raise error_of(ValueError, "E-OUTPUT-INPUT", "it is the slide itself", "name another file to write", file=name, option="output")
    return name


def check_mask(name: str) -> None:
    """:raises ValueError: a name of files that do not keep values as they are"""
    ending = os.path.splitext(name)[1].lower()
    if ending in _LOSSY:
        why = f"{ending} does not keep the values of a mask"
        raise error_of(ValueError, "E-OUTPUT-ENDING", why, "end its name in .pyramid.tif, .tif, .nrrd or .png", file=name, option="output")


def check_mask_array(mask: np.ndarray, option: str) -> np.ndarray:
    """An array in place of a mask's file, as bytes without gaps: 1 where one of bool is True.

    :raises ValueError: other types or shapes"""
    if mask.dtype not in (np.bool_, np.uint8) or mask.ndim != 2 or mask.size == 0:
        why = f"a mask is an array (y, x) of bool or uint8, not {mask.shape} of {mask.dtype}"
        raise error_of(ValueError, "E-MASK-FORMAT", why, option=option)
    return np.ascontiguousarray(mask).view(np.uint8)


def write_mask(mask: np.ndarray, folder: str, option: str, takes_labels: bool = False) -> str:
    """An array as the file of a mask that covers the slide; 255 where one of bool is True, as :func:`label` has it.

    Labels of wider integers, where they are taken, become NRRD (https://teem.sourceforge.net/nrrd/format.html), which
    has such pixels.

    :raises ValueError: other types or shapes"""
    if takes_labels and mask.dtype.kind in "iu" and mask.dtype.itemsize > 1 and mask.ndim == 2 and mask.size:
        if mask.min() < 0 or mask.max() > np.iinfo(np.uint32).max:
            raise error_of(ValueError, "E-MASK-FORMAT", "labels are numbers from 0 to 4294967295", option=option)
        mask = mask.astype(np.uint16 if mask.max() <= np.iinfo(np.uint16).max else np.uint32)
        handle, name = tempfile.mkstemp(suffix=".nrrd", dir=folder)
        with os.fdopen(handle, "wb") as file:
            sizes = f"{mask.shape[1]} {mask.shape[0]}"
            file.write(f"NRRD0004\ntype: {mask.dtype.name}\ndimension: 2\nsizes: {sizes}\nendian: little\nencoding: raw\n\n".encode())
            file.write(np.ascontiguousarray(mask, mask.dtype.newbyteorder("<")).tobytes())
        return stand_in(name, option)
    values = check_mask_array(mask, option)
    image = itk.image_view_from_array(values * np.uint8(255) if mask.dtype == np.bool_ else values)
    handle, name = tempfile.mkstemp(suffix=".png", dir=folder)
    os.close(handle)
    itk.imwrite(image, name)
    _require_room(pathlib.Path(name), name)
    return stand_in(name, option)


def with_mask(option: str, takes_labels: bool = False) -> Callable[[Function], Function]:
    """For functions whose argument is the name of a mask's file: an array is written to one that lasts as long as the call."""

    def decorate(function: Function) -> Function:
        place = list(inspect.signature(function).parameters).index(option)

        @functools.wraps(function)
        def called(*args, **kwargs):
            mask = args[place] if len(args) > place else kwargs.get(option)
            if not isinstance(mask, np.ndarray):
                return function(*args, **kwargs)
            with temporary_folder() as folder:
                with in_a_sentence():
                    written = write_mask(mask, folder, option, takes_labels)
                if len(args) > place:
                    return function(*args[:place], written, *args[place + 1 :], **kwargs)
                return function(*args, **{**kwargs, option: written})

        return called  # type: ignore[return-value]

    return decorate


#: endings of pyramids
_PYRAMIDS = (".pyramid.tif", ".pyramid.tiff", ".ome.tif", ".ome.tiff")

#: endings of files with lossy compression
_LOSSY = (".jpg", ".jpeg", ".jpe", ".jp2", ".j2k", ".webp")


def refusal_of(target: pathlib.Path) -> tuple[str, str]:
    """Code and reason why this file cannot be written, where it is a folder or lies in none."""
    if target.is_dir():
        return "E-OUTPUT-KIND", "it cannot be written: it is a folder"
    return "E-OUTPUT-WRITE", f"it cannot be written: there is no folder {target.parent}"


def _require_room(part: pathlib.Path, output: str) -> None:
    """ITK's writers drop what the disk has no room for, or have words of their own for it. The system says it of the next block.

    :raises OSError: it does, of the output"""
    with open(part, "r+b") as file:
        status = os.fstat(file.fileno())
        try:
            os.posix_fallocate(file.fileno(), status.st_size, 2 * status.st_blksize)
            file.truncate(status.st_size)
        except OSError as error:
            if error.errno in FULL:  # else the file system cannot say it
                raise OSError(error.errno, error.strerror, output) from None


def write(source, slide, output: Path, description: str, progress: bool, content: str = "automatic") -> None:
    """Streams a filter's image into a file, which gets its name when all of it is there.

    :param source: says how it makes the image, which a pyramid tells, as it tells of damaged tiles of the *slide*
    :param content: "picture" or "labels", how a pyramid's levels are made
    :raises ValueError: ITK writes no such file
    :raises RuntimeError: it cannot be written
    """
    image = source.GetOutput()
    name = file_name(output)
    writer = itk.ImageFileWriter[type(image)].New(Input=image)
    if name.lower().endswith(_PYRAMIDS):  # it does that by itself
        writer.SetImageIO(itk.PyramidTIFFImageIO.New(MadeBy=source.GetMadeBy(), Slide=slide, Content=content))
        writer.SetFileName(name)
        with running(writer, description, progress, source):
            writer.Update()
        return
    if itk.ImageIOFactory.CreateImageIO(name, itk.CommonEnums.IOFileMode_WriteMode) is None:
        do = "end its name in .pyramid.tif, .tif, .nrrd or .png"
        raise error_of(ValueError, "E-OUTPUT-ENDING", "ITK writes no file of this ending", do, file=name, option="output")
    target = pathlib.Path(name)
    if target.is_dir() or not target.parent.is_dir():
        raise error_of(RuntimeError, *refusal_of(target), file=name, option="output")
    with temporary_folder(prefix=".", dir=target.parent) as folder:
        writer.SetFileName(str(pathlib.Path(folder, target.name)))
        try:
            with running(writer, description, progress, source):
                writer.Update()
        finally:
            for part in pathlib.Path(folder).iterdir():
                _require_room(part, name)
        for part in pathlib.Path(folder).iterdir():  # some kinds of file are two
            part.replace(target.parent / part.name)
