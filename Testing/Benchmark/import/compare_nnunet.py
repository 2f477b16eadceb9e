#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Trainings of nnU-Net with weights by chance, on volumes: labels of gp.segment_volume beside those of nnU-Net's own predictor.

    Testing/Benchmark/import/compare_nnunet.py [--size 60 84 76] [--patch 32 48 40] [--folds 2]

For each network, normalization and spacing it writes the folder of a training, takes it over with gp.import_nnunet, and segments a random
volume with a margin of zeros by patches, blended and mirrored along all axes. nnU-Net's predictor does the same twice: as it is, with sums of half precision, and
with its sums in floats. A tie is a voxel whose two most probable classes differ by less than 1e-4, of the former 1e-2. Needs itk-gigapixel[torch], nnunetv2 and SimpleITK.
"""

import argparse
import json
import os
import pathlib
import sys
import tempfile

for name in ("nnUNet_raw", "nnUNet_preprocessed", "nnUNet_results"):
    os.environ.setdefault(name, tempfile.gettempdir())

import itk
import itkgigapixel as gp
import numpy as np
import torch
from torch import nn

ARCHITECTURE = {
    "n_stages": 3, "features_per_stage": [8, 16, 32], "conv_op": "torch.nn.modules.conv.Conv3d", "kernel_sizes": [[1, 3, 3], [3, 3, 3], [3, 3, 3]],
    "strides": [[1, 1, 1], [1, 2, 2], [2, 2, 2]], "n_conv_per_stage_decoder": [1, 1], "conv_bias": True, "norm_op": "torch.nn.modules.instancenorm.InstanceNorm3d",
    "norm_op_kwargs": {"eps": 1e-05, "affine": True}, "dropout_op": None, "dropout_op_kwargs": None, "nonlin": "torch.nn.LeakyReLU", "nonlin_kwargs": {"inplace": True},
}
BLOCKS = {"PlainConvUNet": {"n_conv_per_stage": [1, 1, 1]}, "ResidualEncoderUNet": {"n_blocks_per_stage": [1, 2, 2]}}
PROPERTIES = {"percentile_00_5": -900.0, "percentile_99_5": 300.0, "mean": 20.0, "std": 150.0, "median": 10.0, "min": -1000.0, "max": 900.0}
LABELS = {"background": 0, "organ": 1, "tumor": 2, "vessel": 3}
RESAMPLING = "resample_data_or_seg_to_shape"


def write_training(folder, kind="PlainConvUNet", patch=(16, 32, 24), spacing=(3.0, 1.0, 1.0), schemes=("ZScoreNormalization", "CTNormalization"), masked=(True, False), folds=1, mirrored=(0, 1, 2)):
    """As nnU-Net leaves it, with weights by chance that give all classes."""
    import dynamic_network_architectures.architectures.unet as unet

    name = f"dynamic_network_architectures.architectures.unet.{kind}"
    words = {**ARCHITECTURE, **BLOCKS[kind]}
    architecture = {"network_class_name": name, "arch_kwargs": words, "_kw_requires_import": ["conv_op", "norm_op", "dropout_op", "nonlin"]}
    values, classes = ({"is_seg": flag, "order": order, "order_z": 0, "force_separate_z": None} for flag, order in ((False, 3), (False, 1)))
    plan = {
        "architecture": architecture, "spacing": list(spacing), "patch_size": list(patch), "normalization_schemes": list(schemes), "use_mask_for_norm": list(masked),
        "data_identifier": "nnUNetPlans_3d_fullres", "preprocessor_name": "DefaultPreprocessor", "batch_size": 2, "batch_dice": True, "median_image_size_in_voxels": [60, 84, 76],
        "resampling_fn_data": RESAMPLING, "resampling_fn_data_kwargs": values, "resampling_fn_seg": RESAMPLING, "resampling_fn_seg_kwargs": {**classes, "is_seg": True},
        "resampling_fn_probabilities": RESAMPLING, "resampling_fn_probabilities_kwargs": classes,
    }
    plans = {
        "dataset_name": "Dataset001_Random", "plans_name": "nnUNetPlans", "configurations": {"3d_fullres": plan}, "image_reader_writer": "SimpleITKIO", "label_manager": "LabelManager",
        "experiment_planner_used": "ExperimentPlanner", "transpose_forward": [0, 1, 2], "transpose_backward": [0, 1, 2], "original_median_spacing_after_transp": list(spacing),
        "original_median_shape_after_transp": [60, 84, 76], "foreground_intensity_properties_per_channel": {str(c): PROPERTIES for c in range(len(schemes))},
    }
    dataset = {"channel_names": {str(c): scheme for c, scheme in enumerate(schemes)}, "labels": LABELS, "file_ending": ".nii.gz", "numTraining": 1}
    (folder / "plans.json").write_text(json.dumps(plans))
    (folder / "dataset.json").write_text(json.dumps(dataset))
    for fold in range(folds):
        torch.manual_seed(fold)
        made = dict(words, conv_op=nn.Conv3d, norm_op=nn.InstanceNorm3d, nonlin=nn.LeakyReLU, deep_supervision=True)
        module = getattr(unet, kind)(input_channels=len(schemes), num_classes=len(LABELS), **made)
        for each in module.modules():
            if isinstance(each, nn.InstanceNorm3d):
                nn.init.normal_(each.weight, 1, 0.3), nn.init.normal_(each.bias, 0, 0.3)
        (folder / f"fold_{fold}").mkdir()
        torch.save({"network_weights": module.state_dict(), "init_args": {"configuration": "3d_fullres", "fold": fold}, "trainer_name": "nnUNetTrainer",
                    "inference_allowed_mirroring_axes": mirrored}, folder / f"fold_{fold}" / "checkpoint_final.pth")


def make_volume(size, channels, seed=1):
    """(channels, z, y, x): smooth structures with noise, in a margin of zeros and with a hole of zeros that they enclose."""
    random = np.random.default_rng(seed)
    coarse = torch.from_numpy(random.standard_normal((1, channels, 7, 7, 7)))
    smooth = nn.functional.interpolate(coarse, size=size, mode="trilinear")[0].numpy()
    volume = (300 * smooth + 40 * random.standard_normal(smooth.shape) + 50).round()
    inside = np.ones(size, bool)
    for axis, length in enumerate(size):
        place = np.arange(length).reshape([-1 if each == axis else 1 for each in range(3)])
        inside &= (place >= length // 12) & (place < length - length // 9)
    inside[tuple(slice(length // 2, length // 2 + 4) for length in size)] = False
    return (volume * inside).astype(np.float32)


def predict_as_nnunet(folder, volume, spacing, folds, mirror=True, in_floats=False):
    """Labels and probabilities by nnU-Net's own predictor."""
    from nnunetv2.inference import predict_from_raw_data as predicting

    half, torch.half = torch.half, torch.float32 if in_floats else torch.half
    try:
        predictor = predicting.nnUNetPredictor(tile_step_size=0.5, use_gaussian=True, use_mirroring=mirror, perform_everything_on_device=False, device=torch.device("cpu"), allow_tqdm=False)
        predictor.initialize_from_trained_model_folder(str(folder), use_folds=tuple(range(folds)))
        written = [float(np.float32(each)) for each in spacing]  # as NIfTI keeps it: sizes are rounded, and 17.5 is a tie
        return predictor.predict_single_npy_array(volume.copy(), {"spacing": written}, None, None, True)
    finally:
        torch.half = half


