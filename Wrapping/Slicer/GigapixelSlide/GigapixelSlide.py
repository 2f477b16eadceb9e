# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Whole slides in 3D Slicer: open, label, train, segment, classify, look.

All work is done by command-line modules, which are processes of their own: nothing blocks the window, a cancel ends the
process, and neither the ITK nor the C++ libraries of the package ever meet Slicer's."""

import importlib.util
import os
import pathlib
import subprocess
import tempfile
import time

import ctk
import qt
import slicer
import vtk
from GigapixelSlideLib.logic import GigapixelSlideLogic
from GigapixelSlideLib.modules import LONGEST_SIDE, isTiledTIFF, loadCommandLineModules, tissuePresets
from GigapixelSlideLib.tables import makePlot, makeProbabilities, makeStatistics
from slicer.i18n import tr as _
from slicer.i18n import translate
from slicer.ScriptedLoadableModule import (
    ScriptedLoadableModule,
    ScriptedLoadableModuleTest,
    ScriptedLoadableModuleWidget,
)
from slicer.util import VTKObservationMixin

ENDINGS = ("svs", "tif", "tiff", "ndpi", "scn", "mrxs", "vms", "vmu", "bif", "svslide")


class GigapixelSlide(ScriptedLoadableModule):
    def __init__(self, parent):
        ScriptedLoadableModule.__init__(self, parent)
        parent.title = _("Gigapixel Slide")
        parent.categories = [translate("qSlicerAbstractCoreModule", "Pathology")]
        parent.contributors = ["The ITKGigapixel Authors"]
        parent.helpText = _("Opens whole-slide images, labels tissue, and trains and applies networks on whole slides.")
        parent.acknowledgementText = _(
            "The presets follow L. W. Remedios et al., Exploring shared memory architectures for end-to-end gigapixel "
            "deep learning, MIDL 2023 (arXiv:2304.12149)."
        )
        slicer.app.connect("startupCompleted()", loadCommandLineModules)


class GigapixelSlideFileReader:
    """Slides come by Slicer's "Add data" and by being dropped onto the window."""

    def __init__(self, parent):
        self.parent = parent

    def description(self):
        return _("Whole-slide image")

    def fileType(self):
        return "GigapixelSlideFile"

    def extensions(self):
        return [_("Whole-slide image") + " (" + " ".join(f"*.{ending}" for ending in ENDINGS) + ")"]

    def canLoadFile(self, filePath):
        return filePath.lower().endswith(tuple(f".{ending}" for ending in ENDINGS))

    def canLoadFileConfidence(self, filePath):
        """Slicer's own reader of images, whose word is 0.5 and a little, goes first for a TIFF that is no slide."""
        if not self.canLoadFile(filePath):
            return 0.0
        isPicture = filePath.lower().endswith((".tif", ".tiff")) and not isTiledTIFF(filePath)
        return 0.4 if isPicture else 0.9

    def load(self, properties):
        slicer.util.selectModule("GigapixelSlide")
        slicer.modules.gigapixelslide.widgetRepresentation().self().openSlide(properties["fileName"])
        self.parent.loadedNodes = []  # they come when the process that reads them has ended
        return True


