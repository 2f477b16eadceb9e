# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""What the module remembers, and the processes that it starts."""

import pathlib
import tempfile
from typing import Annotated, Union

import slicer
from GigapixelSlideLib.cohort import writeCohort
from GigapixelSlideLib.modules import LONGEST_SIDE, Classification, Process, SlideProperties
from GigapixelSlideLib.places import moveNode, moveSlide, setPlace
from GigapixelSlideLib.tables import updateStatistics
from slicer import (
    vtkMRMLLabelMapVolumeNode,
    vtkMRMLMarkupsROINode,
    vtkMRMLScalarVolumeNode,
    vtkMRMLSegmentationNode,
    vtkMRMLTableNode,
    vtkMRMLVectorVolumeNode,
)
from slicer.i18n import tr as _
from slicer.parameterNodeWrapper import WithinRange, parameterNodeWrapper
from slicer.ScriptedLoadableModule import ScriptedLoadableModuleLogic


@parameterNodeWrapper
class GigapixelSlideParameterNode:
    """What the module remembers in the scene: a field for each widget of GigapixelSlide.ui, and results. Empty texts are
    files and choices that were not made."""

    slide: str = ""
    slideMpp: Annotated[float, WithinRange(0, 20)] = 0.0  # µm/px of level 0 where the file does not say; 0: the file's word
    level: int = -1  # -1: the finest that one volume holds
    mpp: Annotated[float, WithinRange(0, 1000)] = 0.0  # µm/px of what is loaded; 0: the level's
    channel: str = ""  # by its name or "number:1"; all of them, in their colors
    region: vtkMRMLMarkupsROINode
    volume: vtkMRMLVectorVolumeNode
    segmentation: vtkMRMLSegmentationNode
    map: vtkMRMLScalarVolumeNode  # what the label of the slide comes from
    preset: str = ""  # the default
    mask: str = ""  # where the mask pyramid is kept; not kept
    model: str = ""  # the ready model for tissue
    classifier: str = ""  # a model that labels whole slides
    scan: vtkMRMLScalarVolumeNode  # a volume of any scanner
    scanModel: str = ""  # for volumes
    maskNode: Union[vtkMRMLSegmentationNode, vtkMRMLLabelMapVolumeNode, None]  # of the slide that is added next
    maskFile: str = ""
    label: str = ""
    cohort: vtkMRMLTableNode  # the slides that were added
    run: str = ""
    network: str = ""
    epochs: Annotated[int, WithinRange(1, 100000)] = 20
    memory: str = "2G"


