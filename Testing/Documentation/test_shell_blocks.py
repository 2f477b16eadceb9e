# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""The blocks of code of tutorials and of README.md run, and give what the pages say."""

import csv
import gzip
import json
import os
import pathlib
import re
import subprocess

import numpy
import openslide
import pytest
import tifffile

ROOT = pathlib.Path(__file__).parents[2]
TUTORIALS = ROOT / "Documentation/tutorials"
PROGRAM = os.environ.get("GIGAPIXEL_PROGRAM", "gigapixel")
EXAMPLES = pathlib.Path(os.environ.get("GIGAPIXEL_EXAMPLES", ""))  # the folder of their programs


def run(script, folder):
    path = f"{pathlib.Path(PROGRAM).parent}:{EXAMPLES}:{os.environ['PATH']}"
    command = ["bash", "-euo", "pipefail", "-c", script]
    finished = subprocess.run(command, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=300)
    assert finished.returncode == 0, f"{script}\n{finished.stdout}\n{finished.stderr}"
    return finished.stdout


def run_page(page, folder):
    """Runs the shell blocks one after the other. A block of text behind one is what it prints."""
    blocks = re.findall(r"^```sh\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", page.read_text(), re.M | re.S)
    assert blocks
    for script, output in blocks:
        printed = run(script, folder)
        assert not output or printed == output, script


def evaluate(mask, truth, folder):
    return json.loads(run(f"gigapixel evaluate {mask} {truth} --json", folder))


def test_each_tutorial_has_a_test():
    """Those with Python are tested where their Python runs."""
    pages = {page.stem.replace("-", "_") for page in TUTORIALS.glob("*.md")} - {"index"}
    files = [pathlib.Path(__file__), ROOT / "Testing/Slicer/test_gigapixel_slide.py", ROOT / "Wrapping/Python/tests/test_example.py"]
    tests = "\n".join(file.read_text() for file in files)
    assert pages == set(re.findall(r"^def test_tutorial_(\w+)", tests, re.M))


def test_tutorial_first_slide(tmp_path):
    run_page(TUTORIALS / "first-slide.md", tmp_path)
    assert evaluate("tissue.tif", "truth.tif", tmp_path)["dice"] > 0.98
    tissue, classes, corrected = (tifffile.imread(tmp_path / f"{name}.tif") for name in ("tissue", "classes", "corrected"))
    assert numpy.array_equal(numpy.unique(tissue), [0, 255]) and tissue.shape == (512, 512)
    assert numpy.array_equal(classes == 1, tissue == 255) and set(numpy.unique(classes)) <= {0, 1, 2, 3} and (classes == 2).any()
    assert numpy.array_equal(corrected, tissue)  # outlines follow the edges of the mask's pixels
    assert (tmp_path / "tissue.png").exists() and (tmp_path / "classes.png").exists()


def test_tutorial_train_and_segment(tmp_path):
    run_page(TUTORIALS / "train-and-segment.md", tmp_path)
    assert evaluate("result.tif", "mask-4.tif", tmp_path)["dice"] > 0.9
    assert len((tmp_path / "run/history.csv").read_text().splitlines()) == 26
    result, probability = (tifffile.imread(tmp_path / f"{name}.tif") for name in ("result", "probability"))
    assert numpy.array_equal(result == 255, probability >= 128) and (tmp_path / "result.png").exists()


def test_tutorial_label_per_slide(tmp_path):
    run_page(TUTORIALS / "label-per-slide.md", tmp_path)
    with open(tmp_path / "predictions.csv") as file:
        predicted = {pathlib.Path(row["slide"]).stem: row["predicted"] for row in csv.DictReader(file)}
    assert predicted == {"he": "HE", "brown": "brown"}
    assert (tmp_path / "maps/brown.png").exists()
    assert "brown" in (tmp_path / "report.html").read_text()


def test_tutorial_volume(tmp_path):
    run_page(TUTORIALS / "volume.md", tmp_path)
    content = gzip.decompress((tmp_path / "labels.nii.gz").read_bytes())
    header, labels = content[:352], numpy.frombuffer(content[352:], numpy.uint8).reshape(32, 32, 32)
    assert list(numpy.frombuffer(header[40:48], "<i2")) == [3, 32, 32, 32]
    assert list(numpy.frombuffer(header[80:92], "<f4")) == [1, 1, 1.5]
    truth = (tmp_path / "volume-4-labels.nrrd").read_text().split("\n\n", 1)[1]
    truth = numpy.array(truth.split(), numpy.uint8).reshape(32, 32, 32)
    dice = 2 * (labels & truth).sum() / (int(labels.sum()) + int(truth.sum()))
    assert set(numpy.unique(labels)) == {0, 1} and dice > 0.9
    row = evaluate("labels.nii.gz", "volume-4-labels.nrrd", tmp_path)["labels"][0]
    assert abs(row["dice"] - dice) < 1e-6
    assert (tmp_path / "slices.png").exists()


@pytest.mark.skipif("GIGAPIXEL_EXAMPLES" not in os.environ, reason="the examples are not built")
def test_tutorial_itk_cpp(tmp_path):
    """The blocks of C++ are those of the example. It keeps the slide's tissue, and takes less memory than a slide has pixels."""
    example = (ROOT / "Examples/WhitenGlass.cxx").read_text()
    blocks = re.findall(r"^```cpp\n(.*?)^```", (TUTORIALS / "itk-cpp.md").read_text(), re.M | re.S)
    assert len(blocks) == 4 and all(block in example for block in blocks)
    run_page(TUTORIALS / "itk-cpp.md", tmp_path)
    run("gigapixel label slide.tif --downsample 2 -o tissue.tif", tmp_path)
    white, tissue = (tifffile.imread(tmp_path / name) for name in ("white.pyramid.tif", "tissue.tif"))
    with openslide.OpenSlide(str(tmp_path / "slide.tif")) as slide:
        pixels = numpy.array(slide.read_region((0, 0), 1, (2048, 2048)))[..., :3]
    assert numpy.array_equal(white, numpy.where(tissue[..., None] == 255, pixels, 255))

    run("gigapixel synthesize large.tif --size 4096x40960", tmp_path)
    process = subprocess.Popen([EXAMPLES / "WhitenGlass", "large.tif", "1", "large.pyramid.tif"], cwd=tmp_path)
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0 and usage.ru_maxrss * 1024 < 0.75 * (4096 * 40960 * 3)


@pytest.fixture
def slide(tmp_path):
    """The slide of the README."""
    run("gigapixel synthesize slide.tif --size 2048x2048 --seed 2 --truth truth.tif && mv slide.tif slide.svs", tmp_path)
    return tmp_path


def test_readme_shell(slide):
    run_page(ROOT / "README.md", slide)
    assert evaluate("tissue.tif", "truth.tif", slide)["dice"] > 0.98
    assert tifffile.imread(slide / "mask.tif").shape == (2048, 2048)


@pytest.mark.skipif("GIGAPIXEL_README_EXAMPLE" not in os.environ, reason="the README's C++ is not built")
def test_readme_cpp(slide):
    """The block of C++ makes the mask that the program makes."""
    run(os.environ["GIGAPIXEL_README_EXAMPLE"], slide)
    run("gigapixel label slide.svs -o program.tif", slide)
    mask, program = (tifffile.imread(slide / name) for name in ("tissue.pyramid.tif", "program.tif"))
    assert numpy.array_equal(mask, program)
