# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""What the tissue network and the rule decide together, computed as the program does but with any numbers for how certain
the network has to be and what its pen counts; and how these are chosen on pictures that no network involved has seen."""

import json
import struct

import cv2
import numpy
from tissue_copies import find_stained, get_factor, make_input, shrink_by
from tissue_pictures import ARTIFACT, PEN, TISSUE
from tissue_scores import score

# How certain the network has to be, in the program; and by what the odds of its pen are multiplied.
SHIPPED = (0.7, 1.0)
CHOICES = [(certainty, weight) for certainty in (0.6, 0.7, 0.8, 0.9) for weight in (0.5, 0.7, 1.0, 1.4, 2.0)]
LABEL_GRID = 4.0  # µm, as the pictures are labeled
LARGEST_HOLE, LEAST_PIECE = 8000, 10000  # µm²


def load_network(file):
    """The layers and the arrays of a model file, which is a safetensors file with the network in its header."""
    content = file.read_bytes()
    begin = 8 + struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8:begin])
    layers = json.loads(header.pop("__metadata__")["network"])["layers"]
    arrays = {}
    for name, entry in header.items():
        first, last = entry["data_offsets"]
        arrays[name] = numpy.frombuffer(content[begin + first : begin + last], numpy.float32).reshape(entry["shape"])
    return layers, arrays


def weigh_pen(file, weighed, factor):
    """Writes a model whose odds of pen are those of the given one times the factor: what it was trained with counts pen more
    or less than a decision should, which the last layer's bias makes up for."""
    content = bytearray(file.read_bytes())
    begin = 8 + struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8:begin])
    last = json.loads(header["__metadata__"]["network"])["layers"][-1]["name"]
    place = begin + header[last + ".bias"]["data_offsets"][0] + 4 * PEN
    struct.pack_into("<f", content, place, struct.unpack_from("<f", content, place)[0] + numpy.log(factor))
    unfinished = weighed.with_suffix(".unfinished")
    unfinished.write_bytes(content)
    unfinished.rename(weighed)


def convolve(maps, weight, bias, stride, padding):
    maps = numpy.pad(maps, ((0, 0), (padding, padding), (padding, padding)))
    side = weight.shape[2]
    windows = numpy.lib.stride_tricks.sliding_window_view(maps, (side, side), axis=(1, 2))[:, ::stride, ::stride]
    height, width = windows.shape[1:3]
    columns = windows.transpose(1, 2, 0, 3, 4).reshape(height * width, -1)
    return (columns @ weight.reshape(len(weight), -1).T + bias).T.reshape(-1, height, width)


def enlarge(maps, weight, bias):
    """A transposed convolution with a kernel and a stride of two."""
    channels, height, width = maps.shape
    blocks = weight.reshape(channels, -1).T @ maps.reshape(channels, -1)
    blocks = blocks.reshape(-1, 2, 2, height, width).transpose(0, 3, 1, 4, 2)
    return blocks.reshape(-1, 2 * height, 2 * width) + bias[:, None, None]


def predict(network, pixels):
    """Probabilities of the four classes, classes x height x width."""
    layers, arrays = network
    height, width = pixels.shape[:2]
    maps = (255 - pixels.astype(numpy.float32)).transpose(2, 0, 1) / 255
    maps = numpy.pad(maps, ((0, 0), (0, -height % 32), (0, -width % 32)))
    kept = {}
    for layer in layers:
        weight, bias = arrays[layer["name"] + ".weight"], arrays[layer["name"] + ".bias"]
        if layer["type"] == "convolution":
            maps = convolve(maps, weight, bias, layer["stride"], layer["padding"])
        else:
            maps = enlarge(maps, weight, bias)
        maps = numpy.maximum(maps, 0) if layer["activation"] == "relu" else maps
        maps = maps + kept[layer["add"]] if "add" in layer else maps
        kept[layer["name"]] = maps
    powers = numpy.exp(maps[:, :height, :width] - maps[:, :height, :width].max(axis=0))
    return powers / powers.sum(axis=0)


def look_at(picture, network):
    """What the decision is made of: the rule's answer on the label grid, the network's probabilities there, and the grid."""
    shrink = max(1, round(LABEL_GRID / picture["mpp"]))
    grid = shrink_by(picture["pixels"], shrink)
    label_mpp = picture["mpp"] * shrink
    factor = get_factor(label_mpp)
    rule = find_stained(grid)[1]
    probabilities = predict(network, make_input(grid, factor))
    probabilities = probabilities.repeat(factor, 1).repeat(factor, 2)[:, : grid.shape[0], : grid.shape[1]]
    return {"rule": rule, "probabilities": probabilities, "fine": factor > 1, "mpp": label_mpp, "shrink": shrink}


def decide(seen, choice, shape):
    """The mask, at the size of the picture: Judge() of gigapixelTissueNetwork.cxx, holes filled and pieces removed."""
    certainty, weight = choice
    rule, pen = seen["rule"], seen["probabilities"][PEN] * weight
    whole = 1 - seen["probabilities"][PEN] + pen
    tissue = seen["probabilities"][TISSUE] / whole
    if seen["fine"]:
        mask = rule & (pen + seen["probabilities"][ARTIFACT] < certainty * whole)
    else:
        mask = numpy.where(rule, tissue >= numpy.float32(1 - certainty), tissue >= certainty)
    for wanted, limit in ((False, LARGEST_HOLE), (True, LEAST_PIECE)):
        parts = (mask == wanted).astype(numpy.uint8)
        _, pieces, figures, _ = cv2.connectedComponentsWithStats(parts, connectivity=8 if wanted else 4)
        small = figures[:, cv2.CC_STAT_AREA] * seen["mpp"] ** 2 < limit + (not wanted)
        if not wanted:  # what touches the border is no hole
            small[numpy.unique(numpy.concatenate([pieces[0], pieces[-1], pieces[:, 0], pieces[:, -1]]))] = False
        small[0] = False
        mask = mask ^ small[pieces]
    mask = mask.repeat(seen["shrink"], 0).repeat(seen["shrink"], 1)
    return mask[: shape[0], : shape[1]]


def judge_decision(pictures, seen, choice):
    return {p["name"]: score(decide(seen[p["name"]], choice, p["classes"].shape), p["classes"]) for p in pictures}


def rate(results):
    """Mean intersection over union, less half of the mean share of pen that is called tissue."""
    ious = [figures["iou"] for figures in results if "iou" in figures]
    pens = [figures["pen"] for figures in results if "pen" in figures]
    return numpy.mean(ious) - 0.5 * (numpy.mean(pens) if pens else 0)


def choose(pictures, seen):
    """What does best on these pictures."""
    return max(CHOICES, key=lambda choice: rate(judge_decision(pictures, seen, choice).values()))
