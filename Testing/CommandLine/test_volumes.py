# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Volumes: segment, plan and info, against NumPy on files that are written and read byte by byte."""

import gzip
import pathlib
import re
import struct
import subprocess
import zlib

import numpy
import pytest

from conftest import PROGRAM, UNSANITIZED, fails, run, write_slide
from volumes import (
    OBLIQUE,
    change_header,
    read_nifti,
    split_nifti,
    sum_boxes,
    write_box_model,
    write_dilated_model,
    write_metaimage,
    write_nifti,
    write_nrrd_volume,
    write_threshold_model,
)

SHAPE = (11, 23, 34)  # z, y, x


@pytest.fixture(scope="module")
def integers():
    return numpy.random.default_rng(1).integers(0, 100, SHAPE)


@pytest.fixture
def volume(tmp_path, integers):
    return write_nifti(tmp_path / "t1.nii.gz", integers.astype("<i2"))


def test_info_tells_size_place_and_type(volume, tmp_path):
    info = run("info", volume, "--json").json
    assert (info["width"], info["height"], info["depth"]) == SHAPE[::-1]
    assert (info["channels"], info["sampleType"]) == (1, "short")
    assert info["spacingMm"] == pytest.approx([0.5, 0.75, 2])
    turned = numpy.diag([-1, -1, 1]) @ OBLIQUE[:3]
    assert info["originMm"] == pytest.approx(turned[:, 3], abs=1e-4)
    assert numpy.array(info["direction"]).T * info["spacingMm"] == pytest.approx(turned[:, :3], abs=1e-6)
    text = run("info", volume, "--check").out
    assert "34 x 23 x 11 voxels, 1 channel of short, 17 x 17.25 x 22 mm" in text and "0.5 x 0.75 x 2 mm" in text
    assert "all voxels can be read" in text
    refused = fails("info", volume, "--slide-mpp", 1, code=2)
    assert (refused.code, refused.option) == ("E-OPTION-APPLIES", "--slide-mpp")
    assert ((refused := fails("info", write_nifti(tmp_path / "flat.nii", numpy.zeros((5, 4), "u1")))).code, refused.file) == ("E-VOLUME-FORMAT", str(tmp_path / "flat.nii"))


@pytest.mark.parametrize("kind", ["u1", "i1", "<i2", "<u2", "<i4", "<f4", "<f8", "<i8"])
@pytest.mark.usefixtures("network")
def test_values_are_those_of_the_file_whatever_their_type(kind, integers, tmp_path):
    values = integers.astype(kind) - numpy.array(0 if kind in ("u1", "<u2") else 50, kind)
    threshold = 60.5 if kind in ("u1", "<u2") else 10.5
    file = write_nifti(tmp_path / "v.nii", values)
    model = write_threshold_model(tmp_path / "m.safetensors", threshold=threshold)
    run("segment", file, "--model", model, "-o", tmp_path / "l.nii")
    labels, affine = read_nifti(tmp_path / "l.nii")
    assert labels.dtype == numpy.uint8 and (labels == (values > threshold)).all() and labels.any()
    assert affine == pytest.approx(OBLIQUE, abs=1e-5)


@pytest.mark.usefixtures("network")
def test_slope_and_intercept_count(integers, tmp_path):
    file = write_nifti(tmp_path / "v.nii.gz", integers.astype("<i2"), slope=0.5, intercept=-10)
    model = write_threshold_model(tmp_path / "m.safetensors", threshold=20.25)
    run("segment", file, "--model", model, "-o", tmp_path / "l.nii.gz")
    assert (read_nifti(tmp_path / "l.nii.gz")[0] == (0.5 * integers - 10 > 20.25)).all()


@pytest.mark.usefixtures("network")
def test_whole_volume_in_any_tiles(volume, integers, tmp_path):
    model = write_box_model(tmp_path / "m.safetensors", [1000.5, 1200.5, 1400.5], **{"class names": ["a", "b", "c", "d"]})
    boxes = sum_boxes(integers)
    expected = sum((boxes > t).astype(numpy.uint8) for t in (1000.5, 1200.5, 1400.5))
    assert len(numpy.unique(expected)) == 4
    for name, options in {"plan": [], "tiles": ["--tile-size", 32], "one": ["--tile-size", "image", "--threads", 1]}.items():
        output = tmp_path / f"{name}.nii.gz"
        result = run("segment", volume, "--model", model, "-o", output, *options, "--json").json
        assert (read_nifti(output)[0] == expected).all()
        assert result["voxelsOfClasses"] == numpy.bincount(expected.ravel()).tolist()
        assert result["plan"]["tiles"] == {"tiles": 2, "one": 1}.get(name, result["plan"]["tiles"]) and result["classNames"] == ["a", "b", "c", "d"]
        assert result["peakBytes"] > 0 < result["estimatedPeakBytes"]


@pytest.mark.usefixtures("network")
def test_modalities_are_channels_however_they_are_stored(integers, tmp_path):
    random = numpy.random.default_rng(2)
    both = numpy.stack([integers, random.integers(0, 100, SHAPE)]).astype("<i2")
    model = write_threshold_model(tmp_path / "m.safetensors", weights=(1.0, -2.0), threshold=-40.5)
    expected = both[0] - 2.0 * both[1] > -40.5
    write_nifti(tmp_path / "a.nii.gz", both[0])
    write_nrrd_volume(tmp_path / "b.nrrd", both[1].astype("<f4"))
    inputs = {
        "files": f"{tmp_path}/a.nii.gz,{tmp_path}/b.nrrd",
        "axis": write_nifti(tmp_path / "axis.nii.gz", both),
        "vector": write_nifti(tmp_path / "vector.nii.gz", both, vector=True),
        "nrrd": write_nrrd_volume(tmp_path / "vector.nrrd", numpy.ascontiguousarray(numpy.moveaxis(both, 0, -1)), vector=True),
    }
    for name, volume in inputs.items():
        assert run("info", volume, "--json").json["channels"] == 2
        run("segment", volume, "--model", model, "-o", tmp_path / f"{name}.labels.nii.gz")
        labels, affine = read_nifti(tmp_path / f"{name}.labels.nii.gz")
        assert (labels == expected).all(), name
        assert affine == pytest.approx(OBLIQUE, abs=1e-5)
    folder = tmp_path / "out"
    text = run("segment", inputs["axis"], inputs["vector"], "--model", model, "-o", folder).out
    assert sorted(file.name for file in folder.iterdir()) == ["axis.nii.gz", "manifest.json", "timings.jsonl", "vector.nii.gz"] and "34 x 23 x 11" in text


