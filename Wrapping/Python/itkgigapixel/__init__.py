# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Whole-slide images for Python: what one does every day with ITK's Gigapixel classes, in few functions.

>>> import itkgigapixel as gp
>>> slide = gp.Slide("slide.svs")
>>> slide.levels                                     # sizes, downsamples and resolutions
>>> pixels = slide.read(level=2)                     # NumPy array, (y, x, 3) of uint8; read(mpp=2.0) is of exactly 2 um
>>> mask = gp.label("slide.svs", "mask.pyramid.tif") # tissue, streamed
>>> gp.train([("slide.svs", "mask.pyramid.tif")], "run", epochs=20)
>>> gp.history("run")                                # loss and score of each epoch
>>> gp.plan("new.svs", "run", memory="2G")["plans"]   # memory and tiles, before anything is started
>>> gp.segment("new.svs", "run", "new.pyramid.tif")
>>> gp.segment_volume("t1.nii.gz", "brain-run")      # of a network for volumes
>>> gp.classify("new.svs", "labels-run").probabilities # of the classes of a network that labels whole slides
>>> rows, places = gp.features("new.svs", module)    # of patches, by any module of PyTorch
>>> rows = gp.measure("mask.pyramid.tif", "slide.svs") # of each component: area, place, colors
>>> gp.evaluate("mask.pyramid.tif", "truth.tif")["dice"]
>>> gp.outline("mask.pyramid.tif", "slide.svs", "slide.geojson") # for QuPath; rasterize() is the way back
>>> gp.report("masks", "report.html", slides="slides") # one page on all slides
>>> patches = gp.torch.PatchDataset(["slide.svs"])   # for PyTorch's DataLoader

Everything else is in ``itk`` itself: ``itk.imread("slide.svs")``, ``itk.WholeSlideImageIO``, ``itk.PyramidTIFFImageIO``, ``itk.PyramidTIFFConverter``,
``itk.TissueLabelImageFilter`` and its stages, ``itk.GigapixelUNetImageFilter``, ``itk.GigapixelNetworkImageFilter`` (volumes), ``itk.GigapixelUNetTrainer``,
``itk.GigapixelClassifier``.
"""

import importlib
from typing import TYPE_CHECKING, Any

from itkgigapixel.built import VERSION as __version__
from itkgigapixel.classification import Classification, classify
from itkgigapixel.conversion import convert
from itkgigapixel.errors import GigapixelError, GigapixelWarning
from itkgigapixel.errors import GigapixelError as Error
from itkgigapixel.features import features
from itkgigapixel.importing import import_network, to_torch
from itkgigapixel.importing_onnx import import_onnx
from itkgigapixel.later import import_at_first_call
from itkgigapixel.loading import load_without_leaving_the_folder
from itkgigapixel.masks import evaluate, outline, overlay, rasterize
from itkgigapixel.meshnet import load_meshnet
from itkgigapixel.network import segment, train
from itkgigapixel.nnunet import import_nnunet
from itkgigapixel.planning import plan
from itkgigapixel.results import measure, report
from itkgigapixel.runs import Epoch, History, history
from itkgigapixel.slide import Slide
from itkgigapixel.slide_content import Channel, Level, Tile
from itkgigapixel.tissue import label, presets
from itkgigapixel.volumes import segment_volume

import_at_first_call()
load_without_leaving_the_folder()

if TYPE_CHECKING:
    from itkgigapixel import torch as torch

__all__ = ["Channel", "Classification", "Epoch", "Error", "GigapixelError", "GigapixelWarning", "History", "Level", "Slide", "Tile",
           "classify", "convert", "evaluate", "features", "history", "import_network", "import_nnunet", "import_onnx", "label",
           "load_meshnet", "measure", "outline", "overlay", "plan", "presets", "rasterize", "report", "segment", "segment_volume",
           "to_torch", "train"]


def __getattr__(name: str) -> Any:
    """PyTorch takes seconds to import, so ``itkgigapixel.torch`` does it when it is first used."""
    if name == "torch":
        return importlib.import_module("itkgigapixel.torch")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
