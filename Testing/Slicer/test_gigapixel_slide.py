# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""The scripted module on a real scene: statistics, training, segmentation, classification, channels; its own self-test."""

import json
import os
import pathlib
import re
import subprocess

import numpy
import pytest
import tifffile
from conftest import PROGRAM, run, write_cohort

pytest.importorskip("slicer_core", reason="PyPI's slicer-core is not installed")
import slicer  # noqa: E402
from scripted_module import ROOT, add, displayed, draw_all_over, evaluate, finish, geometry, gigapixel_slide, silent, values  # noqa: E402, F401

TUTORIAL = ROOT / "Documentation/tutorials/slicer.md"


def test_properties_and_thumbnail(gigapixel_slide, values):
    info = finish(gigapixel_slide, gigapixel_slide.GigapixelSlideLogic().showInfo(values))
    assert (info.width, info.height, info.mpp) == (2600, 2200, 0.5)
    assert info.listLevels()[1] == ("0: 2600 x 2200 (0.5 µm/px)", 0) and "1.30 x 1.10 mm" in info.describe()
    from PIL import Image

    assert max(Image.open(info.thumbnail).size) <= 512


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


def test_nothing_is_started_without_a_slide(gigapixel_slide, values):
    values.slide, values.scan, values.scanModel, values.classifier = "", None, "", "model"
    logic = gigapixel_slide.GigapixelSlideLogic()
    for start in (logic.loadSlide, logic.label, logic.segment, logic.classify, logic.segmentVolume):
        with pytest.raises(ValueError):
            start(values)
    assert displayed() == []


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
