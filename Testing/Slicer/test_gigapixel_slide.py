# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""The scripted module on a real scene: places, colors, overlay, statistics, loss plot; its own self-test; its form."""

import ast
import json
import os
import pathlib
import re
import subprocess
import sys
import types
import xml.etree.ElementTree as ElementTree
from unittest.mock import MagicMock

import numpy
import pytest
import tifffile
from conftest import NAMES, PROGRAM, module, read_level, run, write_cohort

pytest.importorskip("slicer_core", reason="PyPI's slicer-core is not installed")
import slicer  # noqa: E402
import slicer_window  # noqa: E402
from vtkmodules.vtkCommonCore import vtkLogger  # noqa: E402

ROOT = pathlib.Path(__file__).parents[2]
SOURCE = ROOT / "Wrapping/Slicer/GigapixelSlide/GigapixelSlide.py"
TUTORIAL = ROOT / "Documentation/tutorials/slicer.md"


@pytest.fixture(scope="module")
def gigapixel_slide(tmp_path_factory):
    vtkLogger.SetStderrVerbosity(vtkLogger.VERBOSITY_OFF)
    application = slicer_window.install(tmp_path_factory.mktemp("temporary"), [module(name) for name in NAMES])
    sys.path.insert(0, str(SOURCE.parent))
    import GigapixelSlide

    GigapixelSlide.application = application
    yield GigapixelSlide
    application.close()


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


def test_properties_and_thumbnail(gigapixel_slide, values):
    info = finish(gigapixel_slide, gigapixel_slide.GigapixelSlideLogic().showInfo(values))
    assert (info.width, info.height, info.mpp) == (2600, 2200, 0.5)
    assert info.listLevels()[1] == ("0: 2600 x 2200 (0.5 µm/px)", 0) and "1.30 x 1.10 mm" in info.describe()
    from PIL import Image

    assert max(Image.open(info.thumbnail).size) <= 512


def test_warnings_are_in_words_of_the_form(gigapixel_slide, values, tmp_path):
    values.slide = str(tmp_path / "coarse.tif")
    pixels, resolution = numpy.full((300, 400, 3), 200, "u1"), 10000 / 300  # 300 µm/px
    tifffile.imwrite(values.slide, pixels, tile=(64, 64), photometric="rgb", resolution=(resolution,) * 2, resolutionunit="CENTIMETER")
    info = finish(gigapixel_slide, gigapixel_slide.GigapixelSlideLogic().showInfo(values))
    (warning,) = info.warnings
    assert warning.startswith(values.slide) and "--" not in warning
    assert warning.endswith(f"{step_of('W-SLIDE-RESOLUTION')}. [W-SLIDE-RESOLUTION]") and warning in info.describe()


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


def test_label_and_statistics(gigapixel_slide, values, tmp_path):
    logic = gigapixel_slide.GigapixelSlideLogic()
    values.mask = str(tmp_path / "mask.tif")
    segmentation = finish(gigapixel_slide, logic.label(values))
    run("TissueLabel", slide=values.slide, mask=tmp_path / "same.tif")
    mask = tifffile.imread(values.mask) > 0
    assert (mask == (tifffile.imread(tmp_path / "same.tif") > 0)).all()
    again = finish(gigapixel_slide, logic.label(values))
    assert again.GetName() != segmentation.GetName()  # so that both can be added to the table
    table = gigapixel_slide.makeStatistics(segmentation)
    assert table.GetCellText(0, 0) == "Tissue" and int(table.GetCellText(0, 1)) == mask.sum()
    assert float(table.GetCellText(0, 2)) == pytest.approx(mask.sum() * 0.004**2, rel=1e-4)
    assert float(table.GetCellText(0, 3)) == pytest.approx(100 * mask.mean(), rel=1e-4)
    assert segmentation.GetDisplayNode().GetOpacity2DFill() == pytest.approx(0.3)


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


