# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""The affines that the program is tested with, against nibabel and SimpleITK."""

import pathlib
import sys

import numpy as np
import pytest

sys.path.append(str(pathlib.Path(__file__).parents[3] / "Testing/CommandLine"))
from volume_places import MGHS, NIFTI, NRRDS, VALUES

#: Rows in which SimpleITK 2.5 differs from the formats' definitions, or refuses the file.
OTHER_IN_ITK = {
    "sform of a template, qform of the scanner": "takes the qform",
    "sform of another volume": "takes the qform",
    "sform of three digits": "refuses it",
    "sheared sform": "refuses it",
    "sheared sform beside a qform": "takes the qform",
    "spacing of 1 beside the sform": "takes the spacing of pixdim",
    "spacing of 0 beside the sform": "takes the spacing of pixdim",
    "spacing below 0": "turns the axis around",
    "left-anterior-superior-time of two times": "knows no space with time",
    "LAST of two times": "knows no space with time",
    "right-anterior-superior-time of two times": "knows no space with time",
}


@pytest.mark.parametrize("name", [name for name in NIFTI if name != "flat sform beside a qform"])  # of which nibabel gives the flat one
def test_nibabel(name, tmp_path):
    nibabel = pytest.importorskip("nibabel")
    row = NIFTI[name]
    image = nibabel.load(row.write(tmp_path))
    affine = image.affine.copy()
    affine[:3] *= {1: 1e3, 3: 1e-3}.get(int(image.header["xyzt_units"]) & 7, 1)  # nibabel's is in the file's unit
    assert affine == pytest.approx(row.expected, abs=2e-6 * abs(row.expected[:3]).max())
    is_scaled = np.isfinite(row.slope) and row.slope != 0
    assert (np.asarray(image.dataobj).T.reshape(VALUES.shape) == (VALUES * row.slope + row.intercept if is_scaled else VALUES)).all()


@pytest.mark.parametrize("name", [name for name, row in MGHS.items() if row.has_place])  # else nibabel's rows point another way than FreeSurfer's
def test_nibabel_of_freesurfer(name, tmp_path):
    nibabel = pytest.importorskip("nibabel")
    row = MGHS[name]
    image = nibabel.load(row.write(tmp_path))
    assert image.affine == pytest.approx(row.expected, abs=2e-6 * abs(row.expected[:3]).max())
    values = np.asarray(image.dataobj).T
    assert values.shape == ((2, *VALUES.shape) if row.frames == 2 else VALUES.shape) and (values == VALUES).all()


@pytest.mark.parametrize("name", [name for name in (*NIFTI, *NRRDS) if name not in OTHER_IN_ITK])
def test_simpleitk(name, tmp_path):
    sitk = pytest.importorskip("SimpleITK", "2.5")
    row = NIFTI.get(name) or NRRDS[name]
    image = sitk.ReadImage(str(row.write(tmp_path)))
    image = image[..., 0] if image.GetDimension() == 4 else image
    matrix = np.eye(4)
    matrix[:3, :3] = np.array(image.GetDirection()).reshape(3, 3) * image.GetSpacing()
    matrix[:3, 3] = image.GetOrigin()
    expected = row.expected
    if name in NRRDS:  # ITK leaves the unit out
        expected = np.diag([1 / mm for mm in row.units] + [1]) @ expected
    assert np.diag([-1, -1, 1, 1]) @ matrix == pytest.approx(expected, abs=2e-6 * abs(expected[:3]).max())
