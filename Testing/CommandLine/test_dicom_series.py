# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""DICOM series as volumes, written byte by byte as DICOM PS3.5 and PS3.10 say."""

import io
import os
import pathlib
import shutil
import struct
import subprocess

import numpy
import pytest
from PIL import Image

from conftest import PROGRAM, fails, obey_permissions, run
from volumes import read_nifti, write_nifti, write_threshold_model

CT = "1.2.840.10008.5.1.4.1.1.2"
SHAPE = (7, 12, 10)  # z, y, x
LONG = (b"OB", b"OW", b"UN", b"SQ", b"UT")


def element(group, number, kind, value):
    value = value.encode() if isinstance(value, str) else value
    value += (b"\0" if kind in (b"UI", b"OW", b"OB") else b" ") * (len(value) % 2)
    length = struct.pack("<2xI", len(value)) if kind in LONG else struct.pack("<H", len(value))
    return struct.pack("<HH", group, number) + kind + length + value


def numbers(values):
    return "\\".join(f"{value:g}" for value in values)


def us(value):
    return struct.pack("<H", value)


def write_slice(path, pixels, position, *, series="1.2.3.4", spacing=(0.5, 0.75), direction=(1, 0, 0, 0, 1, 0), slope=2, intercept=-1000, kind=CT):
    """Signed samples of 16 bits, y and x; the spacing is that of rows and then columns."""
    number = path.stem.strip("abcdefghijklmnopqrstuvwxyz-")
    meta = element(2, 1, b"OB", b"\0\1") + element(2, 2, b"UI", kind) + element(2, 3, b"UI", f"{series}.{number}") + element(2, 0x10, b"UI", "1.2.840.10008.1.2.1") + element(2, 0x12, b"UI", "1.2.3")
    data = b"".join([
        element(8, 0x16, b"UI", kind), element(8, 0x18, b"UI", f"{series}.{number}"), element(8, 0x60, b"CS", "CT"),
        element(0x10, 0x10, b"PN", "Nobody"), element(0x10, 0x20, b"LO", "0"), element(0x18, 0x50, b"DS", "9"),
        element(0x20, 0xD, b"UI", "1.2.3.9"), element(0x20, 0xE, b"UI", series), element(0x20, 0x13, b"IS", "1"),
        element(0x20, 0x32, b"DS", numbers(position)), element(0x20, 0x37, b"DS", numbers(direction)), element(0x20, 0x52, b"UI", "1.2.3.8"),
        element(0x28, 2, b"US", us(1)), element(0x28, 4, b"CS", "MONOCHROME2"), element(0x28, 0x10, b"US", us(pixels.shape[0])), element(0x28, 0x11, b"US", us(pixels.shape[1])),
        element(0x28, 0x30, b"DS", numbers(spacing)), element(0x28, 0x100, b"US", us(16)), element(0x28, 0x101, b"US", us(16)), element(0x28, 0x102, b"US", us(15)),
        element(0x28, 0x103, b"US", us(1)), element(0x28, 0x1052, b"DS", f"{intercept:g}"), element(0x28, 0x1053, b"DS", f"{slope:g}"), element(0x7FE0, 0x10, b"OW", pixels.astype("<i2").tobytes()),
    ])
    path.write_bytes(bytes(128) + b"DICM" + element(2, 0, b"UL", struct.pack("<I", len(meta))) + meta + data)


def write_series(folder, stored, step=(0, 0, 2.5), **options):
    """Slices whose names are in another order than their places."""
    folder.mkdir(exist_ok=True)
    for index, pixels in enumerate(stored):
        write_slice(folder / f"im{(5 * index + 3) % len(stored):02d}.dcm", pixels, [-20 + index * step[0], 30 + index * step[1], -100 + index * step[2]], **options)
    (folder / "notes.txt").write_text("nothing of a scanner")
    return folder


@pytest.fixture(scope="module")
def stored():
    return numpy.random.default_rng(6).integers(-200, 900, SHAPE)


@pytest.fixture(scope="module", autouse=True)
def has_dicom(tmp_path_factory, stored):
    series = write_series(tmp_path_factory.mktemp("dicom") / "ct", stored)
    finished = subprocess.run([PROGRAM, "info", str(series)], capture_output=True, text=True)
    if "no reader knows this kind of file" in finished.stderr:
        assert "GIGAPIXEL_HAS_DICOM" not in os.environ, f"the build has DICOM, and the program does not find it: {finished.stderr}"
        pytest.skip("the program is built without DICOM")


def test_info_tells_of_a_series(stored, tmp_path):
    series = write_series(tmp_path / "ct", stored)
    info = run("info", series, "--json", "--check").json
    assert (info["width"], info["height"], info["depth"], info["channels"]) == (10, 12, 7, 1)
    assert info["spacingMm"] == pytest.approx([0.75, 0.5, 2.5]) and info["originMm"] == pytest.approx([-20, 30, -100])
    assert numpy.array(info["direction"]) == pytest.approx(numpy.eye(3))
    assert info["fileBytes"] == sum(file.stat().st_size for file in series.glob("*.dcm"))


