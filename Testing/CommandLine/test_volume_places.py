# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Where volumes lie, by headers that other programs write: affines by the formats' definitions."""

import gzip
import struct

import numpy
import pytest

from conftest import fails, run
from test_dicom_series import write_slice
from volume_places import LPS, MGHS, NIFTI, NRRD, NRRDS, SIZE, VALUES, NIfTI
from volumes import read_nifti, write_metaimage, write_nifti, write_nrrd_volume, write_volume_model


def affine_of(info):
    """To the right, front and head."""
    matrix = numpy.eye(4)
    matrix[:3, :3] = numpy.array(info["direction"]).T * info["spacingMm"]
    matrix[:3, 3] = info["originMm"]
    return numpy.diag([-1, -1, 1, 1]) @ matrix


def write_echo(path, classes=40):
    """The label is the value of the voxel: the logit of class k is k v - k k / 2."""
    operations = [
        {"name": "x", "type": "input", "channels": 1, "axes": 3},
        {"name": "y", "type": "conv3d", "inputs": ["x"], "out_channels": classes, "kernel_size": 1},
    ]
    steps = numpy.arange(classes, dtype=float)
    return write_volume_model(path, operations, {"y.weight": steps.reshape(-1, 1, 1, 1, 1), "y.bias": -steps * steps / 2})


def test_places_are_those_of_the_headers(tmp_path):
    rows = {**NIFTI, **NRRDS, **MGHS}
    files = {str(row.write(tmp_path, str(number))): name for number, (name, row) in enumerate(rows.items())}
    told = run("info", *files, "--json", "--check").json
    assert len(told) == len(rows)
    for info in told:
        name = files[info["volume"]]
        expected = rows[name].expected
        assert affine_of(info) == pytest.approx(expected, abs=2e-6 * abs(expected[:3]).max()), name
        warnings = [each for each in info.get("warnings", []) if each["file"] == info["volume"]]
        assert [each["code"] for each in warnings] == ["W-VOLUME-GEOMETRY"] * rows[name].warns, name


@pytest.mark.usefixtures("network")
def test_labels_keep_both_forms_of_nifti(tmp_path):
    files = {name: row.write(tmp_path, str(number)) for number, (name, row) in enumerate(NIFTI.items())}
    output = tmp_path / "labels"
    run("segment", *files.values(), "--model", write_echo(tmp_path / "m.safetensors"), "-o", output)
    for name, file in files.items():
        row = NIFTI[name]
        values = VALUES * row.slope + row.intercept if numpy.isfinite(row.slope) and row.slope != 0 else VALUES
        raw = gzip.decompress((output / (file.name.split(".")[0] + ".nii.gz")).read_bytes())
        assert (numpy.frombuffer(raw, "u1", VALUES.size, 352).reshape(VALUES.shape) == values.clip(0, 39)).all(), name
        original = file.read_bytes()
        original = gzip.decompress(original) if original[:2] == b"\x1f\x8b" else original
        codes = struct.unpack_from(row.order + "hh", original, 252)
        assert struct.unpack_from("<hh", raw, 252) == codes and raw[123] & 7 == original[123] & 7, name
        for code, form, place in ((1, "4f", 76), (codes[0], "6f", 256), (codes[1], "12f", 280)):
            if code > 0:
                assert struct.unpack_from("<" + form, raw, place) == struct.unpack_from(row.order + form, original, place), name


