# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Networks that nnU-Net has trained (https://github.com/MIC-DKFZ/nnUNet), from the folder of a training."""

from __future__ import annotations

import importlib
import json
import pathlib
from typing import Optional, Sequence, Union

import itk

from itkgigapixel.errors import MESSAGES, GigapixelError, error_of, in_a_sentence, names_arguments, warn
from itkgigapixel.importing import import_network
from itkgigapixel.slide_content import Path

#: Where classes that plans name may come from: a name is a way to run anything.
_PACKAGES = ("dynamic_network_architectures.", "torch.nn.")

#: Channels that nnU-Net normalizes by figures of the volume, as an input block has it; those of "use_mask_for_norm" count what is not 0 and what
#: that encloses, the others all of the box around it, which nnU-Net crops volumes to.
_OF_VOLUME = {"ZScoreNormalization": {"type": "z-score"}, "RescaleTo01Normalization": {"type": "percentiles", "low": 0, "high": 100}}
#: Those that it normalizes by fixed numbers.
_FIXED = ("CTNormalization", "NoNormalization", "RGBTo01Normalization")
#: The orientation in which nnU-Net's readers give volumes. Of other readers it is not known.
_ORIENTATIONS = {"NibabelIOWithReorient": "RAS", "NibabelIO": "stored", "SimpleITKIO": "stored"}


@names_arguments
@in_a_sentence()
def import_nnunet(folder: Path, path: Optional[Path] = None, *, fold: Union[int, str, Sequence[Union[int, str]]] = 0, checkpoint: str = "checkpoint_final.pth", tile_size: Optional[int] = None) -> itk.GigapixelModel:
    """Takes over a network that nnU-Net, version 2, has trained: plain and residual encoder U-Nets, of two axes or for volumes.

    Architecture, classes and channels are those of ``plans.json`` and ``dataset.json``, weights those of the fold's checkpoint, of
    which tensors and numbers alone are read. It is proven as :func:`import_network` does. Of a network for volumes the model does what nnU-Net does
    before and behind it: :func:`segment_volume` crops volumes to what is not 0, normalizes each channel, brings volumes to the spacing of the plans and labels
    back. With ``sliding_window=True, mirror=True`` it applies the network to patches as nnU-Net's own predictor does. Of one of two axes, normalization, spacing and patch
    size are kept in the model's provenance alone.

    Parameters
    ----------
    folder : path-like
        Folder of a training, such as ``nnUNetTrainer__nnUNetPlans__3d_fullres``, with ``plans.json``, ``dataset.json`` and
        ``fold_0``.
    path : path-like, optional
        The model file to write (``*.safetensors``). None: none is.
    fold : int, str or sequence of these, default 0
        Number of the fold, or "all", or several: the model's logits are the mean of theirs then, and it takes as many times
        as long.
    checkpoint : str, default "checkpoint_final.pth"
        Name of the file in the fold's folder.
    tile_size : int, optional
        Side of the tiles' cores, as :func:`import_network` takes it.

    Returns
    -------
    itk.GigapixelModel
        The model, for :func:`segment` and :func:`segment_volume`.

    Raises
    ------
    ImportError
        The package dynamic_network_architectures, which nnU-Net's networks are of, is not installed.
    ValueError
        One sentence: the files are not those of such a training.
    NotImplementedError
        Labels that overlap (regions), which no losses and masks are made of here, axes that nnU-Net has put into another
        order, or what :func:`import_network` refuses.
    OSError
        What cannot be read.

    Examples
    --------
    >>> model = gp.import_nnunet("nnUNetTrainer__nnUNetPlans__3d_fullres", "model.safetensors", fold="all")
    >>> labels = gp.segment_volume("t1.nii.gz", model, sliding_window=True, mirror=True)
    """
    folder = pathlib.Path(folder)
    folds = [fold] if isinstance(fold, (int, str)) else list(fold)
    if not folds:
        raise error_of(ValueError, "E-OPTION-VALUE", 'fold is a number, "all", or several of them, not none', option="fold")
    plans, dataset = (_read(folder / name) for name in ("plans.json", "dataset.json"))
    files = [folder / f"fold_{each}" / checkpoint for each in folds]
    states = [_read_checkpoint(file) for file in files]
    try:
        configuration = states[0]["init_args"]["configuration"]
        if any(state["init_args"]["configuration"] != configuration for state in states):
            raise error_of(ValueError, "E-MODEL-FORMAT", "its folds are not of one configuration", file=folder)
        plan = _get_plan(plans, configuration)
        channels = dataset.get("channel_names", dataset.get("modality"))
        names = _get_classes(dataset["labels"])
        modules = [_make_module(plan["architecture"], len(channels), len(names)) for _ in folds]
        order = list(plans.get("transpose_forward", [0, 1, 2]))
        if order != [0, 1, 2]:
            why = f"its network sees the axes of volumes in the order {order} (transpose_forward), which is not taken over: only [0, 1, 2] is"
            raise error_of(NotImplementedError, "E-NETWORK-OPERATION", why, file=folder)
        settings = {
            "configuration": configuration,
            "fold": fold if isinstance(fold, (int, str)) else folds,
            "spacing": plan["spacing"],
            "patch size": plan["patch_size"],
            "normalization": [f"{scheme}, masked" if masked else scheme for scheme, masked in zip(plan["normalization_schemes"], plan["use_mask_for_norm"])],
        }
        found = _get_input(plan, plans, channels, states[0].get("inference_allowed_mirroring_axes"))
    except (GigapixelError, NotImplementedError):  # which are a RuntimeError
        raise
    except (AssertionError, AttributeError, IndexError, KeyError, RuntimeError, TypeError) as error:
        said = f"{type(error).__name__} {str(error).splitlines()[0] if str(error) else ''}".rstrip()
        why = f"it is no folder of nnU-Net, version 2.2 or later: its plans, dataset and checkpoint do not fit each other ({said})"
        raise error_of(ValueError, "E-MODEL-FORMAT", why, file=folder) from None
    for module, state, file in zip(modules, states, files):
        weights = {key.removeprefix("module.").removeprefix("_orig_mod."): value for key, value in state["network_weights"].items()}
        try:
            module.load_state_dict(weights, assign=True)
            module.float()
        except (NotImplementedError, RuntimeError) as error:
            why = f"it has other arrays than plans.json says: {str(error).splitlines()[-1].strip()}"
            raise error_of(ValueError, "E-WEIGHTS-MISMATCH", why, file=file) from None
    is_of_volumes = len(plan["patch_size"]) == 3
    if is_of_volumes and not _resamples_by_default(plan):
        why = "its plans resample volumes in another way than nnU-Net does by default, which is what is done here: labels of volumes at another spacing differ"
        warn({"code": "W-MODEL", "file": str(folder), "why": why})
    orientation = _ORIENTATIONS.get(plans.get("image_reader_writer"), "")
    model = import_network(modules[0] if len(modules) == 1 else _make_ensemble(modules), path, example=plan["patch_size"], channels=len(channels), name=plans.get("dataset_name", folder.name),
                           class_names=names, tile_size=tile_size, provenance={"nnU-Net": settings}, **({**found, "orientation": orientation} if is_of_volumes else {}))
    if is_of_volumes:
        spacing = " x ".join(map(str, plan["spacing"]))
        MESSAGES.info("Volumes are cropped to what is not 0, normalized and brought to %s mm (depth, height, width) when they are segmented. "
                      "nnU-Net's own predictor takes patches, mirrored ones: --sliding-window --mirror.", spacing)
    else:
        MESSAGES.info("Images are to be given to it at %s mm and normalized (%s): the model keeps this as its provenance, and does not do it.",
                      settings["spacing"], ", ".join(settings["normalization"]))
    return model