@pytest.mark.usefixtures("network")
def test_series_are_segmented_as_their_nifti(stored, tmp_path):
    series = write_series(tmp_path / "ct", stored)
    values = 2 * stored - 1000
    model = write_threshold_model(tmp_path / "m.safetensors", threshold=-300.5)
    run("segment", series, "--model", model, "-o", tmp_path / "l.nii.gz")
    labels, affine = read_nifti(tmp_path / "l.nii.gz")
    assert (labels == (values > -300.5)).all() and 0.1 < labels.mean() < 0.9
    expected = numpy.array([[-0.75, 0, 0, 20], [0, -0.5, 0, -30], [0, 0, 2.5, -100], [0, 0, 0, 1]])
    assert affine == pytest.approx(expected)
    same = write_nifti(tmp_path / "same.nii.gz", values.astype("<i2"), expected)
    two = write_threshold_model(tmp_path / "two.safetensors", (1, -1), threshold=-0.5)
    run("segment", f"{series},{same}", "--model", two, "-o", tmp_path / "d.nii.gz")
    assert read_nifti(tmp_path / "d.nii.gz")[0].all()  # the difference is 0 everywhere
    # A folder of folders, each a volume.
    both = tmp_path / "both"
    both.mkdir()
    os.rename(series, both / "ct.1")
    write_series(both / "ct.2", stored[::-1])
    run("segment", both, "--model", model, "-o", tmp_path / "out/")
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == ["ct.1.nii.gz", "ct.2.nii.gz", "manifest.json", "timings.jsonl"]
    assert (read_nifti(tmp_path / "out/ct.2.nii.gz")[0] == labels[::-1]).all()


@pytest.mark.usefixtures("network")
def test_slices_with_slopes_of_their_own(stored, tmp_path):
    folder = tmp_path / "pet"
    folder.mkdir()
    slopes = [0.5 + 0.25 * index for index in range(len(stored))]
    for index, (pixels, slope) in enumerate(zip(stored, slopes)):
        write_slice(folder / f"{index}.dcm", pixels, [0, 0, 4 * index], slope=slope, intercept=0)
    values = stored * numpy.array(slopes)[:, None, None]
    model = write_threshold_model(tmp_path / "m.safetensors", threshold=200.3)
    run("segment", folder, "--model", model, "-o", tmp_path / "l.nii.gz")
    assert (read_nifti(tmp_path / "l.nii.gz")[0] == (values > 200.3)).all()


@pytest.mark.usefixtures("network")
def test_tilted_gantry(stored, tmp_path):
    """Slices that move sideways as well: the third axis is not their normal, and NIfTI cannot say that."""
    series = write_series(tmp_path / "ct", stored, step=(0, 0.9, 2.5))
    info = run("info", series, "--json").json
    length = numpy.hypot(0.9, 2.5)
    assert info["spacingMm"][2] == pytest.approx(length, rel=1e-5) and info["direction"][2] == pytest.approx([0, 0.9 / length, 2.5 / length], abs=1e-5)
    model = write_threshold_model(tmp_path / "m.safetensors")
    assert ((refused := fails("segment", series, "--model", model, "-o", tmp_path / "l.nii.gz")).code, refused.file) == ("E-OUTPUT-ENDING", str(tmp_path / "l.nii.gz"))
    run("segment", series, "--model", model, "-o", tmp_path / "l.nrrd")


def test_series_that_are_no_volume(stored, tmp_path):
    series = write_series(tmp_path / "ct", stored)
    files = sorted(series.glob("*.dcm"))
    (series / "im03.dcm").rename(tmp_path / "away.dcm")  # the first one, which nobody misses
    assert run("info", series, "--json").json["depth"] == 6
    middle = files[[file.name for file in files].index("im01.dcm")]  # of place 1
    middle.rename(tmp_path / "gone.dcm")
    assert fails("info", write_gap(tmp_path / "gap", stored)).code == "E-DICOM-PARTS"
    write_slice(series / "twice9.dcm", stored[3], [-20, 30, -100 + 3 * 2.5])
    assert fails("info", series).code == "E-DICOM-PARTS"
    other = write_series(tmp_path / "two", stored)
    write_slice(other / "other8.dcm", stored[0], [0, 0, 50], series="1.2.3.5")
    assert ((refused := fails("info", other)).code, refused.file, refused.value) == ("E-DICOM-PARTS", str(other), "2")
    sizes = write_series(tmp_path / "sizes", stored)
    write_slice(sizes / "large8.dcm", numpy.zeros((13, 10)), [-20, 30, -100 + 7 * 2.5])
    assert fails("info", sizes).code == "E-VOLUME-GEOMETRY"
    cut = write_series(tmp_path / "cut", stored)
    data = (cut / "im02.dcm").read_bytes()
    (cut / "im02.dcm").write_bytes(data[:-100])
    refused = fails("info", cut, "--check")
    assert (refused.code, refused.file) == ("E-FILE-DAMAGED", str(cut / "im02.dcm"))


def list_named(series, refused):
    return [file for file in sorted(series.glob("*")) if str(file) in refused.why]


