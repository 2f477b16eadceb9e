# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Networks of PyTorch as graphs of operations, in the words of a network's JSON."""

from __future__ import annotations

import collections
import functools
import math
import re

import itk

from itkgigapixel.errors import GigapixelNotImplementedError, text_of

_MOST_CELLS = 4096  # that maps are pooled to
_NAMED_PLACES = 3  # of a type of operation: a sentence is no table


@functools.cache
def whole_image_operations() -> tuple[str, ...]:
    """Types of operations each value of which depends on all pixels of a map."""
    return tuple(itk.GigapixelModel.GetWholeImageOperations())


class Unsupported(GigapixelNotImplementedError):
    """A module that cannot be taken over: one sentence with all reasons."""

    def __init__(self, reasons):
        code, why = "E-NETWORK-OPERATION", reasons.rstrip(".")
        super().__init__(text_of({"code": code, "why": why}), code, why=why)

    of_second_size = False  # whether it can be exported at the first size


class SeesWholeImage(Unsupported):
    """A module that is a graph, all of whose operations are known, but for which nothing computes some of them yet."""

    def __init__(self, graph):
        self.operations = len(graph.operations)
        self.needs = graph.list_whole_image(computed=False)
        super().__init__(
            f"The module is a graph of {self.operations} operations, but does not run yet: nothing computes what sees the whole image: {self.needs}."
        )


def _chooses_pixels(operation) -> bool:
    return operation["type"] in ("crop", "slice") or (operation["type"] == "interpolate" and operation.get("mode", "nearest") == "nearest")


def _is_pool(operation) -> bool:
    """The mean or maximum of all pixels."""
    return re.fullmatch("adaptive_(avg|max)_pool[23]d", operation["type"]) is not None and math.prod(operation["output_size"]) == 1


def _is_reduced(operation) -> bool:
    """Whether what it makes of all pixels of a map is computed: means or the greatest of cells."""
    return operation["type"].startswith("adaptive_") and math.prod(operation["output_size"]) <= _MOST_CELLS


def _is_computed(operation) -> bool:
    return operation["type"] in ("instance_norm", "group_norm") or _is_reduced(operation)


class Graph:
    """Operations in their order, as in a network's JSON, and the arrays of parameters by their names in the module."""

    def __init__(self):
        self.operations = []
        self.arrays = {}  # name in the module: tensor in the shape that the operation wants
        self.shapes = {}  # name in the module: shape there, where it is another one
        self.sizes = {}  # name of an operation: (height, width) of its map, or (depth, height, width)
        self.output = ""
        self.outputs = 0  # how many the module has
        self.classes = 0  # channels of the output
        self.of_image = False  # whether they are classes of the image, not of its pixels
        self.dropped = set()  # operations of the module that are none here
        self.untrained = set()  # names of arrays that the module does not train: buffers, constants and frozen parameters

    def add(self, name, kind, inputs, extent, parameters=None, **attributes):
        operation = {"name": name, "type": kind}
        if inputs:
            operation["inputs"] = list(inputs)
        operation.update(attributes)
        if parameters:
            operation["parameters"] = parameters
        self.operations.append(operation)
        self.sizes[name] = tuple(extent)
        return name

    def pad_to(self, multiple):
        """For a module that takes multiples alone: the image is padded to one by its last pixels, and the output cut off."""
        for operation in self.operations:
            if "inputs" in operation:
                operation["inputs"] = ["padded" if name == "image" else name for name in operation["inputs"]]
        self.operations.insert(1, {"name": "padded", "type": "pad", "inputs": ["image"], "multiple": multiple, "mode": "replicate"})
        self.operations.append({"name": "cropped", "type": "crop", "inputs": [self.output, "image"]})
        self.output = "cropped"

    def end_behind_pool(self):
        """Of a module that returns the mean of its maps itself, as SqueezeNet: in a graph something is computed of it."""
        (last,) = (each for each in self.operations if each["name"] == self.output)
        if _is_pool(last):
            self.output = self.add("logits", "mul", [self.output], self.sizes[self.output], other=1.0)

    def remove_unread(self):
        """What other outputs of the module are computed by."""
        read = {self.output, "image"}
        for operation in reversed(self.operations):
            if operation["name"] in read:
                read.update(operation.get("inputs", ()))
        self.operations = [each for each in self.operations if each["name"] in read]
        kept = {name for each in self.operations for name in each.get("parameters", {}).values()}
        self.arrays = {name: tensor for name, tensor in self.arrays.items() if name in kept}
        self.shapes = {name: shape for name, shape in self.shapes.items() if name in kept}

    def labels_image(self) -> bool:
        """Whether the output is classes of the image, computed from nothing but what maps are pooled to over all of it."""
        by_name = {each["name"]: each for each in self.operations}
        seen, places = set(), [self.output]
        while places:
            name = places.pop()
            if name not in seen and not _is_reduced(by_name[name]):
                places += by_name[name].get("inputs", ())
            seen.add(name)
        return "image" not in seen and self.is_one_pixel(self.output)

    def is_one_pixel(self, name) -> bool:
        """Whether the map of an operation is of one pixel."""
        return math.prod(self.sizes[name]) == 1

    def list_whole_image(self, computed=True) -> str:
        """What there is of operations that see the whole image, with their places.

        :param computed: whether those that are computed are listed, too
        """
        listed = []
        for kind in whole_image_operations():
            names = [each["name"] for each in self.operations if each["type"] == kind and (computed or not _is_computed(each))]
            if names:
                places = ", ".join(names[:_NAMED_PLACES]) + (" ..." if len(names) > _NAMED_PLACES else "")
                listed.append(f"{kind} ({len(names)} place{'s' if len(names) > 1 else ''}: {places})")
        return ", ".join(listed)

    def strip(self) -> bool:
        """Takes off what makes probabilities of logits, also where pixels of these are chosen or copied behind it: so are the logits' then.

        :returns: whether there is something
        """
        by_name = {each["name"]: each for each in self.operations}
        readers = collections.Counter(name for each in self.operations for name in each.get("inputs", ()))
        behind, name = None, self.output
        while readers[name] == (behind is not None) and _chooses_pixels(by_name[name]):
            behind, name = by_name[name], by_name[name]["inputs"][0]
        end = by_name[name]
        # A sigmoid of probabilities is no probability of theirs.
        if end.get("inputs") and by_name[end["inputs"][0]]["type"] in ("sigmoid", "softmax", "hardsigmoid"):
            return False
        if end["type"] != ("sigmoid" if self.classes == 1 else "softmax") or readers[name] != (behind is not None):
            return False
        self.operations.remove(end)
        if behind is None:
            self.output = end["inputs"][0]
        else:
            behind["inputs"] = [end["inputs"][0], *behind["inputs"][1:]]
        self.dropped.add(f"{end['type']} at the end")
        return True

    def list_constants(self) -> list:
        """Arrays that operations would train, and the module does not."""
        weights = {name for each in self.operations for role, name in each.get("parameters", {}).items() if not role.startswith("running_")}
        return sorted(weights & self.untrained)

    def take(self, array, tensor, shape=None):
        """The parameter of an operation, in the shape that it wants."""
        if shape is not None and tuple(shape) != tuple(tensor.shape):
            self.shapes[array] = list(tensor.shape)
            tensor = tensor.reshape(shape)
        self.arrays[array] = tensor.detach()
        return array