@pytest.mark.usefixtures("network")
def test_other_formats_of_labels(volume, integers, tmp_path):
    model = write_threshold_model(tmp_path / "m.safetensors", threshold=49.5)
    for ending in (".nii", ".nrrd", ".mha"):
        output = tmp_path / f"l{ending}"
        run("segment", volume, "--model", model, "-o", output)
        info = run("info", output, "--check", "--json").json
        assert info["sampleType"] == "unsigned_char"
        assert info["spacingMm"] == pytest.approx([0.5, 0.75, 2], rel=1e-6)
        # Read again, as a volume: the same labels.
        again = write_threshold_model(tmp_path / "again.safetensors")
        run("segment", output, "--model", again, "-o", tmp_path / f"{ending[1:]}.nii.gz")
        labels, affine = read_nifti(tmp_path / f"{ending[1:]}.nii.gz")
        assert (labels == (integers > 49.5)).all() and affine == pytest.approx(OBLIQUE, abs=1e-5)
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith(".")] == []


NORMALIZATIONS = {
    "z-score": ({"type": "z-score"}, lambda v: (v - v.mean()) / v.std()),
    "non-zero": ({"type": "z-score", "voxels": "non-zero"}, lambda v: numpy.where(v == 0, 0, (v - v[v != 0].mean()) / v[v != 0].std())),
    "percentiles": (
        {"type": "percentiles", "low": 0.5, "high": 92},
        lambda v: (v.clip(*numpy.percentile(v, [0.5, 92])) - numpy.percentile(v, 0.5)) / numpy.ptp(numpy.percentile(v, [0.5, 92])),
    ),
    "window": ({"type": "window", "low": -20, "high": 60}, lambda v: (v.clip(-20, 60) + 20) / 80),
    "none": ({"type": "none"}, lambda v: v),
}


@pytest.mark.parametrize("name", NORMALIZATIONS)
@pytest.mark.usefixtures("network")
def test_normalization_is_of_the_whole_volume(name, tmp_path):
    said, reference = NORMALIZATIONS[name]
    voxels = numpy.random.default_rng(3).normal(30, 40, SHAPE).astype("<f4")
    voxels[:, :5] = 0
    expected = reference(voxels.astype(float))
    threshold = float(numpy.median(expected[voxels != 0]))
    model = write_threshold_model(tmp_path / "m.safetensors", threshold=threshold, input={"channels": 1, "normalization": said})
    result = run("segment", write_nifti(tmp_path / "v.nii.gz", voxels), "--model", model, "-o", tmp_path / "l.nii.gz", "--json").json
    labels = read_nifti(tmp_path / "l.nii.gz")[0]
    sure = abs(expected - threshold) > 1e-4
    assert sure.mean() > 0.99 and (labels == (expected > threshold))[sure].all()
    assert ("0 to 1" in result["normalization"]) == (name in ("percentiles", "window"))
    said = run("info", model).out
    assert f"1 channel, {result['normalization']}; volumes" in said and "255" not in said


@pytest.mark.parametrize(
    "said, sentence",
    [
        ({"type": "minmax"}, 'unknown normalization "minmax"; use "none", "z-score", "percentiles", "window" or "clip"'),
        ({"type": "window", "low": 3, "high": 3}, 'needs a "low" (3) that is below "high" (3)'),
        ({"type": "percentiles", "low": 0.5}, 'lacks the number "high"'),
        ({"type": "percentiles", "low": -1, "high": 99}, "percentiles lie between 0 and 100"),
        ({"type": "z-score", "low": 1}, 'unknown key "low"'),
        ({"type": "z-score", "voxels": "brain"}, 'must be "all", "non-zero", "non-zero-box" or "non-zero-filled"'),
        ("z-score", "must be a JSON object"),
    ],
)
@pytest.mark.usefixtures("network")
def test_normalizations_that_are_none(said, sentence, volume, tmp_path):
    model = write_threshold_model(tmp_path / "m.safetensors", input={"channels": 1, "normalization": said})
    refused = fails("segment", volume, "--model", model, "-o", tmp_path / "l.nii.gz")
    assert (refused.code, refused.file) == ("E-NETWORK-FORMAT", str(model)) and sentence in refused.why