def evaluate(prediction, truth):
    """The program's figures; the sentence where it refuses."""
    done = subprocess.run([PROGRAM, "evaluate", prediction, truth, "--json"], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr


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


def add(values, mask=None, mask_file="", label=""):
    from GigapixelSlideLib.cohort import addRow

    values.maskNode, values.maskFile, values.label = mask, str(mask_file), label
    addRow(values)


def test_train_on_masks_of_the_scene(gigapixel_slide, values, silent, slide, tmp_path):
    """A segmentation that was corrected and renamed after it had been added, and a label volume: files of what the scene shows."""
    logic = gigapixel_slide.GigapixelSlideLogic()
    values.mpp, values.run, values.network, values.epochs = 4.0, str(tmp_path / "run"), "remedios2023", 1
    drawn = draw_all_over(finish(gigapixel_slide, logic.loadSlide(values)))
    add(values, mask=drawn)
    pixels = slicer.util.arrayFromSegmentInternalBinaryLabelmap(drawn, drawn.GetSegmentation().GetNthSegmentID(0))
    pixels[0, :100] = 0
    drawn.SetName("corrected")
    labels = slicer.mrmlScene.AddNewNodeByClass("vtkMRMLLabelMapVolumeNode", "labels")
    labels.CopyOrientation(values.volume)
    slicer.util.updateVolumeFromArray(labels, numpy.eye(275, 325, dtype="u1")[None])
    values.slide = str(silent)
    add(values, mask=labels)
    finish(gigapixel_slide, logic.train(values))
    rows = [line.split(",") for line in (tmp_path / "run.cohort.csv").read_text().splitlines()]
    assert [row[0] for row in rows] == ["slide", str(slide[0]), str(silent)]
    assert [row[2] for row in rows] == ["split", "train", "validation"] and values.cohort.GetCellText(1, 1) == "labels"
    rows_of_255 = numpy.repeat(numpy.uint8([0, 255]), [100, 175])
    tifffile.imwrite(tmp_path / "drawn.tif", numpy.repeat(rows_of_255[:, None], 325, axis=1), tile=(256, 256))
    tifffile.imwrite(tmp_path / "labels.tif", 255 * numpy.eye(275, 325, dtype="u1"), tile=(256, 256))
    assert [evaluate(row[1], tmp_path / f"{name}.tif")["dice"] for row, name in zip(rows[1:], ("drawn", "labels"))] == [1, 1]
    assert drawn.GetStorageNode() is None and labels.GetStorageNode() is None  # where the user saves them is not touched


def test_rows_that_no_training_can_use(gigapixel_slide, values, silent, tmp_path):
    """Each is refused before a process is started, in words of the form."""
    logic, values.run = gigapixel_slide.GigapixelSlideLogic(), str(tmp_path / "run")
    with pytest.raises(ValueError, match="needs slides"):
        logic.train(values)
    with pytest.raises(ValueError, match="Choose a mask"):
        add(values)
    values.mpp = 8.0
    drawn = draw_all_over(finish(gigapixel_slide, logic.loadSlide(values)))
    values.slide = str(silent)
    with pytest.raises(ValueError, match="another slide"):
        add(values, mask=drawn)
    add(values, mask_file=tmp_path / "nothing.tif")
    with pytest.raises(ValueError, match="no mask"):
        logic.train(values)
    values.cohort.RemoveRow(0)
    add(values, mask=slicer.mrmlScene.AddNewNodeByClass("vtkMRMLSegmentationNode", "same"))
    with pytest.raises(ValueError, match="Another mask"):
        add(values, mask=slicer.mrmlScene.AddNewNodeByClass("vtkMRMLSegmentationNode", "same"))


def test_a_mask_over_a_part_of_the_slide_is_refused(gigapixel_slide, values, tmp_path):
    logic = gigapixel_slide.GigapixelSlideLogic()
    values.region = slicer.mrmlScene.AddNewNodeByClass("vtkMRMLMarkupsROINode", "part")
    values.region.SetCenter(-0.5, -0.4, 0)
    values.region.SetSize(0.2, 0.1, 5)
    drawn = draw_all_over(finish(gigapixel_slide, logic.loadRegion(values)))
    add(values, mask=drawn)
    values.run, values.epochs = str(tmp_path / "run"), 1
    process = logic.train(values)
    gigapixel_slide.application.wait(process.node)
    assert process.failure().endswith("[E-MASK-GRID]") and "source volume" in process.failure()


def test_train_plot_and_segment(gigapixel_slide, values, cohort, tmp_path):
    logic = gigapixel_slide.GigapixelSlideLogic()
    values.run, values.network, values.epochs = str(tmp_path / "run"), "remedios2023", 2
    for values.slide, mask, _ in [tuple(map(str, row)) for row in cohort]:
        add(values, mask_file=mask)
    finish(gigapixel_slide, logic.train(values))
    assert (tmp_path / "run.cohort.csv").read_text().split() == ["slide,mask,split", *(",".join(map(str, row)) for row in cohort)]
    values.network, values.epochs = "", 3  # and it goes on, with its network
    folder = finish(gigapixel_slide, logic.train(values))
    history = numpy.genfromtxt(folder / "history.csv", delimiter=",", names=True)
    assert len(history) == 3
    chart = gigapixel_slide.makePlot(folder)
    assert chart.GetNumberOfPlotSeriesNodes() == 2
    series = chart.GetNthPlotSeriesNode(0)
    column = series.GetTableNode().GetTable().GetColumnByName(series.GetYColumnName())
    assert [column.GetValue(i) for i in range(3)] == pytest.approx(list(history["training_loss"]))
    values.model = str(folder / "best.safetensors")
    segmentation = finish(gigapixel_slide, logic.segment(values))
    assert segmentation.GetSegmentation().GetNthSegment(0).GetName() == "Object"


def test_tutorial_slicer(gigapixel_slide, tmp_path, monkeypatch):
    """Its blocks run one after the other. Tissue and network find the tissue that was drawn."""
    slicer.mrmlScene.Clear()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(pathlib.Path(PROGRAM).parent), prepend=os.pathsep)
    names = {}
    for kind, block in re.findall(r"^```(sh|python)\n(.*?)^```", TUTORIAL.read_text(), re.M | re.S):
        if kind == "sh":
            subprocess.run(["bash", "-euo", "pipefail", "-c", block], check=True)
        else:
            exec(block, names)
    assert (names["info"].width, names["info"].mpp) == (2048, 0.5)
    assert slicer.util.arrayFromVolume(names["volume"]).shape == (1, 1024, 1024, 3)
    area = (tifffile.imread("tissue.tif") > 0).sum() * 0.004**2
    assert float(names["table"].GetCellText(0, 2)) == pytest.approx(area, rel=1e-4)
    assert evaluate("tissue.tif", "truth.tif")["dice"] > 0.98
    assert names["segmentation"].GetSegmentation().GetNthSegment(0).GetName() == "Object"
    assert evaluate("object.tif", "truth.tif")["dice"] > 0.9


