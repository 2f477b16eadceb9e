#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Which published networks are taken over, each with random weights: the table of Documentation/Networks.md.

    pip install itk-gigapixel[torch] torchvision timm segmentation-models-pytorch monai
    Testing/Benchmark/import/import_networks.py [NAME...] > table.md

NAME: only networks whose name holds one of these. A network is a graph if every operation of it is known by its name and shape, at
images of any size. One that runs has computed a random image of odd size here, in tiles, and in PyTorch.
"""

import argparse
import contextlib
import io
import re
import sys
import time
import warnings

import itkgigapixel as gp
import torch
from itkgigapixel.torch_graph import SeesWholeImage


def torchvision(name, **options):
    import torchvision

    return torchvision.models.get_model(name, weights=None, **options)


def segmentation_models(architecture, encoder):
    import segmentation_models_pytorch

    return getattr(segmentation_models_pytorch, architecture)(encoder, encoder_weights=None)


def monai(name, *arguments, **options):
    from monai.networks import nets

    return getattr(nets, name)(2, *arguments, **options)


def timm(name):
    import timm

    return timm.create_model(name, pretrained=False)


CLASSIFIERS = (
    "resnet18 resnet34 resnet50 vgg16_bn densenet121 mobilenet_v2 mobilenet_v3_small efficientnet_b0 convnext_tiny regnet_y_400mf "
    "inception_v3 googlenet"
).split()
SEGMENTERS = ("deeplabv3_resnet50", "fcn_resnet50", "lraspp_mobilenet_v3_large")
ARCHITECTURES = "Unet UnetPlusPlus FPN Linknet MAnet PAN PSPNet DeepLabV3Plus DeepLabV3".split()
TIMM = (
    "resnet18 resnet34 resnet50 resnet50d seresnet50 convnext_tiny efficientnet_b0 mobilenetv3_large_100 regnety_004 vit_small_patch16_224 "
    "swin_tiny_patch4_window7_224"
).split()
NETWORKS = {
    **{f"torchvision {name}": lambda name=name: torchvision(name) for name in CLASSIFIERS},
    **{f"torchvision {name}": lambda name=name: torchvision(name, weights_backbone=None) for name in SEGMENTERS},
    **{f"smp {name}(resnet34)": lambda name=name: segmentation_models(name, "resnet34") for name in ARCHITECTURES},
    "smp Unet(resnet18)": lambda: segmentation_models("Unet", "resnet18"),
    "smp Unet(efficientnet-b0)": lambda: segmentation_models("Unet", "efficientnet-b0"),
    "monai UNet, batch norm": lambda: monai("UNet", 3, 2, (16, 32, 64, 128), (2, 2, 2), num_res_units=2, norm="batch"),
    "monai UNet": lambda: monai("UNet", 3, 2, (16, 32, 64, 128), (2, 2, 2), num_res_units=2),
    "monai BasicUNet, batch norm": lambda: monai("BasicUNet", 3, 2, norm="batch"),
    "monai BasicUNet": lambda: monai("BasicUNet", 3, 2),
    "monai AttentionUnet": lambda: monai("AttentionUnet", 3, 2, (16, 32, 64), (2, 2)),
    "monai DynUNet, batch norm": lambda: monai("DynUNet", 3, 2, (3, 3, 3), (1, 2, 2), (2, 2), norm_name="batch"),
    "monai SegResNet": lambda: monai("SegResNet", 16, 3, 2),
    **{f"timm {name}": lambda name=name: timm(name) for name in TIMM},
}


def summarize(proof):
    """What an import says of its proof, as cells: what the network labels, the image and its tiles, what differs."""
    size, tile, found = re.fullmatch(r"On (\d+ x \d+) random pixels in tiles of (\d+), (.*)\.", proof).groups()
    classes = re.match(r"(\d+ of \d+) pixels have another class", found)
    number = re.search(r"by at most (\S+)", found)
    return "images" if "of the image" in found else "pixels", f"{size}, {tile}", f"{classes[1]} classes" if classes else number[1]


def describe(make):
    """Cells of the table: how many operations the graph has, what running it gave, and what is missing."""
    torch.manual_seed(1)
    module = make()
    example = (320, 384) if "ception" in type(module).__name__ or "Goog" in type(module).__name__ else (224, 224) if "Transformer" in type(module).__name__ else (256, 320)
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said):
            gp.import_network(module, example=example)
    except SeesWholeImage as error:
        return error.operations, "", "", "", error.needs
    except NotImplementedError as error:
        return "", "", "", "", str(error).removeprefix("The module needs operations that there are not here: ").rstrip(".")
    except RuntimeError as error:
        return "", "", "", "", str(error)
    operations, _, proof = said.getvalue().strip().partition(": ")[2].partition(". ")
    return operations.split()[0], *summarize(proof), ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    names = parser.parse_args().names
    warnings.filterwarnings("ignore")
    print("| network | operations | labels | image, tiles | differs by | needs |\n| --- | --- | --- | --- | --- | --- |")
    for name, make in NETWORKS.items():
        if names and not any(each in name for each in names):
            continue
        begin = time.time()
        print("|", " | ".join([name, *map(str, describe(make))]), "|", flush=True)
        print(f"{name}: {time.time() - begin:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
