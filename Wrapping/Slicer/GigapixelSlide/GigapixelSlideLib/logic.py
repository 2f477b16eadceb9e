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
    plane: str = ""  # the focal plane, by its number, or "middle", "max" or "focus"; the file's word
    level: int = -1  # -1: the finest that one volume holds
    mpp: Annotated[float, WithinRange(0, 1000)] = 0.0  # µm/px of what is loaded; 0: the level's
    channel: str = ""  # by its name or "number:1"; all of them, in their colors, and those that a model was trained on
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
    trainChannel: str = ""  # of all slides that are trained on; all channels
    epochs: Annotated[int, WithinRange(1, 100000)] = 20
    memory: str = "2G"


class GigapixelSlideLogic(ScriptedLoadableModuleLogic):
    def __init__(self):
        ScriptedLoadableModuleLogic.__init__(self)
        self.fileSpacings = {}  # of level 0 in mm, as the files of slides say, by their names

    def getParameterNode(self):
        return GigapixelSlideParameterNode(super().getParameterNode())

    def _start(self, module, values, finish, output=None, **parameters):
        """Starts a module. Its output is a new node, by its parameter, class and name. finish(process) makes the result."""
        if module not in ("GigapixelUNetTrain", "GigapixelVolumeSegment"):
            if not values.slide:
                raise ValueError(_("Open a slide first."))
            parameters = {"slide": values.slide, "slideMpp": values.slideMpp, "plane": values.plane, **parameters}
        node = None
        if output is not None:
            parameter, kind, name = output
            node = slicer.mrmlScene.AddNewNodeByClass(kind, slicer.mrmlScene.GenerateUniqueName(name))
            parameters[parameter] = node
        parameters = {name: value for name, value in parameters.items() if value != ""}
        work = slicer.cli.run(
            getattr(slicer.modules, module.lower()),
            None,
            {**parameters, "messages": "json"},
            wait_for_completion=False,
            update_display=False,
        )
        return Process(work, node, finish)

    def showInfo(self, values):
        """Properties as the file says them, and a thumbnail: result is a SlideProperties."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=slicer.app.temporaryPath))
        picture, slide = folder / "thumbnail.png", values.slide

        def finish(process):
            info = SlideProperties(process.node, picture)
            self.fileSpacings[slide] = info.spacing
            return info

        return self._start("SlideInfo", values, finish, thumbnail=str(picture), slideMpp=0.0, plane="")

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
        """Notes the place of a node that a process has made, and moves it where the resolution was stated meanwhile. The
        spacing is that of its pixels, and downsample the level-0 pixels for each of them."""
        setPlace(node, slide, [length / downsample for length in spacing[:2]])
        stated = self._spacing(values) if values.slide == slide else None
        if stated:
            moveNode(node, stated)

    def loadSlide(self, values):
        """The whole slide at the resolution of the parameters, else at the level: result is a volume node in its place in
        mm."""
        level = "" if values.level < 0 else _("level {number}").format(number=values.level)
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
        slide = values.slide

        def finish(process):
            values.volume = process.output
            self._place(values.volume, values, slide, values.volume.GetSpacing(), process.read("downsample"))
            return self.show(values.volume)

        output = ("volume", "vtkMRMLVectorVolumeNode", f"{pathlib.Path(slide).stem} {name}".strip())
        parameters = {"maxSide": LONGEST_SIDE, "mpp": values.mpp, "channel": values.channel, **parameters}
        return self._start("SlideRegion", values, finish, output, **parameters)

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
        name = _("{slide} Tissue")
        return self._makeSegmentation("TissueLabel", values, name, preset=values.preset, channel=values.channel)

    def segment(self, values):
        """What the model finds, as a segmentation over the slide."""
        parameters = {"model": values.model, "channel": values.channel, "memory": values.memory}
        return self._makeSegmentation("GigapixelUNetSegment", values, _("{slide} Segmentation"), **parameters)

    def _makeSegmentation(self, module, values, name, **parameters):
        slide = values.slide

        def finish(process):
            values.segmentation = process.output
            pixels = process.output.GetSegmentation().GetNthSegment(0).GetRepresentation("Binary labelmap")
            self._place(process.output, values, slide, pixels.GetSpacing(), process.read("segmentationDownsample"))
            return self._overlay(process.output)

        output = ("outputSegmentation", "vtkMRMLSegmentationNode", name.format(slide=pathlib.Path(slide).stem))
        return self._start(module, values, finish, output, mask=values.mask, **parameters)

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

        def finish(process):
            values.segmentation = process.output
            return self._overlay(process.output)

        name = _("{volume} Segmentation").format(volume=values.scan.GetName())
        output = ("outputSegmentation", "vtkMRMLSegmentationNode", name)
        parameters = {"volume": values.scan, "model": values.scanModel, "memory": values.memory}
        return self._start("GigapixelVolumeSegment", values, finish, output, **parameters)

    def classify(self, values):
        """Says which class the slide is of, and shows what that comes from over it: result is a Classification."""
        if not values.classifier:
            raise ValueError(_("Choose a model that was trained on slides with labels."))
        slide = values.slide

        def finish(process):
            values.map = process.output
            self._place(values.map, values, slide, values.map.GetSpacing(), process.read("mapDownsample"))
            self._tint(values.map, process.read("mapGreatest"))
            return Classification(process.node, values.map)

        output = ("map", "vtkMRMLScalarVolumeNode", _("{slide} map").format(slide=pathlib.Path(slide).stem))
        parameters = {"model": values.classifier, "channel": values.channel, "memory": values.memory}
        return self._start("GigapixelClassify", values, finish, output, **parameters)

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
            lambda process: folder,
            cohort=str(cohort),
            run=str(folder),
            network=values.network,
            channel=values.trainChannel,
            window="auto" if values.trainChannel else "",  # as it is shown
            plane=values.plane,
            epochs=values.epochs,
            memory=values.memory,
            resume="yes" if goesOn else "no",
        )