class GigapixelSlideWidget(ScriptedLoadableModuleWidget, VTKObservationMixin):
    def __init__(self, parent=None):
        ScriptedLoadableModuleWidget.__init__(self, parent)
        VTKObservationMixin.__init__(self)
        self.logic = None
        self.task = None  # the node of the process that runs
        self.info = None  # of the open slide

    def setup(self):
        ScriptedLoadableModuleWidget.setup(self)
        self.logic = GigapixelSlideLogic()
        self._setupSlide()
        self._setupView()
        self._setupLabel()
        self._setupSegment()
        self._setupClassify()
        self._setupVolume()
        self._setupTrain()
        self._setupProgress()
        self.layout.addStretch(1)
        self._showValues()

    def cleanup(self):
        if self.task is not None:
            self.task.Cancel()
        self.removeObservers()

    # The form, a section for each step.

    def _section(self, title):
        section = ctk.ctkCollapsibleButton()
        section.text = title
        self.layout.addWidget(section)
        return qt.QFormLayout(section)

    def _button(self, form, text, onClick, toolTip=""):
        button = qt.QPushButton(text)
        button.toolTip = toolTip
        button.connect("clicked()", onClick)
        form.addRow(button)
        return button

    def _path(self, form, label, toolTip, filters=None):
        path = ctk.ctkPathLineEdit()
        path.filters = ctk.ctkPathLineEdit.Dirs if filters is None else ctk.ctkPathLineEdit.Files
        path.nameFilters = filters or []
        path.toolTip = toolTip
        form.addRow(label, path)
        return path

    def _setupSlide(self):
        form = self._section(_("Slide"))
        self.slidePath = self._path(
            form,
            _("File:"),
            _("A whole-slide image; it may also be dropped onto Slicer's window."),
            [f"{_('Whole-slide images')} ({' '.join('*.' + ending for ending in (*ENDINGS, 'dcm'))})"],
        )
        self.slidePath.connect("currentPathChanged(QString)", self.openSlide)
        self.resolution = qt.QDoubleSpinBox()
        self.resolution.decimals, self.resolution.maximum, self.resolution.suffix = 4, 20, _(" µm/px")
        self.resolution.specialValueText = _("as the file says")
        self.resolution.toolTip = _("Resolution of level 0, for slides whose file does not tell it or tells nonsense.")
        self.resolution.keyboardTracking = False  # a number counts when all of it has been typed
        self.resolution.connect("valueChanged(double)", self.onResolution)
        form.addRow(_("Resolution:"), self.resolution)
        self.properties = qt.QLabel(_("No slide is open."))
        self.properties.wordWrap = True
        form.addRow(self.properties)
        self.thumbnail = qt.QLabel()
        form.addRow(self.thumbnail)

    def _setupView(self):
        form = self._section(_("View"))
        self.levels = qt.QComboBox()
        self.levels.toolTip = _(
            "Levels with a side above {side} pixels cannot be loaded whole: Slicer keeps a volume in memory, and "
            "graphics cards take no larger textures. A region of them can."
        ).format(side=LONGEST_SIDE)
        form.addRow(_("Level:"), self.levels)
        self.loadButton = self._button(form, _("Load level"), self.onLoadLevel)
        self.roi = slicer.qMRMLNodeComboBox()
        self.roi.nodeTypes = ["vtkMRMLMarkupsROINode"]
        self.roi.noneEnabled = True
        self.roi.setMRMLScene(slicer.mrmlScene)
        form.addRow(_("Region:"), self.roi)
        self._button(
            form, _("Load region at full resolution"), self.onLoadRegion, _("Draw a region of interest around it first.")
        )

    def _setupLabel(self):
        form = self._section(_("Label tissue"))
        self.preset = qt.QComboBox()
        form.addRow(_("Preset:"), self.preset)
        self.maskPath = self._path(form, _("Keep mask as:"), _("A pyramid TIFF that slide viewers open."), ["*.tif"])
        self._button(form, _("Label"), self.onLabel)

    def _setupSegment(self):
        form = self._section(_("Segment"))
        self.modelPath = self._path(
            form,
            _("Model:"),
            _("best.safetensors of a training run; empty: the ready model for tissue."),
            ["*.safetensors"],
        )
        self._button(form, _("Segment"), self.onSegment)

    def _setupClassify(self):
        form = self._section(_("Classify slide"))
        self.classifierPath = self._path(
            form, _("Model:"), _("best.safetensors of a training run on slides with labels."), ["*.safetensors"]
        )
        self._button(form, _("Classify slide"), self.onClassify)
        self.classes = qt.QLabel()
        self.classes.wordWrap = True
        form.addRow(self.classes)

    def _setupVolume(self):
        form = self._section(_("Segment volume"))
        self.scan = slicer.qMRMLNodeComboBox()
        self.scan.nodeTypes = ["vtkMRMLScalarVolumeNode"]
        self.scan.noneEnabled = True
        self.scan.setMRMLScene(slicer.mrmlScene)
        self.scan.toolTip = _("A volume of any scanner, for networks of one modality; several are for Gigapixel Volume Segment.")
        form.addRow(_("Volume:"), self.scan)
        self.scanModelPath = self._path(
            form, _("Model:"), _("best.safetensors of a training run on volumes."), ["*.safetensors"]
        )
        self._button(form, _("Segment volume"), self.onSegmentVolume)

    def _setupTrain(self):
        form = self._section(_("Train"))
        self.cohort = qt.QTableWidget(0, 4)
        self.cohort.setHorizontalHeaderLabels([_("Slide"), _("Mask"), _("Label"), _("Split")])
        form.addRow(self.cohort)
        self._button(form, _("Add this slide with a mask..."), self.onAddToCohort)
        self._button(
            form,
            _("Add this slide with a label..."),
            self.onAddLabeled,
            _("The class of the whole slide, for networks that classify slides."),
        )
        self.runPath = self._path(form, _("Run folder:"), _("Weights and history go there; a run in it goes on."))
        self.network = qt.QLineEdit()
        self.network.toolTip = _(
            "A preset, such as unet or remedios2023, which is small, gray and fast; a JSON file, or a model. "
            "Empty: the run's, else unet for masks, and resnet18 for labels."
        )
        form.addRow(_("Network:"), self.network)
        self.epochs = qt.QSpinBox()
        self.epochs.minimum, self.epochs.maximum = 1, 100000
        form.addRow(_("Epochs:"), self.epochs)
        self.memory = qt.QLineEdit()
        self.memory.toolTip = _("Peak memory of the process, for instance 2G; it changes no result.")
        form.addRow(_("Memory:"), self.memory)
        self._button(form, _("Train"), self.onTrain)

    def _setupProgress(self):
        form = self._section(_("Progress"))
        self.progress = qt.QProgressBar()
        self.progress.maximum = 100
        form.addRow(self.progress)
        self.cancelButton = self._button(form, _("Cancel"), self.onCancel)
        self.cancelButton.enabled = False
        self.log = qt.QPlainTextEdit()
        self.log.readOnly = True
        form.addRow(self.log)

    # Values go from the form into the parameter node when something is started, and back when the module is entered.

    def enter(self):
        self._showValues()

    def _showValues(self):
        values = self.logic.getParameterNode()
        self.resolution.value = values.slideMpp
        if loadCommandLineModules() and not self.preset.count:
            self.preset.addItems(tissuePresets())
        self.preset.setCurrentText(values.preset)
        self.maskPath.currentPath, self.modelPath.currentPath = values.mask, values.model
        self.classifierPath.currentPath = values.classifier
        self.scanModelPath.currentPath = values.scanModel
        self.runPath.currentPath, self.network.text = values.run, values.network
        self.epochs.value, self.memory.text = values.epochs, values.memory

    def _takeValues(self):
        values = self.logic.getParameterNode()
        values.slideMpp, values.region = self.resolution.value, self.roi.currentNode()
        values.preset, values.mask, values.model = (
            self.preset.currentText,
            self.maskPath.currentPath,
            self.modelPath.currentPath,
        )
        values.classifier = self.classifierPath.currentPath
        values.scan, values.scanModel = self.scan.currentNode(), self.scanModelPath.currentPath
        values.run, values.network = self.runPath.currentPath, self.network.text
        values.epochs, values.memory = self.epochs.value, self.memory.text
        return values

    # What the user does.

    def openSlide(self, path):
        if not path or not os.path.isfile(path):
            return
        values = self._takeValues()
        values.slide = path
        if self.slidePath.currentPath != path:
            self.slidePath.currentPath = path
            return  # which comes back here
        self._run(lambda: self.logic.showInfo(values), self._showInfo)

    def onResolution(self, mpp):
        values = self.logic.getParameterNode()
        self.logic.stateResolution(values, mpp)
        if self.info is not None:
            self.properties.text = self.info.describe(mpp)

    def _showInfo(self, info):
        self.info = info
        self.properties.text = info.describe(self.resolution.value)
        self.thumbnail.setPixmap(qt.QPixmap(info.thumbnail))
        self.levels.clear()
        for level in info.levels:
            tooLarge = max(level["width"], level["height"]) > LONGEST_SIDE
            note = _(" (too large; load a region)") if tooLarge else ""
            self.levels.addItem(f"{level['level']}: {level['width']} x {level['height']}{note}")
        self.levels.setCurrentIndex(info.finestLevel())
        self.onLoadLevel()

    def onLoadLevel(self):
        values = self._takeValues()
        values.level = self.levels.currentIndex
        self._run(lambda: self.logic.loadLevel(values))

    def onLoadRegion(self):
        values = self._takeValues()
        if values.region is None:
            slicer.util.errorDisplay(_("Draw a region of interest in a slice view and choose it first."))
            return
        self._run(lambda: self.logic.loadRegion(values))

    def onLabel(self):
        self._run(lambda: self.logic.label(self._takeValues()), self._showStatistics)

    def onSegment(self):
        self._run(lambda: self.logic.segment(self._takeValues()), self._showStatistics)

    def onSegmentVolume(self):
        self._run(lambda: self.logic.segmentVolume(self._takeValues()))

    def onClassify(self):
        self._run(lambda: self.logic.classify(self._takeValues()), self._showClasses)

    def _showClasses(self, classification):
        self.classes.text = classification.describe()
        self._showTable(makeProbabilities(classification.map.GetName(), classification.probabilities))

    def _showStatistics(self, segmentation):
        self._showTable(makeStatistics(segmentation))

    def _showTable(self, table):
        layout = slicer.app.layoutManager()
        layout.setLayout(slicer.modules.tables.logic().GetLayoutWithTable(layout.layout))
        slicer.app.applicationLogic().GetSelectionNode().SetActiveTableID(table.GetID())
        slicer.app.applicationLogic().PropagateTableSelection()

    def _showPlot(self, folder):
        slicer.modules.plots.logic().ShowChartInLayout(makePlot(folder))

    def onAddToCohort(self):
        mask = qt.QFileDialog.getOpenFileName(slicer.util.mainWindow(), _("Mask of this slide"), "", "*.tif *.tiff *.nrrd *.png")
        if not mask:
            return
        self._addRow(mask, "")

    def onAddLabeled(self):
        label = qt.QInputDialog.getText(slicer.util.mainWindow(), _("Label"), _("Class of this slide:"))
        if label:
            self._addRow("", label)

    def _addRow(self, mask, label):
        row = self.cohort.rowCount
        self.cohort.insertRow(row)
        # The second slide validates, for without one the best weights are not known.
        split = "validation" if row == 1 else "train"
        for column, text in enumerate((self.slidePath.currentPath, mask, label, split)):
            self.cohort.setItem(row, column, qt.QTableWidgetItem(text))

    def onTrain(self):
        rows = [
            [self.cohort.item(row, column).text() for column in range(4)] for row in range(self.cohort.rowCount)
        ]
        self._run(lambda: self.logic.train(self._takeValues(), rows), self._showPlot)

    def onCancel(self):
        if self.task is not None:
            self.task.Cancel()

    # One process at a time.

    def _run(self, start, whenDone=lambda result: None):
        if self.task is not None:
            slicer.util.showStatusMessage(_("Wait for the running process, or cancel it."), 3000)
            return
        if not self._haveModules():
            return
        try:
            process = start()
        except ValueError as error:
            slicer.util.errorDisplay(str(error))
            return
        self.task = process.node
        self.log.plainText = ""
        self.cancelButton.enabled = True
        self.addObserver(self.task, vtk.vtkCommand.ModifiedEvent, lambda node, event: self._follow(process, whenDone))

    def _follow(self, process, whenDone):
        node = process.node
        self.progress.value = node.GetProgress()
        self.log.plainText = node.GetOutputText()
        if node.IsBusy() or self.task is None:
            return
        self.removeObservers()
        self.task = None
        self.cancelButton.enabled = False
        # Not from within the node's own event: outputs are loaded after it.
        qt.QTimer.singleShot(0, lambda: self._finish(process, whenDone))

    def _finish(self, process, whenDone):
        if process.failure():
            slicer.util.errorDisplay(process.failure())
        elif not process.wasCancelled():
            whenDone(process.result())

    def _haveModules(self):
        """Asks before anything is installed, and for the file: a name alone would fetch what anyone may call so."""
        if loadCommandLineModules():
            return True
        question = _(
            "The reader and the networks are in the Python package itk-gigapixel, with ITK 1.6 GB. "
            "Choose its wheel, itk_gigapixel-*.whl, and install it into Slicer's Python now?"
        )
        if not slicer.util.confirmOkCancelDisplay(question):
            return False
        wheel = qt.QFileDialog.getOpenFileName(
            slicer.util.mainWindow(), _("Wheel of itk-gigapixel"), "", "itk_gigapixel-*.whl"
        )
        if not wheel:
            return False
        try:
            slicer.util.pip_install([f"{wheel}[openslide]"])
        except subprocess.CalledProcessError:
            slicer.util.errorDisplay(_("{wheel} could not be installed; the Python console says why.").format(wheel=wheel))
            return False
        if loadCommandLineModules():
            return True
        slicer.util.errorDisplay(_("{wheel} has no command-line modules that run here.").format(wheel=wheel))
        return False