def test_classify_shows_probabilities_and_the_map(gigapixel_slide, values, labels):
    (_, (slide, _)), model = labels
    logic = gigapixel_slide.GigapixelSlideLogic()
    values.slide, values.slideMpp, values.classifier = str(slide), 0.0, ""
    with pytest.raises(ValueError, match="Choose a model"):
        logic.classify(values)
    values.classifier = str(model)
    found = finish(gigapixel_slide, logic.classify(values))
    assert sum(found.probabilities.values()) == pytest.approx(1) and found.predicted in found.probabilities
    assert "tumor: " in found.describe() and "speaks for tumor" in found.describe()
    pixels = slicer.util.arrayFromVolume(found.map)
    assert pixels.shape == (1, 6, 8) and pixels.dtype == numpy.float32 and pixels.min() >= 0
    assert numpy.allclose(geometry(found.map), [[0.016] * 2, [0, 0]])
    display = found.map.GetDisplayNode()
    assert display.GetWindowLevelMax() == pytest.approx(pixels.max(), rel=1e-4) and display.GetApplyThreshold()
    table = gigapixel_slide.makeProbabilities("slide", found.probabilities)
    assert table.GetCellText(1, 0) == "tumor" and float(table.GetCellText(1, 1)) == pytest.approx(found.probabilities["tumor"])
    logic.stateResolution(values, 0.25)  # and the map moves with the slide
    assert numpy.allclose(geometry(found.map)[0], 0.008)
    values.slideMpp = 0.0


def test_a_volume_becomes_a_segmentation(gigapixel_slide, values, volume, tmp_path):
    """A loaded volume, of a network of one modality."""
    folder, truth = volume
    write_cohort(tmp_path / "cohort.csv", ("slide", "mask", "split"), [(folder / "t1.nrrd", folder / "labels.nrrd", "train")])
    words = {"cohort": tmp_path / "cohort.csv", "run": tmp_path / "run", "network": "unet3d:base=2,depth=1", "learningRate": 0.02}
    run("GigapixelUNetTrain", **words, epochs=40)
    logic = gigapixel_slide.GigapixelSlideLogic()
    with pytest.raises(ValueError, match="Choose a volume"):
        logic.segmentVolume(values)
    values.scan, values.scanModel = load_volume(folder / "t1.nrrd"), str(tmp_path / "run" / "best.safetensors")
    segmentation = finish(gigapixel_slide, logic.segmentVolume(values))
    assert segmentation.GetSegmentation().GetNthSegment(0).GetName() == "Class 1"
    found = segmentation.GetSegmentation().GetNthSegment(0).GetRepresentation("Binary labelmap")
    assert numpy.prod(found.GetDimensions()) >= truth.sum() and segmentation.GetDisplayNode() is not None


def load_volume(path):
    storage = slicer.mrmlScene.AddNewNodeByClass("vtkMRMLVolumeArchetypeStorageNode")
    storage.SetFileName(str(path))
    node = slicer.mrmlScene.AddNewNodeByClass("vtkMRMLScalarVolumeNode", "t1")
    assert storage.ReadData(node)
    return node


