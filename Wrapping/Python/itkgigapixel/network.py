# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Networks that train and run on whole slides."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Mapping
from typing import Any, Optional, Sequence, Unpack

import itk
import numpy as np

from itkgigapixel.engine import file_of_model, require_torch
from itkgigapixel.errors import NO_CACHE, NO_STRATEGY, SLIDING_WINDOW, error_of, names_arguments, renamed, without
from itkgigapixel.files import check_mask, check_output, content_of, open_source, stated_of, strictness, with_mask, write, write_mask
from itkgigapixel.folders import is_folder, run_in_folder
from itkgigapixel.option_table import SegmentOptions, TrainOptions
from itkgigapixel.options import program_options, set_options, take, takes_options
from itkgigapixel.progress import interruptible, running
from itkgigapixel.slide import Slide
from itkgigapixel.slide_content import Path, check_mpp, file_name, list_of, whole
from itkgigapixel.temporary import temporary_folder


@without(strategy=NO_STRATEGY, cache=NO_CACHE, cache_limit=NO_CACHE)
@names_arguments
@with_mask("tissue")
@interruptible()
@takes_options
def train(
    slides: Sequence[tuple[Any, ...]] | Path,
    folder: Path = "",
    *,
    validation: Sequence[tuple[Any, ...]] = (),
    labels: bool = False,
    progress: bool = False,
    **options: Unpack[TrainOptions],
) -> itk.GigapixelModel:
    """Trains a network on whole slides, exactly, one slide a step, and returns the best model.

    Parameters
    ----------
    slides : path-like or sequence of tuple
        The CSV file of a cohort, or samples. A cohort has the columns slide, mask, split and optionally region. Networks
        that label whole slides take label in place of mask, or other truths: label:NAME of findings, grade, value:NAME, or
        time and event of survival. Samples are pairs ``(slide, mask)`` or ``(slide, mask, region)``. Both of a pair are
        files, or ITK images, or arrays of bytes of shape (height, width) or (height, width, 3); or the mask of a slide file
        is an array (y, x) of bool or uint8 that covers it. Masks may be coarser than slides: they are matched in mm. A
        *region* is (x, y, width, height) in pixels of level 0, or of the image.
    folder : path-like, default ""
        Where models and the history go. "": nothing is written.
    validation : sequence of tuple, default ()
        More samples, of the same kind. The weights with the best loss on them are kept.
    labels : bool, default False
        Samples are pairs ``(slide, label)``. The second is no mask, but the name of the class of the whole slide, or a dict
        of other truths by the names of a cohort's columns: ``{"label:tumor": 1, "label:necrosis": 0}``, ``{"grade": 2}``,
        ``{"value:age (years)": 54}`` or ``{"time": 31.5, "event": 1}``. What is not known (None) may be left out.
    progress : bool, default False
        Show a tqdm bar with the losses.
    **options
        How the network learns and is computed.

    Returns
    -------
    itk.GigapixelModel
        The model: the weights with the best loss of *validation*, without that the last ones.

    Raises
    ------
    GigapixelError
        What cannot be read, does not match, or has no room in *memory*; a device that is not there.
    TypeError
        A sample that is no such pair.
    ValueError
        Slides that state different resolutions, or are of different images of their files; both *level* and *mpp*, or an
        *mpp* that is none; a region that is no four numbers; a *memory* or *tile_size* that is none.

    Examples
    --------
    >>> model = gp.train("cohort.csv", "run", network="unet:base=8", epochs=20, memory="4G")
    """
    level, mpp, slide_mpp, channels, window, objective = take(options, "level", "mpp", "slide_mpp", "channels", "window", "objective")
    if level and mpp:
        why = f"slides are read at a level or at a resolution, not at both (level {level}, {mpp} um)"
        raise error_of(ValueError, "E-OPTION-CONFLICT", why, "give one of them", option="mpp", value=mpp)
    check_mpp(mpp)
    slides = os.fsdecode(slides) if isinstance(slides, (str, bytes, os.PathLike)) else list_of(slides, "slides")
    validation = list_of(validation, "validation")
    is_cohort = not isinstance(slides, list)  # whose slides state nothing
    samples = [*([(slides,)] if is_cohort else slides), *validation]
    first = [sample[0] for sample in samples if isinstance(sample, (list, tuple)) and sample]
    files = [each for each in first if isinstance(each, (str, os.PathLike, Slide))]
    slide_mpp, strict = stated_of(files, slide_mpp)
    trainer = itk.GigapixelUNetTrainer.New()
    trainer.SetRunFolder(file_name(folder))
    set_options(trainer, "train", {**options, "level": level or None, "mpp": mpp, "slide_mpp": slide_mpp})
    content_of(files, channels, window).set_on(trainer, "Slide")
    if isinstance(slides, str):
        trainer.AddCohort(file_name(slides), objective or "")
        slides = ()
    columns: list[str] = []
    if labels and any(len(sample) > 1 and isinstance(sample[1], Mapping) for sample in (*slides, *validation)):
        columns = _set_objective(trainer, (*slides, *validation), objective or "")
    with temporary_folder() as masks:
        for split, samples in (("Training", slides), ("Validation", validation)):
            for sample in samples:
                _add(trainer, split, sample, labels, columns, masks)
        with strictness(strict), running(trainer, "train", progress) as shown:
            if shown is not None:

                def tell():
                    state = trainer.GetTrainingProgress()
                    losses = {"loss": state["loss"], "validation": state["validation_loss"]}
                    shown.set_postfix(epoch=state["epoch"], **{k: v for k, v in losses.items() if not math.isnan(v)})

                trainer.AddObserver(itk.IterationEvent(), tell)
            trainer.Update()
    return trainer.GetBestModel()