def predict_here(folder, volume, spacing, folds, mirror=True):
    """Labels by gp.segment_volume, from files."""
    model = gp.import_nnunet(folder, fold=list(range(folds)) if folds > 1 else 0)
    with tempfile.TemporaryDirectory() as place:
        files = []
        for channel in volume:
            image = itk.image_from_array(channel)
            image.SetSpacing(list(spacing)[::-1])
            files.append(os.path.join(place, f"{len(files)}.nii.gz"))
            itk.imwrite(image, files[-1])
        return itk.array_from_image(gp.segment_volume(files, model, sliding_window=True, mirror=mirror))


def compare(given, expected, probabilities, tie):
    """Voxels of another label that are no ties, ties, and how many of these differ."""
    greatest = np.sort(probabilities, 0)[-2:]
    ties = greatest[1] - greatest[0] < tie
    different = given != expected
    return int((different & ~ties).sum()), int(ties.sum()), int((different & ties).sum())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, nargs=3, default=(60, 84, 76))
    parser.add_argument("--patch", type=int, nargs=3, default=(32, 48, 40))
    parser.add_argument("--folds", type=int, default=2)
    options = parser.parse_args()
    size, patch = tuple(options.size), tuple(options.patch)
    mri = {"schemes": ("ZScoreNormalization", "CTNormalization"), "masked": (True, False)}
    unmasked = {"schemes": ("ZScoreNormalization", "RescaleTo01Normalization"), "masked": (False, False)}
    plain, residual = "PlainConvUNet", "ResidualEncoderUNet"
    cases = [
        ("plain, one fold", plain, 1, mri, (1.0, 1.0, 1.0)), ("residual encoder, one fold", residual, 1, unmasked, (1.0, 1.0, 1.0)),
        (f"plain, {options.folds} folds", plain, options.folds, mri, (1.0, 1.0, 1.0)), ("plain, from 1.3 x 0.8 x 0.9 mm", plain, 1, mri, (1.3, 0.8, 0.9)),
        ("residual encoder, slices of 5 mm", residual, 1, mri, (5.0, 0.8, 0.8)), ("plain, from 0.7 mm", plain, 1, unmasked, (0.7, 0.7, 0.7)),
    ]
    print("| network and volume | labels as many as | voxels of another label, nnU-Net's sums in floats | ties | as it is | ties |")
    print("| --- | --- | --- | --- | --- | --- |")
    worst = 0
    for name, kind, folds, normalization, spacing in cases:
        with tempfile.TemporaryDirectory() as place:
            folder = pathlib.Path(place)
            write_training(folder, kind, patch, (1.0, 1.0, 1.0), folds=folds, **normalization)
            volume = make_volume(size, 2)
            given = predict_here(folder, volume, spacing, folds)
            row = []
            for in_floats, tie in ((True, 1e-4), (False, 1e-2)):
                expected, probabilities = predict_as_nnunet(folder, volume, spacing, folds, in_floats=in_floats)
                wrong, ties, differing = compare(given, expected, probabilities, tie)
                row += [f"{wrong} of {given.size}", f"{ties}, {differing} differ"]
                worst = max(worst, wrong if in_floats else 0)
        print(f"| {name} | {np.bincount(given.ravel(), minlength=4).tolist()} | {' | '.join(row)} |", flush=True)
    return int(worst > 0)


if __name__ == "__main__":
    sys.exit(main())
