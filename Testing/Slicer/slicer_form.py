# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Stands in for the widgets of a .ui file, and for Slicer's parameter nodes that are connected with them.

A widget has the properties that the file gives it; setting one invokes its signal, as in Qt. A parameter node keeps its values
where Slicer keeps them: in a vtkMRMLScriptedModuleNode, whose event tells the form that they have changed."""

import types
import typing
import xml.etree.ElementTree as ElementTree
from unittest.mock import MagicMock

import slicer

SIGNALS = {
    "text": "textChanged",
    "value": "valueChanged",
    "currentPath": "currentPathChanged",
    "currentIndex": "currentIndexChanged",
    "node": "currentNodeChanged",
}
DEFAULTS = {"text": "", "value": 0, "currentPath": "", "currentIndex": -1, "node": None}


class Signal:
    def __init__(self):
        self.slots = []

    def connect(self, slot):
        self.slots.append(slot)

    def disconnect(self, slot):
        self.slots.remove(slot)


class Widget:
    """What it does not know is a mock."""

    def __init__(self, name, properties):
        self.__dict__.update({"name": name, "properties": properties, "items": [], "blocked": False})
        self.__dict__.update({**DEFAULTS, **{key: value for key, value in properties.items() if key in DEFAULTS}})
        for signal in (*SIGNALS.values(), "clicked"):
            self.__dict__[signal] = Signal()

    def __getattr__(self, name):
        self.__dict__[name] = MagicMock(name=name)
        return self.__dict__[name]

    def __setattr__(self, name, value):
        isNew = self.__dict__.get(name) != value
        self.__dict__[name] = value
        if name in SIGNALS and isNew and not self.blocked:
            for slot in list(self.__dict__[SIGNALS[name]].slots):
                slot()

    def property(self, name):
        return self.properties.get(name)

    def connect(self, signal, slot):
        self.__dict__[signal.split("(")[0]].connect(slot)

    def click(self):
        for slot in self.clicked.slots:
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
    """The root widget. \\param modules where the classes of widgets are, by the beginning of their names"""
    root = ElementTree.parse(path).getroot().find("widget")
    children = []
    for element in root.iter("widget"):
        properties = {each.get("name"): _read(each) for each in element.findall("property")}
        kind = element.get("class")
        module = next(module for prefix, module in modules.items() if kind.startswith(prefix))
        children.append(getattr(module, kind)(element.get("name"), properties))
    children[0].__dict__["children"] = children
    return children[0]


def _read(element):
    (value,) = element
    if value.tag in ("string", "set", "enum"):
        return value.text or ""
    if value.tag in ("number", "double", "bool"):
        return {"number": int, "double": float, "bool": "true".__eq__}[value.tag](value.text)
    return [each.text for each in value]


def get_children(form):
    return types.SimpleNamespace(**{widget.name: widget for widget in form.children})


# Parameter nodes.


class WithinRange:
    def __init__(self, minimum, maximum):
        self.minimum, self.maximum = minimum, maximum


class GuiConnector:
    callback = None

    def onChanged(self, callback):
        self.callback = callback
        self._connect() if callback else self._disconnect()

    def changed(self):
        self.callback()


class _PropertyConnector(GuiConnector):
    """Of a widget with one value."""

    def __init__(self, widget, name):
        self.target, self.name = widget, name
        self.signal = getattr(widget, SIGNALS[name])

    def _connect(self):
        self.signal.connect(self.changed)

    def _disconnect(self):
        self.signal.disconnect(self.changed)

    def read(self):
        return getattr(self.target, self.name)

    def write(self, value):
        setattr(self.target, self.name, value)


_connectors = []


def parameterNodeGuiConnector(cls):
    _connectors.append(cls)
    return cls


def unannotatedType(datatype):
    return typing.get_args(datatype)[0] if typing.get_origin(datatype) is typing.Annotated else datatype


def is_node(datatype):
    types_ = typing.get_args(datatype) if typing.get_origin(datatype) is typing.Union else (datatype,)
    return all(each is type(None) or (isinstance(each, type) and issubclass(each, slicer.vtkMRMLNode)) for each in types_)


#: The types that Slicer connects with the classes of widgets, and the property that is their value.
CONNECTED = {
    "QLineEdit": (lambda datatype: datatype is str, "text"),
    "QSpinBox": (lambda datatype: datatype is int, "value"),
    "QDoubleSpinBox": (lambda datatype: datatype is float, "value"),
    "qMRMLNodeComboBox": (is_node, "node"),
}


def _make_connector(widget, datatype):
    fits, name = CONNECTED.get(type(widget).__name__, (lambda datatype: False, ""))
    if fits(unannotatedType(datatype)):
        return _PropertyConnector(widget, name)
    return next(cls for cls in _connectors if cls.canRepresent(widget, datatype)).create(widget, datatype)


class _ParameterNode:
    def __init__(self, node):
        self.parameterNode, self.connected, self.isWriting = node, [], False

    def AddObserver(self, event, callback, priority=0.0):
        return self.parameterNode.AddObserver(event, callback, priority)

    def RemoveObserver(self, tag):
        self.parameterNode.RemoveObserver(tag)

    def connectGui(self, ui):
        widgets = {widget.property("SlicerParameterName"): widget for widget in vars(ui).values()}
        widgets.pop(None)
        return self.connectParametersToGui({name: _make_connector(widget, self.allParameters[name]) for name, widget in widgets.items()})

    def connectParametersToGui(self, connectors):
        for name, connector in connectors.items():
            connector.write(getattr(self, name))
            connector.onChanged(lambda name=name, connector=connector: self._take(name, connector))
        tag = self.AddObserver("ModifiedEvent", lambda node, event: self._show(connectors))
        self.connected.append((connectors, tag))
        return len(self.connected) - 1

    def disconnectGui(self, index):
        connectors, tag = self.connected[index]
        self.RemoveObserver(tag)
        for connector in connectors.values():
            connector.onChanged(None)

    def _take(self, name, connector):
        if not self.isWriting:
            setattr(self, name, connector.read())

    def _show(self, connectors):
        self.isWriting = True
        for name, connector in connectors.items():
            connector.write(getattr(self, name))
        self.isWriting = False


def _make_property(name, datatype, default):
    kind = unannotatedType(datatype)
    ranges = [each for each in getattr(datatype, "__metadata__", ()) if isinstance(each, WithinRange)]

    def get(self):
        node = self.parameterNode
        if is_node(kind):
            return node.GetNodeReference(name)
        return kind(node.GetParameter(name)) if node.HasParameter(name) else default

    def put(self, value):
        if is_node(kind):
            self.parameterNode.SetNodeReferenceID(name, value.GetID() if value else None)
            return
        if not isinstance(value, (int, float) if kind is float else kind) or not all(r.minimum <= value <= r.maximum for r in ranges):
            raise ValueError(f"{name} cannot be {value!r}")
        self.parameterNode.SetParameter(name, str(value))

    return property(get, put)


def parameterNodeWrapper(cls):
    fields = typing.get_type_hints(cls, include_extras=True)
    properties = {name: _make_property(name, datatype, getattr(cls, name, None)) for name, datatype in fields.items()}
    return type(cls.__name__, (_ParameterNode,), {**properties, "allParameters": fields, "__doc__": cls.__doc__})
