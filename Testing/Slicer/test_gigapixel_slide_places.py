# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Where the scripted module puts slides, regions and masks: upright in mm, also where the resolution is stated later."""

import numpy
import pytest
import tifffile
from conftest import read_level

pytest.importorskip("slicer_core", reason="PyPI's slicer-core is not installed")
import slicer  # noqa: E402
from scripted_module import add, draw_all_over, evaluate, finish, geometry, gigapixel_slide, silent, values  # noqa: E402, F401


def test_a_level_lies_upright_in_mm(gigapixel_slide, values, slide):
    """What Slicer's view from above shows: the slide's first row on top, its first column left, colors unchanged."""
    import slicer_core
    from vtkmodules.util.numpy_support import vtk_to_numpy

    values.level = 1
    volume = finish(gigapixel_slide, gigapixel_slide.GigapixelSlideLogic().loadSlide(values))
    assert numpy.allclose(volume.GetSpacing(), [0.001, 0.001, 1])
    display = volume.GetDisplayNode()
    assert (display.GetWindowLevelMin(), display.GetWindowLevelMax()) == (0, 255)
    logic = slicer_core.vtkMRMLSliceLogic()
    logic.SetMRMLScene(slicer.mrmlScene)
    logic.AddSliceNode("Red")
    node = logic.GetSliceNode()
    node.SetOrientation("Axial")
    width, height = 1300, 1100
    node.SetDimensions(width, height, 1)
    logic.GetSliceCompositeNode().SetBackgroundVolumeID(volume.GetID())
    logic.FitSliceToAll()
    logic.UpdatePipeline()
    logic.GetBlend().Update()
    shown = logic.GetBlend().GetOutput()
    shown = vtk_to_numpy(shown.GetPointData().GetScalars()).reshape(height, width, -1)[::-1, :, :3]
    # Each block of the view against the slide's at the same place: the right one fits, mirrored ones do not.
    pixels = read_level(slide[0], 1).astype(float)

    def blocks(image):
        return image[:1100, :1300].reshape(22, 50, 26, 50, 3).mean((1, 3))

    expected, seen = blocks(pixels), blocks(shown.astype(float))
    assert numpy.abs(seen - expected).max() < 6  # a view's pixel is not exactly the level's
    assert numpy.abs(seen[::-1] - expected).max() > 50 and numpy.abs(seen[:, ::-1] - expected).max() > 50


def test_a_region_at_full_resolution(gigapixel_slide, values, slide):
    roi = slicer.mrmlScene.AddNewNodeByClass("vtkMRMLMarkupsROINode", "hot spot")
    roi.SetCenter(-(1000 - 0.5) * 0.0005, -(800 - 0.5) * 0.0005, 0)
    roi.SetSize(400 * 0.0005, 200 * 0.0005, 5)
    values.region = roi
    volume = finish(gigapixel_slide, gigapixel_slide.GigapixelSlideLogic().loadRegion(values))
    pixels = slicer.util.arrayFromVolume(volume)[0]
    assert volume.GetName() == "slide hot spot"
    assert numpy.abs(pixels.astype(int) - read_level(slide[0])[700:900, 800:1200]).max() <= 1


def test_a_resolution_stated_later_moves_all_of_the_slide(gigapixel_slide, values, silent):
    """Volumes, results and drawings made before and after lie on the same mm; the file's word (none) brings them back."""
    logic, values.slide = gigapixel_slide.GigapixelSlideLogic(), str(silent)
    values.slideMpp, values.mask, values.level = 0.0, "", 1
    info = finish(gigapixel_slide, logic.showInfo(values))
    assert info.spacing == (1, 1) and "unknown" in info.describe() and "1.30 x 1.10 mm" in info.describe(0.5)
    volume = finish(gigapixel_slide, logic.loadSlide(values))
    before = finish(gigapixel_slide, logic.label(values))
    table = gigapixel_slide.makeStatistics(before)
    drawn = draw_all_over(volume)
    outline = slicer.mrmlScene.AddNewNodeByClass("vtkMRMLMarkupsClosedCurveNode", "outline")
    outline.AddControlPointWorld(-1000, -800, 0)
    values.region = slicer.mrmlScene.AddNewNodeByClass("vtkMRMLMarkupsROINode", "region")
    values.region.SetCenter(-(1000 - 0.5), -(800 - 0.5), 0)
    values.region.SetSize(400, 200, 5)

    def check(mm):
        """All of it, at so many mm per pixel of level 0."""
        assert numpy.allclose(geometry(volume), [[2 * mm] * 2, [-0.5 * mm] * 2])
        assert numpy.allclose(geometry(drawn)[0], 2 * mm)
        assert numpy.allclose(drawn_bounds(), numpy.array([-2599.5, 0.5, -2199.5, 0.5]) * mm)
        assert numpy.allclose(geometry(before)[0], 8 * mm)
        assert numpy.allclose(outline.GetNthControlPointPosition(0), [-1000 * mm, -800 * mm, 0])
        assert numpy.allclose(values.region.GetSize(), [400 * mm, 200 * mm, 5])
        after = finish(gigapixel_slide, logic.label(values))
        assert numpy.allclose(geometry(after), geometry(before))
        region = finish(gigapixel_slide, logic.loadRegion(values))
        pixels = slicer.util.arrayFromVolume(region)[0]
        assert (pixels == read_level(silent)[700:900, 800:1200]).all()
        count = int(table.GetCellText(0, 1))
        assert float(table.GetCellText(0, 2)) == pytest.approx(count * (8 * mm) ** 2, rel=1e-4)

    def drawn_bounds():
        bounds = numpy.zeros(6)
        drawn.GetRASBounds(bounds)
        return bounds[:4]

    check(1)
    for mpp, mm in ((0.5, 0.0005), (0.25, 0.00025), (0.0, 1)):
        logic.stateResolution(values, mpp)
        check(mm)


