# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""A path is what the file system makes of it: links, "..", other working directories and other spellings."""

import os
import shutil

import numpy
import pytest
import tifffile

from conftest import TRAIN, fails, run, write_nrrd, write_png, write_slide


def weights(folder):
    """The tensors' bytes; the text before them holds the names of the samples."""
    data = (folder / "last.safetensors").read_bytes()
    return data[8 + int.from_bytes(data[:8], "little") :]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """study/slides/{a,b}.tif with their truths, study/lists/cohort.csv, and `link` to study/lists."""
    folder = tmp_path_factory.mktemp("paths")
    (folder / "study" / "slides").mkdir(parents=True)
    (folder / "study" / "lists").mkdir()
    for seed, name in enumerate("ab"):
        slide = folder / "study" / "slides" / f"{name}.tif"
        run("synthesize", slide, "--size", "400x300", "--seed", seed, "--truth", slide.with_suffix(".truth.tif"))
    (folder / "study" / "lists" / "cohort.csv").write_text(
        "slide,mask,split\n"
        "../slides/a.tif,../slides/a.truth.tif,train\n"
        "../slides/b.tif,../slides/b.truth.tif,validation\n"
    )
    (folder / "link").symlink_to(folder / "study" / "lists")
    return folder


def test_cohort_behind_a_link_trains_on_its_own_slides(study, network):
    """Beside the link there are other slides of these names, which are not meant."""
    (study / "slides").mkdir(exist_ok=True)
    for name in ("a.tif", "b.tif"):
        shutil.copy(study / "study" / "slides" / "b.tif", study / "slides" / name)
    common = ["--epochs", 1, "--seed", 3]
    run(*TRAIN, "--cohort", study / "study" / "lists" / "cohort.csv", "-o", study / "straight", *common)
    run(*TRAIN, "--cohort", study / "link" / "cohort.csv", "-o", study / "linked", *common)
    shutil.rmtree(study / "slides")
    run(*TRAIN, "--cohort", study / "link" / "cohort.csv", "-o", study / "alone", *common)
    assert weights(study / "straight") == weights(study / "linked") == weights(study / "alone")


def test_resume_from_anywhere_by_any_name(study, tmp_path, network):
    """Each epoch is resumed from another folder, and with other names for all files, and has the bits of one run."""
    moved = tmp_path / "moved"
    shutil.copytree(study / "study", moved)
    (tmp_path / "lists").symlink_to(moved / "lists")
    (tmp_path / "runs").symlink_to(moved)
    cohort = moved / "lists" / "cohort.csv"
    elsewhere = moved / "lists" / "elsewhere.csv"
    elsewhere.write_text(cohort.read_text().replace("../slides", "./.././slides"))
    other = moved / "linked.csv"
    for name in ("a", "b"):
        (moved / f"renamed-{name}.tif").symlink_to(moved / "slides" / f"{name}.tif")
    other.write_text(cohort.read_text().replace("../slides/a.tif", "renamed-a.tif").replace("../", ""))
    run(*TRAIN, "--cohort", cohort, "-o", tmp_path / "straight", "--epochs", 6)
    for epochs, (folder, table, output) in enumerate(
        (
            (tmp_path, cohort, moved / "run"),
            (moved, "lists/cohort.csv", "run"),
            (moved / "slides", "../lists/elsewhere.csv", "../run/"),
            (tmp_path, "lists/cohort.csv", "runs/run"),
            (tmp_path / "lists", other, "../run"),
            (tmp_path, study / "study" / "lists" / "cohort.csv", "runs/../moved/run/"),  # the slides that were copied
        ),
        start=1,
    ):
        run(*TRAIN, "--cohort", table, "-o", output, "--epochs", epochs, "--resume", cwd=folder)
    assert weights(moved / "run") == weights(tmp_path / "straight")
    assert (moved / "run" / "history.csv").read_bytes() == (tmp_path / "straight" / "history.csv").read_bytes()

    # What is different stays so, whatever it is called.
    cohort.write_text(elsewhere.read_text().replace("a.truth", "b.truth", 1))
    refused = fails(*TRAIN, "--cohort", cohort, "-o", moved / "run", "--epochs", 7, "--resume")
    assert (refused.code, refused.value) == ("E-RUN-CONFLICT", "training samples")
    run("synthesize", moved / "slides" / "a.tif", "--size", "400x300", "--seed", 7, "--overwrite")
    refused = fails(*TRAIN, "--cohort", elsewhere, "-o", moved / "run", "--epochs", 7, "--resume")
    assert (refused.code, refused.value) == ("E-RUN-CONFLICT", "training samples")


@pytest.mark.parametrize("kind", ["png", "nrrd", "mhd", "nhdr"])
def test_resume_with_a_mask_that_was_moved(study, tmp_path, network, kind):
    """The mask is its pixels, also where they are in a file of their own, which the header names."""
    truth = tifffile.imread(study / "study" / "slides" / "a.truth.tif", key=0)

    def write(folder, pixels):
        mask = folder / f"mask.{kind}"
        folder.mkdir(exist_ok=True)
        height, width = pixels.shape
        nrrd = f"NRRD0004\ntype: unsigned char\ndimension: 2\nsizes: {width} {height}\nencoding: raw\n"
        if kind == "png":
            return write_png(mask, pixels)
        if kind == "nrrd":
            mask.write_bytes(f"{nrrd}\n".encode() + pixels.tobytes())
            return mask
        (folder / "pixels.raw").write_bytes(pixels.tobytes())
        meta = f"NDims = 2\nDimSize = {width} {height}\nElementType = MET_UCHAR\nElementDataFile = pixels.raw\n"
        mask.write_text(meta if kind == "mhd" else f"{nrrd}data file: pixels.raw\n")
        return mask

    def train(mask, epochs):
        (tmp_path / "c.csv").write_text(f"slide,mask,split\n{study / 'study' / 'slides' / 'a.tif'},{mask},train\n")
        return [*TRAIN, "--cohort", tmp_path / "c.csv", "-o", tmp_path / "run", "--epochs", epochs, "--resume"]

    run(*train(write(tmp_path / "here", truth), 1))
    shutil.move(tmp_path / "here", tmp_path / "there")
    run(*train(tmp_path / "there" / f"mask.{kind}", 2))
    refused = fails(*train(write(tmp_path / "other", truth[::-1]), 3))
    assert (refused.code, refused.file, refused.value) == ("E-RUN-CONFLICT", str(tmp_path / "run"), "training samples")