def _add(trainer, split: str, sample, labels: bool, columns: list[str], folder: str) -> None:
    """:param folder: where masks that are arrays become files"""
    if isinstance(sample, str) or not isinstance(sample, Sequence) or not 2 <= len(sample) <= 3:
        why = f"a sample is (slide, mask) or (slide, mask, region), not {sample!r}"
        raise error_of(TypeError, "E-OPTION-VALUE", why, option="slides")
    pixels, mask, *region = sample
    region = [int(value) for value in region[0]] if region else []
    if region and len(region) != 4:
        raise error_of(ValueError, "E-REGION", f"a region is (x, y, width, height), not {tuple(region)}", value=tuple(region))
    if isinstance(pixels, Slide):
        pixels = pixels.path
    if labels:
        _add_labeled(trainer, split, pixels, _read_truth(mask, columns) if columns else mask, region)
        return
    if isinstance(mask, np.ndarray) and isinstance(pixels, (str, os.PathLike)):
        mask = write_mask(mask, folder, "slides")
    pixels, mask = _image(pixels), _image(mask)
    are_files = [isinstance(each, (str, os.PathLike)) for each in (pixels, mask)]
    if all(are_files):
        getattr(trainer, f"Add{split}Slide")(file_name(pixels), file_name(mask), tuple(region) or (0, 0, 0, 0))
    elif isinstance(pixels, itk.Object) and isinstance(mask, itk.Object):
        add = getattr(trainer, f"Add{split}Image")
        add(pixels, mask, *([itk.ImageRegion[2](region[:2], region[2:])] if region else []))
    else:
        kinds = " and ".join(type(each).__name__ for each in (pixels, mask))
        raise error_of(TypeError, "E-OPTION-VALUE", f"slide and mask of a sample are two files or two images, not {kinds}", option="slides")