def test_train_on_labels(gigapixel_slide, values, labels, tmp_path):
    """Rows without masks make a cohort without that column."""
    slides, _ = labels
    logic = gigapixel_slide.GigapixelSlideLogic()
    values.run, values.epochs, values.memory = str(tmp_path / "run"), 1, "3G"
    for values.slide, label in [tuple(map(str, row)) for row in slides]:
        add(values, label=label)
    values.cohort.SetCellText(1, 3, "train")
    folder = finish(gigapixel_slide, logic.train(values))
    assert (tmp_path / "run.cohort.csv").read_text().startswith("slide,label,split")
    told = subprocess.run([PROGRAM, "info", folder, "--json"], capture_output=True, check=True).stdout
    assert json.loads(told)["classNames"] == ["normal", "tumor"]
    values.memory = "2G"


def displayed():
    """All that a user sees in lists of nodes."""
    nodes = slicer.util.getNodesByClass("vtkMRMLDisplayableNode")
    return [node.GetName() for node in nodes if not node.GetHideFromEditors()]


@pytest.mark.parametrize("name", ["my slide.svs", "a--mpp (--level) slide.svs"])
def test_failure_is_the_programs_sentence(gigapixel_slide, values, tmp_path, name):
    """With the file's name as it is. No empty node is left."""
    values.slide = str(tmp_path / name)
    logic = gigapixel_slide.GigapixelSlideLogic()
    for start in (logic.label, logic.segment, logic.loadSlide):
        process = start(values)
        gigapixel_slide.application.wait(process.node)
        assert not process.wasCancelled() and displayed() == [] and values.volume is None and values.segmentation is None
        assert values.slide in process.failure() and process.failure().endswith(f"{step_of('E-FILE-MISSING')}. [E-FILE-MISSING]")


def step_of(code):
    from GigapixelSlideLib.messages import STEPS

    return STEPS[code]


def test_nothing_is_started_without_a_slide(gigapixel_slide, values):
    values.slide, values.scan, values.scanModel, values.classifier = "", None, "", "model"
    logic = gigapixel_slide.GigapixelSlideLogic()
    for start in (logic.loadSlide, logic.label, logic.segment, logic.classify, logic.segmentVolume):
        with pytest.raises(ValueError):
            start(values)
    assert displayed() == []


def test_options_are_fields_in_messages(gigapixel_slide):
    """An option becomes its field, but not where it is a part of the file's name; a step for shells is left out."""
    from GigapixelSlideLib.messages import describe, translate

    fields = {"code": "E-NEW", "file": "/a--mpp b.svs", "option": "--mpp", "value": "9"}
    why = "--mpp 9 is too much for /a--mpp b.svs"
    said = describe({**fields, "why": why, "do": "see gigapixel info"})
    assert said == "“View > Resolution” 9 is too much for /a--mpp b.svs. [E-NEW]"
    said = describe({**fields, "why": "it is too much", "do": "take a smaller one"})
    assert said == "/a--mpp b.svs: “View > Resolution”: it is too much. Take a smaller one. [E-NEW]"
    assert translate('what a library says\n{"code":') == 'what a library says\n{"code":'


def test_messages_name_fields_of_the_form_and_codes_of_the_program(gigapixel_slide):
    from GigapixelSlideLib.messages import FIELDS, STEPS

    root = ElementTree.parse(UI).getroot()
    fields = set()
    for group in root.iter("widget"):
        if group.get("class") == "ctkCollapsibleButton":
            labels = [text_of(each).rstrip(":") for each in group.iter("widget") if each.get("class") == "QLabel" and text_of(each)]
            fields |= {f"{text_of(group)} > {label}" for label in labels} | {label for label in labels}
    assert set(FIELDS.values()) <= fields
    told = subprocess.run([PROGRAM, "--codes"], capture_output=True, check=True, text=True).stdout
    assert set(STEPS) <= set(re.findall(r"[EW]-[A-Z-]+", told))
    named = set(re.findall(r"(?:Slide|View|Train) > [A-Z][a-z]+(?: plane)?", " ".join(STEPS.values())))
    assert named and named <= fields


def text_of(widget):
    return next((each.findtext("string") for each in widget.findall("property") if each.get("name") == "text"), "")


def test_cancel(gigapixel_slide, values, large):
    values.slide = str(large[0])
    values.level = 0
    process = gigapixel_slide.GigapixelSlideLogic().segment(values)
    gigapixel_slide.application.wait(process.node, lambda node: node.GetProgress() > 0 and node.Cancel())
    assert process.wasCancelled() and process.failure() == "" and displayed() == []


def test_self_test(gigapixel_slide, slide, monkeypatch):
    monkeypatch.setenv("GIGAPIXEL_TEST_SLIDE", str(slide[0]))
    gigapixel_slide.GigapixelSlideTest().test_slideIsLabeled()


