# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""The slides of a training: a table of the scene, and the files that are made of it.

A mask is a file, or a segmentation or a label volume of the scene. The table shows the name that the node had when it was
added, and refers to the node itself, which may be renamed. Nodes become files when the training starts, so that all
corrections count."""

import csv
import pathlib
from urllib.parse import quote

import slicer
from GigapixelSlideLib.places import findSlide
from slicer.i18n import tr as _

COLUMNS = ("slide", "mask", "label", "split")


def getTable(values):
    """The table node of the parameters, made where there is none."""
    if values.cohort is None:
        table = slicer.mrmlScene.AddNewNodeByClass("vtkMRMLTableNode", _("Slides to train on"))
        table.SetUseColumnTitleAsColumnHeader(True)
        for name in COLUMNS:
            table.AddColumn().SetName(name)
        values.cohort = table
    return values.cohort


def addRow(values):
    """Adds the open slide with the chosen mask, or the label."""
    mask = values.maskNode
    if not values.slide:
        raise ValueError(_("Open a slide first."))
    if mask is None and not values.maskFile and not values.label:
        raise ValueError(_("Choose a mask of this slide, or type the label of the slide."))
    if mask is not None and findSlide(mask) not in (None, values.slide):
        raise ValueError(
            _("{mask} lies on another slide: open {slide} first.").format(mask=mask.GetName(), slide=findSlide(mask))
        )
    table = getTable(values)
    if mask is not None:
        other = table.GetNodeReference(_role(mask.GetName()))
        if other not in (None, mask) and any(mask.GetName() == row[1] for row in getRows(values)):
            raise ValueError(_("Another mask of the table has the name {mask}. Rename this one.").format(mask=mask.GetName()))
        table.SetNodeReferenceID(_role(mask.GetName()), mask.GetID())
    row = table.AddEmptyRow()
    if row == 0 and not values.trainChannel:
        values.trainChannel = values.channel  # which is that of the view, and another with the next slide
    # The second slide validates, for without one the best weights are not known.
    split = "validation" if row == 1 else "train"
    texts = (values.slide, mask.GetName() if mask else values.maskFile, values.label, split)
    for column, text in enumerate(texts):
        table.SetCellText(row, column, text)


def _role(name):
    """The role in which the table refers to the mask that it shows by this name; scenes give some signs a meaning in roles."""
    return f"GigapixelSlide.mask.{quote(name, safe='')}"


def getRows(values):
    """Tuples in the order of COLUMNS."""
    table = values.cohort
    rows = range(table.GetNumberOfRows() if table else 0)
    return [tuple(table.GetCellText(row, column) for column in range(len(COLUMNS))) for row in rows]


def writeCohort(values):
    """Writes RUN.cohort.csv beside the run's folder, and the masks of the scene into RUN.masks. Returns its path."""
    rows, run = getRows(values), pathlib.Path(values.run)
    if not rows or not values.run:
        raise ValueError(_("Training needs slides with masks or labels, and a run folder."))
    masks = run.parent / f"{run.name}.masks"
    rows = [
        (slide, _findFile(values.cohort, mask, masks, i), label, split) for i, (slide, mask, label, split) in enumerate(rows, 1)
    ]
    cohort = run.parent / f"{run.name}.cohort.csv"
    with open(cohort, "w", newline="") as file:  # columns that no slide has are left out
        csv.writer(file).writerows(zip(*(column for column in zip(COLUMNS, *rows) if any(column[1:]))))
    return cohort


def _findFile(table, mask, folder, row):
    """The file of a mask: its own, or one that is written now."""
    node = table.GetNodeReference(_role(mask))
    if node is not None:
        return str(_saveMask(node, folder, row))
    if mask and not pathlib.Path(mask).is_file():
        raise ValueError(_("Row {row}: the scene has no mask {mask}, and there is no such file.").format(row=row, mask=mask))
    return mask


def _saveMask(node, folder, row):
    """By a storage node of its own: the scene's goes on saving the node where it did."""
    isSegmentation = node.IsA("vtkMRMLSegmentationNode")
    storage = slicer.vtkMRMLSegmentationStorageNode() if isSegmentation else slicer.vtkMRMLNRRDStorageNode()
    path = folder / f"{row}{'.seg' if isSegmentation else ''}.nrrd"
    folder.mkdir(parents=True, exist_ok=True)
    storage.SetFileName(str(path))
    if not storage.WriteData(node):
        raise ValueError(_("{mask} could not be written to {path}.").format(mask=node.GetName(), path=path))
    return path