def _image(pixels):
    """An array as an ITK image; anything else as it is."""
    if not isinstance(pixels, np.ndarray):
        return pixels
    if pixels.dtype == np.bool_:
        pixels = pixels * np.uint8(255)
    is_color = pixels.ndim == 3 and pixels.shape[2] == 3
    if pixels.dtype != np.uint8 or not (is_color or pixels.ndim == 2):
        why = f"an array of pixels has bytes (uint8) and the shape (height, width) or (height, width, 3), not {pixels.dtype} and {pixels.shape}"
        raise error_of(ValueError, "E-OPTION-VALUE", why, option="slides")
    kind = itk.Image[itk.RGBPixel[itk.UC], 2] if is_color else itk.Image[itk.UC, 2]
    return itk.image_from_array(np.ascontiguousarray(pixels), ttype=kind)


def _set_objective(trainer, samples, objective: str) -> list[str]:
    """What is learnt of samples whose truths are dicts. The columns of these that say it, as those of a cohort's table do."""
    known = {kind: columns for kind, *columns in (text.split() for text in itk.GigapixelUNetTrainer.GetObjectiveColumns())}
    kinds: dict[str, list[str]] = {}
    for sample in samples:
        if isinstance(sample, str) or not 2 <= len(sample) <= 3 or not isinstance(sample[1], Mapping):
            why = f"where truths are dicts, each sample is (slide, dict) or (slide, dict, region), not {sample!r}"
            raise error_of(TypeError, "E-OPTION-VALUE", why, option="slides")
        for column in sample[1]:
            kind = next((kind for kind, columns in known.items() if column in columns), None)
            kind = next((kind for kind, (first, *_) in known.items() if first[-1] == ":" and column.startswith(first)), kind)
            if kind is None:
                wanted = ", ".join(name + "NAME" * name.endswith(":") for columns in known.values() for name in columns)
                why = f'"{column}" is no truth of a whole slide: {wanted}'
                raise error_of(ValueError, "E-COHORT-FORMAT", why, value=column)
            if column not in kinds.setdefault(kind, []):
                kinds[kind].append(column)
    only = "".join(kinds) if len(kinds) == 1 else ""
    kind = objective or ("classes" if "classes" in kinds else only)
    if kind not in kinds:
        why = f"the dicts have truths of the kinds {', '.join(kinds) or 'none'}"
        do = f"give one of these as the objective, not {objective!r}"
        raise error_of(ValueError, "E-OPTION-VALUE", why, do, option="objective", value=objective)
    if kind == "classes":
        return known[kind]
    has_names = known[kind][0].endswith(":")
    trainer.SetObjective(kind, [column.partition(":")[2] for column in kinds[kind]] if has_names else [])
    return kinds[kind] if has_names else known[kind]


def _read_truth(truth: Mapping, columns: list[str]):
    """The name of the class, or a number for each column; NaN: not known."""
    if columns == ["label"]:
        return truth.get("label")
    return [math.nan if truth.get(column) is None else float(truth[column]) for column in columns]


def _add_labeled(trainer, split: str, pixels, label, region: list[int]) -> None:
    pixels = _image(pixels)
    if not isinstance(label, (str, list)):
        raise error_of(TypeError, "E-OPTION-VALUE", f"a label is the name of a class, not {type(label).__name__}", option="slides")
    if isinstance(pixels, (str, os.PathLike)):
        getattr(trainer, f"AddLabeled{split}Slide")(file_name(pixels), label, tuple(region) or (0, 0, 0, 0))
    elif isinstance(pixels, itk.Object):
        add = getattr(trainer, f"AddLabeled{split}Image")
        add(pixels, label, *([itk.ImageRegion[2](region[:2], region[2:])] if region else []))
    else:
        raise error_of(TypeError, "E-OPTION-VALUE", f"the slide of a sample is a file or an image, not {type(pixels).__name__}", option="slides")