def test_presets_are_those_of_the_program(gigapixel_slide):
    commands = json.loads(subprocess.run([PROGRAM, "--describe"], capture_output=True, check=True).stdout)
    label = next(command for command in commands if command["name"] == "label")
    preset = next(argument for argument in label["arguments"] if argument["name"] == "preset")
    presets = gigapixel_slide.tissuePresets()
    assert presets[0] == preset["default"] and sorted(presets) == sorted(preset["choices"])


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


UI = SOURCE.parent / "Resources" / "UI" / "GigapixelSlide.ui"


def test_the_form_is_that_of_the_parameters(gigapixel_slide, form, values):
    """Each field of the file is one of the parameter node, with Qt's and Slicer's classes for its type; both follow each other."""
    root = ElementTree.parse(UI).getroot()
    names = [each.get("name") for each in root.iter("widget")]
    assert len(names) == len(set(names)) and {"GigapixelSlide"} == {each.text for each in root.iter("sender")}
    combos = [each.get("name") for each in root.iter("widget") if each.get("class") == "qMRMLNodeComboBox"]
    assert combos == [each.text for each in root.iter("receiver")]  # of the scene
    connected = [each.findtext("string") for each in root.iter("property") if each.get("name") == "SlicerParameterName"]
    others = {"level", "channel", "preset", "cohort"}  # lists that a slide fills, and the table
    results = {"volume", "segmentation", "map"}
    assert len(connected) == len(set(connected)) and {*connected, *others, *results} == set(values.allParameters)
    attributes = [each for each in ast.walk(ast.parse(SOURCE.read_text())) if isinstance(each, ast.Attribute)]
    assert {each.attr for each in attributes if ast.unparse(each.value) == "self.ui"} <= set(names)
    form.ui.networkLineEdit.text, values.epochs = "resnet18", 7
    assert values.network == "resnet18" and form.ui.epochsSpinBox.value == 7
    form.ui.maskPathLineEdit.currentPath, values.model = "/a/mask.tif", "/b.safetensors"
    assert values.mask == "/a/mask.tif" and form.ui.modelPathLineEdit.currentPath == "/b.safetensors"
    form.exit()  # a module that is not shown does not follow
    values.epochs = 8
    assert form.ui.epochsSpinBox.value == 7
    form.enter()
    assert form.ui.epochsSpinBox.value == 8


def test_a_slide_is_opened_labeled_and_trained_on_in_the_form(form, values, slide, tmp_path):
    form.ui.slidePathLineEdit.currentPath = str(slide[0])
    assert form.ui.cancelButton.enabled
    form.ui.labelButton.click()  # one at a time
    assert values.segmentation is None
    form.wait()
    assert "1.30 x 1.10 mm" in form.ui.propertiesLabel.text and not form.ui.cancelButton.enabled
    assert [value for _, value in form.ui.levelComboBox.items][:2] == [-1, 0]
    assert [value for _, value in form.ui.channelComboBox.items] == ["", "red", "green", "blue"]
    assert values.preset == form.ui.presetComboBox.items[0][1] == "auto"
    first = values.volume
    assert first.GetImageData().GetDimensions() == (2600, 2200, 1)
    form.ui.mppSpinBox.value = 4.0
    form.ui.loadSlideButton.click()
    form.wait()
    assert values.volume is not first and values.volume.GetSpacing()[:2] == pytest.approx((0.004, 0.004))
    form.ui.labelButton.click()
    form.wait()
    assert form._showTable.call_args.args[0].GetCellText(0, 0) == "Tissue"
    form.ui.addButton.click()
    assert "Choose a mask" in form.errors.pop()
    form.ui.maskNodeComboBox.setCurrentNode(values.segmentation)
    form.ui.addButton.click()
    assert form.ui.maskNodeComboBox.currentNode() is None and values.cohort.GetCellText(0, 1) == "slide Tissue"
    form.ui.runPathLineEdit.currentPath, form.ui.networkLineEdit.text = str(tmp_path / "run"), "remedios2023"
    form.ui.epochsSpinBox.value = 1
    form.ui.trainButton.click()
    form.wait()
    assert form._showPlot.call_args.args[0] == tmp_path / "run" and form.errors == []


def test_another_module_is_shown_while_a_slide_is_opened(form, values, slide):
    form.openSlide(str(slide[0]))
    form.exit()
    form.wait()
    assert values.volume is not None and form.ui.propertiesLabel.text == "No slide is open."
    form.enter()
    assert "1.30 x 1.10 mm" in form.ui.propertiesLabel.text and form.ui.levelComboBox.items


def test_a_slide_is_chosen_while_another_is_opened(form, values, slide, silent):
    form.openSlide(str(slide[0]))
    form.openSlide(str(silent))
    form.wait()
    assert "unknown" in form.ui.propertiesLabel.text and values.volume.GetAttribute("GigapixelSlide.slide") == str(silent)


