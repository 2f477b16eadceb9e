# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Training on volumes: what is learned, that it does not depend on how volumes are stored, memory, and what is refused."""

import itertools
import json
import struct

import numpy
import pytest

from conftest import UNSANITIZED, fails, run, write_slide
from volumes import change_header, read_nifti, write_nifti, write_nrrd_volume

SHAPE = (14, 26, 22)  # z, y, x
NETWORK = "unet3d:base=2,depth=1,classes=3"
pytestmark = pytest.mark.usefixtures("network")


def draw(seed, shape=SHAPE):
    """Noise with a bright ball (1) and a dark one (2): intensities, on a scale of each volume's own, and labels."""
    random = numpy.random.default_rng(seed)
    z, y, x = numpy.indices(shape)
    labels = numpy.zeros(shape, "u1")
    for label, side in ((1, 0.3), (2, 0.7)):
        center = numpy.array(shape) * [0.5, 0.5, side] + random.uniform(-1.5, 1.5, 3)
        labels[(z - center[0]) ** 2 + (y - center[1]) ** 2 + (x - center[2]) ** 2 < 4.5**2] = label
    values = random.normal(0, 20, shape) + numpy.array([0, 100, -100])[labels]
    return (random.uniform(0.5, 3) * values + random.uniform(-200, 200)).astype("<i2"), labels