@pytest.mark.usefixtures("network")
def test_labels_of_other_formats_have_a_qform_as_well(tmp_path):
    """Programs that take the qform find labels where those do that take the sform, of reflections and of half turns, too."""
    random = numpy.random.default_rng(5)
    model = write_echo(tmp_path / "m.safetensors")
    turns = [numpy.diag(signs) for signs in ((1, 1, 1), (-1, -1, 1), (-1, 1, -1), (1, -1, -1), (1, 1, -1), (-1, -1, -1))]
    turns += [numpy.linalg.qr(random.normal(size=(3, 3)))[0] for _ in range(6)]
    places = []
    for turn in turns:
        place = numpy.eye(4)
        place[:3, :3], place[:3, 3] = turn * [0.5, 2, 3], (40, -30, 10)
        places.append(place)
    volumes = [write_nrrd_volume(tmp_path / f"{number}.nrrd", VALUES.astype("<i2"), place) for number, place in enumerate(places)]
    run("segment", *volumes, "--model", model, "-o", tmp_path / "labels")
    files = [tmp_path / f"q{number}.nii" for number in range(len(places))]
    for number, place in enumerate(places):
        labels, sform = read_nifti(tmp_path / "labels" / f"{number}.nii.gz")
        assert (labels == VALUES).all() and sform == pytest.approx(place, abs=1e-5)
        raw = bytearray(gzip.decompress((tmp_path / "labels" / f"{number}.nii.gz").read_bytes()))
        struct.pack_into("<h", raw, 254, 0)  # the sform does not count
        files[number].write_bytes(raw)
    told = {info["volume"]: affine_of(info) for info in run("info", *files, "--json").json}
    assert all(told[str(file)] == pytest.approx(place, abs=1e-5) for file, place in zip(files, places))


@pytest.mark.usefixtures("network")
def test_volumes_of_freesurfer_are_read_and_written(tmp_path):
    """Labels are the values of the voxels; what is written has the place, and is known again by what made it."""
    model = write_echo(tmp_path / "m.safetensors")
    single = {name: row for name, row in MGHS.items() if row.frames == 1}
    files = {name: row.write(tmp_path, str(number)) for number, (name, row) in enumerate(single.items())}
    for ending in ("mgz", "mgh"):
        for name, file in files.items():
            output = tmp_path / f"labels.{ending}"
            command = ["segment", file, "--model", model, "-o", output, "--json"]
            run(*command, "--overwrite")
            raw = gzip.decompress(output.read_bytes()) if ending == "mgz" else output.read_bytes()
            assert struct.unpack_from(">7i", raw) == (1, *SIZE, 1, 0, 0), name
            assert (numpy.frombuffer(raw, "u1", VALUES.size, 284).reshape(VALUES.shape) == VALUES).all(), name
            expected = single[name].expected
            assert affine_of(run("info", output, "--json", "--check").json) == pytest.approx(expected, abs=1e-5 * abs(expected).max()), name
            assert run(*command).json["skipped"], name
    two = run("info", MGHS["mgz of two frames"].write(tmp_path, "two"), "--json").json
    assert (two["channels"], two["depth"]) == (2, SIZE[2])


