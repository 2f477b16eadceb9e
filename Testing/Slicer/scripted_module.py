# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""The scripted module in a real scene, and what its tests do with it."""

import json
import pathlib
import subprocess
import sys
from unittest.mock import MagicMock

import numpy
import pytest
import tifffile
from conftest import NAMES, PROGRAM, module, read_level

pytest.importorskip("slicer_core", reason="PyPI's slicer-core is not installed")
import slicer  # noqa: E402
import slicer_window  # noqa: E402
from vtkmodules.vtkCommonCore import vtkLogger  # noqa: E402

ROOT = pathlib.Path(__file__).parents[2]
SOURCE = ROOT / "Wrapping/Slicer/GigapixelSlide/GigapixelSlide.py"


@pytest.fixture(scope="module")
def gigapixel_slide(tmp_path_factory):
    vtkLogger.SetStderrVerbosity(vtkLogger.VERBOSITY_OFF)
    application = slicer_window.install(tmp_path_factory.mktemp("temporary"), [module(name) for name in NAMES])
    sys.path.insert(0, str(SOURCE.parent))
    import GigapixelSlide

    GigapixelSlide.application = application
    yield GigapixelSlide
    application.close()
    for name in [each for each in sys.modules if each.startswith("GigapixelSlide")]:
        del sys.modules[name]  # the next file has a window of its own


@pytest.fixture
def values(gigapixel_slide, slide):
    slicer.mrmlScene.Clear()
    values = gigapixel_slide.GigapixelSlideLogic().getParameterNode()
    values.slide = str(slide[0])
    return values


def finish(gigapixel_slide, process):
    gigapixel_slide.application.wait(process.node)
    assert process.failure() == ""
    return process.result()


def geometry(node):
    """Spacing and the center of the first pixel, in mm, of a volume or of a segmentation's first segment."""
    if node.IsA("vtkMRMLSegmentationNode"):
        node = node.GetSegmentation().GetNthSegment(0).GetRepresentation("Binary labelmap")
    return numpy.array([node.GetSpacing()[:2], node.GetOrigin()[:2]])


def draw_all_over(volume):
    """A segmentation as the Segment Editor makes it over a volume, with one segment that covers it."""
    import slicer_core
    from vtkmodules.vtkCommonMath import vtkMatrix4x4

    pixels, matrix = slicer_core.vtkOrientedImageData(), vtkMatrix4x4()
    pixels.SetDimensions(volume.GetImageData().GetDimensions())
    pixels.AllocateScalars(3, 1)  # unsigned char
    pixels.GetPointData().GetScalars().Fill(1)
    volume.GetIJKToRASMatrix(matrix)
    pixels.SetGeometryFromImageToWorldMatrix(matrix)
    drawn = slicer.mrmlScene.AddNewNodeByClass("vtkMRMLSegmentationNode", "drawn")
    drawn.SetReferenceImageGeometryParameterFromVolumeNode(volume)
    drawn.AddSegmentFromBinaryLabelmapRepresentation(pixels, "Tumor")
    return drawn


@pytest.fixture
def silent(slide, tmp_path):
    """The same slide without a resolution, as some scanners' software exports it."""
    options = {"tile": (256, 256), "photometric": "rgb", "compression": "zlib"}
    with tifffile.TiffWriter(tmp_path / "silent.tif") as file:
        file.write(read_level(slide[0]), **options)
        file.write(read_level(slide[0], 1), subfiletype=1, **options)
    return tmp_path / "silent.tif"


def evaluate(prediction, truth):
    """The program's figures; the sentence where it refuses."""
    done = subprocess.run([PROGRAM, "evaluate", prediction, truth, "--json"], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr


def add(values, mask=None, mask_file="", label=""):
    from GigapixelSlideLib.cohort import addRow

    values.maskNode, values.maskFile, values.label = mask, str(mask_file), label
    addRow(values)


def displayed():
    """All that a user sees in lists of nodes."""
    nodes = slicer.util.getNodesByClass("vtkMRMLDisplayableNode")
    return [node.GetName() for node in nodes if not node.GetHideFromEditors()]


@pytest.fixture
def form(gigapixel_slide, values, monkeypatch):
    """The module's form. What Qt's timer does, wait() does."""
    pending, errors, slicer_util = [], [], gigapixel_slide.slicer.util
    gigapixel_slide.qt.QTimer.singleShot = lambda milliseconds, function: pending.append(function)
    monkeypatch.setattr(slicer_util, "errorDisplay", errors.append)
    monkeypatch.setattr(slicer_util, "showStatusMessage", MagicMock())
    widget = gigapixel_slide.GigapixelSlideWidget()
    widget._showTable, widget._showPlot = MagicMock(), MagicMock()
    values.slide = ""
    widget.setup()

    def wait():
        while widget.process or pending:
            if widget.process:
                gigapixel_slide.application.wait(widget.process.node)
            for function in pending[:]:
                pending.remove(function)
                function()

    widget.wait, widget.errors = wait, errors
    yield widget
    widget.cleanup()
    wait()
