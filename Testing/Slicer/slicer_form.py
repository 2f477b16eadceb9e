# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Stands in for the widgets of a .ui file, and for Slicer's parameter nodes that are connected with them.

A widget has the properties that the file gives it; setting one invokes its signal. A parameter node keeps its values where
Slicer keeps them, in a vtkMRMLScriptedModuleNode. Untested is what Qt and Slicer's own parameterNodeWrapper would refuse:
types, ranges, and connectors for classes of widgets."""

import types
import typing
import xml.etree.ElementTree as ElementTree
from unittest.mock import MagicMock

#: The properties that are values of widgets: their signals, and what they are at first.
VALUES = {
    "text": ("textChanged", ""),
    "value": ("valueChanged", 0),
    "currentPath": ("currentPathChanged", ""),
    "currentIndex": ("currentIndexChanged", -1),
    "node": ("currentNodeChanged", None),
}
#: The property that Slicer connects with a parameter, by classes of widgets.
CONNECTED = {"QLineEdit": "text", "QSpinBox": "value", "QDoubleSpinBox": "value", "qMRMLNodeComboBox": "node"}


class Signal(list):
    connect, disconnect = list.append, list.remove


class Widget:
    """What it does not know is a mock."""

    def __init__(self, name, properties):
        self.__dict__.update({"name": name, "properties": properties, "items": [], "blocked": False, "clicked": Signal()})
        for value, (signal, default) in VALUES.items():
            self.__dict__.update({value: properties.get(value, default), signal: Signal()})

    def __getattr__(self, name):
        self.__dict__[name] = MagicMock(name=name)
        return self.__dict__[name]

    def __setattr__(self, name, value):
        isNew = self.__dict__.get(name) != value
        self.__dict__[name] = value
        if name in VALUES and isNew and not self.blocked:
            for slot in list(self.__dict__[VALUES[name][0]]):
                slot()

    def connect(self, signal, slot):
        self.__dict__[signal.split("(")[0]].connect(slot)

    def click(self):
        for slot in self.clicked:
            slot()

    # A list.

    def blockSignals(self, blocked):
        self.__dict__["blocked"], before = blocked, self.blocked
        return before

    def clear(self):
        self.items.clear()
        self.currentIndex = -1

    def addItem(self, text, data):
        self.items.append((text, data))

    def itemData(self, index):
        return self.items[index][1] if 0 <= index < len(self.items) else None

    def findData(self, data):
        return next((i for i, item in enumerate(self.items) if item[1] == data), -1)

    # A list of nodes.

    def currentNode(self):
        return self.node

    def setCurrentNode(self, node):
        self.node = node


class Classes:
    """A module of widgets' classes, such as qt; each is made when it is asked for."""

    def __getattr__(self, name):
        setattr(self, name, type(name, (Widget,), {}))
        return getattr(self, name)


def load(path, modules):
    """The root widget. The modules have the classes of widgets, by the beginning of their names."""
    children = []
    for element in ElementTree.parse(path).getroot().find("widget").iter("widget"):
        properties = {each.get("name"): each[0].text for each in element.findall("property")}
        kind = element.get("class")
        module = next(module for prefix, module in modules.items() if kind.startswith(prefix))
        children.append(getattr(module, kind)(element.get("name"), properties))
    children[0].__dict__["children"] = children
    return children[0]


def get_children(form):
    return types.SimpleNamespace(**{widget.name: widget for widget in form.children})


# Parameter nodes.


def WithinRange(minimum, maximum):
    return minimum, maximum


def unannotatedType(datatype):
    return typing.get_args(datatype)[0] if typing.get_origin(datatype) is typing.Annotated else datatype


class GuiConnector:
    def onChanged(self, callback):
        if callback:
            self.changed = callback
            self._connect()
        else:
            self._disconnect()


class _PropertyConnector(GuiConnector):
    def __init__(self, widget):
        self.target, self.name = widget, CONNECTED[type(widget).__name__]

    def _connect(self):
        getattr(self.target, VALUES[self.name][0]).connect(self.changed)

    def _disconnect(self):
        getattr(self.target, VALUES[self.name][0]).disconnect(self.changed)

    def read(self):
        return getattr(self.target, self.name)

    def write(self, value):
        setattr(self.target, self.name, value)


_connectors = []


def parameterNodeGuiConnector(cls):
    _connectors.append(cls)
    return cls


class _ParameterNode:
    def __init__(self, node):
        self.parameterNode, self.connected, self.isWriting = node, [], False
        self.AddObserver, self.RemoveObserver = node.AddObserver, node.RemoveObserver

    def connectGui(self, ui):
        widgets = {widget.properties.get("SlicerParameterName"): widget for widget in vars(ui).values()}
        widgets.pop(None)
        own = {name: next((cls for cls in _connectors if cls.canRepresent(widget, str)), None) for name, widget in widgets.items()}
        return self.connectParametersToGui({name: (own[name] or _PropertyConnector)(widget) for name, widget in widgets.items()})

    def connectParametersToGui(self, connectors):
        self._show(connectors)
        for name, connector in connectors.items():
            connector.onChanged(lambda name=name, connector=connector: self.isWriting or setattr(self, name, connector.read()))
        self.connected.append((connectors, self.AddObserver("ModifiedEvent", lambda node, event: self._show(connectors))))
        return len(self.connected) - 1

    def disconnectGui(self, index):
        connectors, tag = self.connected[index]
        self.RemoveObserver(tag)
        for connector in connectors.values():
            connector.onChanged(None)

    def _show(self, connectors):
        self.isWriting = True
        for name, connector in connectors.items():
            connector.write(getattr(self, name))
        self.isWriting = False


def _make_property(name, kind, default):
    if kind not in (str, int, float):
        return property(
            lambda self: self.parameterNode.GetNodeReference(name),
            lambda self, node: self.parameterNode.SetNodeReferenceID(name, node.GetID() if node else None),
        )
    return property(
        lambda self: kind(self.parameterNode.GetParameter(name)) if self.parameterNode.HasParameter(name) else default,
        lambda self, value: self.parameterNode.SetParameter(name, str(kind(value))),
    )


def parameterNodeWrapper(cls):
    fields = typing.get_type_hints(cls)
    properties = {name: _make_property(name, datatype, getattr(cls, name, None)) for name, datatype in fields.items()}
    return type(cls.__name__, (_ParameterNode,), {**properties, "allParameters": fields, "__doc__": cls.__doc__})
