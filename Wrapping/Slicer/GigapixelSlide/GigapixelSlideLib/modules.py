# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""The command-line modules: where they come from, what they say of themselves, one at work."""

import importlib.util
import json
import pathlib
import struct
import xml.etree.ElementTree as ElementTree

import qt
import slicer
from GigapixelSlideLib.messages import describe, translate
from slicer.i18n import tr as _

MODULES = (
    "SlideInfo",
    "SlideRegion",
    "TissueLabel",
    "GigapixelUNetTrain",
    "GigapixelUNetSegment",
    "GigapixelVolumeSegment",
    "GigapixelClassify",
)
#: of one volume in pixels: 8192 x 8192 colors are 200 MB, and textures of graphics cards end at 16384
LONGEST_SIDE = 8192


def loadCommandLineModules() -> bool:
    """Whether Slicer has the command-line modules: built with the extension, or now taken from the Python package."""
    if all(hasattr(slicer.modules, name.lower()) for name in MODULES):
        return True
    package = importlib.util.find_spec("itkgigapixel")
    if package is None:
        return False
    folder = pathlib.Path(package.origin).parent / "bin"
    names = [name for name in MODULES if (folder / name).exists() and not hasattr(slicer.modules, name.lower())]
    factory = slicer.app.moduleManager().factoryManager()
    for name in names:
        factory.registerModule(qt.QFileInfo(str(folder / name)))
    return bool(names) and factory.loadModules(names)


def tissuePresets():
    """Names of the chains of filters that Tissue Label knows; the first is its default."""
    description = ElementTree.parse(pathlib.Path(slicer.modules.tissuelabel.path).with_suffix(".xml"))
    choices = next(each for each in description.iter("string-enumeration") if each.findtext("name") == "preset")
    default = choices.findtext("default")
    return sorted((element.text for element in choices.findall("element")), key=lambda name: name != default)


def isTiledTIFF(path) -> bool:
    """Whether the first image of a TIFF is stored in tiles, as those of slides are and ordinary pictures are not."""
    tileWidth = 322
    try:
        with open(path, "rb") as file:

            def read(code, length):
                return struct.unpack(order + code, file.read(length)[: struct.calcsize(code)])[0]

            order = {b"II": "<", b"MM": ">"}[file.read(2)]
            isBig = read("H", 2) == 43
            file.seek(8 if isBig else 4)
            file.seek(read("Q", 8) if isBig else read("I", 4))
            entries = read("Q", 8) if isBig else read("H", 2)
            return any(read("H", 20 if isBig else 12) == tileWidth for _entry in range(min(entries, 65535)))
    except (OSError, KeyError, struct.error):
        return False


class SlideProperties:
    """What SlideInfo has found out."""

    def __init__(self, node, thumbnail):
        self.width, self.height = (int(node.GetParameterAsString(name)) for name in ("width", "height"))
        self.mpp = float(node.GetParameterAsString("mpp") or 0)
        self.spacing = tuple(float(node.GetParameterAsString(name)) for name in ("spacingX", "spacingY"))
        self.vendor = node.GetParameterAsString("vendor")
        self.decoder = node.GetParameterAsString("decoder")
        self.levels = json.loads(node.GetParameterAsString("levels"))
        self.channels = [each["name"] for each in json.loads(node.GetParameterAsString("channelEntries") or "[]")]
        self.warnings = [describe(each) for each in json.loads(node.GetParameterAsString("warnings") or "[]")]
        self.thumbnail = str(thumbnail)

    def listLevels(self):
        """(text, number) of the levels; -1 is the finest that may be loaded whole, or the coarsest, shrunk."""
        rows = [(_("the finest that fits"), -1)]
        for level in self.levels:
            resolution = f" ({level['mpp']:.3g} µm/px)" if level["mpp"] else ""
            isTooLarge = max(level["width"], level["height"]) > LONGEST_SIDE
            note = _(", too large: load a region") if isTooLarge else ""
            rows.append((f"{level['level']}: {level['width']} x {level['height']}{resolution}{note}", level["level"]))
        return rows

    def listChannels(self):
        """(text, value) of the channels; a single one is no choice. The value is the name, which models and cohorts want, or
        the number where there is no name, or one that misleads."""
        rows = []
        for i, name in enumerate(self.channels, 1):
            isName = name and self.channels.count(name) == 1 and not name.isdecimal()
            rows.append((f"{i}: {name}" if name else str(i), name if isName else f"number:{i}"))
        return [(_("all, in their colors"), ""), *(rows if len(rows) > 1 else [])]

    def describe(self, statedMpp=0):
        """For people. Where *statedMpp* is not 0, the user has stated the resolution."""
        lines = [f"{self.vendor}, {self.decoder}", _("{} x {} pixels").format(self.width, self.height)]
        mpp = statedMpp or self.mpp
        if mpp > 0:
            size = f"{self.width * mpp / 1000:.2f} x {self.height * mpp / 1000:.2f} mm"
            lines.append(_("{resolution:.4g} µm/px, {size}").format(resolution=mpp, size=size))
        else:
            lines.append(_("The resolution is unknown: state it below. Until then a pixel counts as 1 mm."))
        return "\n".join(lines + self.warnings)


class Classification:
    """What GigapixelClassify has said of a slide."""

    def __init__(self, node, map):
        self.predicted = node.GetParameterAsString("predicted")
        self.probabilities = json.loads(node.GetParameterAsString("probabilities"))
        self.kind = node.GetParameterAsString("mapKind")  # "activation" or "attention"
        self.activated = node.GetParameterAsString("activatedClass")
        self.map = map  # a volume node

    def describe(self):
        """For people."""
        # Of values nothing is predicted by name.
        lines = [f"{name}: {100 * p:.1f} %" if self.predicted else f"{name}: {p:g}" for name, p in self.probabilities.items()]
        shown = _("attention") if self.kind == "attention" else _("what speaks for {name}").format(name=self.activated)
        return "\n".join([*lines, _("The map shows {shown}.").format(shown=shown)])


class Process:
    """A command-line module at work. Where it fails or is cancelled, the node that it was to fill is removed."""

    def __init__(self, node, output, finish):
        self.node = node
        self.output = output  # None: it fills none
        self._finish = finish
        node.AddObserver("ModifiedEvent", self._onModified)

    def result(self):
        """Call it when the process has ended well."""
        return self._finish(self)

    def read(self, name):
        """A result of the module as a number."""
        return float(self.node.GetParameterAsString(name))

    def _onModified(self, node, event):
        if self.output and self.output.GetScene() and not node.IsBusy() and (self.failure() or self.wasCancelled()):
            slicer.mrmlScene.RemoveNode(self.output)

    def wasCancelled(self):
        return bool(self.node.GetStatus() & self.node.Cancelled) and not self.failure()

    def failure(self):
        """What went wrong and what to do; empty: all is well."""
        failed = self.node.GetStatusString() == "Completed with errors"
        return (translate(self.node.GetErrorText()) or _("It failed.")) if failed else ""

    def log(self):
        """What the program has said so far, and its warnings."""
        return "\n".join(filter(None, (self.node.GetOutputText().strip(), translate(self.node.GetErrorText()))))
