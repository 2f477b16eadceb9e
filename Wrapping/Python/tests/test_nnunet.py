# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""What the program makes of volumes with a network of nnU-Net, beside nnU-Net's own predictor on the same folder and volume."""

import pathlib
import sys

import numpy as np
import pytest
from conftest import refused

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "Testing/Benchmark/import"))
nnunet = pytest.importorskip("compare_nnunet")  # which needs what nnU-Net's networks are of
pytest.importorskip("nnunetv2")

SIZE, PATCH = (30, 44, 40), (16, 32, 24)
MRI = {"schemes": ("ZScoreNormalization", "CTNormalization"), "masked": (True, False)}
UNMASKED = {"schemes": ("ZScoreNormalization", "RescaleTo01Normalization"), "masked": (False, False)}


@pytest.mark.parametrize(
    "kind, folds, normalization, spacing, mirror",
    [
        ("PlainConvUNet", 1, MRI, (1.0, 1.0, 1.0), False),
        ("PlainConvUNet", 1, MRI, (1.0, 1.0, 1.0), True),
        ("ResidualEncoderUNet", 1, UNMASKED, (1.0, 1.0, 1.0), True),
        ("PlainConvUNet", 3, MRI, (1.0, 1.0, 1.0), False),
        ("PlainConvUNet", 1, MRI, (1.3, 0.8, 0.9), False),
        ("PlainConvUNet", 1, UNMASKED, (5.0, 0.8, 0.8), False),
    ],
    ids=["plain", "mirrored", "residual", "folds", "spacing", "slices"],
)
def test_labels_are_those_of_nnunet(kind, folds, normalization, spacing, mirror, tmp_path):
    nnunet.write_training(tmp_path, kind, PATCH, (1.0, 1.0, 1.0), folds=folds, **normalization)
    volume = nnunet.make_volume(SIZE, 2)
    given = nnunet.predict_here(tmp_path, volume, spacing, folds, mirror)
    assert np.bincount(given.ravel(), minlength=4).min() > 100  # of each class
    expected, probabilities = nnunet.predict_as_nnunet(tmp_path, volume, spacing, folds, mirror, in_floats=True)
    different, ties, _ = nnunet.compare(given, expected, probabilities, 1e-4)
    assert different == 0 and ties < given.size / 100
    # As it is, it adds in half precision, which rounds away more.
    expected, probabilities = nnunet.predict_as_nnunet(tmp_path, volume, spacing, folds, mirror)
    different, _, _ = nnunet.compare(given, expected, probabilities, 1e-2)
    assert different < given.size / 1000


def test_folds_that_are_none(tmp_path):
    nnunet.write_training(tmp_path, folds=2)
    with refused(ValueError, "E-OPTION-VALUE", option="fold"):
        nnunet.gp.import_nnunet(tmp_path, fold=[])
    with refused(OSError, "E-FILE-MISSING", file=str(tmp_path / "fold_7" / "checkpoint_final.pth")):
        nnunet.gp.import_nnunet(tmp_path, fold=[0, 7])