def test_a_file_that_is_no_slide_is_said_once(form, tmp_path):
    (tmp_path / "no.svs").write_text("no")
    form.openSlide(str(tmp_path / "no.svs"))
    form.wait()
    (said,) = form.errors
    assert re.search(r"\[E-[A-Z-]+\]$", said) and form.ui.propertiesLabel.text == "No slide is open."


def test_a_resolution_stated_in_the_form_moves_the_slide(form, values, silent):
    form.openSlide(str(silent))
    form.wait()
    assert "unknown" in form.ui.propertiesLabel.text
    form.ui.slideMppSpinBox.value = 0.5
    assert "1.30 x 1.10 mm" in form.ui.propertiesLabel.text
    assert numpy.allclose(geometry(values.volume)[0], 0.0005)


def test_a_scene_is_closed_saved_and_loaded(gigapixel_slide, form, values, slide, tmp_path):
    """The values come back, also the table, and the slide's properties with them; what is loaded is not loaded again."""
    form.openSlide(str(slide[0]))
    form.wait()
    form.ui.mppSpinBox.value, form.ui.memoryLineEdit.text = 2.0, "3G"
    add(values, label="tumor")
    add(values, mask=slicer.mrmlScene.AddNewNodeByClass("vtkMRMLSegmentationNode", "a: 5 % b; c"))
    scene, volumes = tmp_path / "scene.mrml", slicer.mrmlScene.GetNumberOfNodesByClass("vtkMRMLVectorVolumeNode")
    slicer.mrmlScene.SetRootDirectory(str(tmp_path))
    for node in (values.volume, values.cohort):
        node.AddDefaultStorageNode()
        node.GetStorageNode().SetFileName(str(tmp_path / f"{node.GetID()}.{'tsv' if node is values.cohort else 'nrrd'}"))
        assert node.GetStorageNode().WriteData(node)
    assert slicer.mrmlScene.Commit(str(scene))
    form.ui.labelButton.click()
    slicer.mrmlScene.Clear()  # while a process runs
    assert form.process is None and form.ui.memoryLineEdit.text == "2G" and form.ui.slidePathLineEdit.currentPath == ""
    slicer.mrmlScene.SetURL(str(scene))
    assert slicer.mrmlScene.Connect()
    form.wait()
    assert (form.ui.mppSpinBox.value, form.ui.memoryLineEdit.text, form._parameterNode.slide) == (2.0, "3G", str(slide[0]))
    assert "1.30 x 1.10 mm" in form.ui.propertiesLabel.text and form.errors == []
    assert slicer.mrmlScene.GetNumberOfNodesByClass("vtkMRMLVectorVolumeNode") == volumes
    cohort = form._parameterNode.cohort
    assert cohort.GetCellText(0, 2) == "tumor" and cohort.GetCellText(1, 1) == "a: 5 % b; c"
    assert [cohort.GetNodeReference(role).GetName() for role in roles_of(cohort) if "mask" in role] == ["a: 5 % b; c"]
    assert form.ui.cohortTableView.setMRMLTableNode.call_args.args[0] is form._parameterNode.cohort


def test_channels_are_chosen(gigapixel_slide, values, tmp_path):
    """A channel alone is gray, all of them are in their colors. It is chosen by its name, unless that misleads."""
    planes = numpy.zeros((4, 300, 400), "u2")
    planes[0, :100], planes[1, 100:200], planes[2, 200:250], planes[3, 250:] = 60000, 60000, 60000, 60000
    values.slide = str(tmp_path / "s.ome.tif")
    names = ["DAPI", "2", "DAPI", "CD3"]
    tifffile.imwrite(values.slide, planes, tile=(128, 128), metadata={"axes": "CYX", "Channel": {"Name": names}})
    logic = gigapixel_slide.GigapixelSlideLogic()
    info = finish(gigapixel_slide, logic.showInfo(values))
    rows = [("1: DAPI", "number:1"), ("2: 2", "number:2"), ("3: DAPI", "number:3"), ("4: CD3", "CD3")]
    assert info.listChannels()[1:] == rows
    for plane, (_, values.channel) in zip(planes, rows):
        pixels = slicer.util.arrayFromVolume(finish(gigapixel_slide, logic.loadSlide(values)))[0]
        assert (pixels == 255 * (plane > 0)[..., None]).all()
    values.channel = ""
    pixels = slicer.util.arrayFromVolume(finish(gigapixel_slide, logic.loadSlide(values)))[0]
    assert len(numpy.unique(pixels.reshape(-1, 3), axis=0)) == 4


def roles_of(node):
    roles = []
    node.GetNodeReferenceRoles(roles)
    return roles