@renamed(mpp="slide_mpp", semantics=SLIDING_WINDOW)
@without(strategy=NO_STRATEGY)
@names_arguments
@with_mask("tissue")
@interruptible()
@takes_options
def segment(
    slide: Path | Slide,
    model: Path | itk.GigapixelModel,
    output: Optional[Path] = None,
    *,
    probability: bool = False,
    progress: bool = False,
    **options: Unpack[SegmentOptions],
) -> Any:
    """Segments a slide with a trained network, streamed, with the channels and at the resolution that it was trained on.

    The same pixels, to the bit, as of the program ``gigapixel segment`` (both are ``itk.SlideSegmentationImageSource``).

    Parameters
    ----------
    slide : path-like or Slide
        The slide, which is streamed; or a folder of slides, as the program takes it.
    model : itk.GigapixelModel or path-like
        What :func:`train` returned, a model file, the folder of a run (its best model), or "tissue", the ready model that
        comes with the package.
    output : path-like, optional
        The folder for the results of a folder; or a file to write, in place of what stands there; ``*.pyramid.tif`` becomes
        a pyramid that slide viewers open, ``*.ome.tif`` an OME-TIFF.
    probability : bool, default False
        Give the object's probability (0 to 255) instead of labels (0 or 255); a model of several classes gives their
        numbers, and no probabilities here.
    progress : bool, default False
        Show a tqdm bar.
    **options
        What becomes of probabilities, whether the network sees patches, and how it is computed.

    Returns
    -------
    itk.Image, path-like or list of dict
        The segmentation as an ITK image of bytes, or *output* if that is given. Of a folder: what ``gigapixel segment
        --json`` says of each slide, with an "error" where it failed.

    Raises
    ------
    GigapixelError
        What cannot be read or written; a slide without a level at the model's resolution, or of unknown resolution where
        the model's is known; what the model cannot give; a device that is not there.
    ValueError
        What is not in its range, or of patches without *sliding_window*; a
        *level* below 0, or a *region* that is not inside the slide; an *output* that is the slide itself, or of a kind that
        ITK does not write, or with lossy compression (.jpg), or an OME-TIFF; a *memory* or *tile_size* that is none.

    Examples
    --------
    >>> gp.segment("slide.svs", "run", "slide.tumor.pyramid.tif", tissue="slide.mask.pyramid.tif")
    'slide.tumor.pyramid.tif'
    """
    if is_folder(slide):
        if probability or options.get("region") is not None:
            why = "of the slides of a folder, labels of the whole are written"
            raise error_of(ValueError, "E-OPTION-CONFLICT", why, "give the slides one by one", option="probability" if probability else "region")
        with temporary_folder() as folder:
            own = {**program_options("segment", options), "model": file_of_model(model, folder)}
            return run_in_folder("segment", slide, output, own, progress)
    if isinstance(model, (str, bytes, os.PathLike)):
        model = itk.GigapixelModel.Load(file_name(model))
    elif not isinstance(model, itk.GigapixelModel):
        why = f'a model is what train() returned, a file, a folder or "tissue", not {type(model).__name__}'
        raise error_of(TypeError, "E-OPTION-VALUE", why, option="model")
    slide_mpp, channels, window, region = take(options, "slide_mpp", "channels", "window", "region")
    level = options.get("level")
    if level is not None and whole(level, "level") < 0:
        raise error_of(ValueError, "E-SLIDE-LEVEL", f"levels have the numbers 0, 1, ..., not {level}", option="level", value=level)
    if model.NeedsTorch():
        require_torch()
    slide, io = open_source(slide, slide_mpp, channels, window)
    if output is not None:
        name = check_output(output, slide.path)
        if not probability:
            check_mask(name)
    source = itk.SlideSegmentationImageSource[itk.Image[itk.UC, 2]].New(Slide=io)
    source.SetModel(model)
    if region is not None:
        source.SetRegion([operator.index(each) for each in slide.inside(region)])
    source.SetOutputMode("probability" if probability else "label")
    set_options(source, "segment", options)
    source.UpdateSlideInformation()
    if output is None:
        with running(source, "segment", progress):
            source.Update()
        return source.GetOutput()
    write(source, io, output, "segment", progress, "picture" if probability else "automatic")
    return output
