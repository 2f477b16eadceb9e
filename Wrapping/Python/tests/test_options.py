# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Arguments that come from the program's table of options."""

import inspect
import json
import subprocess

import itk
import itkgigapixel as gp
import pytest
from itkgigapixel.learning import TABLE
from itkgigapixel.program import PROGRAM


def test_train_has_each_option_of_the_table():
    described = json.loads(subprocess.run([PROGRAM, "--describe"], capture_output=True, check=True).stdout)
    (options,) = ([o for o in command["arguments"] if "property" in o] for command in described if command["name"] == "train")
    parameters = inspect.signature(gp.train).parameters
    assert [TABLE[name][0] for name in TABLE] == [option["property"] for option in options] and len(TABLE) > 20
    for name, (_, default) in TABLE.items():
        assert parameters[name].default == default and f":param {name}:" in gp.train.__doc__


def test_defaults_are_those_of_the_filter():
    trainer = itk.GigapixelUNetTrainer.New()
    for name, (prop, default) in TABLE.items():
        value = getattr(trainer, f"Get{prop}")()
        assert value == default if default not in (None, ()) else not value or value == -1, name


def test_no_option_of_the_table_is_a_type_error(slide, tmp_path):
    with pytest.raises(TypeError) as refused:
        gp.train([(slide, slide)], tmp_path / "run", epoch=3)
    assert (refused.value.code, refused.value.option) == ("E-OPTION-UNKNOWN", None)