@pytest.mark.usefixtures("network")
def test_what_does_not_suit_is_refused(volume, integers, tmp_path):
    model = write_threshold_model(tmp_path / "m.safetensors")
    two = write_threshold_model(tmp_path / "two.safetensors", weights=(1, 1))
    output = tmp_path / "l.nii.gz"
    slide = write_slide(tmp_path / "slide.tif", numpy.zeros((300, 300, 3), numpy.uint8))
    assert ((refused := fails("segment", volume, "--model", "tissue", "-o", tmp_path / "l.tif")).code, refused.file) == ("E-MODEL-INPUT", str(volume))
    assert ((refused := fails("segment", slide, "--model", model, "-o", output)).code, refused.file) == ("E-MODEL-INPUT", str(slide))
    assert ((refused := fails("segment", volume, "--model", two, "-o", output)).code, refused.file, refused.value) == ("E-MODEL-INPUT", str(volume), "1")
    assert ((refused := fails("segment", f"{volume},{volume}", "--model", model, "-o", output)).code, refused.value) == ("E-MODEL-INPUT", "2")
    refused = fails("segment", volume, "--model", model, "-o", output, "--precision", "bf16")
    assert refused.code == "E-PRECISION" and refused.file == str(volume) and "fp32" in refused.do
    refused = fails("segment", tmp_path / "no.nii.gz", "--model", model, "-o", output)
    assert (refused.code, refused.file) == ("E-FILE-MISSING", str(tmp_path / "no.nii.gz"))
    shifted = OBLIQUE.copy()
    shifted[0, 3] += 0.1
    other = write_nifti(tmp_path / "other.nii.gz", integers.astype("u1"), shifted)
    assert ((refused := fails("segment", f"{volume},{other}", "--model", two, "-o", output)).code, refused.file) == ("E-VOLUME-GEOMETRY", str(other))
    small = write_nifti(tmp_path / "small.nii.gz", integers[1:].astype("u1"))
    assert ((refused := fails("segment", f"{volume},{small}", "--model", two, "-o", output)).code, refused.file) == ("E-VOLUME-GEOMETRY", str(small))
    five = write_nifti(tmp_path / "five.nii", numpy.zeros((2, 2, *SHAPE), "u1"))
    assert ((refused := fails("segment", five, "--model", model, "-o", output)).code, refused.file) == ("E-VOLUME-FORMAT", str(five))
    holes = integers.astype("<f4")
    holes[2, 3, 4] = numpy.nan
    hole = write_nrrd_volume(tmp_path / "hole.nrrd", holes)  # NIfTI's reader makes 0 of them
    refused = fails("segment", hole, "--model", model, "-o", output)
    assert (refused.code, refused.file) == ("E-NOT-FINITE", str(hole)) and "4, 3, 2" in refused.why
    assert fails("segment", volume, "--model", model, "-o", tmp_path / "l.tif", code=2).code == "E-OUTPUT-ENDING"
    for options in (["--level", 0], ["--region", "0,0,5,5"], ["--fill-holes"], ["--mirror"], ["--patch", 64], ["--probability", "p.nii.gz"]):
        assert fails("segment", volume, "--model", model, "-o", output, *options, code=2).option == options[0]
    refused = fails("segment", volume, "--model", model, "-o", output, "--sliding-window", code=2)
    assert refused.option == "--patch", "which the model does not say"
    refused = fails("plan", slide, "--network", model)
    assert (refused.code, refused.file) == ("E-MODEL-INPUT", str(slide))
    (tmp_path / "empty").mkdir()
    refused = fails("segment", tmp_path / "empty", "--model", model, "-o", tmp_path / "out")
    assert (refused.code, refused.file) == ("E-FOLDER-EMPTY", str(tmp_path / "empty"))
    assert not output.exists()


@pytest.mark.usefixtures("network")
def test_nothing_is_overwritten_unasked(volume, integers, tmp_path):
    model = write_threshold_model(tmp_path / "m.safetensors", threshold=49.5)
    output = tmp_path / "l.nii.gz"
    output.write_bytes(b"something")
    assert ((refused := fails("segment", volume, "--model", model, "-o", output)).code, refused.file) == ("E-OUTPUT-EXISTS", str(output))
    assert output.read_bytes() == b"something"
    run("segment", volume, "--model", model, "-o", output, "--overwrite")
    assert (read_nifti(output)[0] == (integers > 49.5)).all()
    refused = fails("segment", volume, "--model", model, "-o", volume, "--overwrite")
    assert (refused.code, refused.file) == ("E-OUTPUT-INPUT", str(volume))


@pytest.mark.usefixtures("network")
@pytest.mark.parametrize("ending", [".nii.gz", ".nrrd", ".mha"])
def test_labels_that_are_there_are_not_computed_again(ending, volume, integers, tmp_path):
    """So that a batch that was interrupted goes on; but they are those of this volume, model and options."""
    model, other = (write_threshold_model(tmp_path / f"{threshold}.safetensors", threshold=threshold) for threshold in (49.5, 50.5))
    output = tmp_path / f"l{ending}"
    command = ["segment", volume, "-o", output, "--model"]
    first = run(*command, model, "--json").json
    before = output.stat()
    again = run(*command, model, "--json").json
    assert (first["skipped"], again["skipped"]) == (False, True)
    assert again["voxelsOfClasses"] == first["voxelsOfClasses"] == [int((integers <= 49.5).sum()), int((integers > 49.5).sum())]
    assert "was there already" in run(*command, model).out
    for words in ([other], [model, "--tile-size", "64"]):
        refused = fails(*command, *words)
        assert (refused.code, refused.file) == ("E-OUTPUT-EXISTS", str(output))
    write_nifti(volume, integers.astype("<i2") + 1)
    assert fails(*command, model).code == "E-OUTPUT-EXISTS"
    assert (output.stat().st_mtime_ns, output.stat().st_ino) == (before.st_mtime_ns, before.st_ino)
    assert not run(*command, model, "--overwrite", "--json").json["skipped"]


