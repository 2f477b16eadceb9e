# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Where the nodes of a slide lie in mm, and how they move together when its resolution is stated.

The center of a slide's first pixel is the origin of Slicer's world. So another resolution makes everything that lies on the
slide larger or smaller about the origin."""

import vtk
from slicer.util import getNodesByClass

SLIDE = "GigapixelSlide.slide"
SPACING = "GigapixelSlide.spacing"  # of the slide's level 0 in mm, along x and y


def setPlace(node, slide, spacing):
    """Notes which slide a node was made from, and at which spacing of level 0."""
    node.SetAttribute(SLIDE, slide)
    node.SetAttribute(SPACING, " ".join(repr(float(length)) for length in spacing))


def findSlide(node):
    """The file of the slide that a node was made from or drawn over; None: not known."""
    slide = node.GetAttribute(SLIDE)
    if slide is None and node.IsA("vtkMRMLSegmentationNode") and _volume(node):
        slide = _volume(node).GetAttribute(SLIDE)
    return slide


def moveNode(node, spacing):
    """Moves a node that has a place to another spacing of level 0, and returns its scales along x and y."""
    scales = [new / float(old) for new, old in zip(spacing, node.GetAttribute(SPACING).split())]
    _scale(node, scales)
    setPlace(node, node.GetAttribute(SLIDE), spacing)
    return scales


def moveSlide(slide, spacing, region=None):
    """Moves all that was made from a slide to another spacing of level 0, and what was drawn on it: segmentations that were
    drawn over its volumes, and markups. Markups do not say what they were drawn on: where the scene holds something else that
    they may lie on (another slide, a volume, a model), only *region* moves. Returns the segmentations among them."""
    placed = [node for node in getNodesByClass("vtkMRMLDisplayableNode") if node.GetAttribute(SLIDE)]
    own = [node for node in placed if node.GetAttribute(SLIDE) == slide]
    if not own:
        return []
    drawn = [node for node in getNodesByClass("vtkMRMLSegmentationNode") if node not in placed and _volume(node) in own]
    markups = [region] if region else []
    if len(own) == len(placed) and all(node in own for node in _bodies()):
        markups = getNodesByClass("vtkMRMLMarkupsNode")
    for node in own:
        scales = moveNode(node, spacing)
    for node in (*drawn, *markups):
        _scale(node, scales)
    return [node for node in (*own, *drawn) if node.IsA("vtkMRMLSegmentationNode")]


def _bodies():
    """Volumes and models that a user sees in lists; the planes of slice views are models, too."""
    models = [node for node in getNodesByClass("vtkMRMLModelNode") if not node.GetHideFromEditors()]
    return [*getNodesByClass("vtkMRMLVolumeNode"), *models]


def _volume(segmentation):
    return segmentation.GetNodeReference(segmentation.GetReferenceImageGeometryReferenceRole())


def _scale(node, scales):
    if scales != [1, 1]:
        matrix = vtk.vtkMatrix4x4()
        matrix.SetElement(0, 0, scales[0])
        matrix.SetElement(1, 1, scales[1])
        node.ApplyTransformMatrix(matrix)
