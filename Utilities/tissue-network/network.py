# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""The network: a chain of strided convolutions and sums, as the program's own kernels run it (`layers`)."""

import json
import struct

import numpy
import torch
from torch import nn

CHANNELS = (16, 24, 32, 48, 72)
CLASSES = 4
# Red, green and blue as they are, and stretched.
INPUTS = 6
# Levels between the darkest and the brightest of a channel, below which it is stretched no further.
LEAST_RANGE = 24


def find_otsu(counts):
    """Otsu's threshold t, which separates [0, t) from [t, 255]; 256 where all have one value. As OtsuThreshold() of the
    program."""
    values = numpy.arange(len(counts))
    below, sums = numpy.cumsum(counts), numpy.cumsum(counts * values)
    above = below[-1] - below
    with numpy.errstate(divide="ignore", invalid="ignore"):
        difference = sums / below - (sums[-1] - sums) / above
    between = numpy.where((below > 0) & (above > 0), below * above * difference**2, -1.0)
    best = int(numpy.argmax(between))
    return best + 1 if between[best] > 0 else 256


def make_stretch(counts):
    """What the values of a channel become, of which an image has so many: the 1st percentile 0, Otsu's threshold between it
    and the 99th 128, and the 99th 255. So what is pale, or hardly shines, looks as anything else does."""
    cumulated = numpy.cumsum(counts) * 100
    low, high = (int(numpy.searchsorted(cumulated, cumulated[-1] / 100 * part)) for part in (1, 99))
    values = numpy.arange(256.0)
    if high - low < LEAST_RANGE:
        table = 128 + (values - (low + high) / 2) * 255 / LEAST_RANGE
    else:
        clipped = counts.astype(float)
        clipped[low] += clipped[:low].sum()
        clipped[high] += clipped[high + 1 :].sum()
        clipped[:low] = clipped[high + 1 :] = 0
        middle = find_otsu(clipped)
        table = numpy.where(values < middle, (values - low) / (middle - low) * 128, 255)
        if middle < high:
            table[middle:] = 128 + 127 * (values[middle:] - middle) / (high - middle)
        table[high:] = 255
    return numpy.clip(numpy.floor(table + 0.5), 0, 255).astype(numpy.uint8)


def stretch(pixels, weights=None):
    """All that the network sees, height x width x 6. Of weighted pixels some count more than others."""
    seen = [pixels]
    for k in range(3):
        channel = pixels[..., k]
        counts = numpy.bincount(channel.ravel(), None if weights is None else weights.ravel(), 256)
        seen.append(make_stretch(counts)[channel][..., None])
    return numpy.concatenate(seen, axis=2)


def make_layers(channels=CHANNELS):
    """Down to 1/32 in convolutions of stride 2, two convolutions there, and up again with what was there on the way down.
    The last layer gives the logits, so no feature map is as large as the image."""

    def layer(kind, name, inputs, outputs, kernel, stride, padding, activation="relu", **more):
        sizes = {"in": inputs, "out": outputs, "kernel": kernel, "stride": stride, "padding": padding}
        return {"name": name, "type": kind, **sizes, "activation": activation, **more}

    last = channels[-1]
    layers = []
    for k, (inputs, outputs) in enumerate(zip((INPUTS, *channels), channels), start=1):
        layers.append(layer("convolution", f"E{k}", inputs, outputs, 4, 2, 1))
    layers.append(layer("convolution", "M1", last, last, 3, 1, 1))
    layers.append(layer("convolution", "M2", last, last, 3, 1, 1, add=f"E{len(channels)}"))
    for k in range(len(channels) - 1, 0, -1):
        layers.append(layer("transposed convolution", f"D{k}", channels[k], channels[k - 1], 2, 2, 0, add=f"E{k}"))
    layers.append(layer("transposed convolution", "F", channels[0], CLASSES, 2, 2, 0, "none"))
    return layers


