# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""What training and inference will take, before anything is started."""

from __future__ import annotations

import operator
import tempfile
from typing import Any, Optional, Sequence

from itkgigapixel.engine import file_of_model
from itkgigapixel.errors import error_of, in_a_sentence, names_arguments
from itkgigapixel.files import content_of, path_of, stated_of
from itkgigapixel.program import run
from itkgigapixel.slide import Channels, Path, Slide, Window, file_name


@names_arguments
@in_a_sentence()
def plan(
    slide: Optional[Path | Slide] = None,
    network: Any = "unet",
    *,
    size: Sequence[int] = (),
    level: Optional[int] = None,
    mpp: Optional[float] = None,
    slide_mpp: Optional[float] = None,
    channels: Optional[Channels] = None,
    window: Optional[Window] = None,
    loss: str = "",
    freeze: str | Sequence[str] = (),
    precision: str = "",
    semantics: str = "whole",
    patch: Optional[int] = None,
    overlap: Optional[float] = None,
    mirror: bool = False,
    tile_size: int | str = 0,
    memory: int | str = 0,
    scratch: Path = "",
) -> dict[str, Any]:
    """Memory, tiles and time that training and inference will take on this machine. It is the program ``gigapixel plan`` of the package.

    :param slide: a slide, or a volume for a network for volumes
    :param network: a preset, the path of a JSON file, or a model
    :param size: (width, height), or (width, height, depth) of a volume, in place of *slide*
    :param level: of the slide
    :param mpp: micrometers per pixel, in place of *level*
    :param slide_mpp: micrometers per pixel of level 0, where a slide says none, or nonsense; None: what a :class:`Slide` was given
    :param channels: as :class:`Slide` takes them; None: what a :class:`Slide` was given, or all
    :param window: as :class:`Slide` takes it
    :param loss: "" and else as :func:`train` takes it, and so are *freeze*, *precision*, *tile_size*, *memory* and *scratch*
    :param semantics: of inference, as :func:`segment` takes it, and so are *patch*, *overlap* and *mirror*
    :returns: the figures by their names, as ``gigapixel plan --json`` prints them; ``plans`` has a row for each way of computing
    :raises GigapixelError: what cannot be read; a network that does not take the image. Also a ValueError: an argument out of its range

    >>> rows = gp.plan("slide.svs", "run", memory="2G")["plans"]
    >>> [row["peakBytes"] for row in rows if row["purpose"] == "training" and row["fits"]]
    """
    if slide is not None and size:
        raise error_of(ValueError, "E-OPTION-CONFLICT", "a slide has its own size", "give one of them", option="size")
    slides = [] if slide is None else [slide]
    slide_mpp, _ = stated_of(slides, slide_mpp)
    with tempfile.TemporaryDirectory() as folder:
        given = {
            "size": "x".join(str(operator.index(each)) for each in size),
            "network": file_of_model(network, folder),
            "level": level,
            "mpp": mpp,
            "slide-mpp": slide_mpp,
            **content_of(slides, channels, window).options(),
            "loss": loss,
            "freeze": (freeze,) if isinstance(freeze, str) else tuple(freeze),
            "precision": precision,
            "semantics": "" if semantics == "whole" else semantics,
            "patch": patch,
            "overlap": overlap,
            "mirror": mirror or "",
            "tile-size": tile_size or "",
            "memory": memory or "",
            "scratch": file_name(scratch),
        }
        return run("plan", {name: "" if value is None else value for name, value in given.items()}, [path_of(each) for each in slides])
