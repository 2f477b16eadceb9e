# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""From node to node of what ``torch.export`` says of a module at one size: what became of each, and what operations are given."""

from __future__ import annotations

import math
import operator
import re

from itkgigapixel.torch_graph import Graph, Unsupported

#: Of operations whose names in PyTorch end in how many axes their maps have.
_OF_AXES = re.compile(r"(.+?)_?([123])d")

#: What an operation gives that is refused, where nothing tells how its axes lie: those behind it cannot be asked.
UNKNOWN = ("", ())

#: Type of what stands for an operation that is missing in a graph, which is refused then: those behind it are asked as well.
MISSING = "missing"


def flatten(axes):
    """Of a map, those that lie behind each other one by one."""
    for axis in axes:
        yield from axis if isinstance(axis, tuple) else (axis,)


class Nodes:
    """Turns one exported program into a graph whose sizes are still those of the example."""

    def __init__(self, program, channels, output):
        self.graph = Graph()
        self.axes = 0  # of images and maps: 2, or 3 of volumes
        self.maps = ()  # axes of a batch of maps
        self.flat = ()  # axes of a batch of maps with all but the batch behind each other
        # node: (operation, order of axes), or a list of these. An axis of the node is one of the maps, or several of them, behind each other, as of tokens,
        # or below 0: -1, -2 ... are those that the channels of one pixel are laid out in.
        self.values = {}
        self.missing = {}  # operation of PyTorch: where it stands first
        self.shapeless = set()  # those of them whose results are not known to be maps
        self.unasked = False  # whether anything stands behind these
        signature = program.graph_signature
        names = {**signature.inputs_to_parameters, **signature.inputs_to_buffers, **signature.inputs_to_lifted_tensor_constants}
        tensors = {**dict(program.named_parameters()), **dict(program.named_buffers()), **program.constants}
        self.parameters = {}
        self.graph.untrained.update(name for name in names.values() if not tensors[name].requires_grad)
        for node in program.graph.nodes:
            if node.op == "placeholder" and node.name in names:
                self.parameters[node] = (names[node.name], tensors[names[node.name]])
            elif node.op == "placeholder":
                if self.values:
                    raise Unsupported("The module takes several inputs; one image is what a slide gives it.")
                self._put_image(node, channels)
            elif node.op == "output":
                self._find_output(node.args[0], output)
            elif node.op == "call_function":
                self._call(node)

    def _put_image(self, node, channels):
        size = node.meta["val"].shape[2:]
        self.axes = len(size)
        self.maps = tuple(range(2 + self.axes))
        self.flat = (0, self.maps[1:])
        more = {"axes": self.axes} if self.axes != 2 else {}
        self.values[node] = (self.graph.add("image", "input", (), size, channels=channels, **more), self.maps)

    def _find_output(self, outputs, wanted):
        self.graph.outputs = len(outputs)
        if wanted >= len(outputs):
            raise Unsupported(f"The module has {len(outputs)} outputs, there is no number {wanted}.")
        name, axes = self.values.get(outputs[wanted], UNKNOWN)
        if self.missing:
            return
        shape = outputs[wanted].meta["val"].shape
        self.graph.output = name
        if name:
            self.graph.remove_unread()
        classes = name and self.graph.is_one_pixel(name) and self.graph.list_whole_image()  # of the image
        if name and (classes or self.graph.list_whole_image(computed=False)):
            self.graph.classes = math.prod(shape)
            self.graph.end_behind_pool()
            return
        if axes != self.maps or tuple(shape[2:]) != self.graph.sizes["image"]:
            raise Unsupported(f"The module returns {list(shape)} for an image of {list(self.graph.sizes['image'])} pixels: no logits of each pixel.")
        self.graph.classes = shape[1]

    # What operations are given.

    def _refuse(self, node, why=""):
        name = str(node.target).replace("aten.", "").removesuffix(".default")
        name = f"{name} {why}".strip()
        self.missing.setdefault(name, node.name)
        if not self._stand_in(node):
            self.shapeless.add(name)

    def _stand_in(self, node) -> bool:
        """Puts a map of the node's shape into its place, whatever would compute it. Its axes lie as those of a map that it is computed from, or as those of an image.

        :returns: whether the node has such a shape; else what it gives is not known
        """
        shape = getattr(node.meta.get("val"), "shape", ())
        axes, extent = (), ()
        for source in node.all_input_nodes:
            name, order = self.values[source] if isinstance(self.values.get(source), tuple) else UNKNOWN
            groups = [i for i, axis in enumerate(order) if isinstance(axis, tuple)]
            if name and len(order) == len(shape) and all(shape[i] == source.meta["val"].shape[i] for i in groups):
                axes, extent = order, [shape[order.index(axis)] if axis in order else self.graph.sizes[name][axis - 2] for axis in self.maps[2:]]
                break
        if not axes and len(shape) == len(self.maps):
            axes, extent = self.maps, shape[2:]
        self.values[node] = (self.graph.add(node.name, MISSING, (), extent), axes) if axes else UNKNOWN
        return bool(axes)

    def _map(self, argument):
        """The operation that computes a node; raises LookupError where it is no map with its axes in their order."""
        name, axes = self.values[argument]
        if axes != self.maps:
            raise LookupError("of axes in another order")
        return name

    def _array(self, argument, shape=None):
        name, tensor = self.parameters[argument]
        return self.graph.take(name, tensor, shape)

    def _last(self, argument):
        """A map whose channels come last, and its axes."""
        name, axes = self.values[argument]
        self._check_channels(axes, -1)
        return name, axes

    @staticmethod
    def _check_channels(axes, dim):
        if axes[dim % len(axes)] != 1:
            raise LookupError("not over the channels")

    @staticmethod
    def _count_channels(shape, axes):
        if 1 not in axes:
            raise LookupError("of channels and pixels behind each other")
        return shape[axes.index(1)]

    def _arrays(self, **arguments):
        return {role: self._array(argument) for role, argument in arguments.items() if argument is not None}

    @staticmethod
    def _size(node):
        return node.meta["val"].shape[2:]

    def _put(self, node, kind, inputs, parameters=None, extent=None, axes=None, **attributes):
        extent = self._size(node) if extent is None else extent
        self.values[node] = (self.graph.add(node.name, kind, inputs, extent, parameters, **attributes), self.maps if axes is None else axes)

    def _pointwise(self, node, kind, argument, **attributes):
        name, axes = self.values[argument]
        self._put(node, kind, [name], extent=self.graph.sizes[name], axes=axes, **attributes)

    def _name(self, kind):
        """"conv" as "conv2d", or "conv3d" of volumes."""
        return f"{kind}{self.axes}d"

    def _along(self, values):
        """Numbers along (y, x), or (z, y, x)."""
        values = list(values) if isinstance(values, (list, tuple)) else [values]
        return values * self.axes if len(values) == 1 else values

    def _place(self, axis, value, other):
        """A number along one axis of a batch of maps, and another one along the others."""
        return [value if axis == 2 + i else other for i in range(self.axes)]

    def _call(self, node):
        if node.target is operator.getitem:
            return self._get_item(node, *node.args)
        base = str(node.target).split(".")[1] if "." in str(node.target) else str(node.target)
        base = base.removesuffix("_") if not base.startswith("_") else base
        of_axes = _OF_AXES.fullmatch(base)
        handler = getattr(self, "_on_" + (of_axes[1] if of_axes else base), None)
        schema = getattr(node.target, "_schema", None)
        if handler is None or schema is None:
            return self._refuse(node)
        if of_axes and int(of_axes[2]) != self.axes:
            return self._refuse(node, f"in a network for images of {self.axes} axes")
        if any(self.values.get(each) == UNKNOWN for each in node.all_input_nodes):
            self.unasked = True
            self._stand_in(node)
            return
        given = {argument.name: argument.default_value for argument in schema.arguments if argument.has_default_value()}
        given.update(zip((argument.name for argument in schema.arguments), node.args))
        given.update(node.kwargs)
        try:
            handler(node, given)
        except LookupError as error:
            self._refuse(node, "" if isinstance(error, (KeyError, IndexError)) else str(error))

    def _get_item(self, node, source, index):
        value = self.values[source]
        self.values[node] = value[index] if isinstance(value, list) else value
        if value == UNKNOWN:
            self._stand_in(node)
