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

import qt
import slicer
import vtk
from GigapixelSlideLib import cohort
from GigapixelSlideLib.connectors import ListConnector, fill
from GigapixelSlideLib.logic import GigapixelSlideLogic
from GigapixelSlideLib.modules import isTiledTIFF, loadCommandLineModules, tissuePresets
from GigapixelSlideLib.places import findSlide
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
        slicer.app.connect("startupCompleted()", registerSampleData)


def openSlide(path):
    slicer.util.selectModule("GigapixelSlide")
    slicer.modules.gigapixelslide.widgetRepresentation().self().openSlide(path)


def registerSampleData():
    """A slide for Slicer's module Sample Data, which fetches it when a user asks for it."""
    import SampleData

    # A region of a slide of OpenSlide's test data, which is in the public domain (CC0 1.0).
    name, digest = "CMU-1-Small-Region.svs", "ed92d5a9f2e86df67640d6f92ce3e231419ce127131697fbbce42ad5e002c8a7"
    SampleData.SampleDataLogic.registerCustomSampleDataSource(
        category="Pathology",
        sampleName="CMU1SmallRegion",
        thumbnailFileName=str(pathlib.Path(__file__).parent / "Resources" / "Icons" / "CMU1SmallRegion.png"),
        uris=f"https://openslide.cs.cmu.edu/download/openslide-testdata/Aperio/{name}",
        fileNames=name,
        checksums=f"SHA256:{digest}",
        customDownloader=downloadSampleData,
    )


def downloadSampleData(source):
    """Opens the slide. Sample Data itself would remove the file, since no node is there before a process has ended."""
    import SampleData

    try:
        path = SampleData.SampleDataLogic().downloadFileIntoCache(source.uris[0], source.fileNames[0], source.checksums[0])
    except ValueError as error:
        slicer.util.errorDisplay(str(error))
        return
    if os.path.isfile(path):
        openSlide(path)
    else:  # it was removed, for its checksum is another
        slicer.util.errorDisplay(_("{name} was not downloaded whole. Try again.").format(name=source.fileNames[0]))


class GigapixelSlideFileReader:
    """Slides come by Slicer's "Add data" and by being dropped onto the window."""

    def __init__(self, parent):
        self.parent = parent

    def description(self):
        return _("Whole-slide image")

    def fileType(self):
        return "GigapixelSlideFile"

    def extensions(self):
        return [_("Whole-slide image ({patterns})").format(patterns=" ".join(f"*.{ending}" for ending in ENDINGS))]

    def canLoadFile(self, filePath):
        return filePath.lower().endswith(tuple(f".{ending}" for ending in ENDINGS))

    def canLoadFileConfidence(self, filePath):
        """Slicer's own reader of images, whose word is 0.5 and a little, goes first for a TIFF that is no slide."""
        if not self.canLoadFile(filePath):
            return 0.0
        isPicture = filePath.lower().endswith((".tif", ".tiff")) and not isTiledTIFF(filePath)
        return 0.4 if isPicture else 0.9

    def load(self, properties):
        openSlide(properties["fileName"])
        self.parent.loadedNodes = []  # they come when the process that reads them has ended
        return True