def _read(file):
    try:
        return json.loads(file.read_text())
    except ValueError as error:
        raise error_of(ValueError, "E-MODEL-FORMAT", f"it is no JSON: {error}", file=file) from None


def _read_checkpoint(file):
    import numpy as np
    import torch

    # What nnU-Net writes beside the tensors: losses and Dice as NumPy's numbers and arrays, in files of NumPy 1 by other names.
    scalar, array = np.float64(0).__reduce__()[0], np.zeros(0).__reduce__()[0]
    former = [(scalar, "numpy.core.multiarray.scalar"), (array, "numpy.core.multiarray._reconstruct")]
    kinds = {type(np.dtype(kind)) for kind in (np.float64, np.float32, np.int64, np.int32, np.bool_)}
    try:
        with torch.serialization.safe_globals([scalar, array, *former, np.ndarray, np.dtype, *kinds]):
            state = torch.load(file, map_location="cpu", weights_only=True)
    except OSError:
        raise
    except Exception as error:  # torch.load raises anything
        raise error_of(ValueError, "E-MODEL-FORMAT", f"it is no checkpoint of nnU-Net: {str(error).splitlines()[0]}", file=file) from None
    if not isinstance(state, dict) or not {"network_weights", "init_args"} <= set(state) or not isinstance(state["network_weights"], dict):
        raise error_of(ValueError, "E-MODEL-FORMAT", "it is no checkpoint of nnU-Net: it has no network_weights and init_args", file=file)
    return state