class GigapixelSlideTest(ScriptedLoadableModuleTest):
    """Slicer's "Reload and Test": a synthetic slide is opened, labeled, looked at."""

    def setUp(self):
        slicer.mrmlScene.Clear()

    def runTest(self):
        self.setUp()
        self.test_slideIsLabeled()

    def _slide(self):
        """The slide that GIGAPIXEL_TEST_SLIDE names, else one drawn by the package's program."""
        # Environment variable GIGAPIXEL_TEST_SLIDE: The slide of the tests of Slicer's module. Without it one is drawn.
        if os.environ.get("GIGAPIXEL_TEST_SLIDE"):
            return os.environ["GIGAPIXEL_TEST_SLIDE"]
        program = pathlib.Path(importlib.util.find_spec("itkgigapixel").origin).parent / "bin" / "gigapixel"
        slide = pathlib.Path(tempfile.mkdtemp()) / "slide.tif"
        subprocess.run([program, "synthesize", slide, "--size", "2600x2200"], check=True)
        return str(slide)

    def _wait(self, process):
        end = time.monotonic() + 120
        while process.node.IsBusy():
            self.assertLess(time.monotonic(), end)
            slicer.app.processEvents()
        slicer.app.processEvents()
        self.assertEqual(process.failure(), "")
        return process.result()

    def test_slideIsLabeled(self):
        self.delayDisplay("A slide is opened")
        self.assertTrue(loadCommandLineModules())
        logic = GigapixelSlideLogic()
        values = logic.getParameterNode()
        values.slide = self._slide()
        info = self._wait(logic.showInfo(values))
        values.level = info.finestLevel()
        volume = self._wait(logic.loadLevel(values))
        level = info.levels[values.level]
        self.assertEqual(volume.GetImageData().GetDimensions(), (level["width"], level["height"], 1))
        segmentation = self._wait(logic.label(values))
        table = makeStatistics(segmentation)
        self.assertGreater(float(table.GetCellText(0, 1)), 0)
        self.delayDisplay("Test passed")