def test_slices_that_are_there_twice(stored, tmp_path):
    """One copy, copies of all, and two times of one volume: the slices that are named lie at the same place."""
    series = write_series(tmp_path / "ct", stored)
    data = (series / "im03.dcm").read_bytes()
    (series / "im03 (1).dcm").write_bytes(data)
    assert (refused := fails("info", series)).code == "E-DICOM-PARTS" and {file.read_bytes() for file in list_named(series, refused)} == {data}
    for file in sorted(series.glob("im??.dcm")):
        shutil.copy(file, series / f"copy-{file.name}")
    (series / "im03 (1).dcm").unlink()
    assert (refused := fails("info", series)).code == "E-DICOM-PARTS"
    one, other = list_named(series, refused)
    assert one.read_bytes() == other.read_bytes()
    times = write_series(tmp_path / "times", stored)
    for index, pixels in enumerate(stored):
        write_slice(times / f"later{index + 50}.dcm", pixels + 1, [-20, 30, -100 + index * 2.5])
    assert (refused := fails("info", times)).code == "E-DICOM-PARTS"
    one, other = (file.read_bytes().split(element(0x20, 0x32, b"DS", "")[:6])[1][:20] for file in list_named(times, refused))
    assert one == other


@pytest.mark.parametrize("kind", ["1.2.840.10008.5.1.4.1.1.481.3", "1.2.840.10008.5.1.4.1.1.88.22", "1.2.840.10008.5.1.4.1.1.11.1", "1.2.840.10008.5.1.4.1.1.66", "1.2.840.10008.1.3.10"])
def test_objects_without_pixels_lie_beside_slices(stored, tmp_path, kind):
    """A structure set, a report, a presentation state, raw data, and the directory of a disk."""
    series = write_series(tmp_path / "ct", stored)
    expected = run("info", series, "--json").json
    write_slice(series / "other9.dcm", stored[0], [0, 0, 0], series="1.2.3.5", kind=kind)
    data = (series / "other9.dcm").read_bytes()
    (series / "other9.dcm").write_bytes(data[: data.index(struct.pack("<HH", 0x28, 2))])
    assert run("info", series, "--json").json == expected
    (series / "other9.dcm").unlink()
    (series / "im02.dcm").write_bytes((cut := (series / "im02.dcm").read_bytes())[: cut.index(struct.pack("<HH", 0x28, 2))])
    assert ((refused := fails("info", series)).code, refused.file) == ("E-FILE-DAMAGED", str(series / "im02.dcm"))


def splice(series, at, added=b"", removed=0, name="im00.dcm"):
    """A file of the series with other bytes from an element on."""
    data = (series / name).read_bytes()
    place = data.index(at)
    (series / name).write_bytes(data[:place] + added + data[place + removed:])
    return series


def test_files_that_end_early_are_refused(stored, tmp_path):
    """GDCM's assertions ended the program."""
    series = write_series(tmp_path / "ct", stored)
    whole = (series / "im00.dcm").read_bytes()
    pixels = whole.index(struct.pack("<HH", 0x7FE0, 0x10))
    for size in [*range(140, pixels, 13), pixels, pixels + 6, pixels + 12, len(whole) - 1]:
        (series / "im00.dcm").write_bytes(whole[:size])
        refused = fails("info", series)
        assert (refused.code, refused.file) == ("E-FILE-DAMAGED", str(series / "im00.dcm")), size
    (series / "im00.dcm").write_bytes(whole + bytes(512))  # blocks that are filled with zeros
    assert run("info", series, "--json", "--check").json["depth"] == 7


def nest(depth, length):
    """Sequences within each other, with lengths or with marks of their ends."""
    inside = b""
    for _ in range(depth):
        if length:
            inside = struct.pack("<HHI", 0xFFFE, 0xE000, len(inside)) + inside
            inside = struct.pack("<HH", 8, 0x1140) + b"SQ" + struct.pack("<2xI", len(inside)) + inside
        else:
            inside = struct.pack("<HH2s2xI", 8, 0x1140, b"SQ", 0xFFFFFFFF) + struct.pack("<HHI", 0xFFFE, 0xE000, 0xFFFFFFFF) + inside
            inside += struct.pack("<HHI", 0xFFFE, 0xE00D, 0) + struct.pack("<HHI", 0xFFFE, 0xE0DD, 0)
    return inside


@pytest.mark.parametrize("length", [True, False])
def test_sequences_within_each_other(stored, tmp_path, length):
    """GDCM's stack ended the program."""
    series = splice(write_series(tmp_path / "ct", stored), element(8, 0x60, b"CS", "CT"), nest(32, length))
    assert run("info", series, "--json", "--check").json["depth"] == 7
    assert fails("info", splice(series, element(8, 0x60, b"CS", "CT"), nest(4000, length), name="im01.dcm")).code == "E-FILE-DAMAGED"