class GigapixelSlideWidget(ScriptedLoadableModuleWidget, VTKObservationMixin):
    """The form is Resources/UI/GigapixelSlide.ui. Slicer connects its fields with those of the parameter node."""

    def __init__(self, parent=None):
        ScriptedLoadableModuleWidget.__init__(self, parent)
        VTKObservationMixin.__init__(self)
        self.logic = None
        self._parameterNode = None  # the parameter node; None while the form is not connected with one
        self._parameterNodeGuiTag = None
        self._listsGuiTag = None
        self.seen = None  # the slide and the stated resolution that the form has reacted to
        self.opened = ""  # the slide whose properties were asked for
        self.info = None  # these properties
        self.process = None  # one at a time
        self.whenDone = None

    def setup(self):
        ScriptedLoadableModuleWidget.setup(self)
        form = slicer.util.loadUI(self.resourcePath("UI/GigapixelSlide.ui"))
        self.layout.addWidget(form)
        self.ui = slicer.util.childWidgetVariables(form)
        form.setMRMLScene(slicer.mrmlScene)
        patterns = " ".join(f"*.{ending}" for ending in (*ENDINGS, "dcm"))
        self.ui.slidePathLineEdit.nameFilters = [_("Whole-slide images ({patterns})").format(patterns=patterns)]
        self.logic = GigapixelSlideLogic()
        for button, onClick in (
            (self.ui.loadSlideButton, lambda: self._run(self.logic.loadSlide)),
            (self.ui.loadRegionButton, lambda: self._run(self.logic.loadRegion)),
            (self.ui.labelButton, lambda: self._run(self.logic.label, self._showStatistics)),
            (self.ui.segmentButton, lambda: self._run(self.logic.segment, self._showStatistics)),
            (self.ui.classifyButton, lambda: self._run(self.logic.classify, self._showClasses)),
            (self.ui.segmentVolumeButton, lambda: self._run(self.logic.segmentVolume)),
            (self.ui.addButton, self.onAdd),
            (self.ui.removeButton, lambda: self.ui.cohortTableView.deleteRow()),
            (self.ui.trainButton, lambda: self._run(self.logic.train, self._showPlot)),
            (self.ui.cancelButton, self.onCancel),
        ):
            button.connect("clicked()", onClick)
        self.addObserver(slicer.mrmlScene, slicer.mrmlScene.StartCloseEvent, self.onSceneStartClose)
        for event in (slicer.mrmlScene.EndCloseEvent, slicer.mrmlScene.EndImportEvent):
            self.addObserver(slicer.mrmlScene, event, self.onSceneChanged)
        self.enter()

    def cleanup(self):
        self.onCancel()
        self.setParameterNode(None)
        self.removeObservers()

    # The form and the parameter node of the scene.

    def enter(self):
        self.setParameterNode(self.logic.getParameterNode())

    def exit(self):
        self.setParameterNode(None)

    def onSceneStartClose(self, caller, event):
        self.onCancel()
        self._forget()
        self.setParameterNode(None)

    def onSceneChanged(self, caller, event):
        if self.parent.isEntered:
            self.enter()

    def setParameterNode(self, values):
        if self._parameterNode is not None:
            self._parameterNode.disconnectGui(self._parameterNodeGuiTag)
            self._parameterNode.disconnectGui(self._listsGuiTag)
            self.removeObserver(self._parameterNode, vtk.vtkCommand.ModifiedEvent, self.onValues)
        self._parameterNode = values
        if values is None:
            return
        lists = {"level": self.ui.levelComboBox, "channel": self.ui.channelComboBox, "preset": self.ui.presetComboBox}
        self._parameterNodeGuiTag = values.connectGui(self.ui)
        self._listsGuiTag = values.connectParametersToGui({name: ListConnector(widget) for name, widget in lists.items()})
        self.seen = (values.slide, values.slideMpp)
        self.addObserver(values, vtk.vtkCommand.ModifiedEvent, self.onValues)
        self.ui.cohortTableView.setMRMLTableNode(values.cohort)
        if loadCommandLineModules():
            self._fillLists()
            if self.opened != values.slide:  # in a scene that was loaded; it asks for no installation
                self._readProperties()
            else:
                self._showProperties()

    def onValues(self, caller=None, event=None):
        """The user or a script has changed a value."""
        values = self._parameterNode
        if slicer.mrmlScene.IsBatchProcessing():
            return  # onSceneChanged() is called after it
        (slide, mpp), self.seen = self.seen, (values.slide, values.slideMpp)
        self.ui.cohortTableView.setMRMLTableNode(values.cohort)
        if values.slide != slide:
            values.level, values.channel = -1, ""
            self._readProperties()
        elif values.slideMpp != mpp:
            self.logic.stateResolution(values, values.slideMpp)
            self._showProperties()

    def _fillLists(self):
        values = self._parameterNode
        values.preset = fill(self.ui.presetComboBox, [(name, name) for name in tissuePresets()], values.preset)
        if self.info is not None:
            values.level = fill(self.ui.levelComboBox, self.info.listLevels(), values.level)
            values.channel = fill(self.ui.channelComboBox, self.info.listChannels(), values.channel)

    # What the user does.

    def openSlide(self, path):
        if self._parameterNode.slide == path:
            self._readProperties()
        self._parameterNode.slide = path  # which comes to onValues()

    def _readProperties(self):
        self.info = None
        self._showProperties()
        slide = self._parameterNode.slide
        if not os.path.isfile(slide) or self._run(self.logic.showInfo, self._showInfo):
            self.opened = slide

    def _showInfo(self, info):
        values = self.logic.getParameterNode()
        if self.opened != values.slide:
            return  # another one was chosen meanwhile
        self.info = info
        if self._parameterNode is not None:
            self._fillLists()
            self._showProperties()
        if values.volume is None or findSlide(values.volume) != values.slide:
            self._run(self.logic.loadSlide)

    def _showProperties(self):
        info = self.info
        self.ui.propertiesLabel.text = info.describe(self._parameterNode.slideMpp) if info else _("No slide is open.")
        self.ui.thumbnailLabel.setPixmap(qt.QPixmap(info.thumbnail) if info else qt.QPixmap())

    def onAdd(self):
        try:
            cohort.addRow(self._parameterNode)
        except ValueError as error:
            slicer.util.errorDisplay(str(error))
            return
        self._parameterNode.maskNode, self._parameterNode.maskFile, self._parameterNode.label = None, "", ""  # the next slide has others

    def onCancel(self):
        if self.process is not None:
            self.process.node.Cancel()

    def _showClasses(self, classification):
        self.ui.classesLabel.text = classification.describe()
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

    # One process at a time.

    def _run(self, start, whenDone=lambda result: None):
        """Starts one of the logic's processes, and returns whether it runs."""
        if self.process is not None:
            slicer.util.showStatusMessage(_("Wait for the running process, or cancel it."), 3000)
            return False
        if not self._haveModules():
            return False
        try:
            self.process = start(self.logic.getParameterNode())
        except ValueError as error:
            slicer.util.errorDisplay(str(error))
            return False
        self.whenDone = whenDone
        self.ui.logTextEdit.plainText = ""
        self.ui.cancelButton.enabled = True
        self.addObserver(self.process.node, vtk.vtkCommand.ModifiedEvent, self._follow)
        return True

    def _follow(self, node, event):
        process, whenDone = self.process, self.whenDone
        if process is None:
            return
        self.ui.progressBar.value = node.GetProgress()
        self.ui.logTextEdit.plainText = process.log()
        if not node.IsBusy():
            self._forget()
            # Not from within the node's own event: outputs are loaded after it.
            qt.QTimer.singleShot(0, lambda: self._finish(process, whenDone))

    def _forget(self):
        if self.process is not None:
            self.removeObserver(self.process.node, vtk.vtkCommand.ModifiedEvent, self._follow)
        self.process = None
        self.ui.cancelButton.enabled = False

    def _finish(self, process, whenDone):
        if process.node.GetScene() is None:
            return  # the scene was closed
        if process.failure():
            slicer.util.errorDisplay(process.failure())
        elif not process.wasCancelled():
            whenDone(process.result())
        if self._parameterNode is not None and self.opened != self._parameterNode.slide:  # chosen meanwhile
            self._readProperties()

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
        values.level, values.mpp = info.levels[-1]["level"], 0.0
        volume = self._wait(logic.loadSlide(values))
        self.assertEqual(volume.GetImageData().GetDimensions(), (info.levels[-1]["width"], info.levels[-1]["height"], 1))
        segmentation = self._wait(logic.label(values))
        table = makeStatistics(segmentation)
        self.assertGreater(float(table.GetCellText(0, 1)), 0)
        self.delayDisplay("Test passed")
