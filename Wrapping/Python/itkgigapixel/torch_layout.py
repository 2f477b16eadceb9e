# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Operations of ``torch.export`` by which pixels, channels and axes come to lie elsewhere, their values as they are."""

from __future__ import annotations

import math

from itkgigapixel.torch_nodes import Nodes, flatten

#: Of a pixel_unshuffle, which becomes an operation for each channel.
_MOST_UNSHUFFLED = 64
#: That are concatenated at once.
_MOST_PARTS = 64


class Layout(Nodes):
    """Handlers of these operations, ``_on_`` and the operation's name."""

    # Pixels that move.

    def _upsample(self, node, a, mode, **attributes):
        scales = a.get("scale_factors") or [a.get(f"scales_{axis}") for axis in "dhw"[-self.axes :]]
        if None not in scales:
            attributes["scale_factor"] = [float(scale) for scale in scales]
        else:
            attributes["size"] = [int(side) for side in self._size(node)]
        self._put(node, "interpolate", [self._map(a.get("input", a.get("self")))], mode=mode, **attributes)

    def _on_upsample_nearest(self, node, a):
        self._upsample(node, a, "nearest")

    def _on_upsample_bilinear(self, node, a):
        self._upsample(node, a, "bilinear", align_corners=a["align_corners"])

    def _on_upsample_trilinear(self, node, a):
        self._upsample(node, a, "trilinear", align_corners=a["align_corners"])

    def _on_pad(self, node, a):
        sides = list(a["pad"]) + [0] * (2 * self.axes - len(a["pad"]))
        takes_off = max(sides) <= 0 and min(sides) < 0 and a["mode"] == "constant"
        if len(sides) != 2 * self.axes or (min(sides) < 0 and not takes_off) or a["mode"] not in ("constant", "reflect", "replicate"):
            raise LookupError(f"by {sides} ({a['mode']})")
        before, after = sides[-2::-2], sides[::-2]  # PyTorch begins with the last axis
        if takes_off:
            return self._crop(node, a["self"], [-side for side in before], [-side for side in after])
        self._put(node, "pad", [self._map(a["self"])], before=before, after=after, mode=a["mode"], **({"value": float(a["value"])} if a["value"] else {}))

    def _crop(self, node, source, before, after):
        """Along all axes at once, though PyTorch does it one by one: so the size may be that of another map."""
        last = self.graph.operations[-1]
        if last["type"] == "crop" and self.values[source][0] == last["name"] and len(source.users) == 1:
            before, after = ([a + b for a, b in zip(last[key], more)] for key, more in (("before", before), ("after", after)))
            self.graph.operations.pop()
            return self._put(node, "crop", last["inputs"], before=before, after=after)
        self._put(node, "crop", [self._map(source)], before=before, after=after)

    def _on_slice(self, node, a):
        shape = a["self"].meta["val"].shape
        axis = a["dim"] % len(shape)
        size = shape[axis]
        start, end = a["start"] or 0, size if a["end"] is None else a["end"]
        start, end = (min(max(each + size if each < 0 else each, 0), size) for each in (start, end))
        if (start, end, a["step"]) == (0, size, 1):
            self.values[node] = self.values[a["self"]]
            return
        if self.values[a["self"]][1][axis] == 1:
            if a["step"] != 1:
                return self._choose_channels(node, a["self"], range(start, end, a["step"]))
            self.values[node] = self._take_channels(node.name, a["self"], start, end - start)
            return
        name = self._map(a["self"])
        if axis == 0:
            raise LookupError("of the batch")
        if a["step"] == 1:
            self._crop(node, a["self"], self._place(axis, start, 0), self._place(axis, size - end, 0))
        elif end == size:
            self._put(node, "slice", [name], start=self._place(axis, start, 0), step=self._place(axis, a["step"], 1))
        else:
            raise LookupError("that steps and ends before the map does")

    def _choose_channels(self, node, source, channels):
        """A map's channels in any order; those that follow each other stay together."""
        name, axes = self.values[source]
        parts = []
        for channel in channels:
            if parts and parts[-1][0] + parts[-1][1] == channel:
                parts[-1][1] += 1
            else:
                parts.append([channel, 1])
        if len(parts) > _MOST_PARTS:
            raise LookupError(f"of more than {_MOST_PARTS} channels in another order")
        extent = self.graph.sizes[name]
        inputs = [self.graph.add(f"{node.name}_{number}", "slice_channels", [name], extent, start=start, channels=count) for number, (start, count) in enumerate(parts)]
        self._put(node, "cat", inputs, extent=extent, axes=axes)

    def _on_flip(self, node, a):
        axes = self.values[a["self"]][1]
        if [axes[each % len(axes)] for each in a["dims"]] != [1]:
            raise LookupError("not of channels")
        count = self._count_channels(a["self"].meta["val"].shape, axes)
        self._choose_channels(node, a["self"], range(count - 1, -1, -1))

    def _on_index_select(self, node, a):
        self._check_channels(self.values[a["self"]][1], a["dim"])
        count = self._count_channels(a["self"].meta["val"].shape, self.values[a["self"]][1])
        if a["index"] not in self.parameters:
            raise LookupError("by a map")
        self._choose_channels(node, a["self"], [int(each) % count for each in self.parameters[a["index"]][1]])

    def _on_index(self, node, a):
        """x[:, [2, 1, 0]]."""
        given = [(axis, index) for axis, index in enumerate(a["indices"]) if index is not None]
        if len(given) != 1 or given[0][1] not in self.parameters or self.parameters[given[0][1]][1].dim() != 1:
            raise LookupError("not of channels")
        self._on_index_select(node, {"self": a["self"], "dim": given[0][0], "index": given[0][1]})

    def _on_repeat(self, node, a):
        shape, given = node.meta["val"].shape, a["self"].meta["val"].shape
        axes = self.values[a["self"]][1]
        copies = [length // old for length, old in zip(shape, given)] if len(shape) == len(given) else [0]
        if any(count != 1 and axes[i] != 1 for i, count in enumerate(copies)) or max(copies) > _MOST_PARTS or min(copies) < 1:
            raise LookupError("not of channels")
        name = self.values[a["self"]][0]
        self._put(node, "cat", [name] * max(copies), extent=self.graph.sizes[name], axes=axes)

    def _take_channels(self, name, source, start, channels):
        """So many of a map's, as a map."""
        given, axes = self.values[source]
        return self.graph.add(name, "slice_channels", [given], self.graph.sizes[given], start=start, channels=channels), axes

    def _split_channels(self, node, source, dim):
        """Into as many parts as PyTorch makes of them."""
        axes = self.values[source][1]
        if axes[dim % len(axes)] != 1:
            raise LookupError("not of channels")
        parts, start = [], 0
        for number, part in enumerate(node.meta["val"]):
            channels = part.shape[axes.index(1)]
            parts.append(self._take_channels(f"{node.name}_{number}", source, start, channels))
            start += channels
        self.values[node] = parts

    def _on_chunk(self, node, a):
        self._split_channels(node, a["self"], a["dim"])

    _on_split = _on_split_with_sizes = _on_tensor_split = _on_chunk

    def _on_narrow(self, node, a):
        self._on_slice(node, {**a, "end": a["start"] + a["length"], "step": 1})

    def _on_pixel_unshuffle(self, node, a):
        """One pixel out of each block in turn; then, since PyTorch puts what becomes of one channel behind each other, channel by channel."""
        if self.axes != 2:
            raise LookupError(f"in a network for images of {self.axes} axes")
        name, factor, extent = self._map(a["self"]), a["downscale_factor"], self._size(node)
        channels = a["self"].meta["val"].shape[1]
        if channels > 1 and channels * factor**2 > _MOST_UNSHUFFLED:
            raise LookupError(f"to more than {_MOST_UNSHUFFLED} channels")
        places = [(y, x) for y in range(factor) for x in range(factor)]
        pixels = [self.graph.add(f"{node.name}_{y}_{x}", "slice", [name], extent, start=[y, x], step=[factor, factor]) for y, x in places]
        if channels > 1:
            pixels = [self.graph.add(f"{pixel}_{c}", "slice_channels", [pixel], extent, start=c, channels=1) for c in range(channels) for pixel in pixels]
        self._put(node, "cat", pixels)

    def _on_pixel_shuffle(self, node, a):
        if self.axes != 2:  # PyTorch's own is of the last two axes
            raise LookupError(f"in a network for images of {self.axes} axes")
        self._put(node, "pixel_shuffle", [self._map(a["self"])], upscale_factor=a["upscale_factor"])

    def _on_reshape(self, node, a):
        shape = node.meta["val"].shape
        if a["self"] in self.parameters:
            name, tensor = self.parameters[a["self"]]
            self.parameters[node] = (name, tensor.reshape(shape))
            return
        name, axes = self.values[a["self"]]
        if not self.graph.is_one_pixel(name):
            self.values[node] = (name, self._regroup(a["self"].meta["val"].shape, name, axes, shape))
            return
        if len(shape) > len(self.maps):
            raise LookupError("of pixels")
        # Of one pixel: the channels, or several axes that they are laid out in, and axes of length 1.
        parts = [axis for axis in flatten(axes) if axis < 0]
        if parts != sorted(parts, reverse=True):
            raise LookupError("of channels in another order")
        channels = [i for i, length in enumerate(shape) if length > 1] or [min(1, len(shape) - 1)]
        labels = (1,) if len(channels) == 1 else range(-1, -len(channels) - 1, -1)
        laid_out, others = dict(zip(channels, labels)), iter((0, *self.maps[2:]))
        self.values[node] = (name, tuple(laid_out[i] if i in laid_out else next(others) for i in range(len(shape))))

    def _regroup(self, given, name, axes, shape):
        """Axes of what a map of the shape *given* is reshaped to: whole axes, or several of them behind each other, as they lay before."""
        sides = dict(zip(self.maps[2:], self.graph.sizes[name]))
        sides[0], sides[1] = 1, math.prod(given) // math.prod(sides.values())
        left = list(flatten(axes))
        regrouped = []
        for length in shape:
            taken = [left.pop(0)] if left else []
            while left and math.prod(sides[axis] for axis in taken) < length:
                taken.append(left.pop(0))
            if not taken or math.prod(sides[axis] for axis in taken) != length:
                raise LookupError("of pixels")
            regrouped.append(taken[0] if len(taken) == 1 else tuple(taken))
        if left:
            raise LookupError("of pixels")
        return tuple(regrouped)

    _on_view = _on_unsqueeze = _on_squeeze = _on_flatten = _on_reshape

    def _on_expand(self, node, a):
        shape, given = node.meta["val"].shape, a["self"].meta["val"].shape
        if shape[2:] == given[2:] and given[1] == 1 and len(shape) == len(given) and shape[0] == given[0] and shape[1] <= _MOST_PARTS:
            return self._on_repeat(node, a)
        name = self._map(a["self"])
        if not self.graph.is_one_pixel(name) or shape[:2] != given[:2]:
            raise LookupError("of what is no single pixel")
        self._put(node, "interpolate", [name], mode="nearest", size=[int(side) for side in shape[2:]])

    _on_expand_as = _on_expand

    def _reorder(self, node, source, order):
        """Nothing but axes that lie in another order."""
        name, axes = self.values[source]
        self.values[node] = (name, tuple(axes[each] for each in order))

    def _on_permute(self, node, a):
        self._reorder(node, a["self"], [each % len(a["dims"]) for each in a["dims"]])

    def _on_transpose(self, node, a):
        order = list(range(len(self.values[a["self"]][1])))
        first, second = (a[key] for key in (("dim0", "dim1") if "dim0" in a else ("axis0", "axis1")))
        order[first], order[second] = order[second], order[first]
        self._reorder(node, a["self"], order)

    _on_swapaxes = _on_swapdims = _on_transpose

    def _on_movedim(self, node, a):
        count = len(self.values[a["self"]][1])
        sources, places = ([each % count for each in (value if isinstance(value, (list, tuple)) else [value])] for value in (a["source"], a["destination"]))
        order = [each for each in range(count) if each not in sources]
        for place, source in sorted(zip(places, sources)):
            order.insert(place, source)
        self._reorder(node, a["self"], order)

    _on_moveaxis = _on_movedim