DAMAGE = [
    ("samples of 16 bits", "E-DICOM-FORMAT", element(0x28, 2, b"US", us(1)), element(0x28, 2, b"US", us(60000))),
    ("1 samples of 16 bits, 99 of them in use", "E-DICOM-FORMAT", element(0x28, 0x101, b"US", us(16)), element(0x28, 0x101, b"US", us(99))),
    ("or not as one number of 16 bits", "E-FILE-DAMAGED", element(0x28, 0x10, b"US", us(12)), element(0x28, 0x10, b"US", us(12) * 2)),
    ("another kind", "E-FILE-DAMAGED", element(0x28, 0x103, b"US", us(1)), element(0x28, 0x103, b"SH", us(1))),
    ("of a kind that DICOM does not have", "E-FILE-DAMAGED", element(0x10, 0x20, b"LO", "0"), element(0x10, 0x20, b"zz", "0")),
    ("240 of 1310700 bytes of pixels", "E-FILE-DAMAGED", element(0x28, 0x10, b"US", us(12)), element(0x28, 0x10, b"US", us(65535))),
    ("not compressed as its transfer syntax says", "E-FILE-DAMAGED", element(2, 0x10, b"UI", "1.2.840.10008.1.2.1"), element(2, 0x10, b"UI", "1.2.840.10008.1.2.5")),
    ("deflated", "E-DICOM-FORMAT", element(2, 0x10, b"UI", "1.2.840.10008.1.2.1"), element(2, 0x10, b"UI", "1.2.840.10008.1.2.1.99")),
    ("recognition code", "E-FILE-DAMAGED", element(8, 0x60, b"CS", "CT"), element(8, 0x10, b"SH", "nothing")),
    ("no item", "E-FILE-DAMAGED", element(8, 0x60, b"CS", "CT"), struct.pack("<HH2s2xI", 8, 0x1140, b"SQ", 8) + bytes(8)),
    ("it has 7 slices in one file", "E-DICOM-FORMAT", element(0x28, 4, b"CS", "MONOCHROME2"), element(0x28, 4, b"CS", "MONOCHROME2") + element(0x28, 8, b"IS", "7")),
    ("numbers of a palette's colors", "E-DICOM-FORMAT", element(0x28, 4, b"CS", "MONOCHROME2"), element(0x28, 4, b"CS", "PALETTE COLOR")),
    ("a radiation dose", "E-DICOM-FORMAT", element(8, 0x16, b"UI", CT), element(8, 0x16, b"UI", "1.2.840.10008.5.1.4.1.1.481.2")),
    ("item outside a sequence", "E-FILE-DAMAGED", element(8, 0x60, b"CS", "CT"), struct.pack("<HHI", 0xFFFE, 0xE000, 0)),
    ("no length", "E-FILE-DAMAGED", struct.pack("<HH2s2xI", 0x7FE0, 0x10, b"OW", 240), struct.pack("<HH2s2xI", 0x7FE0, 0x10, b"OW", 0xFFFFFFFF)),
]


@pytest.mark.parametrize("code, old, new", [case[1:] for case in DAMAGE], ids=[case[0] for case in DAMAGE])
def test_damaged_headers_are_refused(stored, tmp_path, code, old, new):
    """Of most of them GDCM ended the program by an assertion, or made up pixels."""
    series = splice(write_series(tmp_path / "ct", stored), old, new, len(old))
    refused = fails("info", series)
    assert (refused.code, refused.file) == (code, str(series / "im00.dcm"))


PLACES = [
    ("E-DICOM-FORMAT", {"spacing": (0, 0.75)}),
    ("E-DICOM-FORMAT", {"spacing": (0.5, -0.75)}),
    ("E-DICOM-FORMAT", {"spacing": (0.5,)}),
    ("E-FILE-DAMAGED", {"spacing": (float("nan"), 0.75)}),
    ("E-FILE-DAMAGED", {"spacing": (0.5, float("inf"))}),
    ("E-DICOM-FORMAT", {"direction": (0,) * 6}),
    ("E-DICOM-FORMAT", {"direction": (1, 0, 0, 0.7, 0.7, 0)}),
    ("E-DICOM-FORMAT", {"direction": (1, 0, 0, 0, 1)}),
    ("E-FILE-DAMAGED", {"direction": (float("nan"),) * 6}),
    ("E-FILE-DAMAGED", {"slope": float("nan")}),
    ("E-FILE-DAMAGED", {"intercept": float("inf")}),
    ("E-DICOM-FORMAT", {"slope": 0}),
    ("E-FILE-DAMAGED", {"step": (0, 0, float("nan"))}),
    ("E-DICOM-PARTS", {"step": (0, 0, 0)}),
    ("E-DICOM-PARTS", {"step": (0, 0, 1e-300)}),
    ("E-VOLUME-GEOMETRY", {"step": (3, 0, 0)}),
]


@pytest.mark.parametrize("code, options", PLACES)
def test_places_that_are_none_are_refused(stored, tmp_path, code, options):
    """GDCM takes 1 mm and the unit matrix for what it cannot use; slices at one place have a spacing of 0 mm."""
    refused = fails("info", write_series(tmp_path / "ct", stored, **options))
    assert refused.code == code and pathlib.Path(refused.file).parent == tmp_path / "ct"


def without(series, *tags):
    """The files without these elements, whose tags are of four hexadecimal digits and two."""
    for file in series.glob("*.dcm"):
        data = file.read_bytes()
        for group, number in tags:
            assert (mark := struct.pack("<HH", group, number) + b"DS") in data
            data = data.replace(mark, struct.pack("<HH", group + 1, number) + b"DS")
        file.write_bytes(data)
    return series


POSITION, ORIENTATION, SPACING, THICKNESS = (0x20, 0x32), (0x20, 0x37), (0x28, 0x30), (0x18, 0x50)


def test_slices_without_a_place(stored, tmp_path):
    series = write_series(tmp_path / "ct", stored)
    only = sorted(series.glob("*.dcm"))[2]
    whole = only.read_bytes()
    only.write_bytes(whole.replace(struct.pack("<HH", *POSITION) + b"DS", struct.pack("<HH", 0x21, 0x32) + b"DS"))
    assert ((refused := fails("info", series)).code, refused.file) == ("E-VOLUME-GEOMETRY", str(only))
    only.write_bytes(whole)
    assert fails("info", without(series, POSITION)).code == "E-VOLUME-GEOMETRY"


