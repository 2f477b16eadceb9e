# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Examples/Workflows: what is shown there runs, and goes on after a kill."""

import json
import os
import pathlib
import shutil
import subprocess

import numpy
import pytest

Image = pytest.importorskip("PIL.Image", reason="python3-pil reads pictures")

from conftest import PROGRAM, run, write_slide
from report_pages import Page

WORKFLOWS = pathlib.Path(__file__).parents[2] / "Examples/Workflows"


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="shellcheck is not installed")
def test_scripts_are_sound():
    subprocess.run(["shellcheck", *WORKFLOWS.glob("*.sh")], check=True)


def test_tasks_of_slurm_share_a_folder(tmp_path):
    run("synthesize", tmp_path / "cohort", "--size", "128x96", "--slides", "2,1,1", "--slide-mpp", 2, "--lesions", 5)
    environment = {**os.environ, "GIGAPIXEL": PROGRAM, "SLURM_CPUS_PER_TASK": "1"}
    words = [WORKFLOWS / "slurm-array.sh", tmp_path / "cohort/slides", tmp_path / "masks"]
    tasks = [subprocess.Popen(words, env={**environment, "SLURM_ARRAY_TASK_ID": str(number)}) for number in range(2)]
    assert [task.wait() for task in tasks] == [0, 0]
    status = run("status", tmp_path / "masks", "--json").json
    assert (status["slides"], status["done"], status["running"], status["left"]) == (4, 4, [], 0)


def write_slides(folder, source):
    """Four slides 0.tif to 3.tif with their truths 0.truth.tif to 3.truth.tif: drawn, or stained nuclei of real tissue."""
    if source == "drawn":
        for number in range(4):
            run("synthesize", f"{number}.tif", "--size", "256x192", "--slide-mpp", 2, "--seed", number, "--truth", f"{number}.truth.tif", cwd=folder)
        return
    data = pathlib.Path(os.environ.get("GIGAPIXEL_TEST_DATA", ""))
    labels = sorted((data / "histology").glob("*_labels.png"))[:4]
    if len(labels) < 4:
        pytest.skip("no real slides (GIGAPIXEL_TEST_DATA)")
    for number, file in enumerate(labels):
        # Nine of a field: one alone is hardly larger than what labels leave out as debris.
        picture = numpy.tile(numpy.asarray(Image.open(str(file).replace("_labels", "")).convert("RGB")), (3, 3, 1))
        truth = numpy.tile(numpy.asarray(Image.open(file)), (3, 3))
        write_slide(folder / f"{number}.tif", picture)
        write_slide(folder / f"{number}.truth.tif", numpy.where(truth > 0, 255, 0).astype(numpy.uint8))


@pytest.mark.parametrize("source", ["drawn", "real"])
@pytest.mark.usefixtures("network")
@pytest.mark.skipif(not (os.environ.get("GIGAPIXEL_SNAKEMAKE") or shutil.which("snakemake")), reason="snakemake is not installed (PyPI)")
def test_snakemake_from_cohort_to_report(tmp_path, source):
    """Killed after the training, it does not train again."""
    write_slides(tmp_path, source)
    for number, split in enumerate(("train", "validation", "test", "test")):
        with open(tmp_path / "cohort.csv", "a") as table:
            table.write(("" if number else "slide,mask,split\n") + f"{number}.tif,{number}.truth.tif,{split}\n")
    work = tmp_path / "work"
    words = [os.environ.get("GIGAPIXEL_SNAKEMAKE", "snakemake"), "-s", WORKFLOWS / "Snakefile", "--cores", "2", "--directory", work,
             "--config", f"cohort={tmp_path / 'cohort.csv'}", f"program={PROGRAM}", "training=--epochs 2 --network remedios2023"]
    subprocess.run([*words, "--until", "train"], check=True, capture_output=True)
    trained = (work / "run/best.safetensors").stat().st_mtime_ns
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True, text=True)
    for line in process.stdout:
        if "rule segment" in line:
            os.killpg(process.pid, 9)
    assert process.wait() < 0 and not (work / "report.html").exists()
    subprocess.run([*words[:3], "--unlock", *words[3:]], check=True, capture_output=True)
    subprocess.run([*words, "--rerun-incomplete"], check=True, capture_output=True)
    assert (work / "run/best.safetensors").stat().st_mtime_ns == trained
    slides = Page(work / "report.html").slides
    for number in (2, 3):
        assert slides[str(number)]["dice"] == json.loads((work / f"figures/{number}.json").read_text())["dice"]
