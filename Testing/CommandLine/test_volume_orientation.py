# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Networks that say in which orientation of volumes they were trained, against NumPy's axes."""

import itertools

import numpy
import pytest

from conftest import fails, run
from volumes import read_nifti, write_nifti, write_volume_model

pytestmark = pytest.mark.usefixtures("network")

SHAPE = (9, 11, 13)  # x, y, z to the right, front and head
VALUES = numpy.random.default_rng(11).integers(0, 50, SHAPE).astype("<i2")
PLACE = numpy.array([[1, 0, 0, -20], [0, 1.5, 0, 7], [0, 0, 2, 3], [0, 0, 0, 1.0]])
SIDES = {"R": (0, 1), "L": (0, -1), "A": (1, 1), "P": (1, -1), "S": (2, 1), "I": (2, -1)}


def store(path, letters, values=VALUES):
    """The same patient, with axes x, y and z of the file that point to these sides."""
    order = [SIDES[letter][0] for letter in letters]
    flips = [axis for axis, letter in enumerate(letters) if SIDES[letter][1] < 0]
    place = PLACE[:, [*order, 3]].copy()
    for axis in flips:
        place[:3, 3] += place[:3, axis] * (SHAPE[order[axis]] - 1)
        place[:3, axis] *= -1
    stored = numpy.flip(values.transpose(order), flips)
    return write_nifti(path, numpy.ascontiguousarray(stored.transpose(2, 1, 0)), place)


def load(path):
    """Voxels to the right, front and head."""
    voxels, place = read_nifti(path)
    voxels = voxels.transpose(2, 1, 0)
    sides = [int(numpy.argmax(abs(place[:3, axis]))) for axis in range(3)]
    voxels = numpy.flip(voxels, [axis for axis in range(3) if place[sides[axis], axis] < 0])
    assert numpy.diag(abs(place[:3, numpy.argsort(sides)])) == pytest.approx([1, 1.5, 2])
    return voxels.transpose(numpy.argsort(sides))


def write_model(path, provenance=None, **said):
    """Class 1 where the next voxel along depth, twice, height, three times, and width, four times, is greater than 220: no axis is like another one."""
    weight = numpy.zeros((1, 1, 3, 3, 3))
    weight[0, 0, 2, 1, 1], weight[0, 0, 1, 2, 1], weight[0, 0, 1, 1, 2] = 2, 3, 4
    operations = [
        {"name": "x", "type": "input", "channels": 1, "axes": 3},
        {"name": "s", "type": "conv3d", "inputs": ["x"], "out_channels": 1, "kernel_size": 3, "padding": 1, "bias": False},
        {"name": "y", "type": "conv3d", "inputs": ["s"], "out_channels": 2, "kernel_size": 1},
    ]
    arrays = {"s.weight": weight, "y.weight": numpy.array([0, 1]).reshape(2, 1, 1, 1, 1), "y.bias": [0, -220.5]}
    more = {"provenance": provenance} if provenance else {}
    return write_volume_model(path, operations, arrays, input={"channels": 1, **said}, **more)


def expect(array):
    """Of an array along depth, height and width."""
    padded = numpy.pad(array.astype(int), ((0, 1), (0, 1), (0, 1)))
    return 2 * padded[1:, :-1, :-1] + 3 * padded[:-1, 1:, :-1] + 4 * padded[:-1, :-1, 1:] > 220


def as_seen(array, letters, xyz):
    """What the network is shown of the patient, and the way back of what it gives."""
    order = [SIDES[letter][0] for letter in letters]
    flips = [axis for axis, letter in enumerate(letters) if SIDES[letter][1] < 0]
    order, flips = (order, flips) if xyz else (order[::-1], [2 - axis for axis in flips])
    seen = expect(numpy.flip(array.transpose(order), flips))
    return numpy.flip(seen, flips).transpose(numpy.argsort(order))


def all_orientations():
    for order in itertools.permutations(("RL", "AP", "SI")):
        yield from ("".join(letters) for letters in itertools.product(*order))


