# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""What a network for volumes is shown: channels normalized by themselves, a box, another spacing, patches; against NumPy."""

import numpy
import pytest
from PIL import Image

from conftest import fails, run
from volumes import read_nifti, sum_boxes, write_box_model, write_nifti, write_threshold_model

pytestmark = pytest.mark.usefixtures("network")

SHAPE = (14, 22, 30)  # z, y, x


def place(spacing):
    """An affine without a turn, of voxels of these sides along x, y and z."""
    return numpy.diag([*map(float, spacing), 1.0])


def segment(files, model, folder, *options):
    output = folder / "l.nii.gz"
    result = run("segment", ",".join(map(str, files)), "--model", model, "-o", output, "--overwrite", "--json", *options)
    return read_nifti(output)[0], result.json


def test_each_channel_has_its_normalization(tmp_path):
    random = numpy.random.default_rng(1)
    first, second = random.normal(100, 20, SHAPE).astype("<f4"), random.normal(0, 500, SHAPE).astype("<f4")
    files = [write_nifti(tmp_path / "a.nii.gz", first), write_nifti(tmp_path / "b.nii.gz", second)]
    said = [{"type": "z-score"}, {"type": "clip", "low": -900, "high": 300}]
    model = write_threshold_model(tmp_path / "m.safetensors", (1, 1), 0.3, input={"channels": 2, "normalization": said, "mean": [0, 20], "deviation": [1, 150]})
    labels, result = segment(files, model, tmp_path)
    value = (first - first.mean()) / first.std() + (second.clip(-900, 300) - 20) / 150
    sure = abs(value - 0.3) > 1e-3
    assert (labels == (value > 0.3))[sure].all() and 0.1 < labels.mean() < 0.9
    assert result["normalization"] == "channel 1: z-score; channel 2: values are clipped to -900 to 300"
    assert "channel 2: values are clipped" in run("info", model).out
    wrong = write_threshold_model(tmp_path / "w.safetensors", (1, 1, 1), input={"channels": 3, "normalization": said})
    refused = fails("segment", f"{files[0]},{files[1]},{files[0]}", "--model", wrong, "-o", tmp_path / "w.nii.gz")
    assert (refused.code, refused.file) == ("E-NETWORK-FORMAT", str(wrong))


@pytest.mark.parametrize("window", [[], ["--sliding-window", "--patch", 8]])
def test_volumes_are_cropped_to_what_is_not_zero(window, tmp_path):
    voxels = numpy.zeros(SHAPE, "<i2")
    box = numpy.s_[2:11, 3:20, 5:28]
    voxels[box] = numpy.random.default_rng(2).integers(1, 100, (9, 17, 23))
    voxels[4:7, 8:12, 9:14] = 0  # enclosed
    file = write_nifti(tmp_path / "v.nii.gz", voxels)
    said = {"channels": 1, "crop": "non-zero", "normalization": {"type": "z-score", "voxels": "non-zero-box"}}
    model = write_threshold_model(tmp_path / "m.safetensors", threshold=-1.2, input=said)
    labels, result = segment([file], model, tmp_path, *window)
    inside = voxels[box].astype(float)
    expected = numpy.zeros(SHAPE, bool)
    expected[box] = (inside - inside.mean()) / inside.std() > -1.2
    assert (labels == expected).all() and 0.1 < labels[box].mean() < 0.95
    assert result["steps"] == "cropped to the 23 x 17 x 9 voxels around what is not 0"


def test_what_is_enclosed_counts_where_it_is_said(tmp_path):
    voxels = numpy.zeros(SHAPE, "<f4")
    voxels[2:11, 3:20, 5:28] = numpy.random.default_rng(3).normal(50, 10, (9, 17, 23))
    voxels[4:7, 8:12, 9:14] = 0  # enclosed
    voxels[2:7, 16:20, 24:28] = 0  # open to the outside
    filled = voxels != 0
    filled[4:7, 8:12, 9:14] = True
    normalized = numpy.where(filled, (voxels - voxels[filled].mean()) / voxels[filled].std(), 0)
    said = {"channels": 1, "normalization": {"type": "z-score", "voxels": "non-zero-filled"}}
    model = write_threshold_model(tmp_path / "m.safetensors", threshold=-0.5, input=said)
    labels, _ = segment([write_nifti(tmp_path / "v.nii.gz", voxels)], model, tmp_path)
    assert (labels == (normalized > -0.5)).all() and not labels[5, 9, 10] and labels[3, 18, 26]


