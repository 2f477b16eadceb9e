# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""The command-line modules as HistomicsUI meets them: through slicer_cli_web's own entry point and its reading of the XML."""

import json
import logging
import os
import subprocess
import sys

import pytest
import tifffile
from conftest import MODULES, NAMES, module
from slicer_cli_web.cli_utils import as_model, get_cli_parameters


def enter(*words):
    """What the container's entry point prints, in the folder of the modules, which is on PATH."""
    environment = {**os.environ, "PATH": f"{MODULES}{os.pathsep}{os.environ['PATH']}"}
    command = [sys.executable, "-m", "slicer_cli_web.cli_list_entrypoint", *map(str, words)]
    finished = subprocess.run(command, cwd=MODULES, env=environment, capture_output=True, text=True, timeout=300)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def test_list():
    built = {name: {"type": "cxx"} for name in NAMES if (MODULES / name).exists()}
    assert json.loads(enter("--list_cli")) == built


@pytest.mark.parametrize("name", NAMES)
def test_description_is_understood(name, caplog):
    module(name)
    with caplog.at_level(logging.WARNING):
        model = as_model(enter(name, "--xml"))
        indexed, options, _ = get_cli_parameters(model)  # refuses types that it does not know
    # A text that may stay empty has no default.
    assert [message for message in caplog.messages if not message.startswith("No <default> provided")] == []
    assert model.title and model.description and options and not indexed


def test_a_form_as_it_is_sent(slide, tmp_path):
    """Every field of the form goes onto the command line, with its default where the user has left it alone."""
    _, options, _ = get_cli_parameters(as_model(enter("TissueLabel", "--xml")))
    values = {"slide": slide[0], "mask": tmp_path / "mask.tif", "outputSegmentation": tmp_path / "tissue.seg.nrrd"}
    words = []
    for option in options:
        value = values.get(option.identifier(), option.default)
        if value is not None:
            words += [option.longflag, ",".join(map(str, value)) if isinstance(value, list) else value]
    enter("TissueLabel", *words, "--returnparameterfile", tmp_path / "numbers.txt")
    assert tifffile.imread(tmp_path / "mask.tif").max() == 255
    assert (tmp_path / "tissue.seg.nrrd").stat().st_size > 0
    assert "objectFraction" in (tmp_path / "numbers.txt").read_text()
