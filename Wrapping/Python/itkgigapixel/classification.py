# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""What networks that label images say of whole slides."""

from __future__ import annotations

import json
import operator
import os
import pathlib
import subprocess
import tempfile
from typing import NamedTuple, Optional, Sequence

import itk

from itkgigapixel.program import PROGRAM, environment
from itkgigapixel.progress import interruptible
from itkgigapixel.slide import Path, Slide, file_name


class Classification(NamedTuple):
    """What a model says of one slide."""

    slide: str
    predicted: str  #: the most probable class
    probabilities: dict[str, float]  #: of each class, in the model's order; their sum is 1


@interruptible()
def classify(
    slides: Path | Slide | Sequence[Path | Slide],
    model,
    *,
    tissue: Path = "",
    level: Optional[int] = None,
    mpp: Optional[float] = None,
    memory: int | str = 0,
    tile_size: int | str = 0,
    device: str = "cpu",
    precision: str = "fp32",
):
    """Says of whole slides which class they are of, and how probable each class is, exactly, in the memory that you allow.

    It is the program ``gigapixel classify`` of the package that does it, in a process of its own.

    :param slides: a slide, several, or a folder of them
    :param model: what :func:`train` returned of slides with labels, a model file, or the folder of a run (its best model)
    :param tissue: where there is tissue, as the model was trained: a mask of the slide, or a folder of masks that are named as
        :func:`label` names them; "": everything counts
    :param level: of the slides, for slides or models of unknown resolution; None: that of the model's resolution
    :param mpp: micrometers per pixel of level 0, where a slide says none, or nonsense
    :param memory: peak bytes, or "2G" or "512M" (of 1024 x 1024); 0: what is free; changes no result
    :param tile_size: side of a tile's core in pixels; "image": the slide in one piece; 0: that of the model's training
    :param device: what computes, "cpu", "cuda", "cuda:1", ... or "auto"
    :param precision: how numbers are kept, "fp32", "tf32", "bf16" or "fp16"
    :returns: a :class:`Classification` of the slide, or of several a list, in the order of the slides
    :raises TypeError: the *model* is none
    :raises ValueError: there is no slide
    :raises RuntimeError: a slide or model that cannot be read, or does not suit the other, by name; of several slides nothing
        is returned then
    """
    is_one = isinstance(slides, (str, bytes, os.PathLike, Slide))
    names = [each.path if isinstance(each, Slide) else file_name(each) for each in ([slides] if is_one else slides)]
    if not names:
        raise ValueError("There is no slide to classify")
    options = {
        "--tissue": file_name(tissue),
        "--level": "" if level is None else operator.index(level),
        "--slide-mpp": "" if mpp is None else mpp,
        "--memory": "" if memory == 0 else memory,
        "--tile-size": "" if tile_size == 0 else tile_size,
        "--device": device,
        "--precision": precision,
    }
    words = [f"{name}={value}" for name, value in options.items() if value != ""]
    with tempfile.TemporaryDirectory() as folder:
        if isinstance(model, (str, bytes, os.PathLike)):
            file = file_name(model)
        elif isinstance(model, itk.GigapixelModel):
            file = str(pathlib.Path(folder) / "model.safetensors")
            model.Save(file)
        else:
            raise TypeError(f"A model is what train() returned, a file or a folder, not {type(model).__name__}")
        table = str(pathlib.Path(folder) / "predictions.csv")
        command = [str(PROGRAM), "classify", f"--model={file}", f"--output={table}", *words, "--json", "--quiet", "--", *names]
        finished = subprocess.run(command, env=environment(), capture_output=True, text=True)
    if finished.returncode != 0:
        raise RuntimeError(finished.stderr.strip().removeprefix("gigapixel: "))
    told = json.loads(finished.stdout)
    rows = [told] if isinstance(told, dict) else told
    found = [Classification(row["slide"], row["predicted"], row["probabilities"]) for row in rows]
    return found[0] if is_one and isinstance(told, dict) else found