@pytest.mark.parametrize("tag, field, taken", [(POSITION, "originMm", [0, 0, 0]), (ORIENTATION, "direction", [[1, 0, 0], [0, 1, 0], [0, 0, 1]]), (SPACING, "spacingMm", [1, 1, 9]), (THICKNESS, "spacingMm", [0.75, 0.5, 1])])
def test_what_a_lone_slice_does_not_say_is_warned_of(stored, tmp_path, tag, field, taken):
    series = write_series(tmp_path / "ct", stored[:1], direction=(0, 1, 0, 0, 0, -1))
    whole = run("info", series, "--json").json
    assert not whole.get("warnings") and whole["spacingMm"] == [0.75, 0.5, 9] and whole["originMm"] == [-20, 30, -100]
    told = run("info", without(series, tag), "--json").json
    assert told[field] == taken and [(w["code"], w["file"]) for w in told["warnings"]] == [("W-VOLUME-GEOMETRY", str(next(series.glob("*.dcm"))))]
    for other in {"originMm", "direction", "spacingMm"} - {field}:
        assert told[other] == whole[other]


def test_a_series_that_does_not_say_how_it_is_turned_is_warned_of_once(stored, tmp_path):
    series = without(write_series(tmp_path / "ct", stored), ORIENTATION, SPACING)
    assert [w["code"] for w in run("info", series, "--json").json["warnings"]] == ["W-VOLUME-GEOMETRY"] * 2


@pytest.mark.parametrize("kind", ["1.2.840.10008.5.1.4.1.1.7", "1.2.840.10008.5.1.4.1.1.1", "1.2.840.10008.5.1.4.1.1.20", "1.2.840.10008.5.1.4.1.1.77.1.5.4"])
def test_the_place_of_other_kinds_of_images(stored, tmp_path, kind):
    """GDCM reads the place of a secondary capture, of X-rays, of nuclear medicine and of optical tomography elsewhere or not at all."""
    options = {"direction": (0.6, 0.8, 0, -0.8, 0.6, 0), "step": (0, 0, 2.5)}
    other, ct = (run("info", write_series(tmp_path / name, stored, kind=each, **options), "--json").json for name, each in (("other", kind.encode()), ("ct", CT)))
    assert all(other[key] == ct[key] for key in ("spacingMm", "originMm", "direction")) and ct["direction"][0] == [0.6, 0.8, 0]


@pytest.mark.usefixtures("network")
@pytest.mark.parametrize("angle", [0.1, 0.3, 1.2])
def test_rounded_positions_of_an_oblique_series(stored, tmp_path, angle):
    """The third axis is the normal of the slices, so that labels are written as NIfTI."""
    normal, cosine, sine = numpy.array([0, -numpy.sin(angle), numpy.cos(angle)]), numpy.cos(angle), numpy.sin(angle)
    folder = tmp_path / "ct"
    folder.mkdir()
    for index, pixels in enumerate(stored):
        position = [round(float(x), 1) for x in numpy.array([-20, 30, -100]) + 0.6 * index * normal]
        write_slice(folder / f"im{index:02d}.dcm", pixels, position, direction=(1, 0, 0, 0, cosine, sine))
    found = run("info", folder, "--json").json
    assert numpy.allclose(found["direction"][2], normal, atol=1e-5) and abs(found["spacingMm"][2] - 0.6) < 0.1 / (len(stored) - 1)
    run("segment", folder, "--model", write_threshold_model(tmp_path / "m.safetensors", threshold=-300.5), "-o", tmp_path / "l.nii.gz")
    labels, affine = read_nifti(tmp_path / "l.nii.gz")
    corner = affine @ [stored.shape[2] - 1, stored.shape[1] - 1, stored.shape[0] - 1, 1]
    in_plane = 0.75 * (stored.shape[2] - 1) * numpy.array([1, 0, 0]) + 0.5 * (stored.shape[1] - 1) * numpy.array([0, cosine, sine])
    expected = numpy.array([-20, 30, -100]) + in_plane + 0.6 * (stored.shape[0] - 1) * normal
    assert (labels == (2 * stored - 1000 > -300.5)).all() and numpy.abs(corner[:3] - expected * [-1, -1, 1]).max() < 0.11


def test_directions_of_few_digits(stored, tmp_path):
    """And of another length than 1, which do not matter."""
    series = write_series(tmp_path / "ct", stored, direction=(0.866, 0.5, 0, -0.5, 0.866, 0), step=(0, 0, 3))
    assert run("info", series, "--json").json["direction"][0] == pytest.approx([0.866, 0.5, 0], abs=1e-3)


def test_only_the_program_speaks(stored, tmp_path):
    """GDCM warned on the standard error of series that are read, with the bytes that the file has there."""
    spacing = element(0x28, 0x30, b"DS", numbers((0.5, 0.75)))
    series = splice(write_series(tmp_path / "ct", stored[:1]), spacing, removed=len(spacing))
    splice(series, element(0x10, 0x20, b"LO", "0"), element(0x09, 0x10, b"LO", "GEMS_IDEN_01") + element(0x09, 0x1001, b"FD", b"\x1b[31mred"))
    told = run("info", series, "--json")
    assert len(told.err.splitlines()) == len(told.json["warnings"]) == 1 and told.json["spacingMm"] == [1, 1, 9]


