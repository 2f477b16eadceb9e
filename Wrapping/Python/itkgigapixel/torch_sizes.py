# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""The graph of a module of PyTorch for images of any size.

A module is exported at two sizes, the second one as odd as it takes. What is the same number in both is a constant; what is not is the size of another map,
or refused: the graph that is left holds for images of any size.
"""

from __future__ import annotations

import contextlib
import io
import logging
import math

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from itkgigapixel.torch_graph import SeesWholeImage, Unsupported
from itkgigapixel.torch_walk import Walk

#: That modules want sizes to be of, as they halve them; those that take any come first.
_MULTIPLES = (1, 2, 4, 8, 16, 32, 64, 128, 256)

#: Modules of libraries that leave out branches in training, and compute nothing in evaluation mode.
_DROPPING_BRANCHES = {"StochasticDepth", "DropPath"}


@contextlib.contextmanager
def _in_silence():
    """Without what PyTorch writes of a module that it cannot follow, as it is asked to: the error says it."""
    before = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        logging.disable(before)


def name_size(size) -> str:
    """(256, 320) as "256 x 320"."""
    return " x ".join(map(str, size))


def _check_axes(module, axes):
    """PyTorch itself says of a convolution of other axes what few understand, or takes the channels for an axis."""
    convolutions = [(name, each) for name, each in module.named_modules() if isinstance(each, torch.nn.modules.conv._ConvNd)]
    if convolutions and all(len(each.kernel_size) != axes for _, each in convolutions):
        name, first = convolutions[0]
        wanted = {1: "one axis", 2: "(height, width)", 3: "(depth, height, width)"}[len(first.kernel_size)]
        place = f' "{name}"' if name else ""
        raise Unsupported(f"The example has {axes} axes, and the module's {type(first).__name__}{place} is for {wanted}: give an example of these.")


def _export(module, channels, size, output):
    example = torch.zeros(1, channels, *size)
    try:
        with _in_silence():
            program = torch.export.export(module, (example,), strict=False)
    except Exception as error:  # torch.export raises anything
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise Unsupported(f"torch.export cannot follow the module at {name_size(size)} pixels: {first}") from error
    _open_regions(program.graph_module)
    walk = Walk(program, channels, output)
    if walk.missing:
        listed, whole = ", ".join(sorted(walk.missing)), walk.graph.list_whole_image()
        more = f"; more may be missing behind {', '.join(sorted(walk.shapeless))}, as what it gives is no map" if walk.unasked else ""
        raise Unsupported(f"The module needs operations that there are not here: {listed}{more}{'; and it sees the whole image: ' + whole if whole else ''}.")
    return walk.graph


def _open_regions(part):
    """Puts the operations of ``with torch.no_grad()`` and of autocast where they are in use: of an exported program both are modules.
    Autocast on the CPU stays one, as its numbers are of 16 bits; the one of CUDA changes nothing here."""
    for node in [each for each in part.graph.nodes if str(each.target) in ("wrap_with_autocast", "wrap_with_set_grad_enabled")]:
        begin = next(i for i, each in enumerate(node.args) if isinstance(each, torch.fx.Node))
        if begin > 1 and node.args[0] == "cpu" and node.args[2]:  # device, dtype, enabled, cache
            continue
        inner = getattr(part, node.args[begin].target)
        _open_regions(inner)
        there = dict(zip((each for each in inner.graph.nodes if each.op == "placeholder"), node.args[begin + 1 :]))
        with part.graph.inserting_before(node):
            for each in inner.graph.nodes:
                if each.op == "output":
                    results = torch.fx.map_arg(each.args[0], there.get)
                elif each.op != "placeholder":
                    there[each] = part.graph.node_copy(each, there.get)
        for user in list(node.users):  # each takes one of the results
            user.replace_all_uses_with(results[user.args[1]])
            part.graph.erase_node(user)
        part.graph.erase_node(node)


def make_graph(module, channels, example, output):
    """The graph of a module that is in evaluation mode.

    :param example: (height, width), of a volume (depth, height, width), that it is exported at, and near it at another size, at which it has to be the same network
    :returns: the graph, and the least multiple, of 1, 2, 4 ... 256, that the module wants sizes to be of
    :raises Unsupported: with the complete list of what is missing
    :raises SeesWholeImage: with the complete list of what is known, but is not computed
    """
    _check_axes(module, len(example))
    for multiple in _MULTIPLES:
        try:
            graph = _make_for_all_sizes(module, channels, example, multiple, output)
            break
        except Unsupported as error:
            if (multiple == 1 and not error.of_second_size) or multiple == _MULTIPLES[-1]:
                raise
    if graph.list_whole_image(computed=False):
        raise SeesWholeImage(graph)
    graph.of_image = graph.labels_image()
    graph.dropped.update({type(each).__name__ for each in module.modules()} & _DROPPING_BRANCHES)
    return graph, multiple


def _make_for_all_sizes(module, channels, example, multiple, output):
    second = _move(example, (-7, 11, -3) if multiple == 1 else (-multiple, multiple, -multiple))
    one = _export(module, channels, example, output)
    try:
        two = _export(module, channels, second, output)
        _require_acceptance(module, channels, second)
    except Unsupported as error:
        error.of_second_size = True
        raise
    if _outline(one) != _outline(two):
        # torch.export leaves out what does nothing at a size that all divides, as cutting off what was padded.
        third = _move(second, (-3 * multiple, 2 * multiple, 4 * multiple))  # of other remainders
        one, two = two, _export(module, channels, third, output)
        if _outline(one) != _outline(two):
            raise Unsupported(
                f"The module is another network for {name_size(second)} pixels than for {name_size(third)}: "
                "what it computes depends on the size by more than sizes of maps."
            )
    return _merge(one, two)


def _require_acceptance(module, channels, size):
    """Libraries have modules look at the size themselves, which torch.export leaves out. Nothing is computed."""
    try:
        with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
            module(torch.zeros(1, channels, *size))
    except (RuntimeError, ValueError, AssertionError) as error:
        raise Unsupported(f"The module refuses {name_size(size)} pixels: {(str(error).strip() or type(error).__name__).splitlines()[0]}") from error


def _move(size, by):
    """Another size, by so many pixels along each axis; by as many the other way where none would be left, as of thin volumes."""
    return tuple(side + more if side + more > 0 else side - more for side, more in zip(size, by))


def _outline(graph):
    return [(o["name"], o["type"], o.get("inputs")) for o in graph.operations]


def _merge(one, two):
    """What two sizes have in common, for all sizes."""
    for index, (a, b) in enumerate(zip(one.operations, two.operations)):
        # A pad may be of the same few pixels at both sizes by chance: what it makes fit counts.
        if "size" in a or any(a[key] != b.get(key) for key in a) or (a["type"] == "pad" and _find_like(one, two, index)[1]):
            _follow_size(one, two, index)
    for a, b in zip(one.operations, two.operations):
        a, b = ({key: value for key, value in o.items() if key != "inputs"} for o in (a, b))
        different = [key for key in a if a[key] != b.get(key)]
        if different:
            raise Unsupported(f'"{different[0]}" of "{a["name"]}" ({a["type"]}) depends on the size of the image in a way that is no size of another map.')
    return one


def _follow_size(one, two, index):
    """An operation whose numbers are those of the example: they become the size of another map, or a factor."""
    a, b = one.operations[index], two.operations[index]
    sizes = [graph.sizes[a["name"]] for graph in (one, two)]
    like, joined = _find_like(one, two, index)
    own = [graph.sizes[a["inputs"][0]] for graph in (one, two)]
    if a["type"] == "interpolate":
        factors = [side / given for side, given in zip(sizes[0], own[0])]
        same = all(math.floor(given * factor) == side for k in range(2) for given, factor, side in zip(own[k], factors, sizes[k]))
        for operation in (a, b):
            if like is not None:
                operation.pop("size", None)
                operation.pop("scale_factor", None)
                operation["inputs"] = [operation["inputs"][0], like]
            elif same and sizes[0] != sizes[1]:
                operation.pop("size", None)
                operation["scale_factor"] = factors
    elif a["type"] == "pad" and not joined and _find_multiple(own, sizes, (a, b)):
        for operation in (a, b):
            operation.update(after=[0] * len(sizes[0]), multiple=_find_multiple(own, sizes, (a, b)))
    elif a["type"] in ("pad", "crop") and like is not None:
        centered = a["type"] == "crop" and all(
            o["before"] == [(given - side) // 2 for given, side in zip(graph.sizes[o["inputs"][0]], graph.sizes[o["name"]])] for graph, o in ((one, a), (two, b))
        )
        if not centered and any(any(o["before"]) for o in (a, b)):
            return
        for operation in (a, b):
            del operation["before"], operation["after"]
            operation["inputs"] = [operation["inputs"][0], like]
            if centered and a["type"] == "crop":
                operation["center"] = True


def _find_multiple(own, sizes, pads):
    """The multiple that maps are padded to, right and bottom; 0: there is none."""
    if any(any(each["before"]) for each in pads):
        return 0
    rounded = (m for m in _MULTIPLES[1:] if all(-(-given // m) * m == side for k in range(2) for given, side in zip(own[k], sizes[k])))
    return next(rounded, 0)


def _find_like(one, two, index):
    """An earlier map that has the operation's size at both sizes of the image, rather one that it is joined with; and
    whether it is that."""
    name = one.operations[index]["name"]
    earlier = [o["name"] for o in one.operations[:index] if all(g.sizes[o["name"]] == g.sizes[name] for g in (one, two))]
    if not earlier:
        return None, False
    readers = [name]
    for operation in one.operations[index + 1 :]:
        if set(readers) & set(operation.get("inputs", ())):
            partners = [each for each in operation["inputs"] if each in earlier]
            if partners:
                return partners[0], True
            readers.append(operation["name"])
    return earlier[-1], False
