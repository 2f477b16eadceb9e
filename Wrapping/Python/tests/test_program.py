# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""The program gigapixel lies on PATH, with all its commands."""

import json
import pathlib
import subprocess
import sys
import time

import itk
import itkgigapixel as gp
import numpy as np
import pytest
import tifffile
from conftest import refused, ROOT

RGB = itk.Image[itk.RGBPixel[itk.UC], 2]
GRAY = itk.Image[itk.UC, 2]
PROGRAM = pathlib.Path(sys.executable).parent / "gigapixel"


def gigapixel(*arguments: str) -> str:
    result = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_info_and_label(slide, tmp_path):
    """Of a pyramid, and of a JPEG slide without levels, which the codec reduces."""
    assert json.loads(gigapixel("info", slide, "--json"))
    mask = tmp_path / "mask.pyramid.tif"
    gigapixel("label", slide, "-o", mask, "--quiet")
    ours = gp.Slide(gp.label(slide, tmp_path / "python.pyramid.tif"))
    assert np.array_equal(gp.Slide(mask).read(gray=True), ours.read(gray=True))


def test_presets_are_the_programs():
    """The program's list and default, the filters', and Python's."""
    commands = json.loads(gigapixel("--describe"))
    label = next(each for each in commands if each["name"] == "label")
    preset = next(each for each in label["arguments"] if each["name"] == "preset")
    assert preset["choices"] == gp.presets() and preset["default"] == gp.presets()[0]
    for kind in (itk.TissueLabelImageFilter[RGB, GRAY], itk.TissueLabelImageFilter[GRAY, GRAY], itk.SlideTissueImageSource):
        assert list(kind.GetPresets()) == gp.presets() and kind.New().GetPreset() == gp.presets()[0]
    assert gp.presets()[0] == "auto"


def assert_same_masks(folder, words=None):
    """In all levels. The program's files say the shares of pen and artifacts as well."""
    with tifffile.TiffFile(folder / "program.pyramid.tif") as program, tifffile.TiffFile(folder / "python.pyramid.tif") as python:
        theirs, ours = ([level.asarray() for level in file.series[0].levels] for file in (program, python))
        assert len(theirs) == len(ours) and all(np.array_equal(*each) for each in zip(theirs, ours)), words


@pytest.mark.parametrize("preset", [None, "robust", "fluorescence", "ihc", "rules", "model", "auto"])
@pytest.mark.filterwarnings("ignore:.*preset")
def test_label_is_the_programs(slide, preset, tmp_path):
    words = ["label", slide, "-o", tmp_path / "program.pyramid.tif", "--quiet"]
    gigapixel(*words, *(["--preset", preset] if preset else []))
    gp.label(slide, tmp_path / "python.pyramid.tif", preset=preset)
    assert_same_masks(tmp_path)
    # What Python has made is what the program would make: it is kept.
    gigapixel(*words[:3], tmp_path / "python.pyramid.tif", "--quiet", *(["--preset", preset] if preset else []))


def test_other_labels_are_the_programs(drawn, tmp_path):
    gray, deep, nameless = (tmp_path / f"{name}.tif" for name in ("gray", "deep", "nameless"))
    pixels = gp.Slide(drawn[0]).read(gray=True)
    tifffile.imwrite(gray, pixels, tile=(256, 256), photometric="minisblack", resolution=(20000, 20000), resolutionunit="CENTIMETER")
    tifffile.imwrite(deep, pixels.astype(np.uint16) * 256, tile=(256, 256), photometric="minisblack")
    tifffile.imwrite(nameless, gp.Slide(drawn[0]).read()[:1041, :1041], tile=(256, 256), photometric="rgb")
    for slide, words, options in (
        (gray, [], {}),
        (deep, [], {}),
        (gray, ["--preset", "auto", "--downsample", 5], {"preset": "auto", "downsample": 5}),
        (nameless, ["--preset", "robust"], {"preset": "robust"}),
        (drawn[0], ["--preset", "model", "--classes"], {"preset": "model", "classes": True}),
        (nameless, ["--slide-mpp", 0.25, "--full-resolution"], {"mpp": 0.25, "full_resolution": True}),
    ):
        gigapixel("label", slide, "-o", tmp_path / "program.pyramid.tif", "--quiet", "--overwrite", *words)
        gp.label(slide, tmp_path / "python.pyramid.tif", **options)
        assert_same_masks(tmp_path, words)