def test_two_slides_are_trained_on_in_the_channel_of_the_first(gigapixel_slide, form, values, tmp_path):
    """The view's channel is that of the slide that is open; the training's stays. Its model asks for it by name."""
    names, planes = ["DAPI", "CD3"], numpy.random.default_rng(3).integers(0, 60000, (2, 192, 256), dtype="u2")
    options = {"tile": (64, 64), "metadata": {"axes": "CYX", "Channel": {"Name": names}}}
    for name in ("a.ome.tif", "b.ome.tif"):
        tifffile.imwrite(tmp_path / name, planes, resolution=(20000, 20000), resolutionunit="CENTIMETER", **options)
    form.openSlide(str(tmp_path / "a.ome.tif"))
    form.wait()
    values.channel, form.ui.labelLineEdit.text = "CD3", "one"
    form.ui.addButton.click()
    form.openSlide(str(tmp_path / "b.ome.tif"))
    form.wait()
    form.ui.labelLineEdit.text = "two"
    form.ui.addButton.click()
    assert values.channel == "" and form.ui.trainChannelLineEdit.text == "CD3" and form.errors == []
    values.run, values.network, values.epochs = str(tmp_path / "run"), "resnet18:width=2,channels=1", 1
    form.ui.trainButton.click()
    form.wait()
    assert form.errors == []
    told = subprocess.run([PROGRAM, "info", tmp_path / "run", "--json"], capture_output=True, check=True).stdout
    assert json.loads(told)["slideChannels"] == ["CD3"]
    form.ui.classifierPathLineEdit.currentPath = str(tmp_path / "run" / "best.safetensors")
    form.ui.classifyButton.click()
    form.wait()
    assert form.errors == [] and values.map is not None


def test_the_channel_of_the_view_is_segmented(gigapixel_slide, values, tmp_path):
    """Also one that the model was not trained on; without a choice it is the model's. The program does the same."""
    planes = numpy.random.default_rng(5).integers(0, 9000, (2, 192, 256), dtype="u2")
    planes[0, :, :128] += 40000
    planes[1, :96] += 40000
    options = {"tile": (64, 64), "resolution": (20000, 20000), "resolutionunit": "CENTIMETER"}
    values.slide = str(tmp_path / "s.ome.tif")
    tifffile.imwrite(values.slide, planes, metadata={"axes": "CYX", "Channel": {"Name": ["DAPI", "CD3"]}}, **options)
    tifffile.imwrite(tmp_path / "truth.tif", (planes[1] > 20000).astype("u1"), **options)
    write_cohort(tmp_path / "c.csv", ("slide", "mask", "split"), [(values.slide, tmp_path / "truth.tif", "train")])
    words = {"cohort": tmp_path / "c.csv", "run": tmp_path / "run", "network": "unet:base=4,depth=1,channels=1", "learningRate": 0.02}
    run("GigapixelUNetTrain", **words, channel="CD3", window="auto", epochs=40)
    values.model = str(tmp_path / "run" / "last.safetensors")
    logic, found = gigapixel_slide.GigapixelSlideLogic(), {}
    for values.channel in ("", "CD3", "DAPI"):
        values.mask = str(tmp_path / f"mask {values.channel}.tif")
        finish(gigapixel_slide, logic.segment(values))
        chosen = {"channel": values.channel} if values.channel else {}
        run("GigapixelUNetSegment", slide=values.slide, model=values.model, mask=tmp_path / "same.tif", **chosen)
        found[values.channel] = tifffile.imread(values.mask, level=0)
        assert (found[values.channel] == tifffile.imread(tmp_path / "same.tif", level=0)).all()
    assert (found[""] == found["CD3"]).all() and (found["DAPI"] != found["CD3"]).mean() > 0.4


def test_sample_data_are_opened(gigapixel_slide, form, values, monkeypatch):
    """The file stays. Where it comes with another checksum, or not at all, that is said."""
    gigapixel_slide.registerSampleData()
    (source,) = sys.modules["SampleData"].SampleDataLogic.sources[-1:]
    assert pathlib.Path(source.thumbnailFileName).read_bytes().startswith(b"\x89PNG")
    assert source.uris[0].startswith("https://") and source.uris[0].endswith(source.fileNames[0])
    window = types.SimpleNamespace(self=lambda: form)
    monkeypatch.setattr(slicer.modules, "gigapixelslide", types.SimpleNamespace(widgetRepresentation=lambda: window), raising=False)
    monkeypatch.setattr(slicer.util, "selectModule", MagicMock(), raising=False)
    source.uris = ["/nowhere"]
    source.customDownloader(source)
    assert "/nowhere" in form.errors.pop()
    source.uris = [str(UI)]
    source.customDownloader(source)
    assert source.fileNames[0] in form.errors.pop() and values.slide == ""
    data = os.environ.get("GIGAPIXEL_TEST_DATA")
    if data:
        source.uris = [str(pathlib.Path(data) / "slides" / source.fileNames[0].lower())]
        source.customDownloader(source)
        form.wait()
        assert form.errors == [] and pathlib.Path(values.slide).is_file()
        assert values.volume.GetAttribute("GigapixelSlide.slide") == values.slide