class GigapixelSlideLogic(ScriptedLoadableModuleLogic):
    def __init__(self):
        ScriptedLoadableModuleLogic.__init__(self)
        self.fileSpacings = {}  # of level 0 in mm, as the files of slides say, by their names

    def getParameterNode(self):
        return GigapixelSlideParameterNode(super().getParameterNode())

    def _start(self, name, values, result, **parameters):
        ofSlide = name not in ("GigapixelUNetTrain", "GigapixelVolumeSegment")
        if not values.slide and ofSlide:
            raise ValueError(_("Open a slide first."))
        if ofSlide:
            parameters = {"slide": values.slide, "slideMpp": values.slideMpp, **parameters}
        node = slicer.cli.run(
            getattr(slicer.modules, name.lower()), None, parameters, wait_for_completion=False, update_display=False
        )
        return Process(node, result if result else lambda: node)

    def showInfo(self, values):
        """Properties as the file says them, and a thumbnail: result is a SlideProperties."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=slicer.app.temporaryPath))
        picture, slide = folder / "thumbnail.png", values.slide
        process = self._start("SlideInfo", values, None, thumbnail=str(picture), slideMpp=0.0)

        def result():
            info = SlideProperties(process.node, picture)
            self.fileSpacings[slide] = info.spacing
            return info

        process.result = result
        return process

    def stateResolution(self, values, mpp):
        """States the resolution of the slide's level 0 in micrometers per pixel; 0: what its file says, which is known when
        showInfo() has been run. Volumes, segmentations and markups of the slide move there at once."""
        values.slideMpp = mpp
        spacing = self._spacing(values)
        moved = moveSlide(values.slide, spacing, values.region) if spacing else []
        for segmentation in moved:
            updateStatistics(segmentation)
        if slicer.app.layoutManager():
            slicer.util.resetSliceViews()

    def _spacing(self, values):
        """Of level 0 in mm along x and y; None: not known."""
        mm = values.slideMpp / 1000
        return (mm, mm) if mm > 0 else self.fileSpacings.get(values.slide)

    def _place(self, node, values, slide, spacing, downsample):
        """Notes the place of a node that a process has made, and moves it where the resolution was stated meanwhile.
        \\param spacing of its pixels \\param downsample level-0 pixels per pixel, the module's word"""
        setPlace(node, slide, [length / float(downsample) for length in spacing[:2]])
        stated = self._spacing(values) if values.slide == slide else None
        if stated:
            moveNode(node, stated)

    def loadSlide(self, values):
        """The whole slide at the resolution of the parameters, else at the level: result is a volume node in its place in
        mm."""
        level = "" if values.level < 0 else f"{_('level')} {values.level}"
        return self._load(values, self._describeResolution(values) or level, level=-1 if values.mpp else values.level)

    def loadRegion(self, values):
        """The region of interest of the parameters, at their resolution, else at level 0."""
        if values.region is None:
            raise ValueError(_("Draw a region of interest in a slice view, and choose it first."))
        name = f"{values.region.GetName()} {self._describeResolution(values)}"
        return self._load(values, name, level=-1 if values.mpp else 0, region=values.region)

    def _describeResolution(self, values):
        return f"{values.mpp:g} µm/px" if values.mpp else ""

    def _load(self, values, name, **parameters):
        slide, name = values.slide, f"{pathlib.Path(values.slide).stem} {name}".strip()
        volume = slicer.mrmlScene.AddNewNodeByClass("vtkMRMLVectorVolumeNode", name)
        values.volume = volume
        parameters = {"maxSide": LONGEST_SIDE, "mpp": values.mpp, **self._channel(values), **parameters}
        process = self._start("SlideRegion", values, None, volume=volume, **parameters)

        def result():
            self._place(volume, values, slide, volume.GetSpacing(), process.node.GetParameterAsString("downsample"))
            return self.show(volume)

        process.result = result
        return process

    def _channel(self, values):
        return {"channel": values.channel} if values.channel else {}

    def show(self, volume):
        """Colors as they are, not stretched, in the view from above, which has the slide's first row on top."""
        volume.CreateDefaultDisplayNodes()
        display = volume.GetDisplayNode()
        display.SetAutoWindowLevel(0)
        display.SetWindowLevelMinMax(0, 255)
        layout = slicer.app.layoutManager()
        if layout:
            layout.setLayout(slicer.vtkMRMLLayoutNode.SlicerLayoutOneUpRedSliceView)
            slicer.util.setSliceViewerLayers(background=volume, fit=True)
        return volume

    def label(self, values):
        """Tissue as a segmentation over the slide."""
        preset = {"preset": values.preset} if values.preset else {}
        return self._makeSegmentation("TissueLabel", values, _("Tissue"), **preset, **self._channel(values))

    def segment(self, values):
        return self._makeSegmentation(
            "GigapixelUNetSegment", values, _("Segmentation"), model=values.model, memory=values.memory
        )

    def _makeSegmentation(self, module, values, name, **parameters):
        name, slide = f"{pathlib.Path(values.slide).stem} {name}", values.slide
        segmentation = slicer.mrmlScene.AddNewNodeByClass("vtkMRMLSegmentationNode", name)
        values.segmentation = segmentation
        process = self._start(
            module, values, None, outputSegmentation=segmentation, mask=values.mask, **parameters
        )

        def result():
            pixels = segmentation.GetSegmentation().GetNthSegment(0).GetRepresentation("Binary labelmap")
            downsample = process.node.GetParameterAsString("segmentationDownsample")
            self._place(segmentation, values, slide, pixels.GetSpacing(), downsample)
            return self._overlay(segmentation)

        process.result = result
        return process

    def _overlay(self, segmentation):
        segmentation.CreateDefaultDisplayNodes()
        display = segmentation.GetDisplayNode()
        display.SetVisibility2DFill(True)
        display.SetOpacity2DFill(0.3)
        display.SetVisibility2DOutline(True)
        return segmentation

    def segmentVolume(self, values):
        """A segment for each class that a network for volumes finds in the volume of the parameters."""
        if values.scan is None or not values.scanModel:
            raise ValueError(_("Choose a volume, and a model that was trained on volumes."))
        name = f"{values.scan.GetName()} {_('Segmentation')}"
        segmentation = slicer.mrmlScene.AddNewNodeByClass("vtkMRMLSegmentationNode", name)
        values.segmentation = segmentation
        return self._start(
            "GigapixelVolumeSegment",
            values,
            lambda: self._overlay(segmentation),
            volume=values.scan,
            model=values.scanModel,
            outputSegmentation=segmentation,
            memory=values.memory,
        )

    def classify(self, values):
        """Says which class the slide is of, and shows what that comes from over it: result is a Classification."""
        if not values.classifier:
            raise ValueError(_("Choose a model that was trained on slides with labels."))
        slide = values.slide
        name = f"{pathlib.Path(slide).stem} {_('map')}"
        volume = slicer.mrmlScene.AddNewNodeByClass("vtkMRMLScalarVolumeNode", name)
        values.map = volume
        process = self._start(
            "GigapixelClassify", values, None, model=values.classifier, map=volume, memory=values.memory
        )

        def result():
            node = process.node
            self._place(volume, values, slide, volume.GetSpacing(), node.GetParameterAsString("mapDownsample"))
            self._tint(volume, float(node.GetParameterAsString("mapGreatest")))
            return Classification(node, volume)

        process.result = result
        return process

    def _tint(self, volume, greatest):
        """In colors of heat over the slide; where there is nothing, one sees the slide."""
        volume.CreateDefaultDisplayNodes()
        display = volume.GetDisplayNode()
        display.SetAndObserveColorNodeID("vtkMRMLColorTableNodeFileColdToHotRainbow.txt")
        display.SetAutoWindowLevel(0)
        display.SetWindowLevelMinMax(0, greatest)
        display.SetThreshold(greatest / 20, max(greatest, 1e-30))
        display.SetApplyThreshold(1)
        if slicer.app.layoutManager():
            slicer.util.setSliceViewerLayers(foreground=volume, foregroundOpacity=0.4)

    def train(self, values):
        """Trains on the slides of the parameters' table, see addRow(). A run in the folder goes on. Result: the folder."""
        cohort, folder = writeCohort(values), pathlib.Path(values.run)
        goesOn = (folder / "last.safetensors").exists()
        return self._start(
            "GigapixelUNetTrain",
            values,
            lambda: folder,
            cohort=str(cohort),
            run=str(folder),
            **({"network": values.network} if values.network else {}),
            **self._channel(values),
            epochs=values.epochs,
            memory=values.memory,
            resume="yes" if goesOn else "no",
        )
