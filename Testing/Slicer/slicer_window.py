# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Stands in for the parts of Slicer that only its window has, around the real scene and the real modules' logic.

Qt is a mock; `slicer.cli` runs the real programs through vtkSlicerCLIModuleLogic; parameter nodes keep their values in
attributes."""

import sys
import types
from unittest.mock import MagicMock

import slicer
import slicer.util
from slicer_core_modules import Application, set_parameters


def _parameter_node_wrapper(cls):
    """Values with their defaults; those of the scene's nodes begin as None."""

    def __init__(self, node):
        self.parameterNode = node
        for name in cls.__annotations__:
            setattr(self, name, getattr(cls, name, None))

    cls.__init__ = __init__
    return cls


class _Module:
    def __init__(self, parent):
        self.parent = parent


class _Widget:
    def __init__(self, parent=None):
        self.parent, self.layout = parent, MagicMock()

    def setup(self):
        pass


class _Logic:
    def getParameterNode(self):
        name = type(self).__name__
        node = slicer.mrmlScene.GetFirstNodeByName(name)
        return node or slicer.mrmlScene.AddNewNodeByClass("vtkMRMLScriptedModuleNode", name)


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


def _module(name, **members):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__dict__.update(members)
    return sys.modules[name]


def install(folder, programs):
    """Makes a scripted module importable. \\returns the Application"""
    application = Application(folder)
    slicer.mrmlScene = application.scene
    slicer.app = MagicMock(name="slicer.app")
    slicer.app.temporaryPath = str(folder)
    slicer.app.layoutManager.return_value = None
    slicer.app.processEvents = application.process_events
    slicer.qMRMLNodeComboBox = MagicMock(name="qMRMLNodeComboBox")
    slicer.modules = types.SimpleNamespace()
    for program in programs:
        module = types.SimpleNamespace(path=str(program), logic=application.module(program))
        setattr(slicer.modules, program.name.lower(), module)
    sys.modules["qt"], sys.modules["ctk"] = MagicMock(name="qt"), MagicMock(name="ctk")
    slicer.i18n = _module("slicer.i18n", tr=lambda text: text, translate=lambda context, text: text)
    slicer.parameterNodeWrapper = _module(
        "slicer.parameterNodeWrapper", parameterNodeWrapper=_parameter_node_wrapper
    )
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