@pytest.mark.parametrize("letters, order", [("RAS", "zyx"), ("RAS", "xyz"), ("LPS", "zyx"), ("PSR", "xyz"), ("ILA", "zyx")])
def test_every_orientation_gives_the_same_labels(letters, order, tmp_path):
    model = write_model(tmp_path / "m.safetensors", {"made by": "another"}, orientation=letters, **{"axis order": order})
    stored = list(all_orientations())[:: 1 if letters == "PSR" else 5] + ["RAS"]
    files = [store(tmp_path / f"{name}.nii", name) for name in stored]
    told = run("segment", *files, "--model", model, "-o", tmp_path / "out", "--json").json
    expected = as_seen(VALUES, letters, order == "xyz")
    assert 0.1 < expected.mean() < 0.9
    for name, result in zip(stored, told):
        assert (load(tmp_path / "out" / f"{name}.nii.gz") == expected).all(), name
        assert result["steps"] == ("" if name == letters else f"oriented from {name} to {letters}") and not result.get("warnings")


def test_the_order_of_axes_alone(tmp_path):
    """As arrays of nibabel, in whatever orientation a volume is stored."""
    model = write_model(tmp_path / "m.safetensors", **{"axis order": "xyz"})
    run("segment", store(tmp_path / "v.nii", "LPS"), "--model", model, "-o", tmp_path / "l.nii.gz")
    seen = numpy.flip(VALUES, (0, 1))
    assert (load(tmp_path / "l.nii.gz") == numpy.flip(expect(seen), (0, 1))).all()


def test_spacing_crop_and_patches_are_of_the_oriented_volume(tmp_path):
    values = VALUES.copy()
    values[:2], values[:, 9:], values[:, :, :4] = 0, 0, 0
    said = {"orientation": "PSR", "axis order": "xyz", "crop": "non-zero", "spacing": [1.5, 1, 1], "normalization": {"type": "z-score", "voxels": "non-zero-box"}}
    model = write_model(tmp_path / "m.safetensors", **said)
    labels = []
    for name in ("PSR", "LAI", "SRP"):
        file = store(tmp_path / f"{name}.nii", name, values)
        for window in ([], ["--sliding-window", "--patch", 8]):
            result = run("segment", file, "--model", model, "-o", tmp_path / "l.nii.gz", "--overwrite", "--json", *window).json
            assert "cropped to" in result["steps"] and "resampled" in result["steps"] and result["peakBytes"] <= 1.05 * result["estimatedPeakBytes"]
            labels.append(load(tmp_path / "l.nii.gz"))
    assert all((each == labels[number % 2]).all() for number, each in enumerate(labels))


def test_an_unknown_orientation_is_said_once_a_run(tmp_path):
    files = [store(tmp_path / f"{name}.nii", name) for name in ("RAS", "LAS", "LPS")]
    for provenance, orientation, expected in (({"made by": "another"}, {}, [files[1]]), (None, {}, []), ({"made by": "another"}, {"orientation": "LAS"}, []), ({"made by": "another"}, {"orientation": "stored"}, [])):
        model = write_model(tmp_path / "m.safetensors", provenance, **orientation)
        told = run("segment", *files, "--model", model, "-o", tmp_path / "out", "--overwrite", "--json").json
        warnings = [each for result in told for each in result.get("warnings", [])]
        assert [(each["code"], each["file"], each["value"]) for each in warnings] == [("W-VOLUME-ORIENTATION", str(file), "LAS") for file in expected]


def turn(degrees, axis):
    """A turn around this axis."""
    a, b = [other for other in range(3) if other != axis]
    sine, cosine = numpy.sin(numpy.radians(degrees)), numpy.cos(numpy.radians(degrees))
    place = numpy.eye(4)
    place[a, a] = place[b, b] = cosine
    place[a, b], place[b, a] = (-sine, sine) if axis != 1 else (sine, -sine)
    return place