def _get_plan(plans, configuration):
    """With what it inherits from others."""
    plan = plans["configurations"][configuration]
    seen = {configuration}
    while "inherits_from" in plan:
        parent = plan["inherits_from"]
        if parent in seen:
            raise error_of(ValueError, "E-MODEL-FORMAT", f'the configuration "{parent}" of plans.json inherits from itself')
        seen.add(parent)
        plan = {**plans["configurations"][parent], **{key: value for key, value in plan.items() if key != "inherits_from"}}
    return plan


def _get_classes(labels):
    if any(isinstance(value, (list, tuple)) for value in labels.values()):
        why = "the labels of dataset.json are regions, which overlap: losses and masks here are of classes that exclude each other"
        raise error_of(NotImplementedError, "E-NETWORK-OPERATION", why)
    try:
        return [name for name, value in sorted(labels.items(), key=lambda item: int(item[1])) if name != "ignore"]
    except ValueError:
        raise error_of(ValueError, "E-MODEL-FORMAT", f"the labels of dataset.json are numbers of classes by their names, not {labels}") from None


def _find_class(name):
    if not name.startswith(_PACKAGES):
        raise error_of(ValueError, "E-MODEL-FORMAT", f'plans.json names "{name}", which is no part of PyTorch or dynamic_network_architectures', value=name)
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


def _make_module(architecture, channels, classes):
    """Without memory for its arrays: they will be the checkpoint's, which is as large as it is, whatever the plans say."""
    import torch

    words = dict(architecture["arch_kwargs"])
    for key in architecture["_kw_requires_import"]:
        words[key] = None if words[key] is None else _find_class(words[key])
    with torch.device("meta"):
        return _find_class(architecture["network_class_name"])(input_channels=channels, num_classes=classes, **{**words, "deep_supervision": False})


def _resamples_by_default(plan):
    """Values by cubic splines, logits linearly, slices by themselves where the spacing says so."""
    for key, order in (("data", 3), ("probabilities", 1)):
        words = plan.get(f"resampling_fn_{key}_kwargs", {})
        if (plan.get(f"resampling_fn_{key}", "resample_data_or_seg_to_shape"), words.get("order", order), words.get("order_z", 0), words.get("force_separate_z")) != (
            "resample_data_or_seg_to_shape", order, 0, None
        ):
            return False
    return True


def _make_ensemble(modules):
    """One module whose logits are the mean of those of several."""
    import torch

    class Ensemble(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.folds = torch.nn.ModuleList(modules)

        def forward(self, volume):
            total = self.folds[0](volume)
            for each in self.folds[1:]:
                total = total + each(volume)
            return total * (1.0 / len(self.folds))

    return Ensemble()


def _get_input(plan, plans, channels, mirrored):
    """What :func:`import_network` is to be told of volumes.

    :param mirrored: axes along which patches may be mirrored, as nnU-Net has them; None: none
    """
    schemes = list(zip(plan["normalization_schemes"], plan["use_mask_for_norm"]))
    if len(schemes) != len(channels):
        raise error_of(ValueError, "E-MODEL-FORMAT", f"plans.json normalizes {len(schemes)} channels, and dataset.json has {len(channels)}")
    normalization, mean, deviation = [], [], []
    for index, (scheme, masked) in enumerate(schemes):
        if scheme not in _OF_VOLUME and scheme not in _FIXED:
            raise error_of(ValueError, "E-MODEL-FORMAT", f'plans.json normalizes by "{scheme}", which is not known here', value=scheme)
        each, center, spread = {"type": "none"}, 0.0, 1.0
        if scheme in _OF_VOLUME:
            of = "non-zero-filled" if masked and scheme == "ZScoreNormalization" else "non-zero-box"  # the other one looks at no mask
            each = {**_OF_VOLUME[scheme], "voxels": of}
        elif scheme == "CTNormalization":
            numbers = plans["foreground_intensity_properties_per_channel"][str(index)]
            each = {"type": "clip", "low": float(numbers["percentile_00_5"]), "high": float(numbers["percentile_99_5"])}
            center, spread = float(numbers["mean"]), max(float(numbers["std"]), 1e-8)
        elif scheme == "RGBTo01Normalization":
            spread = 255.0
        normalization.append(each)
        mean.append(center)
        deviation.append(spread)
    standardized = any(mean) or any(each != 1 for each in deviation)
    patches = {"size": plan["patch_size"], "overlap": 0.5, "mirror": [axis in (mirrored or ()) for axis in range(3)]}
    return {"normalization": normalization, "crop": "non-zero", "spacing": plan["spacing"], "patches": patches, **({"mean": mean, "deviation": deviation} if standardized else {})}