def test_other_transfer_syntaxes(stored, tmp_path):
    """Implicit, and big endian: what the walk through the elements takes is what the reader takes."""
    explicit = write_series(tmp_path / "ct", stored)
    expected = run("info", explicit, "--json", "--check").json
    for name, syntax, convert in (("implicit", "1.2.840.10008.1.2", to_implicit), ("big", "1.2.840.10008.1.2.2", to_big_endian)):
        series = tmp_path / name
        series.mkdir()
        for file in explicit.glob("*.dcm"):
            meta, elements = split(file.read_bytes())
            meta = meta.replace(element(2, 0x10, b"UI", "1.2.840.10008.1.2.1"), element(2, 0x10, b"UI", syntax))
            meta = meta.replace(meta[132:144], element(2, 0, b"UL", struct.pack("<I", len(meta) - 144)))
            (series / file.name).write_bytes(meta + b"".join(convert(*one) for one in elements))
        told = run("info", series, "--json", "--check").json
        for key in ("depth", "spacingMm", "originMm", "direction"):
            assert told[key] == expected[key], (name, key)


def to_pieces(series, syntax, pieces):
    """The series with its pixels in pieces, as compressed ones are."""
    for file in series.glob("*.dcm"):
        data = file.read_bytes()
        begin = data.index(struct.pack("<HH", 0x7FE0, 0x10) + b"OW")
        meta, _ = split(data)
        other = element(2, 0x10, b"UI", syntax)
        new = meta.replace(element(2, 0x10, b"UI", "1.2.840.10008.1.2.1"), other)
        new = new.replace(new[132:144], element(2, 0, b"UL", struct.pack("<I", len(new) - 144)))
        items = b"".join(struct.pack("<HHI", 0xFFFE, 0xE000, len(piece)) + piece for piece in pieces(data[begin + 12:]))
        end = struct.pack("<HHI", 0xFFFE, 0xE0DD, 0)
        file.write_bytes(new + data[len(meta):begin] + struct.pack("<HH2s2xI", 0x7FE0, 0x10, b"OB", 0xFFFFFFFF) + items + end)
    return series


def encode_runs(pixels):
    """PS3.5 G, without runs: each row of 10 bytes is told to be copied. The high bytes come first."""
    parts = []
    for half in (pixels[1::2], pixels[::2]):
        parts.append(b"".join(b"\x09" + half[row:row + 10] for row in range(0, len(half), 10)))
    return [b"", struct.pack("<16I", 2, 64, 64 + len(parts[0]), *[0] * 13) + b"".join(parts)]


@pytest.mark.usefixtures("network")
def test_run_length_encoded_series(stored, tmp_path):
    series = to_pieces(write_series(tmp_path / "ct", stored), "1.2.840.10008.1.2.5", encode_runs)
    model = write_threshold_model(tmp_path / "m.safetensors", threshold=-300.5)
    run("segment", series, "--model", model, "-o", tmp_path / "l.nii.gz")
    assert (read_nifti(tmp_path / "l.nii.gz")[0] == (2 * stored - 1000 > -300.5)).all()
    runs = encode_runs(bytes(240))[1][:64]
    whole = (series / "im00.dcm").read_bytes()
    for at, value in ((0, 3), (0, 60000), (4, 0), (8, 63), (8, 1 << 26)):
        (series / "im00.dcm").write_bytes(whole)
        assert fails("info", splice(series, runs, runs[:at] + struct.pack("<I", value) + runs[at + 4:], 64)).code == "E-FILE-DAMAGED"
    (series / "im00.dcm").write_bytes(whole)
    end = struct.pack("<HHI", 0xFFFE, 0xE0DD, 0)
    assert fails("info", splice(series, end, struct.pack("<HHI", 0xFFFE, 0xE00D, 0), 8)).code == "E-FILE-DAMAGED"
    (series / "im00.dcm").write_bytes(whole[:-8])
    assert fails("info", series).code == "E-FILE-DAMAGED"
    nothing = to_pieces(write_series(tmp_path / "none", stored), "1.2.840.10008.1.2.5", lambda pixels: [b""])
    assert fails("info", nothing).code == "E-FILE-DAMAGED"


def to_pictures(series, syntax, kind, **options):
    """The series with its samples, which are below 256, as pictures that Pillow encodes."""

    def encode(pixels):
        stream = io.BytesIO()
        Image.fromarray(numpy.frombuffer(pixels, "<u2").reshape(SHAPE[1:]).astype("uint8")).save(stream, kind, **options)
        return [b"", stream.getvalue()]

    to_pieces(series, syntax, encode)
    for file in series.glob("*.dcm"):
        for number, old, new in ((0x100, 16, 8), (0x101, 16, 8), (0x102, 15, 7), (0x103, 1, 0)):
            splice(series, element(0x28, number, b"US", us(old)), element(0x28, number, b"US", us(new)), 10, file.name)
    return series


def test_jpeg_is_read(stored, tmp_path):
    series = to_pictures(write_series(tmp_path / "ct", stored % 200), "1.2.840.10008.1.2.4.50", "JPEG")
    assert run("info", series, "--json", "--check").json["depth"] == 7


