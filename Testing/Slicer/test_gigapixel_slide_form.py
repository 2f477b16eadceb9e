# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""The form of the scripted module: its fields, its messages, and what is clicked."""

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
from conftest import PROGRAM

pytest.importorskip("slicer_core", reason="PyPI's slicer-core is not installed")
import slicer  # noqa: E402
from scripted_module import SOURCE, add, displayed, finish, form, geometry, gigapixel_slide, silent, values  # noqa: E402, F401

UI = SOURCE.parent / "Resources" / "UI" / "GigapixelSlide.ui"


def test_warnings_are_in_words_of_the_form(gigapixel_slide, values, tmp_path):
    values.slide = str(tmp_path / "coarse.tif")
    pixels, resolution = numpy.full((300, 400, 3), 200, "u1"), 10000 / 300  # 300 µm/px
    tifffile.imwrite(values.slide, pixels, tile=(64, 64), photometric="rgb", resolution=(resolution,) * 2, resolutionunit="CENTIMETER")
    info = finish(gigapixel_slide, gigapixel_slide.GigapixelSlideLogic().showInfo(values))
    (warning,) = info.warnings
    assert warning.startswith(values.slide) and "--" not in warning
    assert warning.endswith(f"{step_of('W-SLIDE-RESOLUTION')}. [W-SLIDE-RESOLUTION]") and warning in info.describe()


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
