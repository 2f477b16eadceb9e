#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Which published networks are taken over, each with random weights. Documentation/evidence/networks.md sums the tables up.

    pip install itk-gigapixel[torch] torchvision timm segmentation-models-pytorch monai dynamic_network_architectures unet
    Testing/Benchmark/import/import_networks.py [NAME...] > table.md

NAME: only networks whose name holds one of these. Those for volumes are in a table of their own; brainchop's have the weights that
are published ($GIGAPIXEL_TEST_DATA), without which they are left out. A network is a graph if every operation of it is known by its name and shape, at
images of any size. One that runs has computed a random image of odd size here, in tiles (of a volume three along each axis), and in
PyTorch.
"""

import argparse
import contextlib
import io
import os
import pathlib
import re
import sys
import time
import warnings

import compare_volumes
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


def monai_of_volumes(name, *arguments, **options):
    from monai.networks import nets

    return getattr(nets, name)(3, *arguments, **options)


def nnunet(name, **blocks):
    """As nnU-Net plans for volumes of cubes: six levels, up to 320 channels."""
    from dynamic_network_architectures.architectures import unet

    nn = torch.nn
    return getattr(unet, name)(
        input_channels=1, n_stages=6, features_per_stage=[32, 64, 128, 256, 320, 320], conv_op=nn.Conv3d, kernel_sizes=3, strides=[1, 2, 2, 2, 2, 2], num_classes=3,
        n_conv_per_stage_decoder=blocks.pop("decoder"), conv_bias=True, norm_op=nn.InstanceNorm3d, norm_op_kwargs={"eps": 1e-5, "affine": True}, nonlin=nn.LeakyReLU,
        nonlin_kwargs={"inplace": True}, **blocks)


def meshnets():
    folder = pathlib.Path(os.environ.get("GIGAPIXEL_TEST_DATA", "")) / "networks/brainchop"
    names = sorted(each.name for each in folder.glob("*") if (each / "model.pth").exists())
    return {f"brainchop 3D {name}": lambda name=name: gp.load_meshnet(folder / name) for name in names}


VOLUMES = {
    "monai 3D UNet": lambda: monai_of_volumes("UNet", 1, 3, (16, 32, 64, 128), (2, 2, 2), num_res_units=2),
    "monai 3D UNet, batch norm": lambda: monai_of_volumes("UNet", 1, 3, (16, 32, 64, 128), (2, 2, 2), num_res_units=2, norm="batch"),
    "monai 3D BasicUNet": lambda: monai_of_volumes("BasicUNet", 1, 3),
    "monai 3D DynUNet": lambda: monai_of_volumes("DynUNet", 1, 3, (3, 3, 3, 3), (1, 2, 2, 2), (2, 2, 2)),
    "monai 3D SegResNet": lambda: monai_of_volumes("SegResNet", 16, 1, 3),
    "nnU-Net 3D PlainConvUNet": lambda: nnunet("PlainConvUNet", n_conv_per_stage=2, decoder=2),
    "nnU-Net 3D ResidualEncoderUNet": lambda: nnunet("ResidualEncoderUNet", n_blocks_per_stage=[1, 3, 4, 6, 6, 6], decoder=1),
    "torchio 3D UNet": compare_volumes.make_torchio,
    **meshnets(),
}


def summarize(proof):
    """What an import says of its proof, as cells: what the network labels, the image and its tiles, what differs."""
    size, unit, tile, found = re.fullmatch(r"On (\d+(?: x \d+)+) random (pixels|voxels) in tiles of (\d+), (.*)\.", proof).groups()
    differs = re.search(r"by at most ([-+.e\d]+)", found)[1] + (" of double" if "in double" in found else "")
    return "images" if "of the image" in found else unit, f"{size}, {tile}", differs


def choose_example(module):
    name = type(module).__name__
    return (320, 384) if "ception" in name or "Goog" in name else (224, 224) if "Transformer" in name else (256, 320)


def draw_norms(module, size):
    """Scales and shifts unlike the ones and zeros that norms begin with, which hide what a fold does wrong, and statistics as training finds them, of random images. Weights that were learnt stay."""
    layers = torch.nn.modules
    norms = (layers.batchnorm._BatchNorm, layers.instancenorm._InstanceNorm, torch.nn.GroupNorm, torch.nn.LayerNorm)
    module.eval()
    for each in module.modules():
        if not isinstance(each, norms):
            continue
        weight, variance = (getattr(each, key, None) for key in ("weight", "running_var"))
        if any(values is not None and (values != values.flatten()[0]).any() for values in (weight, variance)):
            continue
        if weight is not None:
            torch.nn.init.uniform_(each.weight, 0.5, 1.5)
            if each.bias is not None:
                torch.nn.init.normal_(each.bias, 0, 0.2)
        if variance is not None:
            each.train()
            each.momentum = 1.0
    if any(each.training for each in module.modules()):
        channels = next(values.shape[1] for values in module.parameters() if values.dim() > 3)
        with torch.no_grad():
            module(torch.randn(2, channels, *size))
    return module.eval()


def describe(make, example=None):
    """Cells of the table: how many operations the graph has, what running it gave, and what is missing."""
    torch.manual_seed(1)
    module = make()
    example = example or choose_example(module)
    draw_norms(module, example if len(example) == 2 else (64, 64, 64))
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
    for networks, image, example in ((NETWORKS, "image", None), (VOLUMES, "volume", (96, 128, 160))):
        chosen = {name: make for name, make in networks.items() if not names or any(each in name for each in names)}
        if chosen:
            print(f"\n| network | operations | labels | {image}, tiles | differs by | needs |\n| --- | --- | --- | --- | --- | --- |")
        for name, make in chosen.items():
            begin = time.time()
            print("|", " | ".join([name, *map(str, describe(make, example))]), "|", flush=True)
            print(f"{name}: {time.time() - begin:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
