# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Commands by several processes, started with the variables that torchrun sets."""

import json
import os
import random
import subprocess

import pytest

from conftest import PROGRAM, run


def run_ranks(ranks, *arguments, **variables):
    """Results of all ranks; all have to succeed."""
    environment = {**os.environ, "MASTER_PORT": str(random.randrange(29600, 39999)), "WORLD_SIZE": str(ranks), **variables}
    processes = [
        subprocess.Popen(
            [PROGRAM, *map(str, arguments)],
            env={**environment, "RANK": str(rank), "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(ranks)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(ranks)
    ]
    outputs = [process.communicate(timeout=200) for process in processes]
    assert [process.returncode for process in processes] == [0] * ranks, outputs
    return [out for out, _ in outputs]


@pytest.fixture(scope="module")
def slides(tmp_path_factory):
    """Three slides with their truth, the truth in a folder of its own."""
    folder = tmp_path_factory.mktemp("slides")
    (folder / "truth").mkdir()
    for seed in range(3):
        truth = folder / "truth" / f"{seed}.pyramid.tif"
        run("synthesize", folder / f"{seed}.tif", "--size", "700x600", "--seed", seed, "--truth", truth)
    return folder


def test_label_deals_slides_to_ranks(slides, tmp_path):
    run("label", slides, "-o", tmp_path / "alone/")
    outputs = run_ranks(2, "label", slides, "-o", tmp_path / "ranks/", "--json")
    assert [len(json.loads(output)) for output in outputs] == [2, 1]
    names = sorted(path.name for path in (tmp_path / "alone").iterdir())
    assert len(names) == 3
    for name in names:
        assert (tmp_path / "ranks" / name).read_bytes() == (tmp_path / "alone" / name).read_bytes()


def test_train_over_ranks_makes_the_files_of_one_process(slides, tmp_path, network):
    cohort = slides / "cohort.csv"
    rows = [f"{seed}.tif,truth/{seed}.pyramid.tif,{split}" for seed, split in enumerate(["train", "train", "validation"])]
    cohort.write_text("slide,mask,split\n" + "\n".join(rows) + "\n")
    options = ["--cohort", cohort, "--epochs", 2, "--images-per-step", 2, "--tile-size", 256]
    run("train", *options, "-o", tmp_path / "alone")
    outputs = run_ranks(3, "train", *options, "-o", tmp_path / "ranks", "--json")
    assert json.loads(outputs[0])["epochs"] == 2
    assert outputs[1:] == ["", ""]
    for name in ("best.safetensors", "last.safetensors", "history.csv"):
        assert (tmp_path / "ranks" / name).read_bytes() == (tmp_path / "alone" / name).read_bytes()


def test_segment_of_one_slide_by_several_ranks_is_one_file(tmp_path, network):
    slide = tmp_path / "slide.tif"
    run("synthesize", slide, "--size", "2300x7000", "--seed", 5)
    for name, options in (("mask", []), ("both", ["--region", "100,300,2000,5900", "--probability"])):
        files = [tmp_path / f"{name}.alone.tif", tmp_path / f"{name}.ranks.tif"]
        probabilities = [tmp_path / f"{name}.p.alone.tif", tmp_path / f"{name}.p.ranks.tif"]
        arguments = [
            [slide, "--model", "tissue", "-o", files[i], *options, *([probabilities[i]] if options else [])] for i in (0, 1)
        ]
        run("segment", *arguments[0])
        outputs = run_ranks(3, "segment", *arguments[1], "--json")
        assert json.loads(outputs[0])["mask"] == str(files[1])
        assert outputs[1:] == ["", ""]
        assert files[0].read_bytes() == files[1].read_bytes()
        if options:
            assert probabilities[0].read_bytes() == probabilities[1].read_bytes()