@pytest.mark.usefixtures("network")
def test_crashes_of_the_reader_are_refusals(stored, tmp_path):
    """Codecs below ITK's reader end their process where a JPEG 2000 says that its image or a tile of it is another one; it is
    started again for the next series."""
    both = tmp_path / "both"
    both.mkdir()
    for name in ("a", "b"):
        to_pictures(write_series(both / name, stored % 200), "1.2.840.10008.1.2.4.90", "JPEG2000", no_jp2=True)
    model = write_threshold_model(tmp_path / "m.safetensors", threshold=-800.5)
    whole = (both / "a" / "im00.dcm").read_bytes()
    size = whole.index(b"\xff\x4f\xff\x51") + 10  # of the image, behind the length and what decoders have to know
    crashes = 0
    for at in (size, size + 1, size + 4, size + 32):
        (both / "a" / "im00.dcm").write_bytes(whole[:at] + bytes([0 if at > size + 4 else 255]) + whole[at + 1:])
        told = run("segment", both, "--model", model, "-o", tmp_path / "out/", "--overwrite", "--json", code=1).json
        (error,) = [each["error"] for each in told if "error" in each]
        assert (error["code"], error["file"]) == ("E-FILE-DAMAGED", str(both / "a" / "im00.dcm")), error
        assert sorted(file.name for file in (tmp_path / "out").iterdir()) == ["b.nii.gz", "failed.csv", "manifest.json", "timings.jsonl"]
        crashes += "crashes on it" in error["why"]
    assert crashes > 0


def test_a_jpeg_2000_of_another_size_is_refused(stored, tmp_path):
    """Of a smaller one the rest of the pixels would be what was in memory."""
    series = to_pictures(write_series(tmp_path / "ct", stored % 200), "1.2.840.10008.1.2.4.90", "JPEG2000", no_jp2=True)
    assert run("info", series, "--json", "--check").json["depth"] == 7
    splice(series, element(0x28, 0x10, b"US", us(SHAPE[1])), element(0x28, 0x10, b"US", us(2 * SHAPE[1])), 10)
    assert ((refused := fails("info", series)).code, refused.file) == ("E-FILE-DAMAGED", str(series / "im00.dcm"))


@pytest.mark.parametrize("added", [element(0x28, 0x10, b"US", us(24)), element(0x28, 0x1053, b"DS", "4 "), element(0x20, 0x32, b"DS", "0\\0\\0 ")])
def test_elements_that_are_there_twice_are_refused(stored, tmp_path, added):
    """Of which readers take the first one, or the last one."""
    series = write_series(tmp_path / "ct", stored)
    assert fails("info", splice(series, added[:6], added + added[:6], 6)).code == "E-FILE-DAMAGED"


@pytest.mark.parametrize("allocated, in_use, high", [(16, 12, 15), (16, 12, 13), (32, 24, 23), (64, 64, 63)])
def test_samples_that_are_not_read_are_refused(stored, tmp_path, allocated, in_use, high):
    series = write_series(tmp_path / "ct", stored)
    for number, old, new in ((0x100, 16, allocated), (0x101, 16, in_use), (0x102, 15, high)):
        splice(series, element(0x28, number, b"US", us(old)), element(0x28, number, b"US", us(new)), 10)
    assert fails("info", series).code == "E-DICOM-FORMAT"


def test_other_compressions_are_refused(stored, tmp_path):
    for syntax in ("1.2.840.10008.1.2.4.100", "1.2.840.10008.1.2.4.94", "1.2.840.10008.1.2.4.201"):
        series = to_pieces(write_series(tmp_path / syntax, stored), syntax, lambda pixels: [b"", pixels])
        assert fails("info", series).code == "E-DICOM-FORMAT"


def test_a_slice_that_cannot_be_read_is_missed(stored, tmp_path):
    series = write_series(tmp_path / "ct", stored)
    (series / "im03.dcm").chmod(0)
    words = [PROGRAM, "info", str(series), "--quiet"]
    told = subprocess.run(words, capture_output=True, text=True, preexec_fn=obey_permissions)
    assert told.returncode == 1 and str(series / "im03.dcm") in told.stderr and told.stderr.endswith("[E-FILE-ACCESS]\n")
    (series / "im03.dcm").unlink()
    (series / "im03.dcm").symlink_to("nowhere")
    assert ((refused := fails("info", series)).code, refused.file) == ("E-FILE-MISSING", str(series / "im03.dcm"))


def test_a_slice_that_is_no_dicom_file_is_missed(stored, tmp_path):
    """At an end of the stack nothing else tells that a slice is missing."""
    series = write_series(tmp_path / "ct", stored)
    last = max(series.glob("*.dcm"), key=lambda file: file.read_bytes().index(b"-85") if b"-85" in file.read_bytes() else -1)
    for content, code in ((b"", "E-FILE-DAMAGED"), (bytes(len(last.read_bytes())), "E-FILE-KIND"), (b"hello", "E-FILE-KIND")):
        last.write_bytes(content)
        refused = fails("info", series)
        assert (refused.code, refused.file) == (code, str(last))
    last.rename(series / "last.old")
    assert run("info", series, "--json").json["depth"] == len(stored) - 1


