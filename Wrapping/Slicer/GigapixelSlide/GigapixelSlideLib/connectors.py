# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Widgets that Slicer's parameter nodes do not connect by themselves."""

import ctk
from slicer.parameterNodeWrapper import GuiConnector, parameterNodeGuiConnector, unannotatedType


@parameterNodeGuiConnector
class PathToTextConnector(GuiConnector):
    """A path as a text. An empty pathlib.Path, which Slicer connects, is the folder "."."""

    @staticmethod
    def canRepresent(widget, datatype):
        return type(widget) is ctk.ctkPathLineEdit and unannotatedType(datatype) is str

    @staticmethod
    def create(widget, datatype):
        return PathToTextConnector(widget) if PathToTextConnector.canRepresent(widget, datatype) else None

    def __init__(self, widget):
        super().__init__()
        self._widget = widget

    def _connect(self):
        self._widget.currentPathChanged.connect(self.changed)

    def _disconnect(self):
        self._widget.currentPathChanged.disconnect(self.changed)

    def widget(self):
        return self._widget

    def read(self):
        return self._widget.currentPath

    def write(self, value):
        if value != self._widget.currentPath:
            self._widget.currentPath = value


class ListConnector(GuiConnector):
    """A list whose choices are known when a slide has been opened. Each choice has a value of the parameter as its data."""

    @staticmethod
    def canRepresent(widget, datatype):
        return False  # made by name only

    @staticmethod
    def create(widget, datatype):
        return None

    def __init__(self, widget):
        super().__init__()
        self._widget = widget

    def _connect(self):
        self._widget.currentIndexChanged.connect(self.changed)

    def _disconnect(self):
        self._widget.currentIndexChanged.disconnect(self.changed)

    def widget(self):
        return self._widget

    def read(self):
        return self._widget.itemData(self._widget.currentIndex)

    def write(self, value):
        """A value that is no choice yet waits for fill()."""
        index = self._widget.findData(value)
        if index >= 0:
            self._widget.currentIndex = index


def fill(widget, choices, value):
    """Puts (text, value) pairs into a list, chooses the value, else the first, and returns what is chosen."""
    wasBlocked = widget.blockSignals(True)
    widget.clear()
    for text, data in choices:
        widget.addItem(text, data)
    widget.currentIndex = max(widget.findData(value), 0)
    widget.blockSignals(wasBlocked)
    return widget.itemData(widget.currentIndex)
