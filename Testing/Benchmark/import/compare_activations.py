#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Class activation maps of whole slides beside pytorch-grad-cam's of the same picture in one piece: a table of differences.

    pip install itk-gigapixel torch torchvision grad-cam
    Testing/Benchmark/import/compare_activations.py [--tiles 256]

Classifiers of torchvision with drawn weights, and real H&E pictures ($GIGAPIXEL_TEST_DATA) side by side. pytorch-grad-cam
averages the gradient over the map's pixels, where ours is summed, and scales each map to 0..1: both are scaled to a maximum of 1
here, before anything is enlarged. Layers are those whose maps are pooled (DenseNet has no such module: a function follows its last
one). `factor` is what ours is divided by to be theirs; it should be the number of the map's pixels.
"""

import argparse
import os
import pathlib
import sys
import tempfile

import itk
import numpy
import tifffile
import torch
import torchvision
from PIL import Image
from pytorch_grad_cam import GradCAM
from pytorch_grad_cam.utils.model_targets import ClassifierOutputTarget

import itkgigapixel as gp

NETWORKS = {
    "resnet18": lambda network: network.layer4[-1],
    "resnet50": lambda network: network.layer4[-1],
    "efficientnet_b0": lambda network: network.features[-1],
    "mobilenet_v2": lambda network: network.features[-1],
}
CLASSES = ["normal", "benign", "tumor"]


def make_network(name):
    """Drawn weights, and norms whose statistics are not those of a network that was never used."""
    torch.manual_seed(1)
    network = getattr(torchvision.models, name)(weights=None, num_classes=len(CLASSES))
    for module in network.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            torch.nn.init.uniform_(module.running_var, 0.5, 2)
            torch.nn.init.normal_(module.running_mean, 0, 0.1)
    return network.eval()


def make_picture(data):
    """Four crops of nuclei, cut to a size that no stride divides."""
    names = sorted(name for name in (data / "histology").glob("*.png") if "_labels" not in name.name)
    side = 256
    crops = [numpy.asarray(Image.open(name).convert("RGB").resize((side, side))) for name in names[:6]]
    return numpy.vstack([numpy.hstack(crops[:3]), numpy.hstack(crops[3:])])[:493, :741]


def compute_theirs(network, layer, pixels, label):
    """The map before it is scaled and enlarged, and what the sum of the gradients is divided by there."""
    with GradCAM(model=network, target_layers=[layer]) as cam:
        tensor = torch.from_numpy(pixels.transpose(2, 0, 1)[None] / 255).float()
        targets = [ClassifierOutputTarget(label)]
        cam(input_tensor=tensor, targets=targets)
        gradients = cam.activations_and_grads.gradients[0].numpy()
        activations = cam.activations_and_grads.activations[0].numpy()
        found = cam.get_cam_image(tensor, layer, targets, activations, gradients, False)
    return numpy.maximum(found[0], 0), activations.shape[2] * activations.shape[3]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiles", type=int, default=256, help="side of the tiles that ours is computed in")
    options = parser.parse_args()
    if "GIGAPIXEL_TEST_DATA" not in os.environ:
        sys.exit("Name the folder of the test data: GIGAPIXEL_TEST_DATA")
    pixels = make_picture(pathlib.Path(os.environ["GIGAPIXEL_TEST_DATA"]))
    print("| network | class | map | difference, of a maximum of 1 | factor | the map's pixels |\n" + "| --- " * 6 + "|")
    worst = 0
    with tempfile.TemporaryDirectory() as folder:
        slide = pathlib.Path(folder) / "slide.tif"
        tifffile.imwrite(slide, pixels, tile=(256, 256), resolution=(20000, 20000), resolutionunit="CENTIMETER")
        for name, find_layer in NETWORKS.items():
            network = make_network(name)
            model = gp.import_network(network, class_names=CLASSES)
            for label, class_name in enumerate(CLASSES):
                ours = itk.array_view_from_image(gp.classify(slide, model, maps=True, map_class=class_name, tile_size=options.tiles).map)
                theirs, number = compute_theirs(network, find_layer(network), pixels, label)
                if ours.shape != theirs.shape or not theirs.max() > 0:
                    print(f"| {name} | {class_name} | {ours.shape}, theirs {theirs.shape} | their maximum is {theirs.max():.1g} | | |")
                    worst = numpy.inf if ours.shape != theirs.shape or ours.max() > 0 else worst
                    continue
                difference = abs(ours / ours.max() - theirs / theirs.max()).max()
                size = " x ".join(map(str, theirs.shape[::-1]))
                print(f"| {name} | {class_name} | {size} | {difference:.1e} | {ours.max() / theirs.max():.3f} | {number} |", flush=True)
                worst = max(worst, difference)
    return 0 if worst < 1e-4 else 1


if __name__ == "__main__":
    sys.exit(main())
