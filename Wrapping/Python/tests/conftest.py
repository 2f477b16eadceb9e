# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Slides to test with, small ones that the package draws itself, and real ones where there are any; a picture and a run of it."""

import contextlib
import logging
import os
import pathlib

import itk
import itkgigapixel as gp
import numpy as np
import pytest
from itkgigapixel.errors import with_code

ROOT = pathlib.Path(__file__).parents[3]
GRAY = itk.Image[itk.UC, 2]
PROBABILITY = itk.Image[itk.F, 2]


def real_slide(name: str) -> str:
    """A slide below GIGAPIXEL_TEST_DATA (an error if it is not there); skips where that is not set."""
    folder = os.environ.get("GIGAPIXEL_TEST_DATA")
    if not folder:
        pytest.skip(f"no real slides here: {name} (set GIGAPIXEL_TEST_DATA)")
    path = pathlib.Path(folder) / name
    assert path.exists(), f"GIGAPIXEL_TEST_DATA is set, but there is no {path}"
    return str(path)


@pytest.fixture(autouse=True)
def messages(caplog):
    """What the package tells is in caplog."""
    caplog.set_level(logging.INFO, "itkgigapixel")


@contextlib.contextmanager
def refused(kind: type, code: str, **fields):
    """For a block that has to raise an error of this kind, code and fields (file, option, value)."""
    with pytest.raises(kind) as raised:
        yield raised
    error = raised.value
    assert isinstance(error, gp.GigapixelError), repr(error)
    assert (error.code, {name: getattr(error, name) for name in fields}) == (code, fields), error


@contextlib.contextmanager
def refused_by_itk(code: str, **fields):
    """As refused(), of the classes of itk themselves: a RuntimeError whose text ends in the code."""
    with pytest.raises(RuntimeError) as raised:
        yield raised
    assert str(raised.value).rstrip().endswith(f"[{code}]"), raised.value
    error = with_code(raised.value)
    assert (error.code, {name: getattr(error, name) for name in fields}) == (code, fields), error


def synthesize(folder, width: int, height: int, seed: int) -> tuple[str, str]:
    """A slide and its truth, as files."""
    names = []
    for source, name in (
        (itk.SyntheticSlideImageSource.New(), f"slide-{seed}.pyramid.tif"),
        (itk.SyntheticSlideTruthImageSource.New(), f"truth-{seed}.pyramid.tif"),
    ):
        source.SetSize(width, height)
        source.SetSeed(seed)
        names.append(str(folder / name))
        itk.imwrite(source.GetOutput(), names[-1])
    return tuple(names)


@pytest.fixture(scope="session")
def drawn(tmp_path_factory):
    """A synthetic slide of 3000 x 2000 pixels (0.5 um) with three levels, and its truth."""
    return synthesize(tmp_path_factory.mktemp("drawn"), 3000, 2000, seed=3)


@pytest.fixture(params=["drawn", "slides/cmu-1-small-region.svs"])
def slide(request, drawn):
    """Path of a slide: the synthetic one, then a real one."""
    return drawn[0] if request.param == "drawn" else real_slide(request.param)


@pytest.fixture(scope="session")
def picture():
    """Gray pixels and their truth, of a size that is no multiple of anything."""
    rng = np.random.default_rng(11)
    truth = np.kron(rng.random((11, 13)) > 0.5, np.ones((64, 64)))[:653, :777] > 0
    pixels = np.where(truth, 120, 235) + rng.integers(-20, 20, truth.shape)
    return pixels.astype(np.uint8), np.where(truth, 255, 0).astype(np.uint8)


def image(array: np.ndarray):
    result = itk.image_from_array(array)
    result.SetSpacing((0.0005, 0.0005))
    return result


def trainer(picture, folder, epochs=1, rate=1e-3):
    result = itk.GigapixelUNetTrainer.New()
    result.SetNetwork("remedios2023")
    result.SetRunFolder(str(folder))
    result.SetEpochs(epochs)
    result.SetLearningRate(rate)
    result.AugmentOff()
    result.SetTileSize(256)
    result.AddTrainingImage(image(picture[0]), image(picture[1]))
    return result


@pytest.fixture(scope="session")
def start(picture, tmp_path_factory):
    """Folder of a run of one step that is too small to change a weight: the weights that the seed draws."""
    folder = tmp_path_factory.mktemp("start") / "run"
    trainer(picture, folder, rate=1e-30).Update()
    return folder
