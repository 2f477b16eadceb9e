# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Stands in for the parts of Slicer that only its window has, around the real scene and the real modules' logic.

Qt is a mock, but for the widgets of .ui files and the parameter nodes behind them (slicer_form.py); `slicer.cli` runs the real
programs through vtkSlicerCLIModuleLogic."""

import hashlib
import pathlib
import shutil
import sys
import types
from unittest.mock import MagicMock

import slicer
import slicer.util
import slicer_form
from slicer_core_modules import Application, set_parameters


class _Module:
    def __init__(self, parent):
        self.parent = parent


class _Widget:
    def __init__(self, parent=None):
        self.parent, self.layout = parent or MagicMock(isEntered=True), MagicMock()

    def setup(self):
        pass

    def resourcePath(self, name):
        return str(pathlib.Path(sys.modules[type(self).__module__].__file__).parent / "Resources" / name)


class _Logic:
    def getParameterNode(self):
        name, kind = type(self).__name__.removesuffix("Logic"), "vtkMRMLScriptedModuleNode"
        if slicer.mrmlScene.GetSingletonNode(name, kind) is None:
            node = slicer.vtkMRMLScriptedModuleNode()
            node.SetSingletonTag(name)
            slicer.mrmlScene.AddNode(node)
        return slicer.mrmlScene.GetSingletonNode(name, kind)


class _Test:
    def delayDisplay(self, message, milliseconds=0):
        pass

    def assertEqual(self, a, b):
        assert a == b, (a, b)

    def assertLess(self, a, b):
        assert a < b, (a, b)

    def assertGreater(self, a, b):
        assert a > b, (a, b)

    def assertTrue(self, a):
        assert a


class SampleDataLogic:
    """What Slicer's module Sample Data does with a slide, but for the network: an address is a path here."""

    sources = []

    @staticmethod
    def registerCustomSampleDataSource(
        category, sampleName, uris, fileNames, checksums, customDownloader=None, thumbnailFileName=None
    ):
        lists = {"uris": [uris], "fileNames": [fileNames], "checksums": [checksums]}
        source = types.SimpleNamespace(**lists, customDownloader=customDownloader, thumbnailFileName=thumbnailFileName)
        SampleDataLogic.sources.append(source)

    def downloadFileIntoCache(self, uri, name, checksum):
        """The file's path, also where the file is not there since its checksum is another one."""
        if not pathlib.Path(uri).is_file():
            raise ValueError(f"Failed to download {uri}")
        file = pathlib.Path(slicer.app.temporaryPath) / name
        shutil.copy(uri, file)
        if checksum != f"SHA256:{hashlib.sha256(file.read_bytes()).hexdigest()}":
            file.unlink()
        return str(file)


def _module(name, **members):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__dict__.update(members)
    return sys.modules[name]


def install(folder, programs):
    """Makes a scripted module importable, and returns the Application."""
    application = Application(folder)
    slicer.mrmlScene = application.scene
    slicer.app = MagicMock(name="slicer.app")
    slicer.app.temporaryPath = str(folder)
    slicer.app.layoutManager.return_value = None
    slicer.app.processEvents = application.process_events
    slicer.modules = types.SimpleNamespace()
    for program in programs:
        module = types.SimpleNamespace(path=str(program), logic=application.module(program))
        setattr(slicer.modules, program.name.lower(), module)
    sys.modules["qt"], sys.modules["ctk"] = MagicMock(name="qt"), slicer_form.Classes()
    classes = {"Q": slicer_form.Classes(), "ctk": sys.modules["ctk"], "qMRML": slicer_form.Classes()}
    slicer.util.loadUI = lambda path: slicer_form.load(path, classes)
    slicer.util.childWidgetVariables = slicer_form.get_children
    slicer.i18n = _module("slicer.i18n", tr=lambda text: text, translate=lambda context, text: text)
    slicer.parameterNodeWrapper = sys.modules["slicer.parameterNodeWrapper"] = slicer_form
    _module("SampleData", SampleDataLogic=SampleDataLogic)
    _module(
        "slicer.ScriptedLoadableModule",
        ScriptedLoadableModule=_Module,
        ScriptedLoadableModuleWidget=_Widget,
        ScriptedLoadableModuleLogic=_Logic,
        ScriptedLoadableModuleTest=_Test,
    )

    def run(module, node, parameters, wait_for_completion, update_display):
        assert not wait_for_completion  # nothing may block the window
        node = node or module.logic.CreateNodeInScene()
        set_parameters(node, {name: value for name, value in parameters.items() if value is not None})
        module.logic.Apply(node, False)
        return node

    slicer.cli = _module("slicer.cli", run=run)
    return application
