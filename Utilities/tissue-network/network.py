# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""The network: a chain of strided convolutions and sums, as the program's own kernels run it (`layers`)."""

import json
import struct

import numpy
import torch
from torch import nn

CHANNELS = (16, 24, 32, 48, 72)
CLASSES = 4


def make_layers(channels=CHANNELS):
    """Down to 1/32 in convolutions of stride 2, two convolutions there, and up again with what was there on the way down.
    The last layer gives the logits, so no feature map is as large as the image."""

    def layer(kind, name, inputs, outputs, kernel, stride, padding, activation="relu", **more):
        sizes = {"in": inputs, "out": outputs, "kernel": kernel, "stride": stride, "padding": padding}
        return {"name": name, "type": kind, **sizes, "activation": activation, **more}

    last = channels[-1]
    layers = []
    for k, (inputs, outputs) in enumerate(zip((3, *channels), channels), start=1):
        layers.append(layer("convolution", f"E{k}", inputs, outputs, 4, 2, 1))
    layers.append(layer("convolution", "M1", last, last, 3, 1, 1))
    layers.append(layer("convolution", "M2", last, last, 3, 1, 1, add=f"E{len(channels)}"))
    for k in range(len(channels) - 1, 0, -1):
        layers.append(layer("transposed convolution", f"D{k}", channels[k], channels[k - 1], 2, 2, 0, add=f"E{k}"))
    layers.append(layer("transposed convolution", "F", channels[0], CLASSES, 2, 2, 0, "none"))
    return layers


class TissueNetwork(nn.Module):
    """The layers with a batch norm behind each convolution but the last, which fold() takes into the weights.

    Input: N x 3 x height x width, (255 - RGB) / 255, sides multiples of 32. Output: logits of the four classes."""

    def __init__(self):
        super().__init__()
        self.layers = make_layers()
        self.kernels, self.norms = nn.ModuleDict(), nn.ModuleDict()
        for layer in self.layers:
            kind = nn.Conv2d if layer["type"] == "convolution" else nn.ConvTranspose2d
            is_last = layer["activation"] == "none"
            sizes = (layer["in"], layer["out"], layer["kernel"], layer["stride"], layer["padding"])
            self.kernels[layer["name"]] = kind(*sizes, bias=is_last)
            self.norms[layer["name"]] = nn.Identity() if is_last else nn.BatchNorm2d(layer["out"])

    def forward(self, maps):
        seen = {}
        for layer in self.layers:
            name = layer["name"]
            maps = self.norms[name](self.kernels[name](maps))
            if layer["activation"] == "relu":
                maps = torch.relu(maps)
            if "add" in layer:
                maps = maps + seen[layer["add"]]
            seen[name] = maps
        return maps

    def fold(self):
        """Weights and biases by layer, with the stored statistics of the batch norms in them."""
        arrays = {}
        for layer in self.layers:
            name = layer["name"]
            kernel, norm = self.kernels[name], self.norms[name]
            weight = kernel.weight.detach().double()
            if isinstance(norm, nn.Identity):
                bias = kernel.bias.detach().double()
            else:
                scale = norm.weight.detach().double() / torch.sqrt(norm.running_var.double() + norm.eps)
                shape = (-1, 1, 1, 1) if layer["type"] == "convolution" else (1, -1, 1, 1)
                weight = weight * scale.reshape(shape)
                bias = norm.bias.detach().double() - norm.running_mean.double() * scale
            arrays[f"{name}.weight"] = weight.float().numpy()
            arrays[f"{name}.bias"] = bias.float().numpy()
        return arrays


def write_model(network, file):
    """A model file of the program: safetensors with the network in its header."""
    inputs = {"channels": 3, "invert": True}
    description = {"name": "tissue-classes", "input": inputs, "layers": network.layers}
    description["loss"] = {"type": "softmax cross-entropy", "class weights": [1.0] * CLASSES}
    metadata = {"gigapixel": "1", "microns_per_pixel": "0", "network": json.dumps(description, indent=2)}
    header, place, blobs = {"__metadata__": metadata}, 0, []
    for name, array in sorted(network.fold().items()):
        blob = array.astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [place, place + len(blob)]}
        blobs.append(blob)
        place += len(blob)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    file.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def predict(network, pixels):
    """Probabilities of the classes, height x width x 4. The image is padded with white to a multiple of 32, as the program
    does it."""
    height, width = pixels.shape[:2]
    pad = ((0, -height % 32), (0, -width % 32), (0, 0))
    inverted = (255 - numpy.pad(pixels, pad, constant_values=255)).astype(numpy.float32) / 255
    network.eval()
    with torch.no_grad():
        logits = network(torch.from_numpy(inverted.transpose(2, 0, 1)[None].copy()))
    return torch.softmax(logits, 1)[0, :, :height, :width].permute(1, 2, 0).numpy()