def test_a_focal_plane_is_chosen(gigapixel_slide, form, values, tmp_path):
    """It counts for what is loaded and labeled. One that is not there is said in words of the form."""
    planes = numpy.stack([numpy.full((192, 256, 3), value, "u1") for value in (40, 120, 200)])
    values.slide = str(tmp_path / "planes.ome.tif")
    tifffile.imwrite(values.slide, planes, tile=(64, 64), photometric="rgb", metadata={"axes": "ZYXS"})
    form.wait()
    form.ui.planeLineEdit.text = "3"
    form.ui.loadSlideButton.click()
    form.wait()
    assert (slicer.util.arrayFromVolume(values.volume) == 200).all() and form.errors == []
    form.ui.planeLineEdit.text = "4"
    form.ui.loadSlideButton.click()
    form.wait()
    (said,) = form.errors
    assert "“Slide > Focal plane”" in said and "--plane" not in said and said.endswith("[E-SLIDE-IMAGE]")
    assert len(displayed()) == 1


def test_the_reader_claims_slides_before_pictures(gigapixel_slide, slide, tmp_path):
    """Slicer's own reader of images says 0.5 and a hundredth for each letter of the file's ending."""
    reader = gigapixel_slide.GigapixelSlideFileReader(None)
    picture, big, text = tmp_path / "picture.tif", tmp_path / "big.TIFF", tmp_path / "text.tif"
    tifffile.imwrite(picture, numpy.zeros((64, 64), "u1"))
    tifffile.imwrite(big, numpy.zeros((64, 64), "u1"), tile=(32, 32), bigtiff=True, byteorder=">")
    text.write_text("no picture")
    confidences = {path: reader.canLoadFileConfidence(str(path)) for path in (slide[0], big, picture, text, "a.svs", "a.png")}
    assert list(confidences.values()) == [0.9, 0.9, 0.4, 0.4, 0.9, 0]


def test_nothing_is_installed_unasked(gigapixel_slide, monkeypatch):
    """The wheel is asked for; that pip fails, or that the wheel has no modules, is said."""
    widget = gigapixel_slide.GigapixelSlideWidget()
    util, dialog = MagicMock(), MagicMock()
    monkeypatch.setattr(gigapixel_slide.slicer, "util", util)
    monkeypatch.setattr(gigapixel_slide.qt, "QFileDialog", dialog)
    monkeypatch.setattr(gigapixel_slide, "loadCommandLineModules", lambda: False)
    util.confirmOkCancelDisplay.return_value = False
    assert not widget._haveModules() and not dialog.getOpenFileName.called
    util.confirmOkCancelDisplay.return_value = True
    dialog.getOpenFileName.return_value = ""
    assert not widget._haveModules() and not util.pip_install.called
    dialog.getOpenFileName.return_value = "/a b/itk_gigapixel-1.whl"
    assert not widget._haveModules() and "no command-line modules" in util.errorDisplay.call_args.args[0]
    assert util.pip_install.call_args.args == (["/a b/itk_gigapixel-1.whl[openslide]"],)
    util.pip_install.side_effect = subprocess.CalledProcessError(1, "pip")
    assert not widget._haveModules() and "could not be installed" in util.errorDisplay.call_args.args[0]
    util.pip_install.side_effect = lambda packages: monkeypatch.setattr(gigapixel_slide, "loadCommandLineModules", lambda: True)
    assert widget._haveModules()


@pytest.mark.parametrize("file", [SOURCE, *sorted((SOURCE.parent / "GigapixelSlideLib").glob("*.py"))], ids=lambda file: file.name)
def test_all_texts_can_be_translated(file):
    """No sentence reaches the form without _(), and none is put together of translated parts."""
    tree = ast.parse(file.read_text())
    nodes = [node for part in tree.body if getattr(part, "name", "") != "GigapixelSlideTest" for node in ast.walk(part)]
    calls = [node for node in nodes if isinstance(node, ast.Call) and ast.unparse(node.func) == "_"]
    translated = {id(each) for call in calls for each in ast.walk(call.args[0])}
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    assert all(isinstance(call.args[0], ast.Constant) for call in calls)
    assert not [node for node in nodes if isinstance(node, ast.JoinedStr) and any(call in ast.walk(node) for call in calls)]
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and not {id(node)} & (translated | docstrings):
            isOfSlicer = node.value in ("Binary labelmap", "Completed with errors")
            assert isOfSlicer or not re.search(r"[a-z] [a-z]", node.value), node.value