@pytest.mark.usefixtures("network")
def test_a_folder_of_volumes_is_as_one_of_slides(integers, tmp_path):
    """What is passed over in it is said, and its results go into a folder, however many they are."""
    model = write_threshold_model(tmp_path / "m.safetensors", threshold=49.5)
    volumes, one = tmp_path / "volumes", tmp_path / "labels.nii.gz"
    for folder in ("sub", "tables"):
        (volumes / folder).mkdir(parents=True)
    write_nrrd_volume(volumes / "sub" / "t3.nrrd", integers.astype("<i2"))
    for name in ("t1.nii.zip", "scan.mnc", "lone.img", "notes.txt", ".hidden.mnc", "tables/a.csv"):
        (volumes / name).write_bytes(b"")
    command = ["segment", volumes, "--model", model]
    none = fails(*command, "-o", tmp_path / "none")
    assert (none.code, none.file) == ("E-FOLDER-EMPTY", str(volumes))
    assert all(name in none.why for name in ("lone.img", "scan.mnc", "t1.nii.zip", "sub"))
    split_nifti(write_nifti(volumes / "t1.nii", integers.astype("<i2")))
    assert fails(*command, "-o", one, code=2).code == "E-OUTPUT-KIND"
    result = run(*command, "-o", tmp_path / "labels", "--json")
    passed = {"folder": str(volumes), "files": 3, "folders": 1, "fileNames": ["lone.img", "scan.mnc", "t1.nii.zip"], "folderNames": ["sub"]}
    assert [entry["passedOver"] for entry in result.json] == [passed]
    assert all(name in result.err for name in ("lone.img", "scan.mnc", "t1.nii.zip", "sub"))
    assert (read_nifti(tmp_path / "labels" / "t1.nii.gz")[0] == (integers > 49.5)).all()
    refused = fails(*command, "-o", tmp_path / "none", "--memory", "1M")
    assert (refused.code, refused.option, refused.value) == ("E-MEMORY-BUDGET", "--memory", "1M")
    assert not (tmp_path / "none").exists()
    (volumes / "t2.mha").write_bytes(b"no volume")
    assert fails(*command, "-o", one, code=2).code == "E-OUTPUT-KIND"
    write_metaimage(volumes / "t3.mhd", integers)
    (volumes / "t3.raw").write_bytes(integers.astype("u1").tobytes())
    header = (volumes / "t3.mhd").read_bytes()
    (volumes / "t3.mhd").write_bytes(header[: header.index(b"LOCAL")] + b"t3.raw\n")
    result = run(*command, volumes / "t1.hdr", "-o", tmp_path / "again", "--json", code=1)
    assert [("error" in entry, pathlib.Path(entry["volume"]).name) for entry in result.json] == [(False, "t1.hdr"), (True, "t2.mha"), (False, "t3.mhd")]
    assert [entry["passedOver"] for entry in result.json] == [passed] * 3
    assert not one.exists() and not (tmp_path / "none").exists()
    for header in ("t1.hdr", "t3.mhd"):
        (volumes / header).unlink()
    assert "5 files that are no volumes (lone.img, scan.mnc, t1.img, t1.nii.zip, t3.raw)" in run(*command, "-o", tmp_path / "none", code=1).err
    assert not (tmp_path / "none").exists()


