# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Command-line modules in slicer-core, as 3D Slicer's window would load and run them.

slicer-core has Slicer's logic but not its Qt part, which is where descriptions are parsed. Three C++ functions that it
calls then have no Python wrapping (ModuleDescription is no vtkObject); they are called by their symbols. The library is
built with libstdc++'s old string, which is one pointer."""

import ctypes
import pathlib
import time

import slicer_core

_FOLDER = pathlib.Path(slicer_core.__file__).parent
_PARSER = ctypes.CDLL(str(_FOLDER / "third_party.libs" / "libModuleDescriptionParser.so"))
_CLI = ctypes.CDLL(str(_FOLDER / "libMRMLCLI.so"))
_LOGIC = ctypes.CDLL(str(_FOLDER / "libvtkSlicerBaseLogic.so"))
_STANDARD = ctypes.CDLL("libstdc++.so.6")
_kept = []  # what C++ goes on pointing to


def _call(library, symbol, *arguments):
    function = getattr(library, symbol)
    function.restype, function.argtypes = ctypes.c_int, [ctypes.c_void_p] * len(arguments)
    return function(*arguments)


def _string(text):
    text, allocator = ctypes.c_char_p(text.encode()), ctypes.create_string_buffer(8)
    string = ctypes.create_string_buffer(8)
    _call(_STANDARD, "_ZNSsC1EPKcRKSaIcE", string, text, allocator)
    _kept.append((string, allocator))
    return string


def _description(program):
    """Parses the XML file beside a program, which is all that Slicer reads at its start."""
    description = ctypes.create_string_buffer(8192)  # more than its size
    _kept.append(description)
    _call(_PARSER, "_ZN17ModuleDescriptionC1Ev", description)
    xml = program.with_name(program.name + ".xml").read_text()
    parse = "_ZN23ModuleDescriptionParser5ParseERKSsR17ModuleDescription"
    assert _call(_PARSER, parse, ctypes.create_string_buffer(64), _string(xml), description) == 0
    for setter, value in (("SetTarget", program), ("SetLocation", program), ("SetType", "CommandLineModule")):
        symbol = f"_ZN17ModuleDescription{len(setter)}{setter}ERKSs"
        _call(_PARSER, symbol, description, _string(str(value)))
    copy = ctypes.create_string_buffer(8192)
    _kept.append(copy)
    _call(_PARSER, "_ZN17ModuleDescriptionC1ERKS_", copy, description)
    _call(_CLI, "_ZN28vtkMRMLCommandLineModuleNode25RegisterModuleDescriptionE17ModuleDescription", copy)
    return description


class Application:
    """A scene with the parts of Slicer that run modules and load what they write."""

    def __init__(self, folder):
        self.scene = slicer_core.vtkMRMLScene()
        self.logic = slicer_core.vtkSlicerApplicationLogic()
        self.logic.SetMRMLScene(self.scene)
        self.logic.SetTemporaryPath(str(folder))
        self.scene.SetCacheManager(slicer_core.vtkCacheManager())
        self.scene.RegisterNodeClass(slicer_core.vtkMRMLCommandLineModuleNode())
        self.logic.CreateProcessingThread()
        # Knows how to make surfaces of labels.
        self.segmentations = slicer_core.vtkSlicerSegmentationsModuleLogic()
        self.segmentations.SetMRMLApplicationLogic(self.logic)
        self.segmentations.SetMRMLScene(self.scene)
        self.temporary = pathlib.Path(folder)
        self.modules = {}  # each has to outlive its processes

    def close(self):
        self.logic.TerminateProcessingThread()

    def module(self, program):
        """The logic of a module, made once."""
        if program not in self.modules:
            self.modules[program] = self._load(program)
        return self.modules[program]

    def _load(self, program):
        logic = slicer_core.vtkSlicerCLIModuleLogic()
        logic.SetMRMLApplicationLogic(self.logic)
        logic.SetMRMLScene(self.scene)
        this = int(logic.__this__.split("_")[1], 16)
        symbol = "_ZN23vtkSlicerCLIModuleLogic27SetDefaultModuleDescriptionERK17ModuleDescription"
        _call(_LOGIC, symbol, this, _description(program))
        return logic

    def process_events(self):
        """What timers of the window do."""
        self.logic.ProcessModified()
        self.logic.ProcessReadData()
        self.logic.ProcessWriteData()

    def wait(self, node, seen=lambda node: None, limit=300):
        """Until a module has ended and its outputs are loaded; *seen* is called meanwhile."""
        end = time.monotonic() + limit
        while node.IsBusy():
            assert time.monotonic() < end, "the module does not end"
            self.process_events()
            seen(node)
            time.sleep(0.005)
        self.process_events()


def set_parameters(node, parameters):
    for name, value in parameters.items():
        if isinstance(value, slicer_core.vtkMRMLNode):
            node.SetParameterAsNode(name, value)
        elif isinstance(value, int):
            node.SetParameterAsInt(name, value)
        elif isinstance(value, float):
            node.SetParameterAsDouble(name, value)
        else:
            node.SetParameterAsString(name, str(value))
