# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Networks that nnU-Net has trained (https://github.com/MIC-DKFZ/nnUNet), from the folder of a training."""

from __future__ import annotations

import importlib
import json
import pathlib
from typing import Optional, Union

from itkgigapixel.importing import import_network
from itkgigapixel.slide import Path

#: Where classes that plans name may come from: a name is a way to run anything.
_PACKAGES = ("dynamic_network_architectures.", "torch.nn.")

#: What nnU-Net calls how it normalizes a channel.
_NORMALIZATIONS = {
    "ZScoreNormalization": "z-score",
    "CTNormalization": "window",
    "NoNormalization": "none",
    "RescaleTo01Normalization": "percentiles",
    "RGBTo01Normalization": "none",
}


def import_nnunet(folder: Path, path: Optional[Path] = None, *, fold: Union[int, str] = 0, checkpoint: str = "checkpoint_final.pth", tile_size: Optional[int] = None):
    """Takes over a network that nnU-Net, version 2, has trained: plain and residual encoder U-Nets, of two axes or for volumes.

    Architecture, classes and channels are those of ``plans.json`` and ``dataset.json``, weights those of the fold's checkpoint, of
    which tensors and numbers alone are read. It is proven as :func:`import_network` does. Normalization, spacing and patch size are kept in
    the model's provenance; they are what images have to be brought to before the network sees them, and what nnU-Net's own predictor
    does besides (patches, mirrored ones, several folds) is not a part of the network.

    :param folder: of a training, such as ``nnUNetTrainer__nnUNetPlans__3d_fullres``, with ``plans.json``, ``dataset.json`` and ``fold_0``
    :param path: the model file to write (``*.safetensors``); None: none is
    :param fold: its number, or "all"
    :param checkpoint: name of the file in the fold's folder
    :param tile_size: as of :func:`import_network`
    :returns: an ``itk.GigapixelModel``
    :raises ImportError: the package dynamic_network_architectures, which nnU-Net's networks are of, is not installed
    :raises ValueError: one sentence: the files are not those of such a training
    :raises NotImplementedError: labels that overlap (regions), which no losses and masks are made of here, axes that nnU-Net has put into another order, or what
        :func:`import_network` refuses
    :raises OSError: what cannot be read
    """
    folder = pathlib.Path(folder)
    plans, dataset = (_read(folder / name) for name in ("plans.json", "dataset.json"))
    file = folder / f"fold_{fold}" / checkpoint
    state = _read_checkpoint(file)
    try:
        configuration = state["init_args"]["configuration"]
        plan = _get_plan(plans, configuration)
        channels = dataset.get("channel_names", dataset.get("modality"))
        names = _get_classes(dataset["labels"])
        module = _make_module(plan["architecture"], len(channels), len(names))
        order = list(plans.get("transpose_forward", [0, 1, 2]))
        if order != [0, 1, 2]:
            raise NotImplementedError(f"The network of {folder} sees the axes of volumes in the order {order} (transpose_forward), which is not taken over: only [0, 1, 2] is")
        settings = {
            "configuration": configuration,
            "fold": fold,
            "spacing": plan["spacing"],
            "patch size": plan["patch_size"],
            "normalization": _get_normalization(plan, plans, channels),
        }
    except NotImplementedError:  # which is a RuntimeError
        raise
    except (AssertionError, AttributeError, IndexError, KeyError, RuntimeError, TypeError) as error:
        said = f"{type(error).__name__} {str(error).splitlines()[0] if str(error) else ''}".rstrip()
        raise ValueError(f"{folder} is no folder of nnU-Net, version 2.2 or later: its plans, dataset and checkpoint do not fit each other ({said})") from None
    weights = {key.removeprefix("module.").removeprefix("_orig_mod."): value for key, value in state["network_weights"].items()}
    try:
        module.load_state_dict(weights, assign=True)
        module.float()
    except (NotImplementedError, RuntimeError) as error:
        raise ValueError(f"{file} has other arrays than plans.json says: {str(error).splitlines()[-1].strip()}") from None
    model = import_network(module, path, example=plan["patch_size"], channels=len(channels), name=plans.get("dataset_name", folder.name), class_names=names,
                           tile_size=tile_size, provenance={"nnU-Net": settings})
    print(f"Images are to be given to it at {settings['spacing']} mm and normalized ({', '.join(each['type'] for each in settings['normalization'])}): the model keeps this as its "
          "provenance, and does not do it.")
    return model


def _read(file):
    try:
        return json.loads(file.read_text())
    except ValueError as error:
        raise ValueError(f"{file} is no JSON: {error}") from None


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
        raise ValueError(f"{file} is no checkpoint of nnU-Net: {str(error).splitlines()[0]}") from None
    if not isinstance(state, dict) or not {"network_weights", "init_args"} <= set(state) or not isinstance(state["network_weights"], dict):
        raise ValueError(f"{file} is no checkpoint of nnU-Net: it has no network_weights and init_args")
    return state


def _get_plan(plans, configuration):
    """With what it inherits from others."""
    plan = plans["configurations"][configuration]
    seen = {configuration}
    while "inherits_from" in plan:
        parent = plan["inherits_from"]
        if parent in seen:
            raise ValueError(f'The configuration "{parent}" of plans.json inherits from itself')
        seen.add(parent)
        plan = {**plans["configurations"][parent], **{key: value for key, value in plan.items() if key != "inherits_from"}}
    return plan


def _get_classes(labels):
    if any(isinstance(value, (list, tuple)) for value in labels.values()):
        raise NotImplementedError("The labels of dataset.json are regions, which overlap: losses and masks here are of classes that exclude each other")
    try:
        return [name for name, value in sorted(labels.items(), key=lambda item: int(item[1])) if name != "ignore"]
    except ValueError:
        raise ValueError(f"The labels of dataset.json are numbers of classes by their names, not {labels}") from None


def _find_class(name):
    if not name.startswith(_PACKAGES):
        raise ValueError(f'plans.json names "{name}", which is no part of PyTorch or dynamic_network_architectures')
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


def _get_normalization(plan, plans, channels):
    """Of each channel, by the names that input blocks have for it."""
    found = []
    schemes = zip(plan["normalization_schemes"], plan["use_mask_for_norm"])
    for index, (scheme, masked) in enumerate(schemes):
        if scheme not in _NORMALIZATIONS:
            raise ValueError(f'plans.json normalizes by "{scheme}", which is not known here')
        kind = _NORMALIZATIONS[scheme]
        each = {"type": "z-score-nonzero" if kind == "z-score" and masked else kind}
        if kind == "window":
            numbers = plans["foreground_intensity_properties_per_channel"][str(index)]
            each.update({"low": numbers["percentile_00_5"], "high": numbers["percentile_99_5"], "mean": numbers["mean"], "deviation": numbers["std"]})
        elif kind == "percentiles":
            each.update({"low": 0, "high": 100})
        elif scheme.startswith("RGB"):
            each["divisor"] = 255
        found.append(each)
    if len(found) != len(channels):
        raise ValueError(f"plans.json normalizes {len(found)} channels, and dataset.json has {len(channels)}")
    return found
