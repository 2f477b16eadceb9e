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
from itkgigapixel.slide import Slide
from itkgigapixel.slide_content import Channels, Path, Window, file_name


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
    sliding_window: bool = False,
    patch: Optional[int] = None,
    overlap: Optional[float] = None,
    mirror: bool = False,
    tile_size: int | str = 0,
    memory: int | str = 0,
    scratch: Path = "",
) -> dict[str, Any]:
    """Plans what training and inference will take on this machine: memory, tiles and time.

    It is the program ``gigapixel plan`` of the package that does it, in a process of its own.

    Parameters
    ----------
    slide : path-like or Slide, optional
        A slide, or a volume for a network for volumes. None: *size* is given.
    network : str, path-like or itk.GigapixelModel, default "unet"
        A preset, the path of a JSON file, or a model.
    size : sequence of int, default ()
        Width and height in pixels, or width, height and depth of a volume in voxels, in place of *slide*.
    level : int, optional
        The level of the slide. None: 0, the finest.
    mpp : float, optional
        Micrometers per pixel that the slide is resampled to, in place of *level*.
    slide_mpp : float, optional
        Micrometers per pixel of level 0, where a slide says none, or nonsense. None: what a :class:`Slide` was given.
    channels : str, int or sequence of these, optional
        Channels of the slide, as :class:`Slide` takes them. None: what a :class:`Slide` was given, or all.
    window : "auto" or (float, float), optional
        Values that become 0 and 255, as :class:`Slide` takes them. None: what a :class:`Slide` was given.
    loss : str, default ''
        What is minimized, as :func:`train` takes it. "": what the network names.
    freeze : str or sequence of str, default ()
        Arrays and modules that training leaves as they are.
    precision : {"", "fp32", "tf32", "bf16", "fp16"}, default ''
        How numbers are kept. "": fp32.
    sliding_window : bool, default False
        Inference applies the network patch by patch, as :func:`segment` does then. The next three are of it.
    patch : int, optional
        Side of a patch in pixels. None: 512, of volumes what the model was trained on.
    overlap : float, optional
        What neighboring patches share of a side, 0 to 0.95. None: 0.25, of volumes the model's, or 0.5.
    mirror : bool, default False
        The mean of the logits of each patch and its mirror images.
    tile_size : int or str, default 0
        Side of a tile's core in pixels, or "image": the image in one piece. 0: what the memory plan takes.
    memory : int or str, default 0
        Peak bytes, or a text such as "2G". 0: what is free.
    scratch : path-like, default ''
        Folder on a fast disk for maps that are kept. "": in memory.

    Returns
    -------
    dict
        The figures by their names, as ``gigapixel plan --json`` prints them; ``plans`` has a row for each way of computing.

    Raises
    ------
    GigapixelError
        What cannot be read; a network that does not take the image.
    ValueError
        An argument out of its range.

    Examples
    --------
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
            "sliding-window": sliding_window or "",
            "patch": patch,
            "overlap": overlap,
            "mirror": mirror or "",
            "tile-size": tile_size or "",
            "memory": memory or "",
            "scratch": file_name(scratch),
        }
        return run("plan", {name: "" if value is None else value for name, value in given.items()}, [path_of(each) for each in slides])
