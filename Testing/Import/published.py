# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Published networks and what they are given: the same for those who store what others compute of it, and for the tests.

Networks and pictures lie below $GIGAPIXEL_TEST_DATA, not here.
"""

import gzip
import os
import pathlib
import struct

import numpy
from PIL import Image

FOLDER = os.environ.get("GIGAPIXEL_TEST_DATA")
DATA = pathlib.Path(FOLDER or pathlib.Path(__file__).parents[3] / "shared" / "data")

AXIAL, VOLUME = DATA / "networks/brainchop/axial_model.onnx", DATA / "volumes/brainchop-t1_crop.nii.gz"
RESNET, PICTURES = DATA / "networks/cifar-resnet/resnet20-12fca82f.th", DATA / "histology"

MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
FEATURES = 64  # channels of the last map


def read_volume():
    """Bytes of NIfTI-1: depth, height, width."""
    content = gzip.open(VOLUME).read()
    width, height, depth = struct.unpack_from("<3h", content, 42)
    (offset,) = struct.unpack_from("<f", content, 108)
    assert struct.unpack_from("<h", content, 70) == (2,)
    return numpy.frombuffer(content, numpy.uint8, width * height * depth, int(offset)).reshape(depth, height, width)


def make_places(plane, z):
    """Both inputs of the network for axial slices behind each other: the slice, and where each pixel lies."""
    y, x = numpy.mgrid[: plane.shape[0], : plane.shape[1]].astype(numpy.uint8)
    return numpy.stack([plane, y, x, numpy.full_like(x, z)], 2)


def list_pictures():
    """Of stained tissue, without those of its labels."""
    return [path for path in sorted(PICTURES.glob("*.png")) if not path.stem.endswith("_labels")]


def read_picture(path):
    return numpy.array(Image.open(path).convert("RGB"))


def make_trunk():
    """ResNet-20 for CIFAR up to its last map, enlarged to the image's size; and a channel of zeros, so that the features
    follow from the probabilities: log(p / p of zeros)."""
    operations = [{"name": "image", "type": "input", "channels": 3}]

    def add(name, kind, *inputs, **more):
        operations.append({"name": name, "type": kind, "inputs": list(inputs), **more})
        return name

    def convolve(name, norm, x, out, stride):
        return add(norm, "batch_norm", add(name, "conv2d", x, out_channels=out, kernel_size=3, stride=stride, padding=1, bias=False))

    x = add("relu", "relu", convolve("conv1", "bn1", "image", 16, 1))
    for stage, channels in ((1, 16), (2, 32), (3, FEATURES)):
        for block in range(3):
            name = f"layer{stage}.{block}"
            stride = 2 if stage > 1 and block == 0 else 1
            y = add(name + ".relu", "relu", convolve(name + ".conv1", name + ".bn1", x, channels, stride))
            y = convolve(name + ".conv2", name + ".bn2", y, channels, 1)
            if stride == 2:
                x = add(name + ".slice", "slice", x, step=2)
                x = add(name + ".pad", "pad_channels", x, before=channels // 4, after=channels // 4)
            x = add(name + ".end", "relu", add(name + ".add", "add", y, x))
    output = add("large", "interpolate", add("with_zeros", "pad_channels", x, after=1), "image")
    return {
        "name": "trunk", "input": {"channels": 3, "mean": MEAN, "deviation": DEVIATION},
        "operations": operations, "output": output, "loss": {"type": "softmax cross-entropy"},
    }


def get_features(probabilities):
    """Channels, height and width of the last map, a quarter of the image's sides, in double."""
    logarithms = numpy.log(probabilities[::4, ::4].astype(numpy.float64)).transpose(2, 0, 1)
    return logarithms[:FEATURES] - logarithms[FEATURES:]