@pytest.fixture()
def beside(tmp_path):
    """A copy of the program's library, beside which another reader lies, and the environment in which it is taken."""
    libraries = pathlib.Path(PROGRAM).parents[1] / "lib"
    if not (libraries / "libGigapixelApplication.so").exists():
        pytest.skip("the program has no library of its own in this build")
    folder = tmp_path / "lib"
    (folder / "ITKGigapixel").mkdir(parents=True)
    for library in libraries.glob("libGigapixelApplication.so*"):
        shutil.copy(library, folder, follow_symlinks=False)

    def take(text):
        reader = folder / "ITKGigapixel/dicom-reader"
        reader.write_text(text)
        reader.chmod(0o755)
        return {**os.environ, "LD_LIBRARY_PATH": str(folder), "READER": str(libraries / "ITKGigapixel/dicom-reader"), "STARTED": str(folder / "started")}

    return folder / "ITKGigapixel/dicom-reader", take


@pytest.mark.parametrize("text, what", [
    ("#!/bin/sh\nexit 127\n", "ends before it can be asked; see what it says when it is started by hand, and install the libraries that it was built with"),
    ("#!/bin/sh\nprintf '\\007\\000\\000\\000' >&0\nsleep 10\n", "is of another version; install all again"),
    ("nothing that starts", "cannot be started (Exec format error); install all again"),
])
def test_a_reader_that_is_none_is_no_damage(stored, tmp_path, beside, text, what):
    reader, take = beside
    environment = take(text)
    refused = fails("info", write_series(tmp_path / "ct", stored), env=environment)
    assert refused.code == "E-INSTALLATION" and str(reader) in refused
    told = run("doctor", "--json", env=environment, code=1).json
    assert told["dicomProblem"].startswith(f"the reader of DICOM, {reader}, {what}") and told["healthy"] is False


def test_a_missing_reader_is_told(stored, tmp_path, beside):
    reader, take = beside
    environment = take("")
    reader.unlink()
    missing = f"the reader of DICOM, {reader}, cannot be started (No such file or directory); install all again"
    refused = fails("info", write_series(tmp_path / "ct", stored), env=environment)
    assert refused.code == "E-INSTALLATION" and missing in refused
    told = run("doctor", "--json", env=environment, code=1).json
    assert told["dicomProblem"] == missing + "." and told["healthy"] is False
    text = run("doctor", env=environment, code=1).out
    assert f"series of volumes are refused: {missing}.\n" in text and text.endswith("\nSomething is wrong.\n")
    assert "series of volumes are read, in a process of its own\n" in run("doctor").out


ENDS_AT_THE_FOURTH = """#!/usr/bin/env python3
import os, socket, struct, subprocess
open(os.environ["STARTED"], "a").write("started\\n")
ours, (theirs, given) = socket.socket(fileno=0), socket.socketpair()
subprocess.Popen([os.environ["READER"]], stdin=given)
given.close()
take = lambda side, size: side.recv(size, socket.MSG_WAITALL) if size else b""
ours.sendall(take(theirs, 4))
for _ in range(3):
    request = take(ours, 8)
    theirs.sendall(request + take(ours, struct.unpack("<II", request)[1]))
    answer = take(theirs, 16)
    ours.sendall(answer + take(theirs, struct.unpack("<QQ", answer)[0]))
take(ours, 8)
os.abort()
"""


def test_a_reader_that_other_files_have_harmed_is_started_again(stored, tmp_path, beside):
    series = write_series(tmp_path / "ct", stored)
    environment = beside[1](ENDS_AT_THE_FOURTH)
    assert run("info", series, "--check", "--json", env=environment).json == run("info", series, "--check", "--json").json
    assert len(pathlib.Path(environment["STARTED"]).read_text().split()) > 2


@pytest.mark.parametrize("rows, columns, bits, samples", [(12, 10, 99, 1), (13, 10, 12, 1), (12, 11, 12, 1), (12, 10, 12, 3)])
def test_jpeg_of_another_size_is_refused(stored, tmp_path, rows, columns, bits, samples):
    """Only its header is looked at: GDCM's assertions compare it with DICOM's."""
    jpeg = b"\xff\xd8\xff\xfe" + struct.pack(">H", 6) + b"text" + b"\xff\xff\xc1" + struct.pack(">HBHHB", 11, bits, rows, columns, samples) + bytes(9)
    series = to_pieces(write_series(tmp_path / "ct", stored), "1.2.840.10008.1.2.4.51", lambda pixels: [b"", jpeg])
    assert fails("info", series).code == "E-FILE-DAMAGED"


def split(data):
    """The bytes up to the first group's end, and the elements behind them as group, number, kind and value."""
    at = 132
    elements = []
    begin = None
    while at < len(data):
        group, number, kind = struct.unpack_from("<HH2s", data, at)
        if group != 2 and begin is None:
            begin = at
        length = struct.unpack_from("<I", data, at + 8)[0] if kind in LONG else struct.unpack_from("<H", data, at + 6)[0]
        value = at + (12 if kind in LONG else 8)
        if begin is not None:
            elements.append((group, number, kind, data[value:value + length]))
        at = value + length
    return data[:begin], elements


def to_implicit(group, number, kind, value):
    return struct.pack("<HHI", group, number, len(value)) + value


def to_big_endian(group, number, kind, value):
    if kind in (b"US", b"OW"):
        value = numpy.frombuffer(value, "<u2").astype(">u2").tobytes()
    return struct.pack(">HH", group, number) + kind + (struct.pack(">2xI", len(value)) if kind in LONG else struct.pack(">H", len(value))) + value


def write_gap(folder, stored):
    folder.mkdir()
    for index in (0, 1, 2, 4, 5, 6):
        write_slice(folder / f"{index}.dcm", stored[index], [0, 0, 2.5 * index])
    return folder