def test_a_resolution_stated_while_a_level_is_read(gigapixel_slide, values, silent):
    """What arrives lies where the user says by then, and another slide stays where it is."""
    logic = gigapixel_slide.GigapixelSlideLogic()
    values.slideMpp, values.level = 0.0, 1
    other = finish(gigapixel_slide, logic.loadSlide(values))
    outline = slicer.mrmlScene.AddNewNodeByClass("vtkMRMLMarkupsLineNode", "outline")
    outline.AddControlPointWorld(-1, -1, 0)
    values.slide = str(silent)
    process = logic.loadSlide(values)
    logic.stateResolution(values, 0.25)
    assert numpy.allclose(geometry(finish(gigapixel_slide, process)), [[0.0005] * 2, [-0.000125] * 2])
    logic.stateResolution(values, 0.5)
    assert numpy.allclose(geometry(values.volume), [[0.001] * 2, [-0.00025] * 2])
    assert numpy.allclose(geometry(other), [[0.001] * 2, [-0.00025] * 2])
    assert outline.GetNthControlPointPosition(0) == (-1, -1, 0)  # of which slide, nobody knows


@pytest.mark.parametrize("kind", ["vtkMRMLScalarVolumeNode", "vtkMRMLModelNode"])
def test_a_resolution_stated_moves_no_markup_of_something_else(gigapixel_slide, values, silent, kind):
    """A stranger's volume or model is there: its markups stay, the module's own region moves."""
    logic, values.slide = gigapixel_slide.GigapixelSlideLogic(), str(silent)
    values.slideMpp, values.level = 0.0, 1
    volume = finish(gigapixel_slide, logic.loadSlide(values))
    slicer.mrmlScene.AddNewNodeByClass(kind, "of a patient")
    landmarks = slicer.mrmlScene.AddNewNodeByClass("vtkMRMLMarkupsFiducialNode", "landmarks")
    landmarks.AddControlPointWorld(-30, 40, 50)
    values.region = slicer.mrmlScene.AddNewNodeByClass("vtkMRMLMarkupsROINode", "region")
    values.region.SetSize(400, 200, 5)
    logic.stateResolution(values, 0.5)
    assert numpy.allclose(geometry(volume)[0], 0.001)
    assert landmarks.GetNthControlPointPosition(0) == (-30, 40, 50)
    assert numpy.allclose(values.region.GetSize(), [0.2, 0.1, 5])


def test_planes_of_slice_views_are_nothing_to_draw_on(gigapixel_slide, values, silent):
    logic, values.slide = gigapixel_slide.GigapixelSlideLogic(), str(silent)
    values.slideMpp, values.level, values.region = 0.0, 1, None
    finish(gigapixel_slide, logic.loadSlide(values))
    slicer.mrmlScene.AddNewNodeByClass("vtkMRMLModelNode", "Red Volume Slice").SetHideFromEditors(True)
    outline = slicer.mrmlScene.AddNewNodeByClass("vtkMRMLMarkupsLineNode", "outline")
    outline.AddControlPointWorld(-1000, -800, 0)
    logic.stateResolution(values, 0.5)
    assert numpy.allclose(outline.GetNthControlPointPosition(0), [-0.5, -0.4, 0])


def save(segmentation, file):
    segmentation.AddDefaultStorageNode()
    segmentation.GetStorageNode().SetFileName(str(file))
    assert segmentation.GetStorageNode().WriteData(segmentation)
    return file


def test_what_slicer_saves_is_a_mask(gigapixel_slide, values, silent, tmp_path):
    """A result that was corrected, and a drawing, as Slicer writes them; segments that overlap are said to be no mask."""
    logic, values.slide = gigapixel_slide.GigapixelSlideLogic(), str(silent)
    values.slideMpp, values.mask, values.level = 0.0, str(tmp_path / "mask.tif"), 1
    volume = finish(gigapixel_slide, logic.loadSlide(values))
    labeled = finish(gigapixel_slide, logic.label(values))
    logic.stateResolution(values, 0.5)
    result = evaluate(save(labeled, tmp_path / "labeled.seg.nrrd"), values.mask)
    assert result["dice"] == 1 and result["pixels"] == 325 * 275  # nothing is cut off
    drawn = draw_all_over(volume)
    tifffile.imwrite(tmp_path / "all.tif", numpy.full((275, 325), 255, "u1"), tile=(256, 256))
    assert evaluate(save(drawn, tmp_path / "drawn.seg.nrrd"), tmp_path / "all.tif")["dice"] == 1
    pixels = drawn.GetSegmentation().GetNthSegment(0).GetRepresentation("Binary labelmap").NewInstance()
    pixels.DeepCopy(drawn.GetSegmentation().GetNthSegment(0).GetRepresentation("Binary labelmap"))
    drawn.AddSegmentFromBinaryLabelmapRepresentation(pixels, "Vessel")
    assert "its segments are in 2 layers" in evaluate(save(drawn, tmp_path / "both.seg.nrrd"), tmp_path / "all.tif")
    values.slideMpp, values.run, values.network, values.epochs = 0.0, str(tmp_path / "run"), "remedios2023", 1
    add(values, mask_file=tmp_path / "labeled.seg.nrrd")
    assert (finish(gigapixel_slide, logic.train(values)) / "last.safetensors").exists()
