# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Folders in place of a slide, against the same functions of each slide alone."""

import os

import itk
import itkgigapixel as gp
import numpy as np
import pytest
import torch
from conftest import refused


@pytest.fixture
def folder(drawn, tmp_path):
    """Two slides, and a file that is cut off."""
    for name in ("a.tif", "b.tif"):
        os.link(drawn[0], tmp_path / name)
    (tmp_path / "cut.tif").write_bytes((tmp_path / "a.tif").read_bytes()[:999])
    return tmp_path


def pixels(name):
    return gp.Slide(name).read(gray=True)


def split(rows):
    """The rows of slides, and the codes of errors by their slides."""
    errors = {os.path.basename(row["slide"]): row["error"]["code"] for row in rows if row.get("error")}
    return [row for row in rows if not row.get("error")], errors


def test_label(folder, drawn):
    rows, errors = split(gp.label(folder, folder / "masks", preset="robust", downsample=16))
    assert list(errors) == ["cut.tif"] and [os.path.basename(row["mask"]) for row in rows] == ["a.pyramid.tif", "b.pyramid.tif"]
    wanted = itk.array_from_image(gp.label(drawn[0], preset="robust", downsample=16))
    assert all(np.array_equal(pixels(row["mask"]), wanted) for row in rows) and wanted.any()
    again, _ = split(gp.label(folder, folder / "masks", preset="robust", downsample=16))
    assert [row["skipped"] for row in again] == [True, True]


def test_names_that_are_not_utf8(drawn, tmp_path):
    """Rows have them as Python does, so that the files are found by them."""
    folder = os.fsencode(tmp_path / "slides")
    os.mkdir(folder)
    os.link(drawn[0], os.path.join(folder, b"\xe4.tif"))
    with open(os.path.join(folder, b"cut-\xf6.tif"), "wb") as file:
        file.write(b"II*\0")
    for _ in range(2):  # the second time what is there is told of
        cut, good = gp.label(tmp_path / "slides", tmp_path / "masks", preset="robust", downsample=16)
        assert os.path.samefile(good["slide"], drawn[0]) and os.path.isfile(good["mask"])
        assert os.fsencode(good["mask"]).endswith(b"/\xe4.pyramid.tif")
        assert [os.fsencode(name) for name in (cut["slide"], cut["error"]["file"])] == [os.path.join(folder, b"cut-\xf6.tif")] * 2


def test_segment(folder, drawn, start):
    rows, errors = split(gp.segment(folder, start, folder / "found", slide_mpp=0.5, threshold=0.4, tile_size=256))
    wanted = itk.array_from_image(gp.segment(drawn[0], start, threshold=0.4))
    assert list(errors) == ["cut.tif"] and len(rows) == 2
    assert all(np.array_equal(pixels(folder / "found" / f"{name}.pyramid.tif"), wanted) for name in "ab")
    with refused(ValueError, "E-OPTION-CONFLICT", option="probability"):
        gp.segment(folder, start, folder / "found", probability=True)


def test_convert(folder, drawn):
    rows, errors = split(gp.convert(folder, folder / "made", mpp=1.0))
    assert list(errors) == ["cut.tif"] and len(rows) == 2
    gp.convert(drawn[0], folder / "made" / "wanted.tif", mpp=1.0)
    made = sorted(name for name in os.listdir(folder / "made") if name.endswith(".pyramid.tif"))
    assert len(made) == 2
    assert all(np.array_equal(pixels(folder / "made" / name), pixels(folder / "made" / "wanted.tif")) for name in made)


class Means(torch.nn.Module):
    def forward(self, x):
        return x.mean((2, 3))


def test_features_of_a_module(folder, drawn):
    rows, errors = split(gp.features(folder, Means(), folder / "features", patch=500))
    found, places = gp.features(drawn[0], Means(), patch=500)
    assert list(errors) == ["cut.tif"] and [row["positions"] for row in rows] == [len(found)] * 2
    h5py = pytest.importorskip("h5py")
    for row in rows:
        with h5py.File(row["features"]) as file:
            assert np.array_equal(file["features"], found) and np.array_equal(file["coords"], places)


def test_a_folder_needs_a_folder(folder, start):
    for function, arguments in ((gp.label, ()), (gp.segment, (start,)), (gp.features, (Means(),))):
        with refused(ValueError, "E-OPTION-NEEDS", option="output"):
            function(folder, *arguments)
    assert sorted(file.name for file in folder.iterdir()) == ["a.tif", "b.tif", "cut.tif"]