class TissueNetwork(nn.Module):
    """The layers with a batch norm behind each convolution but the last, which fold() takes into the weights.

    Input: N x 6 x height x width, (255 - stretch()) / 255, sides multiples of 32. Output: logits of the four classes."""

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
    inputs = {"channels": INPUTS, "invert": True}
    description = {"name": "tissue-classes", "input": inputs, "layers": network.layers}
    description["loss"] = {"type": "softmax cross-entropy", "class weights": [1.0] * CLASSES}
    metadata = {"gigapixel": "1", "microns_per_pixel": "0", "tile_size": "1024"}
    metadata["network"] = json.dumps(description, indent=2)
    header, place, blobs = {"__metadata__": metadata}, 0, []
    for name, array in sorted(network.fold().items()):
        blob = array.astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [place, place + len(blob)]}
        blobs.append(blob)
        place += len(blob)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    file.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def mix_models(files, shares, output):
    """Writes the weighted mean of the weights of model files. Networks that go on from the same weights can be mixed, and
    do better on unseen images than each of them."""
    blobs = [file.read_bytes() for file in files]
    begins = [8 + struct.unpack("<Q", blob[:8])[0] for blob in blobs]
    if len({blob[:begin] for blob, begin in zip(blobs, begins)}) > 1:
        raise SystemExit("--models: the files have different networks.")
    values = [numpy.frombuffer(blob[begin:], "<f4").astype(float) for blob, begin in zip(blobs, begins)]
    mean = sum(share * array for share, array in zip(shares, values)) / sum(shares)
    output.write_bytes(blobs[0][: begins[0]] + mean.astype("<f4").tobytes())


def find_moments(maps):
    """Mean and mean square of each channel."""
    return maps.mean((0, 2, 3)), maps.square().mean((0, 2, 3))


def read_model(network, file, batches):
    """Takes the weights of a model file, into which batch norms were folded, and gives the norms the statistics of the batches
    (N x 6 x height x width), so that a training goes on with what the file has."""
    blob = file.read_bytes()
    length = struct.unpack("<Q", blob[:8])[0]
    header, values = json.loads(blob[8 : 8 + length]), numpy.frombuffer(blob[8 + length :], "<f4")
    sums = {}
    for layer in network.layers:
        name = layer["name"]
        weight, bias = (
            torch.from_numpy(values[slice(*(place // 4 for place in part["data_offsets"]))].reshape(part["shape"]).copy())
            for part in (header[f"{name}.weight"], header[f"{name}.bias"])
        )
        kernel, norm = network.kernels[name], network.norms[name]
        if isinstance(norm, nn.Identity):
            kernel.bias.data = bias
        else:
            # A norm does not see the scale of the weights, but steps do: 0.1 is about what a training ends with.
            outputs = 0 if layer["type"] == "convolution" else 1
            others = [axis for axis in range(4) if axis != outputs]
            scale = weight.square().mean(others, keepdim=True).sqrt() / 0.1 + 1e-8
            weight = weight / scale
            norm.weight.data, norm.bias.data = scale.flatten().clone(), bias
            norm.running_mean.zero_()
            norm.running_var.fill_(1 - norm.eps)
            sums[name] = []
            kernel.register_forward_hook(lambda _, __, maps, name=name: sums[name].append(find_moments(maps)))
        kernel.weight.data = weight
    network.eval()
    with torch.no_grad():
        for batch in batches:
            network(batch)
        for name, found in sums.items():
            mean, square = (torch.stack(values).mean(0) for values in zip(*found))
            norm, variance = network.norms[name], square - mean.square()
            norm.bias += mean * norm.weight
            norm.weight *= torch.sqrt(variance + norm.eps)
            norm.running_mean.copy_(mean)
            norm.running_var.copy_(variance)
    for kernel in network.kernels.values():
        kernel._forward_hooks.clear()


def predict(network, pixels):
    """Probabilities of the classes, height x width x 4. Sides become multiples of 32 by more of the last row and column."""
    height, width = pixels.shape[:2]
    inverted = 255 - numpy.pad(stretch(pixels), ((0, -height % 32), (0, -width % 32), (0, 0)), mode="edge")
    network.eval()
    with torch.no_grad():
        logits = network(torch.from_numpy(inverted.astype(numpy.float32).transpose(2, 0, 1)[None] / 255))
    return torch.softmax(logits, 1)[0, :, :height, :width].permute(1, 2, 0).numpy()