@pytest.fixture(scope="module", params=["gray", "rgb", "three classes", "rgb at 1 um"])
def model(request, drawn, tmp_path_factory):
    """The folder of a short run, and what the network is."""
    folder = tmp_path_factory.mktemp("model")
    source = json.loads((ROOT / "Modules" / "Network" / "networks" / "remedios2023.json").read_text())
    if request.param.startswith("rgb"):
        source["input"]["channels"] = source["layers"][0]["in"] = 3
    if request.param == "three classes":
        source["layers"][-1]["out"] = 3
        source["loss"] = {"type": "softmax cross-entropy"}
    (folder / "network.json").write_text(json.dumps(source))
    mask = tmp_path_factory.mktemp("mask") / "mask.tif"
    truth = gp.Slide(drawn[1]).read(gray=True)
    tifffile.imwrite(mask, truth // 128, tile=(256, 256), photometric="minisblack", resolution=(20000, 20000), resolutionunit="CENTIMETER")
    sample = (drawn[0], mask if request.param == "three classes" else drawn[1])
    mpp = {"mpp": 1.0} if request.param == "rgb at 1 um" else {}
    gp.train([sample], folder / "run", network=folder / "network.json", epochs=3, seed=4, **mpp)
    return folder / "run", request.param


def test_segment_is_the_programs(drawn, model, tmp_path):
    """To the last byte of the files, with each option that both have; by the level as well."""
    run, kind = model
    level = 1 if kind == "rgb at 1 um" else 0
    ways = [
        ([], {}),
        (["--region", "501,300,1400,1000"], {"region": (501, 300, 1400, 1000)}),
        (["--level", level], {"level": level}),
    ]
    if kind != "three classes":  # of which the greatest output decides
        ways.append((["--threshold", 0.3], {"threshold": 0.3}))
        ways.append((["--fill-holes", "--threshold", 0.4], {"fill_holes": True, "threshold": 0.4}))
    for words, options in ways:
        name = "program.pyramid.tif"
        told = gigapixel("segment", drawn[0], "--model", run, "-o", tmp_path / name, "--overwrite", "--json", *words)
        assert json.loads(told)["level"] == level
        gp.segment(drawn[0], run, tmp_path / "python.pyramid.tif", **options)
        assert (tmp_path / name).read_bytes() == (tmp_path / "python.pyramid.tif").read_bytes(), words
        image = itk.array_from_image(gp.segment(drawn[0], run, **options))
        assert np.array_equal(gp.Slide(tmp_path / name).read(gray=True), image), words
    words = [PROGRAM, "segment", drawn[0], "--model", run, "-o", tmp_path / "another.tif", "--level", "2"]
    assert subprocess.run(words, capture_output=True).returncode == 1
    with refused(RuntimeError, "E-SLIDE-RESOLUTION", file=drawn[0]):
        gp.segment(drawn[0], run, level=2)


def test_probabilities_are_the_programs(drawn, model, tmp_path):
    run, kind = model
    names = [tmp_path / "label.pyramid.tif", tmp_path / "probability.pyramid.tif"]
    words = ["segment", drawn[0], "--model", run, "-o", names[0], "--probability", names[1], "--quiet"]
    if kind == "three classes":
        assert subprocess.run([PROGRAM, *map(str, words)], capture_output=True).returncode == 1
        for code, options in (("E-MODEL-OUTPUT", {"probability": True}), ("E-OPTION-APPLIES", {"fill_holes": True})):
            with refused(RuntimeError, code):
                gp.segment(drawn[0], run, **options)
        return
    gigapixel(*words)
    gp.segment(drawn[0], run, tmp_path / "python.pyramid.tif", probability=True)
    assert names[1].read_bytes() == (tmp_path / "python.pyramid.tif").read_bytes()


def test_resolutions_are_the_programs(drawn, model, tmp_path):
    """A slide that does not tell its resolution is refused by both, and read at the same level where it is stated."""
    run, _ = model
    path = tmp_path / "nameless.tif"
    with tifffile.TiffWriter(path) as file:
        for level in (0, 1, 2):
            file.write(gp.Slide(drawn[0]).read(level), tile=(256, 256), photometric="rgb", subfiletype=min(level, 1))
    words = ["segment", path, "--model", run, "-o", tmp_path / "program.pyramid.tif", "--quiet"]
    assert subprocess.run([PROGRAM, *map(str, words)], capture_output=True).returncode == 1
    with refused(RuntimeError, "E-SLIDE-RESOLUTION", file=str(path)):
        gp.segment(path, run)
    for stated, options in ((["--slide-mpp", 0.25], {"mpp": 0.25}), (["--level", 1], {"level": 1})):
        gigapixel(*words, *stated, "--overwrite")
        gp.segment(path, run, tmp_path / "python.pyramid.tif", **options)
        assert (tmp_path / "program.pyramid.tif").read_bytes() == (tmp_path / "python.pyramid.tif").read_bytes(), stated


def test_conversion_is_the_programs(slide, tmp_path):
    """The pixels of the same level, compressed in the same way: of tiles that are copied, of a level by its resolution
    (which the codec makes, where there is none), and of a region that begins within tiles."""
    mpp = gp.Slide(slide).mpp * 4
    for words, options in (([], {}), (["--mpp", mpp], {"mpp": mpp}), (["--region", "301,203,900,700"], {"region": (301, 203, 900, 700)})):
        gigapixel("convert", slide, tmp_path / "program.pyramid.tif", "--overwrite", "--quiet", *words)
        gp.convert(slide, tmp_path / "python.pyramid.tif", **options)
        ours, theirs = (gp.Slide(tmp_path / name) for name in ("python.pyramid.tif", "program.pyramid.tif"))
        assert ours.levels == theirs.levels and ours.decoder == theirs.decoder
        assert all(np.array_equal(ours.read(k), theirs.read(k)) for k in range(len(ours.levels))), words


def test_train_and_segment(drawn, tmp_path):
    cohort = tmp_path / "cohort.csv"
    cohort.write_text(f"slide,mask,split\n{drawn[0]},{drawn[1]},train\n")
    gigapixel("train", "--cohort", cohort, "-o", tmp_path / "run", "--network", "remedios2023", "--epochs", 1, "--seed", 4, "--quiet")
    gigapixel("segment", drawn[0], "--model", tmp_path / "run", "-o", tmp_path / "program.pyramid.tif", "--quiet")
    # The same run from Python has the same bits.
    gp.train(cohort, tmp_path / "again", network="remedios2023", epochs=1, seed=4)
    segmented = gp.segment(drawn[0], tmp_path / "again", tmp_path / "python.pyramid.tif")
    assert np.array_equal(gp.Slide(segmented).read(gray=True), gp.Slide(tmp_path / "program.pyramid.tif").read(gray=True))


def test_a_wrong_file_is_a_sentence(tmp_path):
    result = subprocess.run([PROGRAM, "info", tmp_path / "nothing.svs"], capture_output=True, text=True)
    assert result.returncode == 1 and "nothing.svs" in result.stderr


def test_a_training_that_is_told_to_end_does(drawn, tmp_path):
    """By SIGTERM, as batch systems do: after the epochs so far, with what resumes them."""
    cohort, history = tmp_path / "cohort.csv", tmp_path / "run" / "history.csv"
    cohort.write_text(f"slide,mask,split\n{drawn[0]},{drawn[1]},train\n")
    words = [PROGRAM, "train", "--cohort", cohort, "-o", tmp_path / "run", "--network", "remedios2023", "--epochs", "100000"]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and not history.exists():
            time.sleep(0.05)
        process.terminate()
        told = process.communicate()[1]
    assert process.returncode == 130 and "--resume" in told, told