@pytest.mark.usefixtures("network")
def test_cut_and_damaged_files(volume, integers, tmp_path):
    model = write_threshold_model(tmp_path / "m.safetensors")
    output = tmp_path / "l.nii.gz"
    plain = write_nifti(tmp_path / "plain.nii", integers.astype("<i2"))
    nrrd = write_nrrd_volume(tmp_path / "n.nrrd", integers.astype("<i2"))
    for whole in (volume, plain, nrrd):
        data = whole.read_bytes()
        bad = tmp_path / f"bad{''.join(whole.suffixes)}"
        for length in (1, 100, 347, 360, len(data) // 2, len(data) - 1):
            bad.write_bytes(data[:length])
            assert fails("segment", bad, "--model", model, "-o", output).file == str(bad), length
    data = bytearray(volume.read_bytes())
    data[len(data) // 2] ^= 0x10
    bad.write_bytes(data)
    (tmp_path / "flip.nii.gz").write_bytes(data)
    refused = fails("segment", tmp_path / "flip.nii.gz", "--model", model, "-o", output)
    assert (refused.code, refused.file) == ("E-FILE-DAMAGED", str(tmp_path / "flip.nii.gz"))
    # A header that promises 32767 x 32767 x 32767 voxels.
    data = bytearray(plain.read_bytes())
    struct.pack_into("<4h", data, 40, 3, 32767, 32767, 32767)
    bad = tmp_path / "huge.nii"
    bad.write_bytes(data)
    refused = fails("segment", bad, "--model", model, "-o", output)
    assert (refused.code, refused.file) == ("E-FILE-DAMAGED", str(bad))
    (tmp_path / "huge.nii.gz").write_bytes(gzip.compress(data))
    assert fails("info", tmp_path / "huge.nii.gz").code == "E-FILE-DAMAGED"
    assert not output.exists() and not [file for file in tmp_path.iterdir() if file.name.startswith(".")]


def test_gzip_of_several_members(integers, tmp_path):
    """As bgzip writes it, and cat joins them: what Python decompresses is the file."""
    data = write_nifti(tmp_path / "plain.nii", integers.astype("<i2")).read_bytes()
    joined = tmp_path / "joined.nii.gz"
    joined.write_bytes(gzip.compress(data[:1000]) + gzip.compress(data[1000:5000]) + gzip.compress(data[5000:]))
    assert gzip.open(joined).read() == data
    assert run("evaluate", joined, tmp_path / "plain.nii", "--json").json["meanDice"] == 1
    joined.write_bytes(joined.read_bytes()[:-100])
    refused = fails("evaluate", joined, tmp_path / "plain.nii")
    assert (refused.code, refused.file) == ("E-FILE-DAMAGED", str(joined))


def test_headers_with_any_byte_changed(integers, tmp_path):
    """Each ends in one sentence, or in labels."""
    plain = write_nifti(tmp_path / "plain.nii", integers[:4, :5, :6].astype("<i2")).read_bytes()
    bad = tmp_path / "bad.nii"
    failed = 0
    for place in [*range(0, 4), *range(40, 56), *range(68, 124), *range(252, 328), *range(344, 348)]:
        for value in (0x00, 0x7F, 0xFF):
            data = bytearray(plain)
            data[place] = value
            bad.write_bytes(data)
            failed += check_info(bad)
    assert failed > 60


@pytest.mark.parametrize("codes", [(0, 1), (1, 0)])  # the place by the matrix, by the turn
def test_headers_with_any_number_changed(codes, integers, tmp_path):
    """ITK's decomposition of a matrix of 3e38 has no end; NaN and infinite ones are made another number of."""
    plain = write_nifti(tmp_path / "plain.nii", integers[:4, :5, :6].astype("<i2"))
    plain = change_header(plain, "hh", 252, *codes).read_bytes()
    bad = tmp_path / "bad.nii"
    place = [256, 260, 264, 268, 272, 276] if codes[0] else list(range(280, 328, 4))
    for offset in [*range(76, 108, 4), *range(256, 328, 4)]:
        for value in (3e38, -2e38, numpy.inf, numpy.nan):
            bad.write_bytes(plain)
            failed = check_info(change_header(bad, "f", offset, value))
            assert failed or offset not in place + [80, 84, 88], (offset, value)
    bad.write_bytes(plain)
    assert check_info(change_header(change_header(bad, "ff", 288, 3e38, 2e38), "hh", 252, 0, 1))


def check_info(file):
    """Whether it was refused."""
    finished = subprocess.run([PROGRAM, "info", str(file), "--check", "--quiet"], capture_output=True, text=True, timeout=20)
    assert finished.returncode in (0, 1), finished
    lines = finished.stderr.strip().splitlines()
    # ITK 5.4 warns of some headers before it refuses them.
    assert finished.returncode == 0 or (0 < len(lines) < 3 and all(str(file) in line for line in lines)), finished
    return finished.returncode


def test_long_lines_of_nrrd(integers, tmp_path):
    """NrrdIO ends the program where it repeats a line of 1000 bytes in a message."""
    good = write_nrrd_volume(tmp_path / "good.nrrd", integers.astype("u1"))
    content = good.read_bytes()
    start, bad = content.index(b"\n") + 1, tmp_path / "bad.nrrd"
    assert run("info", good, "--check", "--json").json["depth"] == SHAPE[0]
    fields = ["type", "encoding", "endian", "sizes", "dimension", "space", "space directions", "space origin", "kinds", "labels"]
    values = [*(f"{field}: {{}}" for field in [*fields, "units", "thicknesses", "byte skip", "data file", "unknown", "odd: a:=b"]), "{}"]
    for value in values:
        for letters in (b"a" * 5000, b"1" * 5000, b"-1 " * 2000, b"(" * 5000, b'"a" ' * 1000, b"%s" * 2000):
            line = value.encode().replace(b"{}", letters)
            for place in (start, content.index(b"\n\n") + 1):
                bad.write_bytes(content[:place] + line + b"\n" + content[place:])
                refused = fails("info", bad)
                assert (refused.code, refused.file) == ("E-FILE-DAMAGED", str(bad)) and f"{len(line)} bytes" in refused.why, value
        line = value.encode().replace(b"{}", b"a" * (502 - len(value)))
        bad.write_bytes(content[:start] + line + b"\n" + content[start:])
        assert "are read" not in fails("info", bad).why, value
    for line in (b"#" + b"a" * 5000, b"key:=" + b"a" * 400000, b"k" * 5000 + b":=a", b"content: " + b"a" * 5000):
        bad.write_bytes(content[:start] + line + b"\n" + content[start:])
        assert run("info", bad, "--check", "--json").json["depth"] == SHAPE[0]
    many = b"NRRD0004\ntype: uint8\ndimension: 16\nsizes:" + b" 1" * 16 + b"\nencoding: raw\n\n1"  # which smashes NrrdIO's stack
    bad.write_bytes(many)
    refused = fails("info", bad)
    assert (refused.code, refused.file) == ("E-FILE-DAMAGED", str(bad)) and "dimension" in refused.why
    for number in ("-3", "0", "99999999999999999999", "nan"):
        for field, sizes in ((b"dimension: 3", f"dimension: {number}"), (b"sizes: 34", f"sizes: {number}")):
            bad.write_bytes(content.replace(field, sizes.encode()))
            assert fails("info", bad).file == str(bad)
    (tmp_path / "list.nhdr").write_bytes(content[: content.index(b"\n\n")] + b"\ndata file: LIST\n" + b"./" * 1000 + b"good.nrrd\n")
    refused = fails("info", tmp_path / "list.nhdr")
    assert refused.code == "E-FILE-DAMAGED" and "2009 bytes" in refused.why
    bad.write_bytes(content[:-100])
    assert fails("info", f"{tmp_path}/{'./' * 600}bad.nrrd").code == "E-FILE-NAME"


def test_metaimages_that_metaio_must_not_see(integers, tmp_path):
    """It reads as many numbers as the header says into memory of 4096, copies names and texts into memory of 255 bytes, and
    prints names of files by what the header says."""
    good = write_metaimage(tmp_path / "good.mha", integers)
    content, bad = good.read_bytes(), tmp_path / "bad.mha"
    assert run("info", good, "--check", "--json").json["depth"] == SHAPE[0]
    size = b"DimSize = 34 23 11"

    def refuse(old, new, sentence, code="E-FILE-DAMAGED"):
        changed = content.replace(old, new)
        assert changed != content
        bad.write_bytes(changed)
        for words in (["info", bad], ["evaluate", bad, good]):
            refused = fails(*words)
            assert (refused.code, refused.file) == (code, str(bad)) and sentence in refused.why, (new[:100], refused)

    for number in ("5000", "200000", "-3", "2000000000", "99999999999999999999", "11", "0", "3.5", "nan", ""):
        numbers = b"DimSize = " + b"1 " * (int(number) if number in ("5000", "200000", "11") else 3)
        bad.write_bytes(content.replace(b"NDims = 3", f"NDims = {number}".encode()).replace(size, numbers))
        refused = fails("info", bad)
        assert refused.code == "E-FILE-DAMAGED" and "NDims" in refused.why
    many = b"\nDimSize = " + b"1 " * 5000
    for twice in (b"NDims = 5000" + many, b"NDims=5000" + many, b"NDims: 5000" + many):
        refuse(size, size + b"\n" + twice, "NDims is there twice")
    for hidden in (b"\x0bNDims = 5000", b"NDims\0x = 5000", b"Odd\rNDims = 5000", b"NDims\nOdd = 5000", b"Odd =\n5000", b"\x0cNDims = 5000"):
        refuse(size, size + b"\n" + hidden + many, "it is no field")
    for sizes in ("34 23", "34 23 11 5", ""):
        refuse(size, f"DimSize = {sizes}".encode(), "DimSize has ")
    for sizes in ("-34 23 11", "34 23 x", "4294967296 4294967296 1", "999999999 999999999 999999999", "34 23 1e9"):
        refuse(size, f"DimSize = {sizes}".encode(), "no number that an image has")
    for channels in ("-3", "99999999999999999999", "x", "1e9"):
        refuse(size, size + f"\nElementNumberOfChannels = {channels}".encode(), "no number that an image has")
    for name in ("Comment", "Name", "ObjectSubType", "k" * 244):
        line = f"\n{name} = ".encode() if len(name) < 20 else f"\n{name}".encode()
        rest = b"" if len(name) < 20 else b" = 1"
        length = 254 if len(name) < 20 else 10
        bad.write_bytes(content.replace(size, size + line + b"a" * length + rest))
        assert run("info", bad, "--check", "--json").json["depth"] == SHAPE[0]
        for letters in (length + 1, 400, 100000):
            refuse(size, size + line + b"a" * letters + rest, "bytes, and at most 254 are read")
    (tmp_path / "p1.raw").write_bytes(integers.astype("u1").tobytes())
    names = ["%s.raw", "p%s%s%s%s.raw 1 1 1", "p%n.raw 1 1 1", "p%d%s.raw 1 1 1", "p%d.raw 1 1 0", "p%d.raw 1 1 x", "p%d.raw 1 2000000000 1", "p%d.raw 1 9 -1"]
    for name in [*names, "p%05000d.raw 1 1 1", "p%*d.raw 1 1 1", "100%.raw", "%d/p%d.raw 1 1 1", "x%d/p1.raw 1 1 1"]:
        refuse(b"LOCAL", name.encode(), "the names of files are to have one number")
    for name in ("LIST -1", "LIST -2000000000", "LIST 2000000000", "LIST x", "LIST 2 3", "LISTS"):
        refuse(b"LOCAL", name.encode() + b"\n" + b"p1.raw\n" * 11, "the list of files is to begin with LIST")
    refuse(b"LOCAL", b"./" * 300 + b"p1.raw", "at most 498 are read")
    refuse(b"LOCAL", b"q%d.raw 1 11 1", "which is not there", "E-FILE-MISSING")
    planes = [tmp_path / f"plane{z:03}.raw" for z in range(1, SHAPE[0] + 1)]
    for plane, voxels in zip(planes, integers.astype("u1")):
        plane.write_bytes(voxels.tobytes())
    for names in ("plane%03d.raw 1 11 1", "plane%03d.raw", "LIST\n" + "\n".join(plane.name for plane in planes), "LIST 2\n" + "\n".join(plane.name for plane in planes)):
        bad.write_bytes(content[: content.index(b"LOCAL")] + names.encode() + b"\n")
        assert run("info", bad, "--check", "--json").json["depth"] == SHAPE[0], names


def test_nifti_headers_of_extreme_numbers(integers, tmp_path):
    """Axes, sizes, bits and places; of compressed files, too."""
    plain = write_nifti(tmp_path / "plain.nii", integers[:4, :5, :6].astype("<i2")).read_bytes()
    failed = 0
    for form, places, values in (("h", (40, 42, 44, 46, 48, 70, 72, 254), (-32768, -1, 0, 8, 32767)), ("i", (0,), (-1, 0, 2**31 - 1)), ("f", (76, 80, 108, 112, 116), (-1e9, -0.5, 1e9, 3e38, numpy.nan))):
        for place in places:
            for value in values:
                bad = tmp_path / "bad.nii"
                bad.write_bytes(plain)
                change_header(bad, form, place, value)
                packed = tmp_path / "bad.nii.gz"
                packed.write_bytes(gzip.compress(bad.read_bytes()))
                failed += check_info(bad) + check_info(packed)
    assert failed > 40


@pytest.mark.usefixtures("network")
def test_scaled_vectors(integers, tmp_path):
    """All values of a voxel are scaled; a slope of 0, or one that is no number, stands for none, whatever the intercept is."""
    both = numpy.stack([integers, integers[::-1]])
    model = write_threshold_model(tmp_path / "m.safetensors", weights=(1.0, 2.0), threshold=99.25)
    pairs = [(0.5, 0), (1, 3), (-1, 0), (0, 7), (numpy.nan, 3), (0, 0), (1, 0), (numpy.nan, numpy.nan), (0, numpy.inf)]
    files = [write_nifti(tmp_path / f"v{number}.nii", both.astype("<i2"), slope=slope, intercept=intercept, vector=True) for number, (slope, intercept) in enumerate(pairs)]
    # In the other order of bytes, and without the length of the header, as niftilib takes it, too.
    change_header(files[0], "i", 0, 77)
    run("segment", *files, "--model", model, "-o", tmp_path / "out")
    for file, (slope, intercept) in zip(files, pairs):
        values = both * slope + intercept if slope and numpy.isfinite(slope) else both
        assert (read_nifti(tmp_path / "out" / f"{file.stem}.nii.gz")[0] == (values[0] + 2 * values[1] > 99.25)).all(), (slope, intercept)
    colors = write_nifti(tmp_path / "rgb.nii", integers.astype("u1").repeat(3, axis=2), slope=2)
    colors = change_header(change_header(colors, "hh", 70, 128, 24), "h", 42, SHAPE[2])
    assert fails("info", colors, "--check").code == "E-VOLUME-FORMAT"
    infinite = write_nifti(tmp_path / "i.nii", integers.astype("<i2"), slope=1, intercept=numpy.inf)
    assert ((refused := fails("info", infinite, "--check")).code, refused.file) == ("E-VOLUME-FORMAT", str(infinite))


def test_nifti_2_is_named(tmp_path):
    header = struct.pack("<i8s", 540, b"n+2\0\r\n\x1a\n") + bytes(540 - 12)
    (tmp_path / "two.nii").write_bytes(header + bytes(100))
    assert ((refused := fails("info", tmp_path / "two.nii")).code, refused.file) == ("E-VOLUME-FORMAT", str(tmp_path / "two.nii"))


def test_directions_that_are_none(integers, tmp_path):
    voxels = integers[:4, :5, :6]
    for name, change in [
        ("zero", {"matrix": [0] * 9}),
        ("long", {"matrix": (1, 0, 0, 0, 2, 0, 0, 0, 1)}),
        ("flat", {"matrix": (1, 0, 0, 0, 1, 0, 0, 1, 0)}),
        ("far", {"origin": (0, 1e30, 0)}),
        ("wide", {"spacing": (1, 1e30, 1)}),
    ]:
        bad = write_metaimage(tmp_path / f"{name}.mha", voxels, **change)
        refused = fails("info", bad)
        assert (refused.code, refused.file) == ("E-VOLUME-GEOMETRY", str(bad)), name
    assert run("info", write_metaimage(tmp_path / "good.mha", voxels), "--check", "--json").json["depth"] == 4
    zero = write_nrrd_volume(tmp_path / "zero.nrrd", voxels.astype("u1"), numpy.zeros((4, 4)))
    assert ((refused := fails("info", zero)).code, refused.file) == ("E-VOLUME-GEOMETRY", str(zero))
    for number in (b"nan", b"inf", b"3e38"):
        file = write_nrrd_volume(tmp_path / "number.nrrd", voxels.astype("u1"))
        file.write_bytes(re.sub(rb"(space directions: \()[^,]+", rb"\g<1>" + number, file.read_bytes()))
        assert fails("info", file).file == str(file), number


def test_pairs_of_header_and_pixels(integers, tmp_path):
    values = integers.astype("<i2")
    header = split_nifti(write_nifti(tmp_path / "pair.nii", values))
    pixels = header.with_suffix(".img")
    for name in (header, pixels):
        assert run("info", name, "--check", "--json").json["depth"] == SHAPE[0]
    pixels.write_bytes(values.tobytes()[:-1])
    for name in (header, pixels):
        assert ((refused := fails("info", name)).code, refused.file) == ("E-FILE-DAMAGED", str(pixels))
    packed = pixels.with_suffix(".img.gz")
    packed.write_bytes(gzip.compress(values.tobytes()))
    pixels.unlink()
    assert run("info", header, "--check", "--json").json["depth"] == SHAPE[0]
    packed.write_bytes(gzip.compress(values.tobytes()[:-1]))
    assert ((refused := fails("info", header, "--check")).code, refused.file) == ("E-FILE-DAMAGED", str(packed))
    change_header(header, "4h", 40, 3, 32767, 32767, 32767)
    assert fails("info", header).code == "E-FILE-DAMAGED"
    packed.unlink()
    assert ((refused := fails("info", header)).code, refused.file) == ("E-FILE-MISSING", str(header))
    vector = split_nifti(write_nifti(tmp_path / "v.nii", numpy.stack([values] * 2), slope=0.5, vector=True))
    assert run("info", vector.with_suffix(".img"), "--check", "--json").json["channels"] == 2


def test_compressed_metaimages_are_decompressed_when_they_are_read(integers, tmp_path):
    packed = zlib.compress(integers.astype("u1").tobytes())
    volume = write_metaimage(tmp_path / "v.mha", integers, packed=packed)
    assert run("info", volume, "--check", "--json").json["depth"] == SHAPE[0]
    for bad in (packed[: len(packed) // 2], packed[:100] + b"xyz" + packed[103:]):
        write_metaimage(volume, integers, packed=bad)
        assert run("info", volume, "--json").json["depth"] == SHAPE[0]
        assert ((refused := fails("info", volume, "--check")).code, refused.file) == ("E-FILE-DAMAGED", str(volume))


@pytest.mark.usefixtures("network")
@UNSANITIZED
def test_memory_of_a_volume_is_that_of_its_plan(tmp_path):
    """A double takes 8 bytes while the file is read, and the float that is kept 4."""
    model = write_threshold_model(tmp_path / "m.safetensors", threshold=1e9)
    options = ["--tile-size", 32, "--threads", 1, "--json"]
    for name, kind, slope, reading in [("double", "<f8", 0, 12), ("scaled", "<i2", 0.5, 4)]:
        voxels = numpy.zeros((200, 200, 200), kind)
        voxels[0, 0, 0] = 5
        file = write_nifti(tmp_path / f"{name}.nii", voxels, slope=slope)
        result = run("segment", file, "--model", model, "-o", tmp_path / f"{name}.l.nii", *options).json
        assert result["peakBytes"] < result["estimatedPeakBytes"] < 1.2 * result["peakBytes"], name
        rows = run("plan", file, "--network", model, *options).json["plans"]
        training, inference = (next(row["peakBytes"] for row in rows if row["purpose"] == p) for p in ("training", "inference"))
        assert inference == pytest.approx(result["estimatedPeakBytes"], rel=0.05), name
        # A volume and its labels are read while the maps of the volume before are in memory.
        assert training > inference + 0.9 * (reading + 1 - 4 - 1) * voxels.size, name


@pytest.mark.usefixtures("network")
def test_labels_lie_where_a_tilted_volume_lies(integers, tmp_path):
    """NIfTI's writer makes axes perpendicular, which moves the labels of a CT with a tilted gantry."""
    tilted = OBLIQUE.copy()
    tilted[1, 2] = 0.4
    volume = write_nrrd_volume(tmp_path / "ct.nrrd", integers.astype("<i2"), tilted)
    model = write_threshold_model(tmp_path / "m.safetensors", threshold=49.5)
    for ending in (".nii.gz", ".nii"):
        refused = fails("segment", volume, "--model", model, "-o", tmp_path / f"l{ending}")
        assert (refused.code, refused.file) == ("E-OUTPUT-ENDING", str(tmp_path / f"l{ending}"))
    for ending in (".nrrd", ".mha"):
        run("segment", volume, "--model", model, "-o", tmp_path / f"l{ending}")
        info, labels = (run("info", name, "--json").json for name in (volume, tmp_path / f"l{ending}"))
        for key in ("spacingMm", "originMm"):
            assert labels[key] == pytest.approx(info[key], rel=1e-5)
        assert numpy.array(labels["direction"]) == pytest.approx(numpy.array(info["direction"]), abs=1e-5)


@pytest.mark.usefixtures("network")
def test_plan_of_volumes(volume, tmp_path):
    words = ["plan", "--network", "unet3d:base=8", "--json"]
    plan = run(*words, "--measure", "--size", "240x240x155", "--memory", "2G").json
    assert (plan["width"], plan["height"], plan["depth"]) == (240, 240, 155)
    rows = {(row["purpose"], row["options"]): row for row in plan["plans"]}
    assert set(rows) == {(p, o) for p in ("training", "inference") for o in ("", "--tile-size image")}
    assert rows["training", ""]["fits"] and rows["training", ""]["networkSeconds"] > 0
    row = rows["inference", ""]
    side = row["tileSize"]
    assert row["fits"] and row["tiles"] >= (-(-240 // side)) ** 2 * -(-155 // side) and row["passes"] == max(1, len(row["segments"]))
    assert 240 * 240 * 155 * 5 < row["peakBytes"] <= 2 * 1024**3 and row["seconds"] > 0
    norms = run("plan", "--network", "unet3d:base=8,norm=instance", "--size", "240x240x155", "--scratch", tmp_path, "--json").json
    row = next(row for row in norms["plans"] if row["purpose"] == "inference" and not row["options"])
    assert row["passes"] > 10 and row["keptInFiles"] and row["keptBytes"] > 240 * 240 * 155 * 4 * 8
    text = run("plan", "--network", "unet3d", "--size", "240x240x155").out
    assert "240 x 240 x 155 voxels" in text
    of_file = run("plan", volume, *words[1:]).json
    assert (of_file["image"], of_file["depth"]) == (str(volume), 11)
    huge = "2000000000x2000000000x2000000000"
    for command, size in ((["plan", "--network", "unet3d"], "9x9"), (["plan"], "9x9x9"), (["plan"], "9x9x9x9"), (["synthesize", "s.tif"], "9x9x9"), (words, huge)):
        refused = fails(*command, "--size", size, code=2)
        assert (refused.code, refused.option, refused.value) == ("E-OPTION-VALUE", "--size", size)


@pytest.mark.usefixtures("network")
@UNSANITIZED
def test_wide_halos_are_computed_once(tmp_path):
    """In little memory a network of dilated convolutions goes over a volume in segments, whose maps lie in the scratch folder."""
    voxels = numpy.random.default_rng(3).integers(0, 2, (96, 96, 96)).astype("u1")
    dilations, sums = (1, 4, 8, 8), voxels.astype(float)
    for dilation in dilations:
        sums = sum_boxes(sums, dilation)  # whole numbers below 2^24: floats hold them
    threshold = numpy.median(sums) + 0.5
    volume = write_nifti(tmp_path / "v.nii", voxels)
    model = write_dilated_model(tmp_path / "m.safetensors", dilations, 16, threshold)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    plans = {}
    for name, words in {"once": ["--tile-size", "64"], "memory": [], "files": ["--memory", "240M", "--scratch", scratch]}.items():
        told = run("segment", volume, "--model", model, "-o", tmp_path / f"{name}.nii", "--threads", "2", "--json", *words).json
        plans[name] = told["plan"]
        assert numpy.array_equal(read_nifti(tmp_path / f"{name}.nii")[0], sums > threshold), name
    assert not plans["once"]["segments"] and plans["once"]["keptBytes"] == 0
    segments = plans["files"]["segments"]
    assert len(segments) > 1 and plans["files"]["passes"] == len(segments) and segments[-1]["map"] == "y"
    assert all(segment["passes"] == 1 for segment in segments)
    assert plans["files"]["keptBytes"] in (voxels.size * 16 * 4, 2 * voxels.size * 16 * 4)
    assert not list(scratch.iterdir())
    text = run("plan", volume, "--network", model, "--memory", "240M", "--scratch", scratch).out
    assert "1 pass, tiles of" in text and "in the scratch folder" in text


@pytest.mark.usefixtures("network")
@UNSANITIZED
def test_too_little_memory(volume, tmp_path):
    model = write_threshold_model(tmp_path / "m.safetensors")
    refused = fails("segment", volume, "--model", model, "-o", tmp_path / "l.nii.gz", "--memory", "30M")
    assert (refused.code, refused.option, refused.value) == ("E-MEMORY-BUDGET", "--memory", "30M")