def test_patches_are_those_of_nnunet(tmp_path):
    """Sums of 3 x 3 x 3 voxels with zeros around each patch, blended by Gaussians: as the formula has it."""
    voxels = numpy.random.default_rng(4).integers(0, 9, SHAPE).astype("<f4")
    file, side = write_nifti(tmp_path / "v.nii.gz", voxels), 12
    model = write_box_model(tmp_path / "m.safetensors", [110.25], input={"channels": 1}, patches={"size": [side] * 3, "overlap": 0.5})
    total, weights = numpy.zeros(SHAPE), numpy.zeros(SHAPE)
    bell = numpy.exp(-(((numpy.arange(side) - side // 2) / (side / 8)) ** 2) / 2)
    weight = bell[:, None, None] * bell[:, None] * bell
    begins = [numpy.round(numpy.linspace(0, n - side, int(numpy.ceil((n - side) / (side / 2))) + 1)).astype(int) for n in SHAPE]
    for z in begins[0]:
        for y in begins[1]:
            for x in begins[2]:
                patch = numpy.s_[z : z + side, y : y + side, x : x + side]
                total[patch] += weight * sum_boxes(voxels[patch])
                weights[patch] += weight
    blended = total / weights
    labels, result = segment([file], model, tmp_path, "--sliding-window")
    sure = abs(blended - 110.25) > 0.3  # weights have half precision
    assert (labels == (blended > 110.25))[sure].all() and sure.mean() > 0.9
    assert (labels != (sum_boxes(voxels) > 110.25)).any()  # the whole volume gives something else
    assert result["plan"]["tiles"] == len(begins[0]) * len(begins[1]) * len(begins[2])
    mirrored, _ = segment([file], write_box_model(tmp_path / "n.safetensors", [110.25], input={"channels": 1}), tmp_path, "--sliding-window", "--patch", side, "--mirror", "--threads", 3)
    assert (mirrored == labels)[sure].all()  # boxes are symmetric


def test_patches_that_do_not_suit(tmp_path):
    file = write_nifti(tmp_path / "v.nii.gz", numpy.ones(SHAPE, "<f4"))
    plain = write_threshold_model(tmp_path / "m.safetensors")
    trained = write_threshold_model(tmp_path / "t.safetensors", patches={"size": [8, 8, 8], "mirror": [False, False, False]})
    output = tmp_path / "l.nii.gz"
    for model, options, sentence in [
        (plain, ["--sliding-window"], "--sliding-window needs --patch: the network for tests does not say what patches it was trained on"),
        (plain, ["--sliding-window", "--patch", 8, "--tile-size", 8], "[E-OPTION-CONFLICT]"),
        (plain, ["--patch", 8], "--patch is of --sliding-window"),
        (plain, ["--sliding-window", "--patch", 4096], "no three sides of 1 to 2048"),
        (trained, ["--sliding-window", "--mirror"], "was not trained on mirrored patches"),
    ]:
        assert sentence in run("segment", file, "--model", model, "-o", output, *options, code=2).err
    assert "patches" in run("plan", "--size", "30x22x14", "--network", trained, "--sliding-window").out
    wrong = write_threshold_model(tmp_path / "w.safetensors", patches={"size": [8, 8]})
    refused = fails("segment", file, "--model", wrong, "-o", output)
    assert (refused.code, refused.file) == ("E-NETWORK-FORMAT", str(wrong))
    assert not output.exists()


def test_volumes_are_brought_to_the_spacing_of_training(tmp_path):
    """A ramp, through which splines and lines go, at twice and half the spacing."""
    voxels = numpy.broadcast_to(numpy.arange(SHAPE[2], dtype="<f4"), SHAPE).copy()
    file = write_nifti(tmp_path / "v.nii.gz", voxels, place((1, 1.5, 2)))
    said = {"channels": 1, "spacing": [1, 3, 0.5]}
    for window in ([], ["--sliding-window", "--patch", 16]):
        # The network's voxels lie a quarter of a voxel beside the volume's; back there, its boundary is where it was.
        model = write_threshold_model(tmp_path / "m.safetensors", threshold=10.5, input=said)
        labels, result = segment([file], model, tmp_path, *window)
        assert (labels == (voxels > 10.5)).all()
        assert result["steps"] == "resampled from 1 x 1.5 x 2 mm to 0.5 x 3 x 1 mm (60 x 11 x 28 voxels)"
    affine = read_nifti(tmp_path / "l.nii.gz")[1]
    assert affine == pytest.approx(place((1, 1.5, 2)))
    same = write_threshold_model(tmp_path / "s.safetensors", threshold=10.5, input={"channels": 1, "spacing": [2, 1.5, 1]})
    assert segment([file], same, tmp_path)[1]["steps"] == ""
    assert "at [2.0,1.5,1.0] mm" in run("info", same).out


def test_the_other_spacing_is_planned(tmp_path):
    """At a fourth of the volume's voxel the network and what is brought back take most; plan says it as segment does."""
    voxels = numpy.broadcast_to(numpy.arange(96, dtype="<f4"), (48, 80, 96)).copy()
    file = write_nifti(tmp_path / "v.nii.gz", voxels, place((2, 2, 1)))
    model = write_threshold_model(tmp_path / "m.safetensors", threshold=40, input={"channels": 1, "spacing": [1, 1, 0.5]})
    planned = run("plan", file, "--network", model, "--json").json
    assert planned["shown"] == [384, 160, 48] and [planned[key] for key in ("width", "height", "depth")] == [96, 80, 48]
    assert "inference at the spacing of the model: 384 x 160 x 48 voxels" in run("plan", file, "--network", model).out
    assert run("plan", "--size", "96x80x48", "--network", model, "--json").json["shown"] == [96, 80, 48]  # at the model's spacing
    labels, result = segment([file], model, tmp_path)
    assert labels.any() and not labels.all()
    inference = next(row for row in planned["plans"] if row["purpose"] == "inference" and not row["options"])
    assert result["estimatedPeakBytes"] == pytest.approx(inference["peakBytes"], rel=0.03)
    assert result["peakBytes"] <= 1.02 * result["estimatedPeakBytes"]


def test_slices_lie_as_the_patient_does(tmp_path):
    """However the voxels are stored: the patient's right at the left, the front and the head above."""
    voxels, truth = numpy.zeros((40, 50, 60), "<i2"), numpy.zeros((40, 50, 60), "u1")  # z, y, x of NIfTI: to the head, the front, the right
    voxels[30:36, 40:46, 48:56] = 100
    voxels[32, 43, :5] = 10  # what becomes black
    truth[32, 43, 50] = 3
    pictures = []
    for number, (order, flipped) in enumerate([((0, 1, 2), ()), ((2, 0, 1), (0,)), ((1, 2, 0), (1, 2)), ((0, 2, 1), (0, 1, 2))]):
        affine = numpy.eye(4)[:, [*(2 - axis for axis in order)][::-1] + [3]]
        for axis in flipped:  # of what is stored
            affine[:3, 3] += affine[:3, 2 - axis] * (voxels.shape[order[axis]] - 1)
            affine[:3, 2 - axis] *= -1
        files = [
            write_nifti(tmp_path / f"{name}{number}.nii", numpy.ascontiguousarray(numpy.flip(each.transpose(order), flipped)), affine)
            for name, each in (("v", voxels), ("t", truth))
        ]
        run("overlay", *files, "-o", tmp_path / f"{number}.png", "--picture-size", 400)
        pictures.append(numpy.asarray(Image.open(tmp_path / f"{number}.png")))
    assert all((picture == pictures[0]).all() for picture in pictures[1:])
    scale = (400 - 8) / (60 + 60 + 50)
    for left, right, down in ((0, 60 - 50, 50 - 42), (60 * scale + 4, 60 - 50, 40 - 33), (120 * scale + 8, 50 - 42, 40 - 33)):
        assert pictures[0][int(down * scale), int(left + right * scale)].tolist() != [0, 0, 0]
        assert pictures[0][int((40 - down) * scale), int(left + right * scale)].tolist() == [0, 0, 0]
    assert [0, 158, 115] in pictures[0][-15:, 2:12].reshape(-1, 3).tolist()  # the legend has the third color


def test_slices_are_drawn_with_their_labels(tmp_path):
    voxels = numpy.random.default_rng(5).integers(100, 200, SHAPE).astype("<i2")
    truth = numpy.zeros(SHAPE, "u1")
    truth[5:9, 8:14, 10:20] = 1
    truth[9, 8:14, 10:20] = 2
    file, labels = (write_nifti(tmp_path / f"{name}.nii.gz", each, place((1, 1, 3))) for name, each in (("v", voxels), ("t", truth)))
    output = tmp_path / "look.png"
    result = run("overlay", file, labels, "-o", output, "--picture-size", 512, "--json").json
    # 30, 30 and 22 mm side by side, of which the higher ones are 42 mm high, above the legend.
    assert result["width"] <= 512 and (result["height"] - 20) / (result["width"] - 8) == pytest.approx(42 / 82, abs=0.02)
    assert result["voxel"][2] in range(5, 10) and output.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert run("overlay", file, labels, "-o", output, "--picture-size", 512, "--json").json["skipped"]
    empty = write_nifti(tmp_path / "e.nii.gz", truth * 0, place((1, 1, 3)))
    warnings = run("overlay", file, empty, "-o", tmp_path / "e.png", "--json").json["warnings"]
    assert [(each["code"], each["file"]) for each in warnings] == [("W-DOUBT-MASK-EMPTY", str(empty))]
    other = write_nifti(tmp_path / "o.nii.gz", truth[1:], place((1, 1, 3)))
    assert ((refused := fails("overlay", file, other, "-o", tmp_path / "o.png")).code, refused.file) == ("E-VOLUME-GEOMETRY", str(other))
    refused = fails("overlay", file, labels, "-o", tmp_path / "o.png", "--partial", code=2)
    assert (refused.code, refused.option) == ("E-OPTION-APPLIES", "--partial")
