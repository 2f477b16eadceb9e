# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Where the modules and the program lie, and a slide with something on it."""

import os
import pathlib
import subprocess

import numpy
import openslide
import pytest
import tifffile

MODULES = pathlib.Path(os.environ.get("GIGAPIXEL_MODULES", "build/lib/ITKGigapixel/cli-modules"))
PROGRAM = os.environ.get("GIGAPIXEL_PROGRAM", "gigapixel")
NAMES = ["SlideInfo", "SlideRegion", "TissueLabel", "GigapixelUNetTrain", "GigapixelUNetSegment", "GigapixelVolumeSegment", "GigapixelClassify"]


def module(name):
    """The program of a module; skips where it was built without LibTorch."""
    program = MODULES / name
    if not program.exists():
        assert name.startswith("Gigapixel"), f"{program} is not there"
        pytest.skip(f"{name} was not built (no LibTorch)")
    return program


def run(name, code=0, **arguments):
    """Runs a module with --name value for each argument, checks its exit code."""
    words = [str(word) for key, value in arguments.items() for word in (f"--{key}", value)]
    result = subprocess.run([module(name), *words], capture_output=True, text=True, timeout=300)
    assert result.returncode == code, f"{name} {words}: {result.returncode}\n{result.stdout}\n{result.stderr}"
    return result


def synthesize(folder, size, seed=5):
    slide, truth = folder / "slide.tif", folder / "truth.tif"
    subprocess.run(
        [PROGRAM, "synthesize", slide, "--size", size, "--seed", str(seed), "--truth", truth, "--quiet"], check=True
    )
    return slide, truth


def read_level(slide, level=0):
    """A level's pixels as OpenSlide reads them: (y, x, 3)."""
    with openslide.OpenSlide(str(slide)) as opened:
        return numpy.array(opened.read_region((0, 0), level, opened.level_dimensions[level]))[..., :3]


@pytest.fixture(scope="session")
def slide(tmp_path_factory):
    """2600 x 2200 pixels at 0.5 um: (slide, mask of its tissue)."""
    return synthesize(tmp_path_factory.mktemp("slide"), "2600x2200")


@pytest.fixture(scope="session")
def cohort(slide, tmp_path_factory):
    """Rows of (slide, mask, split): one to train on, another to validate on."""
    other = synthesize(tmp_path_factory.mktemp("other"), "1300x1100", seed=6)
    return [(*slide, "train"), (*other, "validation")]


@pytest.fixture(scope="session")
def labels(tmp_path_factory):
    """Two slides of 256 x 192 pixels at 0.5 um and their labels, and a model that was trained on them."""
    folder = tmp_path_factory.mktemp("labels")
    rows = []
    for i, label in enumerate(("normal", "tumor")):
        pixels = numpy.random.default_rng(i).integers(150, 250, (192, 256, 3), dtype="u1")
        pixels[60:120, 100:180] //= 1 + 3 * i
        options = {"resolution": (20000, 20000), "resolutionunit": "CENTIMETER"}
        tifffile.imwrite(folder / f"{label}.tif", pixels, tile=(64, 64), photometric="rgb", **options)
        rows.append((folder / f"{label}.tif", label, "train"))
    write_cohort(folder / "cohort.csv", ("slide", "label", "split"), rows)
    words = {"cohort": folder / "cohort.csv", "run": folder / "run", "network": "resnet18:width=2", "tileSize": 64}
    run("GigapixelUNetTrain", **words, epochs=2)
    return [row[:2] for row in rows], folder / "run" / "best.safetensors"


@pytest.fixture(scope="session")
def volume(tmp_path_factory):
    """A volume of noise with a bright cube, on a grid that is turned, and a model of two modalities that was trained on it and on
    its negative."""
    folder = tmp_path_factory.mktemp("volume")
    values = numpy.random.default_rng(4).integers(0, 60, (12, 14, 16)).astype("<i2")
    labels = numpy.zeros(values.shape, "u1")
    labels[3:9, 4:11, 5:12] = 1
    values += 200 * labels
    for name, voxels in (("t1", values), ("t2", -values), ("labels", labels)):
        write_volume(folder / f"{name}.nrrd", voxels)
    write_cohort(folder / "cohort.csv", ("slide", "mask", "split"), [(f'"{folder / "t1.nrrd"},{folder / "t2.nrrd"}"', folder / "labels.nrrd", "train")])
    words = {"cohort": folder / "cohort.csv", "run": folder / "run", "network": "unet3d:base=2,depth=1,channels=2", "learningRate": 0.02}
    run("GigapixelUNetTrain", **words, epochs=40)
    return folder, labels


def write_volume(path, voxels):
    """NRRD, whose axes are turned: x runs to posterior, y to the right."""
    kind = {"int16": "short", "uint8": "unsigned char"}[voxels.dtype.name]
    lines = ["NRRD0004", f"type: {kind}", "dimension: 3", "space: left-posterior-superior", f"sizes: {' '.join(map(str, voxels.shape[::-1]))}"]
    lines += ["space directions: (0,0.5,0) (-0.75,0,0) (0,0,2)", "space origin: (-3,4,5)", "endian: little", "encoding: raw"]
    path.write_bytes("\n".join(lines).encode() + b"\n\n" + voxels.tobytes())


def write_cohort(path, header, rows):
    path.write_text("\n".join(",".join(map(str, row)) for row in [header, *rows]))


@pytest.fixture(scope="session")
def large(tmp_path_factory):
    """144 megapixels: long enough at work to be stopped."""
    return synthesize(tmp_path_factory.mktemp("large"), "12000x12000")