@pytest.mark.usefixtures("network")
def test_damaged_volumes_of_freesurfer(tmp_path):
    """Cut, of sizes that cannot be, of a type that nobody reads: a code each, and nothing is written."""
    model, output = write_echo(tmp_path / "m.safetensors"), tmp_path / "l.nii.gz"
    whole = MGHS["mgh"].write(tmp_path).read_bytes()
    places = {"size": (4, 0), "huge": (4, 2**31 - 1), "below": (8, -7), "frames": (16, 2**30), "bits": (20, 5), "none": (20, 77)}
    damaged = {name: whole[:place] + struct.pack(">i", value) + whole[place + 4 :] for name, (place, value) in places.items()}
    damaged.update(version=struct.pack(">i", 2) + whole[4:], header=whole[:283], empty=b"", pixels=whole[:400])
    damaged["spacing"] = whole[:30] + struct.pack(">f", numpy.nan) + whole[34:]
    damaged["direction"] = whole[:42] + bytes(12) + whole[54:]
    formats = {"bits", "none", "version", "header"}
    geometries = {"spacing", "direction"}
    for name, raw in damaged.items():
        for ending in ("mgh", "mgz"):
            file = tmp_path / f"{name}.{ending}"
            file.write_bytes(gzip.compress(raw) if ending == "mgz" else raw)
            refused = fails("segment", file, "--model", model, "-o", output)
            expected = "E-VOLUME-FORMAT" if name in formats else "E-VOLUME-GEOMETRY" if name in geometries else "E-FILE-DAMAGED"
            if ending == "mgz":  # whose size is not that of the file: a place that far away is refused first
                expected = {"empty": "E-VOLUME-FORMAT", "huge": "E-VOLUME-GEOMETRY"}.get(name, expected)
            assert (refused.code, refused.file) == (expected, str(file)), (name, ending)
            assert not output.exists()
    packed = gzip.compress(whole)
    for length in (30, len(packed) // 2, len(packed) - 1):
        (tmp_path / "cut.mgz").write_bytes(packed[:length])
        assert fails("segment", tmp_path / "cut.mgz", "--model", model, "-o", output).code in ("E-FILE-DAMAGED", "E-VOLUME-FORMAT"), length
    far = write_nrrd_volume(tmp_path / "far.nrrd", VALUES.astype("<i2"), numpy.diag([1e-4, 1e-4, 1e-4, 1]) + numpy.array([[0, 0, 0, 1e5]] * 3 + [[0] * 4]))
    assert fails("segment", far, "--model", model, "-o", tmp_path / "far.mgz").code == "E-OUTPUT-ENDING"


@pytest.mark.usefixtures("network")
def test_axes_that_are_not_perpendicular_are_said(tmp_path):
    model = write_echo(tmp_path / "m.safetensors")
    for name, codes in (("sheared sform", ["W-VOLUME-GEOMETRY"]), ("sform of three digits", [])):
        told = run("segment", NIFTI[name].write(tmp_path), "--model", model, "-o", tmp_path / "l.nii.gz", "--overwrite", "--json").json
        assert [each["code"] for each in told.get("warnings", [])] == codes


def test_spacings_in_a_space(tmp_path):
    """Without directions, which teem does not give such axes either."""
    file = NRRD(LPS, ["space: left-anterior-superior", "spacings: 1.5 1.2 3", "space origin: (-40,30,10)"]).write(tmp_path)
    refused = fails("info", file)
    assert (refused.code, refused.file) == ("E-VOLUME-FORMAT", str(file)) and "space directions" in refused.do


def test_units_of_metaimages(tmp_path):
    file = write_metaimage(tmp_path / "v.mha", VALUES, spacing=(1.5, 1.2, 3), origin=(-40, 30, 10))
    for unit, mm in (("um", 1e-3), ("mm", 1), ("cm", 10), ("?", 1)):
        said = tmp_path / "unit.mha"
        said.write_bytes(file.read_bytes().replace(b"ElementType", f"DistanceUnits = {unit}\nElementType".encode()))
        assert affine_of(run("info", said, "--json", "--check").json) == pytest.approx(numpy.diag([mm, mm, mm, 1]) @ LPS, rel=1e-9)


def test_distances_and_contents_have_the_unit(tmp_path):
    """The same masks in mm and in micrometers, of NRRD and NIfTI: a step of two slices of 3."""
    masks = numpy.zeros((2, *SIZE[::-1]), "u1")
    masks[0, 1, 2:4], masks[1, 3, 2:4] = 1, 1
    micron = ["space: left-posterior-superior", 'space units: "um" "um" "um"', "space directions: (1.5,0,0) (0,1.2,0) (0,0,3)"]
    for ending, mm in (("nii", 1), ("nii", 1e-3), ("nrrd", 1e-3)):
        files = []
        for name, mask in zip("ab", masks):
            file = tmp_path / f"{name}.{ending}"
            if ending == "nii":
                raw = bytearray(write_nifti(file, mask, numpy.diag([1.5, 1.2, 3, 1])).read_bytes())
                raw[123] = 2 if mm == 1 else 3
                file.write_bytes(raw)
            else:
                head = ["NRRD0005", "type: unsigned char", "dimension: 3", *micron, "sizes: 6 7 5", "encoding: raw"]
                file.write_bytes("\n".join(head).encode() + b"\n\n" + mask.tobytes())
            files.append(file)
        (label,) = run("evaluate", *files, "--json").json["labels"]
        assert label["hausdorff95Mm"] == pytest.approx(6 * mm, rel=1e-5)
        assert label["predictionMl"] == pytest.approx(12 * 1.5 * 1.2 * 3 * mm**3 / 1000, rel=1e-5)


def test_labels_above_255(tmp_path):
    """As FreeSurfer numbers regions; those that are no label are named."""
    truth = numpy.zeros(SIZE[::-1], "<i4")
    truth[1], truth[2], truth[3, :2] = 2035, 17, 65535
    prediction = truth.copy()
    prediction[3, 0] = 1001
    files = [write_nifti(tmp_path / f"{name}.nii", each) for name, each in (("p", prediction.astype("<u2")), ("t", truth))]
    labels = run("evaluate", *files, "--json").json["labels"]
    assert [(each["label"], each["truthVoxels"]) for each in labels] == [(17, 42), (1001, 0), (2035, 42), (65535, 12)]
    assert [each["dice"] for each in labels] == pytest.approx([1, 0, 1, 2 * 6 / 18])
    for value, kind in ((65536, "<i4"), (-1, "<i4"), (70000.5, "<f4")):
        refused = fails("evaluate", write_nifti(tmp_path / "w.nii", (prediction * 0 + value).astype(kind)), files[1])
        assert (refused.code, float(refused.value)) == ("E-LABEL-VALUE", value)
    many = write_nifti(tmp_path / "many.nii", numpy.arange(VALUES.size * 2).reshape(10, *SIZE[1::-1]).astype("<i4"))
    assert fails("evaluate", many, many).code == "E-LABEL-VALUE"


def test_positions_of_few_digits(tmp_path):
    """Slices 0.6167 mm apart whose positions have one digit; those between which one is missing are named."""
    pixels = numpy.zeros((9, 12, 10))
    for number in range(9):
        write_slice(tmp_path / f"{number}.dcm", pixels[number], [-20, 30, round(-100.2 + 0.6167 * number, 1)])
    info = run("info", tmp_path, "--json").json
    assert info["depth"] == 9 and info["spacingMm"][2] == pytest.approx(0.6167, abs=0.1 / 8)
    away = tmp_path / "away"
    away.mkdir()
    for missing in (1, 4, 7):
        (tmp_path / f"{missing}.dcm").rename(away / "file")
        refused = fails("info", tmp_path)
        assert (refused.code, refused.file) == ("E-DICOM-PARTS", str(tmp_path / f"{missing + 1}.dcm"))
        assert str(tmp_path / f"{missing - 1}.dcm") in refused.why
        (away / "file").rename(tmp_path / f"{missing}.dcm")


def test_distances_that_are_not_even(tmp_path):
    """Not by rounding: positions drift from those of even slices."""
    pixels = numpy.zeros((12, 10))
    for number, place in enumerate((0, 0.6, 1.2, 1.8, 2.5, 3.2, 3.9, 4.6)):
        write_slice(tmp_path / f"{number}.dcm", pixels, [0, 0, place])
    assert fails("info", tmp_path).code == "E-DICOM-PARTS"


def test_form_without_rotation_of_nifti(tmp_path):
    """Both codes are 0: the standard's method 1, the spacing alone."""
    row = NIfTI(numpy.diag([1.5, 1.2, 3, 1]), pixdim=(1, 1.5, 1.2, 3))
    told = run("info", row.write(tmp_path), "--json").json
    assert affine_of(told) == pytest.approx(row.expected, rel=1e-6) and "code 0" in told["placedBy"]