def write_cohort(path, rows):
    lines = [f'"{slide}",{mask},{split}\n' for slide, mask, split in rows]
    path.write_text("slide,mask,split\n" + "".join(lines))
    return path


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Three volumes to learn from, and one to judge by."""
    folder = tmp_path_factory.mktemp("study")
    rows = []
    for seed in range(4):
        values, labels = draw(seed)
        write_nifti(folder / f"{seed}.nii.gz", values)
        write_nifti(folder / f"{seed}.labels.nii.gz", labels)
        rows.append((f"{seed}.nii.gz", f"{seed}.labels.nii.gz", "validation" if seed == 3 else "train"))
    return write_cohort(folder / "cohort.csv", rows)


def train(cohort, folder, *options, rate=0.02, code=0):
    arguments = ["--cohort", cohort, "-o", folder, "--network", NETWORK, "--learning-rate", rate, "--seed", 3]
    return run("train", *arguments, *options, *([] if code else ["--json"]), code=code)


def test_what_is_learned_is_found_in_another_volume(study, tmp_path):
    result = train(study, tmp_path / "run", "--epochs", 25, "--jitter", 0.1).json
    assert (result["trainingSamples"], result["validationSamples"]) == (3, 1)
    assert result["bestValidationDice"] > 0.8
    values, labels = draw(9)
    volume = write_nifti(tmp_path / "new.nii.gz", values)
    truth = write_nifti(tmp_path / "truth.nii.gz", labels)
    run("segment", volume, "--model", tmp_path / "run", "-o", tmp_path / "found.nii.gz")
    found, _ = read_nifti(tmp_path / "found.nii.gz")
    for label in (1, 2):
        both = ((found == label) & (labels == label)).sum()
        assert 2 * both / ((found == label).sum() + (labels == label).sum()) > 0.8
    judged = run("evaluate", tmp_path / "found.nii.gz", truth, "--json").json
    assert judged["meanDice"] > 0.8


def test_the_model_does_not_depend_on_how_volumes_are_stored(study, tmp_path):
    rows = []
    for seed in range(4):
        values, labels = draw(seed)
        write_nrrd_volume(tmp_path / f"{seed}.nrrd", values.astype("<f4"))
        write_nifti(tmp_path / f"{seed}.labels.nii", labels.astype("<f4"))
        rows.append((f"{seed}.nrrd", f"{seed}.labels.nii", "validation" if seed == 3 else "train"))
    other = write_cohort(tmp_path / "other.csv", rows)
    for cohort, name, threads in ((study, "a", 1), (other, "b", 2)):
        train(cohort, tmp_path / name, "--epochs", 2, "--threads", threads)
    assert (tmp_path / "a/best.safetensors").read_bytes() == (tmp_path / "b/best.safetensors").read_bytes()


def test_255_is_the_object_of_two_classes(tmp_path):
    values, labels = draw(1)
    write_nifti(tmp_path / "values.nii.gz", values)
    for name, label in (("one", 1), ("all", 255)):
        write_nifti(tmp_path / f"{name}.nii.gz", numpy.where(labels == 1, label, 0).astype("u1"))
        cohort = write_cohort(tmp_path / f"{name}.csv", [("values.nii.gz", f"{name}.nii.gz", "train")])
        run("train", "--cohort", cohort, "-o", tmp_path / name, "--network", "unet3d:base=2,depth=1", "--epochs", 1)
    assert (tmp_path / "one/best.safetensors").read_bytes() == (tmp_path / "all/best.safetensors").read_bytes()


def test_goes_on_bit_for_bit(study, tmp_path):
    train(study, tmp_path / "once", "--epochs", 3)
    train(study, tmp_path / "twice", "--epochs", 1)
    train(study, tmp_path / "twice", "--epochs", 3, "--resume")
    for name in ("best.safetensors", "last.safetensors", "history.csv"):
        assert (tmp_path / "once" / name).read_bytes() == (tmp_path / "twice" / name).read_bytes(), name


def test_modalities_in_a_cohort(tmp_path):
    values, labels = draw(1)
    write_nifti(tmp_path / "a.nii.gz", values)
    write_nifti(tmp_path / "b.nii.gz", -values)
    both = write_nifti(tmp_path / "both.nii.gz", numpy.stack([values, -values]))
    write_nifti(tmp_path / "labels.nii.gz", labels)
    for name, slide in (("files", "a.nii.gz,b.nii.gz"), ("axis", both.name)):
        cohort = write_cohort(tmp_path / f"{name}.csv", [(slide, "labels.nii.gz", "train")])
        run("train", "--cohort", cohort, "-o", tmp_path / name, "--network", f"{NETWORK},channels=2", "--epochs", 1)
    assert (tmp_path / "files/best.safetensors").read_bytes() == (tmp_path / "axis/best.safetensors").read_bytes()
    write_cohort(tmp_path / "missing.csv", [("a.nii.gz,c.nii.gz", "labels.nii.gz", "train")])
    refused = fails("train", "--cohort", tmp_path / "missing.csv", "-o", tmp_path / "run", "--network", NETWORK)
    assert (refused.code, refused.file, refused.value) == ("E-FILE-MISSING", str(tmp_path / "missing.csv"), "2")


@UNSANITIZED
def test_one_volume_at_a_time_is_in_memory(tmp_path):
    shape = (48, 160, 160)  # 4.9 MB as floats
    rows = []
    for seed in range(6):
        values, labels = draw(seed, shape)
        write_nifti(tmp_path / f"{seed}.nii", values.astype("<f4"))
        write_nifti(tmp_path / f"{seed}.labels.nii", labels)
        rows.append((f"{seed}.nii", f"{seed}.labels.nii", "train"))
    peaks = []
    for number in (1, 6):
        cohort = write_cohort(tmp_path / f"{number}.csv", rows[:number])
        options = ["--epochs", 2, "--tile-size", 32, "--threads", 1, "--images-per-step", number]
        peaks.append(train(cohort, tmp_path / f"run{number}", *options).json["peakBytes"])
    assert peaks[1] < peaks[0] + 12e6  # all six and their labels would take 31 MB


def test_refusals(study, tmp_path):
    folder = study.parent
    values, labels = draw(0)
    write_nifti(folder / "short.nii.gz", labels[:-1])
    write_nifti(folder / "seven.nii.gz", labels * 7)
    write_nifti(folder / "half.nii.gz", labels * 0.5)
    write_nifti(folder / "pair.nii.gz", numpy.stack([labels, labels]))
    (folder / "cut.nii.gz").write_bytes((folder / "0.nii.gz").read_bytes()[:9000])
    write_slide(folder / "slide.tif", numpy.full((64, 64, 3), 200, "u1"))
    number = itertools.count()

    def refuse(slide, mask, *options, network=NETWORK):
        cohort = write_cohort(folder / f"refused{next(number)}.csv", [(slide, mask, "train")])
        sentence = fails("train", "--cohort", cohort, "-o", tmp_path / "run", "--network", network, "--epochs", 1, *options)
        assert not (tmp_path / "run/best.safetensors").exists()
        return sentence

    assert refuse("0.nii.gz", "short.nii.gz").code == "E-VOLUME-GEOMETRY"
    refused = refuse("0.nii.gz", "seven.nii.gz")
    assert (refused.code, refused.value) == ("E-LABEL-VALUE", "14")
    assert refuse("0.nii.gz", "half.nii.gz").code == "E-LABEL-VALUE"
    write_nifti(folder / "region.nii.gz", numpy.where(labels > 0, 2035, 0).astype("<i4"))
    refused = refuse("0.nii.gz", "region.nii.gz")
    assert (refused.code, refused.value, refused.file) == ("E-LABEL-VALUE", "2035", str(folder / "region.nii.gz"))
    assert refuse("0.nii.gz", "pair.nii.gz").code == "E-MASK-FORMAT"
    assert "cut.nii.gz" in refuse("cut.nii.gz", "0.labels.nii.gz")
    assert refuse("slide.tif", "0.labels.nii.gz").code == "E-MODEL-INPUT"
    assert refuse("0.nii.gz", "0.labels.nii.gz", network="unet:base=2,depth=1,channels=1").code == "E-MODEL-INPUT"
    assert refuse("0.nii.gz", "0.labels.nii.gz", network=f"{NETWORK},channels=2").code == "E-MODEL-INPUT"
    assert refuse("0.nii.gz", "0.labels.nii.gz", "--precision", "bf16").code == "E-PRECISION"
    rows = [("0.nii.gz", "0.labels.nii.gz", "train")]
    for option in (["--mpp", 1], ["--tissue", folder], ["--shared-memory"], ["--balance"]):
        arguments = ["--cohort", write_cohort(folder / "one.csv", rows), "-o", tmp_path / "run", "--network", NETWORK]
        refused = fails("train", *arguments, *option, code=2)
        assert (refused.code, refused.option) == ("E-OPTION-APPLIES", option[0])
    (folder / "region.csv").write_text("slide,mask,split,region\n0.nii.gz,0.labels.nii.gz,train,\"0,0,8,8\"\n")
    assert fails("train", "--cohort", folder / "region.csv", "-o", tmp_path / "run", "--network", NETWORK).code == "E-OPTION-APPLIES"


def read_arrays(path):
    content = path.read_bytes()
    (length,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8 : 8 + length])
    data = content[8 + length :]
    return {name: numpy.frombuffer(data[slice(*entry["data_offsets"])], "<f4").reshape(entry["shape"]) for name, entry in header.items() if name != "__metadata__"}


def test_norms_get_the_statistics_of_the_volumes(study, tmp_path):
    """Of the first norm they are computed here, from the weights that stayed as they were."""
    train(study, tmp_path / "run", "--epochs", 1, "--calibrate", 3, "--no-augmentation", rate=1e-9)
    arrays = read_arrays(tmp_path / "run" / "best.safetensors")
    weight = arrays["enc.0.0.weight"].astype(float)
    bias = arrays.get("enc.0.0.bias", numpy.zeros(len(weight))).astype(float)
    means, squares = [], []
    for seed in range(3):
        values = draw(seed)[0].astype(float)
        padded = numpy.pad((values - values.mean()) / values.std(), 1)
        maps = numpy.zeros((len(weight), *SHAPE))
        for z, y, x in itertools.product(range(3), repeat=3):
            maps += weight[:, 0, z, y, x].reshape(-1, 1, 1, 1) * padded[z : z + SHAPE[0], y : y + SHAPE[1], x : x + SHAPE[2]]
        maps += bias.reshape(-1, 1, 1, 1)
        means.append(maps.mean((1, 2, 3)))
        squares.append((maps**2).mean((1, 2, 3)))
    mean = numpy.mean(means, 0)
    assert arrays["enc.0.1.running_mean"] == pytest.approx(mean, abs=1e-4)
    assert arrays["enc.0.1.running_var"] == pytest.approx(numpy.mean(squares, 0) - mean**2, rel=2e-4)


def test_doubtful_places_are_said_of_volumes_and_labels(tmp_path):
    """Spacings below 0 beside a qform, in the volume to train on and its labels."""
    rows = []
    for number, split in enumerate(("train", "validation")):
        files = []
        for kind, values in zip(("v", "l"), draw(number)):
            files.append(write_nifti(tmp_path / f"{kind}{number}.nii", values))
            if split == "train":
                change_header(files[-1], "hh", 252, 1, 0)  # the qform counts
                change_header(files[-1], "f", 80, -1.5)
        rows.append((*files, split))
    result = train(write_cohort(tmp_path / "cohort.csv", rows), tmp_path / "run", "--epochs", 1)
    said = [(each["code"], each["file"]) for each in result.json["warnings"] if each["code"] == "W-VOLUME-GEOMETRY"]
    assert said == [("W-VOLUME-GEOMETRY", str(file)) for file in rows[0][:2]]
