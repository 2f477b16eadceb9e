# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""evaluate of volumes of labels, against closed forms."""

import numpy
import pytest

from conftest import fails, run
from volumes import OBLIQUE, write_nifti, write_nrrd_volume


def test_boxes_that_are_shifted(tmp_path):
    """Label 1: plates, one voxel thick, 4 slices of 2 mm apart. Label 3: boxes of 10 x 10 x 3 voxels that share 6 x 10 x 3."""
    truth, prediction = numpy.zeros((2, 14, 20, 30), numpy.uint8)
    truth[2, :, :] = 1
    prediction[6, :, :] = 1
    truth[9:12, 5:15, 5:15] = 3
    prediction[9:12, 5:15, 9:19] = 3
    prediction[0, 0, 0] = 7
    a = write_nifti(tmp_path / "a.nii.gz", prediction.astype("<f4"))
    b = write_nrrd_volume(tmp_path / "b.nrrd", truth)
    result = run("evaluate", a, b, "--json").json
    labels = {label["label"]: label for label in result["labels"]}
    assert list(labels) == [1, 3, 7] and result["voxels"] == truth.size
    assert labels[1]["dice"] == 0
    assert labels[1]["hausdorff95Mm"] == pytest.approx(8, rel=1e-5) and labels[1]["meanSurfaceDistanceMm"] == pytest.approx(8, rel=1e-5)
    assert labels[3]["dice"] == pytest.approx(0.6)
    assert labels[3]["hausdorff95Mm"] == pytest.approx(4 * 0.5, rel=1e-5)
    assert labels[3]["truthMl"] == pytest.approx(300 * 0.75 / 1000)
    assert labels[7]["dice"] == 0 and labels[7]["hausdorff95Mm"] is None and labels[7]["truthVoxels"] == 0
    assert result["meanDice"] == pytest.approx(0.2)
    text = run("evaluate", a, b).out
    assert "0.600000" in text and " - " in text
    same = run("evaluate", b, b, "--json").json
    assert same["meanDice"] == 1 and all(label["hausdorff95Mm"] == 0 for label in same["labels"])


def test_what_cannot_be_compared(tmp_path):
    labels = numpy.zeros((5, 6, 7), numpy.uint8)
    labels[2] = 1
    a = write_nifti(tmp_path / "a.nii.gz", labels)
    moved = OBLIQUE.copy()
    moved[2, 3] += 1
    assert ((refused := fails("evaluate", write_nifti(tmp_path / "m.nii.gz", labels, moved), a)).code, refused.file) == ("E-VOLUME-GEOMETRY", str(tmp_path / "m.nii.gz"))
    assert fails("evaluate", write_nifti(tmp_path / "s.nii.gz", labels[1:]), a).code == "E-VOLUME-GEOMETRY"
    assert fails("evaluate", write_nifti(tmp_path / "f.nii.gz", labels.astype("<f4") / 2), a).code == "E-LABEL-VALUE"
    assert ((refused := fails("evaluate", write_nifti(tmp_path / "c.nii.gz", numpy.stack([labels, labels])), a)).code, refused.value) == ("E-MASK-FORMAT", "2")
    assert ((refused := fails("evaluate", tmp_path / "no.nii.gz", a)).code, refused.file) == ("E-FILE-MISSING", str(tmp_path / "no.nii.gz"))
    for pair in ([tmp_path / "typo.mha", a], [a, tmp_path / "typo.mha"]):
        assert ((refused := fails("evaluate", *pair)).code, refused.file) == ("E-FILE-MISSING", str(tmp_path / "typo.mha"))
    (tmp_path / "cut.nrrd").write_bytes(b"NRRD0004\ntype: short\n")
    assert ((refused := fails("evaluate", tmp_path / "cut.nrrd", a)).code, refused.file) == ("E-VOLUME-FORMAT", str(tmp_path / "cut.nrrd"))
    slice_of_one = write_nrrd_volume(tmp_path / "one.nrrd", labels[:1])
    assert fails("evaluate", slice_of_one, a).code == "E-FILE-KIND"
    empty = write_nifti(tmp_path / "e.nii.gz", numpy.zeros_like(labels))
    assert run("evaluate", empty, empty, "--json").json["meanDice"] is None


def test_objects_of_255_and_other_labels(tmp_path):
    labels = numpy.zeros((5, 6, 7), numpy.uint8)
    labels[2] = 1
    one = write_nifti(tmp_path / "one.nii.gz", labels)
    mask = write_nifti(tmp_path / "mask.nii.gz", labels * numpy.uint8(255))
    result = run("evaluate", one, mask, "--json")
    assert result.json["meanDice"] == 1 and [label["label"] for label in result.json["labels"]] == [1]
    assert not result.json.get("warnings")
    empty = write_nifti(tmp_path / "empty.nii.gz", labels * numpy.uint8(0))
    assert [label["label"] for label in run("evaluate", empty, mask, "--json").json["labels"]] == [1]
    two = write_nifti(tmp_path / "two.nii.gz", labels * numpy.uint8(2))
    result = run("evaluate", two, mask, "--json")
    assert [label["label"] for label in result.json["labels"]] == [2, 255] and result.json["meanDice"] == 0
    assert [(each["code"], each["file"]) for each in result.json["warnings"]] == [("W-LABEL-VALUE", str(two))]
    assert not run("evaluate", two, empty, "--json").json.get("warnings")


def test_axes_that_are_not_perpendicular(tmp_path):
    labels = numpy.zeros((5, 6, 7), numpy.uint8)
    labels[2, 1:3] = 1
    tilted = OBLIQUE.copy()
    tilted[:3, 2] = OBLIQUE[:3, 2] * 0.8 + OBLIQUE[:3, 1] / 0.75 * 2 * 0.6  # by an angle of which the cosine is 0.6
    file = write_nrrd_volume(tmp_path / "tilted.nrrd", labels, tilted)
    result = run("evaluate", file, file, "--json")
    (label,) = result.json["labels"]
    assert label["dice"] == 1 and label["hausdorff95Mm"] is None and label["meanSurfaceDistanceMm"] is None
    assert label["truthMl"] == pytest.approx(14 * 0.5 * 0.75 * 2 * 0.8 / 1000, rel=1e-6)
    assert [(each["code"], each["file"]) for each in result.json["warnings"]] == [("W-VOLUME-GEOMETRY", str(file))]
