# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Each command-line module run by Slicer's own logic: progress, results, outputs in the scene, failure, cancel."""

import time

import numpy
import pytest
import tifffile
from conftest import NAMES, module, read_level, run

slicer_core = pytest.importorskip("slicer_core", reason="PyPI's slicer-core is not installed")
from slicer_core_modules import Application, set_parameters  # noqa: E402
from vtkmodules.util.numpy_support import vtk_to_numpy  # noqa: E402
from vtkmodules.vtkCommonCore import vtkLogger  # noqa: E402


@pytest.fixture(scope="module")
def application(tmp_path_factory):
    vtkLogger.SetStderrVerbosity(vtkLogger.VERBOSITY_OFF)
    application = Application(tmp_path_factory.mktemp("temporary"))
    yield application
    application.close()


def start(application, name, **parameters):
    logic = application.module(module(name))
    node = logic.CreateNodeInScene()
    set_parameters(node, parameters)
    logic.Apply(node, False)
    return node


def labels(segmentation, name):
    """A segment's pixels, spacing and place: (array of bool, spacing, origin)."""
    segments = segmentation.GetSegmentation()
    segment = segments.GetSegment(segments.GetSegmentIdBySegmentName(name))
    image = segment.GetRepresentation("Binary labelmap")
    shape = image.GetDimensions()[::-1]
    return vtk_to_numpy(image.GetPointData().GetScalars()).reshape(shape) == segment.GetLabelValue(), image


@pytest.mark.parametrize("name", NAMES)
def test_slicer_reads_the_description(application, name):
    node = application.module(module(name)).CreateNodeInScene()
    assert node.GetNumberOfParameterGroups() == 3
    assert node.GetModuleTitle()


def test_label_in_the_scene(application, slide, tmp_path):
    """Progress arrives, the segmentation is the mask, with its name, color and place, and results are parameters."""
    segmentation = application.scene.AddNewNodeByClass("vtkMRMLSegmentationNode", "tissue")
    node = start(application, "TissueLabel", slide=slide[0], downsample=2, outputSegmentation=segmentation)
    progress = []
    application.wait(node, lambda node: progress.append(node.GetProgress()))
    assert node.GetStatusString() == "Completed" and node.GetErrorText() == ""
    assert max(progress) > 0
    run("TissueLabel", slide=slide[0], downsample=2, mask=tmp_path / "mask.tif")
    expected = tifffile.imread(tmp_path / "mask.tif") > 0
    pixels, image = labels(segmentation, "Tissue")
    assert pixels.sum() == expected.sum() and pixels.shape[1:] == expected.shape
    assert numpy.allclose(image.GetSpacing(), [0.001, 0.001, 1])
    assert numpy.allclose(segmentation.GetSegmentation().GetNthSegment(0).GetColor(), [0.10, 0.75, 0.35], atol=0.01)
    assert float(node.GetParameterAsString("objectFraction")) == pytest.approx(expected.mean(), rel=1e-4)
    assert segmentation.CreateClosedSurfaceRepresentation()
    segments = segmentation.GetSegmentation()
    surface = segments.GetNthSegment(0).GetRepresentation("Closed surface")
    assert surface.GetNumberOfCells() > 0
    # In Slicer's world left and posterior are negative.
    columns, rows = numpy.flatnonzero(expected.any(0)), numpy.flatnonzero(expected.any(1))
    bounds = numpy.array(surface.GetBounds())
    wanted = [-(columns[-1] + 1.0) * 0.001, -columns[0] * 0.001, -(rows[-1] + 1.0) * 0.001, -rows[0] * 0.001]
    assert numpy.abs(bounds[:4] - wanted).max() < 0.002
    assert list(application.temporary.iterdir()) == []


