# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Labels of whole slides: trained on, and said of others, as the program says them."""

import json
import pathlib
import subprocess
import sys

import itkgigapixel as gp
import numpy as np
import pytest
import tifffile

PROGRAM = pathlib.Path(sys.executable).parent / "gigapixel"
NETWORK = "resnet18:width=2"


@pytest.fixture(scope="module")
def cohort(tmp_path_factory):
    """Six slides of noise, every second with dark spots; two are for validation."""
    folder = tmp_path_factory.mktemp("labels")
    rows = ["slide,label,split"]
    for i in range(6):
        random = np.random.default_rng(i)
        pixels = random.integers(150, 250, (140, 170, 3), dtype=np.uint8)
        pixels[40:80, 50:90] //= 3 if i % 2 else 1
        tifffile.imwrite(folder / f"{i}.tif", pixels, tile=(64, 64), photometric="rgb", resolution=(20000, 20000), resolutionunit=3)
        rows.append(f"{i}.tif,{'tumor' if i % 2 else 'normal'},{'validation' if i > 3 else 'train'}")
    (folder / "cohort.csv").write_text("\n".join(rows) + "\n")
    return folder


@pytest.fixture(scope="module")
def model(cohort, tmp_path_factory):
    run = tmp_path_factory.mktemp("run") / "run"
    return gp.train(cohort / "cohort.csv", run, network=NETWORK, epochs=1, tile_size=96, balance=True), run


def test_the_program_says_the_same(cohort, model, tmp_path):
    trained, run = model
    slides = [cohort / "4.tif", cohort / "1.tif"]
    words = ["classify", *slides, "--model", run, "-o", tmp_path / "p.csv", "--json", "--quiet"]
    theirs = json.loads(subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, check=True).stdout)
    for source in (trained, run, run / "best.safetensors"):
        ours = gp.classify(slides, source)
        assert [one.probabilities for one in ours] == [row["probabilities"] for row in theirs]
        assert [one.predicted for one in ours] == [row["predicted"] for row in theirs]
    one = gp.classify(gp.Slide(slides[1]), trained)
    assert one == ours[1] and list(one.probabilities) == ["normal", "tumor"]
    assert sum(one.probabilities.values()) == pytest.approx(1, abs=1e-6)
    assert len(gp.classify(cohort, trained)) == 6


def test_options_reach_the_program(cohort, model):
    whole = gp.classify(cohort / "0.tif", model[0], tile_size="image", level=0, memory="3G")
    assert whole.probabilities["tumor"] == pytest.approx(gp.classify(cohort / "0.tif", model[0]).probabilities["tumor"], abs=1e-5)


def test_what_does_not_fit_is_refused(cohort, model, tmp_path):
    with pytest.raises(RuntimeError, match="no.tif"):
        gp.classify([cohort / "0.tif", tmp_path / "no.tif"], model[0])
    with pytest.raises(RuntimeError, match="labels pixels"):
        gp.classify(cohort / "0.tif", "tissue")
    with pytest.raises(TypeError, match="not int"):
        gp.classify(cohort / "0.tif", 3)
    with pytest.raises(ValueError, match="no slide"):
        gp.classify([], model[0])
