# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Results as tables and charts of the scene."""

import csv
import pathlib

import numpy as np
import slicer
import vtk
from slicer.i18n import tr as _

STATISTICS = "GigapixelSlide.statistics"  # the role of the table that a segmentation refers to


def makeStatistics(segmentation):
    """A table node: name, pixels, area in mm2 and percent of the segmentation for each segment."""
    table = slicer.mrmlScene.AddNewNodeByClass("vtkMRMLTableNode", _("{name} statistics").format(name=segmentation.GetName()))
    segmentation.SetNodeReferenceID(STATISTICS, table.GetID())
    updateStatistics(segmentation)
    return table


def updateStatistics(segmentation):
    """Fills the table that was made of a segmentation, if any, with its present numbers."""
    table = segmentation.GetNodeReference(STATISTICS)
    if table is None:
        return
    table.RemoveAllColumns()
    segments = segmentation.GetSegmentation()
    rows = []
    for i in range(segments.GetNumberOfSegments()):
        identifier = segments.GetNthSegmentID(i)
        image = segments.GetSegment(identifier).GetRepresentation("Binary labelmap")
        pixels = slicer.util.arrayFromSegmentInternalBinaryLabelmap(segmentation, identifier)
        count = int(np.count_nonzero(pixels == segments.GetSegment(identifier).GetLabelValue()))
        spacing = image.GetSpacing()
        rows.append((segments.GetSegment(identifier).GetName(), count, count * spacing[0] * spacing[1], pixels.size))
    _addColumn(table, vtk.vtkStringArray(), _("Segment"), [row[0] for row in rows])
    _addColumn(table, vtk.vtkLongArray(), _("Pixels"), [row[1] for row in rows])
    _addColumn(table, vtk.vtkDoubleArray(), _("Area in mm2"), [row[2] for row in rows])
    _addColumn(table, vtk.vtkDoubleArray(), _("Percent"), [100 * row[1] / row[3] for row in rows])


def makeProbabilities(name, probabilities):
    """A table node: each class and its probability."""
    table = slicer.mrmlScene.AddNewNodeByClass("vtkMRMLTableNode", name)
    _addColumn(table, vtk.vtkStringArray(), _("Class"), list(probabilities))
    _addColumn(table, vtk.vtkDoubleArray(), _("Probability"), list(probabilities.values()))
    return table


def makePlot(folder):
    """A chart node of a run's history: loss and validation loss over the epochs."""
    with open(pathlib.Path(folder) / "history.csv", newline="") as file:
        history = list(csv.DictReader(file))
    scene = slicer.mrmlScene
    table = scene.AddNewNodeByClass("vtkMRMLTableNode", _("{run} history").format(run=pathlib.Path(folder).name))
    chart = scene.AddNewNodeByClass("vtkMRMLPlotChartNode", table.GetName())
    chart.SetXAxisTitle(_("Epoch"))
    chart.SetYAxisTitle(_("Loss"))
    for name in history[0]:
        values = [float(row[name]) if row[name] else float("nan") for row in history]
        _addColumn(table, vtk.vtkDoubleArray(), name, values)
    for name, color in (("training_loss", (0.1, 0.4, 0.8)), ("validation_loss", (0.9, 0.4, 0.1))):
        series = scene.AddNewNodeByClass("vtkMRMLPlotSeriesNode", name)
        series.SetPlotType(series.PlotTypeScatter)
        series.SetAndObserveTableNodeID(table.GetID())
        series.SetXColumnName("epoch")
        series.SetYColumnName(name)
        series.SetColor(*color)
        chart.AddAndObservePlotSeriesNodeID(series.GetID())
    return chart


def _addColumn(table, array, name, values):
    array.SetName(name)
    for value in values:
        array.InsertNextValue(value)
    table.AddColumn(array)