def test_one_pixel_of_a_large_mask_counts(synthetic, tmp_path, network):
    """Its file is large, but all of it is compared; when it was written does not matter."""
    mask = write_nrrd(tmp_path / "mask.nrrd", tifffile.imread(synthetic[1], key=0), encoding="raw")
    assert mask.stat().st_size > 1 << 20
    (tmp_path / "c.csv").write_text(f"slide,mask,split\n{synthetic[0]},{mask},train\n")
    segment = ["segment", synthetic[0], "--model", "tissue", "--tissue", mask, "-o", tmp_path / "segmented.tif", "--json"]
    overlay = ["overlay", synthetic[0], mask, "-o", tmp_path / "overlay.png", "--json"]
    train = [*TRAIN, "--cohort", tmp_path / "c.csv", "-o", tmp_path / "run", "--resume", "--epochs"]
    run(*segment)
    run(*overlay)
    run(*train, 1)
    os.utime(mask)
    assert run(*segment).json["skipped"] and run(*overlay).json["skipped"]
    run(*train, 2)
    edited = bytearray(mask.read_bytes())
    edited[80000] ^= 1  # between the samples that tell slides apart
    mask.write_bytes(edited)
    for words in (segment, overlay):
        assert fails(*words[:-1]).code == "E-OUTPUT-EXISTS"
    refused = fails(*train, 3)
    assert (refused.code, refused.file, refused.value) == ("E-RUN-CONFLICT", str(tmp_path / "run"), "training samples")


def test_region_of_a_resumed_run_is_compared(study, tmp_path, network):
    table = study / "study" / "lists" / "region.csv"

    def train(region, epochs, *options):
        table.write_text(f"slide,mask,split,region\n../slides/a.tif,../slides/a.truth.tif,train,{region}\n")
        return [*TRAIN, "--cohort", table, "-o", tmp_path / "run", "--epochs", epochs, *options]

    run(*train("0 0 128 128", 1))
    refused = fails(*train("64 0 128 128", 2, "--resume"))
    assert (refused.code, refused.file, refused.value) == ("E-RUN-CONFLICT", str(tmp_path / "run"), "training samples")
    run(*train("0 0 128 128", 2, "--resume"))


@pytest.mark.parametrize("command", ["label", "convert"])
def test_batch_goes_on_by_any_name(tmp_path, command):
    folder = tmp_path / "real"
    folder.mkdir()
    for place, name in ((40, "a"), (140, "b")):
        pixels = numpy.full((300, 400, 3), 245, numpy.uint8)
        pixels[place : place + 90, place : place + 90] = (180, 90, 150)
        tifffile.imwrite(folder / f"{name}.tif", pixels, tile=(256, 256), photometric="rgb", resolution=(20000, 20000),
                         resolutionunit="CENTIMETER")
    assert (folder / "a.tif").stat().st_size == (folder / "b.tif").stat().st_size
    (tmp_path / "link").symlink_to(folder)
    (tmp_path / "again").symlink_to(folder / "a.tif")

    to = [] if command == "convert" else ["-o"]

    def skipped(*arguments, cwd=tmp_path):
        result = run(command, *arguments, "--json", cwd=cwd).json
        return [entry["skipped"] for entry in (result if isinstance(result, list) else [result])]

    assert skipped(folder, *to, "out/") == [False, False]
    assert skipped("link", *to, tmp_path / "out") == [True, True]
    assert skipped("../real/a.tif", "b.tif", *to, "../out/", cwd=folder) == [True, True]
    assert skipped(".", *to, "../out", cwd=folder) == [True, True]
    assert skipped("again", *to, "out/a.pyramid.tif") == [True]
    # One slide by two names is one, and another slide of the same size is another.
    assert skipped("real", "link/a.tif", "./real/b.tif", *to, "out") == [True, True]
    assert fails(command, "real/b.tif", *to, "out/a.pyramid.tif", cwd=tmp_path).code == "E-OUTPUT-EXISTS"


def test_output_goes_where_its_folder_leads(tmp_path):
    """`link/..` is beside the folder that the link leads to."""
    (tmp_path / "far" / "folder").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "far" / "folder")
    slide = write_slide(tmp_path / "slide.tif", numpy.full((300, 400, 3), 240, numpy.uint8))
    run("label", slide, "-o", "link/../mask.tif", cwd=tmp_path)
    assert (tmp_path / "far" / "mask.tif").exists() and not (tmp_path / "mask.tif").exists()
    assert fails("label", slide, "-o", "missing/../mask.tif", cwd=tmp_path).code == "E-FILE-MISSING"
    assert not (tmp_path / "mask.tif").exists()
    refused = fails("synthesize", "link/x.tif", "--truth", "far/folder/x.tif", "--size", "64x64", code=2, cwd=tmp_path)
    assert refused.code == "E-OUTPUT-TWICE" and (refused.option, refused.value) == ("--truth", "far/folder/x.tif")