def test_the_orientation_of_oblique_volumes(tmp_path):
    """SimpleITK's DICOMOrientImageFilter and nibabel's aff2axcodes both say so."""
    model = write_model(tmp_path / "m.safetensors", orientation="PIL")
    for number, (x, y, z, letters) in enumerate([(17, -47, 23, "SAL"), (-34, -36, -54, "SRA"), (22, 34, 53, "RAS"), (46, -10, -15, "RSP"), (10, 20, -30, "RAS")]):
        file = write_nifti(tmp_path / f"{number}.nii", VALUES, turn(z, 2) @ turn(y, 1) @ turn(x, 0))
        assert run("segment", file, "--model", model, "-o", tmp_path / "l.nii.gz", "--overwrite", "--json").json["steps"] == f"oriented from {letters} to PIL"


def test_volumes_are_shown_as_they_are_stored(tmp_path):
    """As to nnU-Net's networks, whose readers bring volumes to no orientation."""
    model = write_model(tmp_path / "m.safetensors", {"made by": "another"}, orientation="stored")
    for letters in ("LPS", "RAS", "PIR"):
        file = store(tmp_path / f"{letters}.nii", letters)
        result = run("segment", file, "--model", model, "-o", tmp_path / "l.nii.gz", "--overwrite", "--json").json
        assert not result.get("warnings") and result["steps"] == ""
        assert (read_nifti(tmp_path / "l.nii.gz")[0] == expect(read_nifti(file)[0])).all(), letters


def test_orientations_that_are_none(tmp_path):
    file = store(tmp_path / "v.nii", "RAS")
    for said in ({"orientation": "RA"}, {"orientation": "RLS"}, {"orientation": "ras"}, {"axis order": "yxz"}):
        model = write_model(tmp_path / "m.safetensors", **said)
        refused = fails("segment", file, "--model", model, "-o", tmp_path / "l.nii.gz")
        assert (refused.code, refused.file) == ("E-NETWORK-FORMAT", str(model)), said
    refused = fails("import", "m.onnx", "-o", tmp_path / "m.safetensors", "--orientation", "RSS", code=2)
    assert (refused.code, refused.option, refused.value) == ("E-OPTION-VALUE", "--orientation", "RSS")


def test_import_states_the_orientation(tmp_path):
    weights = write_model(tmp_path / "w.safetensors")
    run("import", weights, "--weights", weights, "-o", tmp_path / "m.safetensors", "--orientation", "RAS", "--axis-order", "xyz")
    told = run("info", tmp_path / "m.safetensors", "--json").json["input"]
    assert (told["orientation"], told["axisOrder"]) == ("RAS", "xyz")
    assert "oriented RAS, x first" in run("info", tmp_path / "m.safetensors").out
    run("import", weights, "--weights", weights, "-o", tmp_path / "s.safetensors", "--orientation", "stored")
    assert run("info", tmp_path / "s.safetensors", "--json").json["input"]["orientation"] == "stored"
    assert "volumes as stored" in run("info", tmp_path / "s.safetensors").out


def train(folder, stored):
    """On two volumes of a patient in these orientations. \\return the orientation of the model, and the losses of each epoch"""
    folder.mkdir()
    rows = ["slide,mask,split"]
    for number, (name, split) in enumerate(zip(stored, ("train", "validation"))):
        values = numpy.roll(VALUES, number, axis=2)
        files = [store(folder / f"{kind}{number}.nii", name, each) for kind, each in (("v", values), ("l", (values > 25).astype("u1")))]
        rows.append(",".join(map(str, [*files, split])))
    (folder / "cohort.csv").write_text("\n".join(rows) + "\n")
    run("train", "--cohort", folder / "cohort.csv", "-o", folder / "run", "--network", "unet3d:base=2,depth=1", "--epochs", 1, "--threads", 1)
    return run("info", folder / "run", "--json").json["input"]["orientation"], (folder / "run" / "history.csv").read_text()


def test_training_states_the_orientation(tmp_path):
    """Volumes of several are brought to RAS: the losses are those of volumes that are stored so."""
    assert train(tmp_path / "same", ("LAS", "LAS"))[0] == "LAS"
    several, plain = train(tmp_path / "several", ("PIR", "LAS")), train(tmp_path / "plain", ("RAS", "RAS"))
    assert several == plain and several[0] == "RAS"