def test_region_of_interest(application, slide):
    """A region drawn in Slicer, loaded as a color volume that lies where it was drawn, the first row on top."""
    scene = application.scene
    roi = scene.AddNewNodeByClass("vtkMRMLMarkupsROINode")
    roi.SetCenter(-(512 + 100 - 0.5) * 0.0005, -(300 + 50 - 0.5) * 0.0005, 0)
    roi.SetSize(200 * 0.0005, 100 * 0.0005, 1)
    volume = scene.AddNewNodeByClass("vtkMRMLVectorVolumeNode", "pixels")
    node = start(application, "SlideRegion", slide=slide[0], level=0, region=roi, volume=volume)
    application.wait(node)
    assert node.GetStatusString() == "Completed", node.GetErrorText()
    assert volume.GetImageData().GetDimensions() == (200, 100, 1)
    pixels = vtk_to_numpy(volume.GetImageData().GetPointData().GetScalars()).reshape(100, 200, 3)
    expected = read_level(slide[0])[300:400, 512:712]
    assert numpy.abs(pixels.astype(int) - expected).max() <= 1
    place = volume.GetOrigin(), volume.GetSpacing()
    assert numpy.allclose(place, [[-512 * 0.0005, -300 * 0.0005, 0], [0.0005, 0.0005, 1]])
    directions = numpy.zeros((3, 3))
    volume.GetIJKToRASDirections(directions)
    assert numpy.allclose(directions, numpy.diag([-1, -1, 1]))


def test_the_whole_slide_without_a_region(application, slide):
    volume = application.scene.AddNewNodeByClass("vtkMRMLVectorVolumeNode", "pixels")
    node = start(application, "SlideRegion", slide=slide[0], volume=volume)
    application.wait(node)
    assert node.GetStatusString() == "Completed", node.GetErrorText()
    assert volume.GetImageData().GetDimensions() == (2600, 2200, 1)


def test_results(application, slide):
    node = start(application, "SlideInfo", slide=slide[0])
    application.wait(node)
    assert node.GetStatusString() == "Completed", node.GetErrorText()
    assert node.GetParameterAsString("width") == "2600" and float(node.GetParameterAsString("mpp")) == 0.5


def test_train_and_segment(application, slide, cohort, tmp_path):
    table = tmp_path / "cohort.csv"
    table.write_text("\n".join(",".join(map(str, row)) for row in [("slide", "mask", "split"), *cohort]))
    node = start(application, "GigapixelUNetTrain", cohort=table, run=tmp_path / "run", network="remedios2023", epochs=2)
    application.wait(node)
    assert node.GetStatusString() == "Completed", node.GetErrorText()
    assert node.GetParameterAsString("epochsDone") == "2" and "epoch 2/2" in node.GetOutputText()
    segmentation = application.scene.AddNewNodeByClass("vtkMRMLSegmentationNode", "object")
    model = tmp_path / "run" / "best.safetensors"
    node = start(application, "GigapixelUNetSegment", slide=slide[0], model=model, outputSegmentation=segmentation)
    application.wait(node)
    assert node.GetStatusString() == "Completed", node.GetErrorText()
    assert labels(segmentation, "Object")[0].shape == (1, 2200, 2600)


def test_failure(application, tmp_path):
    """The sentence arrives, and nothing is loaded."""
    segmentation = application.scene.AddNewNodeByClass("vtkMRMLSegmentationNode", "none")
    node = start(application, "TissueLabel", slide=tmp_path / "no.svs", outputSegmentation=segmentation)
    application.wait(node)
    assert node.GetStatusString() == "Completed with errors"
    assert node.GetErrorText().rstrip().endswith("[E-FILE-MISSING]")
    assert segmentation.GetSegmentation().GetNumberOfSegments() == 0


def test_cancel(application, large, tmp_path):
    segmentation = application.scene.AddNewNodeByClass("vtkMRMLSegmentationNode", "none")
    mask = tmp_path / "mask.tif"
    node = start(
        application, "TissueLabel", slide=large[0], downsample=1, outputSegmentation=segmentation, mask=mask
    )
    application.wait(node, lambda node: node.Cancel() if node.GetProgress() > 0 else None)
    assert node.GetStatusString() == "Cancelled"
    assert segmentation.GetSegmentation().GetNumberOfSegments() == 0
    end = time.monotonic() + 30
    while (list(tmp_path.iterdir()) or list(application.temporary.iterdir())) and time.monotonic() < end:
        time.sleep(0.05)
    assert list(tmp_path.iterdir()) == [] and list(application.temporary.iterdir()) == []
