# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Arguments that come from the program's tables of options."""

import inspect
import json
import subprocess

import itk
import itkgigapixel as gp
import numpy as np
import pytest
from conftest import refused
from itkgigapixel.option_table import TABLES
from itkgigapixel.program import PROGRAM

OF_SLIDES = ("image", "plane")  # which a Slide is of
BY_SLIDES = ("slide_mpp", "channels", "window")  # which a Slide is read by, and not a filter
FILTERS = {"train": itk.GigapixelUNetTrainer, "segment": itk.SlideSegmentationImageSource[itk.Image[itk.UC, 2]]}


#: Arguments out of the table of its command that each function has at least.
NUMBERS = {
    "train": 40, "segment": 19, "segment_volume": 11, "classify": 10, "plan": 17, "evaluate": 7, "outline": 4, "rasterize": 5,
    "overlay": 5, "measure": 7, "report": 4, "label": 8, "convert": 7, "import_onnx": 9, "import_network": 8,
}  # fmt: skip


@pytest.mark.parametrize("function", NUMBERS)
def test_functions_have_the_arguments_of_their_table(function):
    table, called = TABLES[function], getattr(gp, function)
    assert NUMBERS.keys() == TABLES.keys() and len(table) >= NUMBERS[function]
    parameters = inspect.signature(called).parameters
    for name, (_, _, default) in table.items():
        assert parameters[name].default == default and f"\n    {name} : " in called.__doc__
        assert parameters[name].annotation is not inspect.Parameter.empty


@pytest.mark.parametrize("function", ["train", "segment", "classify", "plan", "label"])
def test_tables_have_each_option_that_is_a_property(function):
    described = json.loads(subprocess.run([PROGRAM, "--describe"], capture_output=True, check=True).stdout)
    (options,) = ([o for o in command["arguments"] if "property" in o and o["name"] not in OF_SLIDES] for command in described if command["name"] == function)
    assert {(option["name"], option["property"]) for option in options} <= {entry[:2] for entry in TABLES[function].values()}


@pytest.mark.parametrize("function", FILTERS)
def test_defaults_are_those_of_the_filter(function):
    process = FILTERS[function].New()
    for name, (_, prop, default) in TABLES[function].items():
        if prop is None or name in BY_SLIDES:
            continue
        value = getattr(process, f"Get{prop}")()
        if hasattr(process, f"Clear{prop}"):  # None is no value, in place of which there is one that says nothing of being set
            assert default is None
            getattr(process, f"Set{prop}")(value)
            continue
        if function == "train" and name == "precision":
            default = ""  # that of the run that goes on
        if name == "ignored_label":
            default = 255  # which is none of theirs
        assert value == default if default not in (None, ()) else not value or value == -1, name


@pytest.mark.parametrize("call", [lambda s, f: gp.train([(s, s)], f, epoch=3), lambda s, f: gp.segment(s, "tissue", memry="2G")])
def test_no_option_of_the_table_is_a_type_error(call, slide, tmp_path):
    with pytest.raises(TypeError) as refused:
        call(slide, tmp_path / "run")
    assert (refused.value.code, refused.value.option) == ("E-OPTION-UNKNOWN", None)


@pytest.mark.parametrize("options", [{"memory": "much"}, {"tile_size": "all"}, {"tile_size": -2}])
def test_values_that_are_none_are_refused(options, slide):
    with pytest.raises(ValueError) as refused:
        gp.segment(slide, "tissue", **options)
    assert (refused.value.code, [refused.value.option]) == ("E-OPTION-VALUE", list(options))


def test_numbers_of_numpy_are_numbers():
    """Such as a threshold out of an array, or a switch that a comparison gives."""
    told = gp.plan(size=(1024, 1024), network="remedios2023", memory=np.int64(1 << 33), tile_size=np.uint16(256), measure=np.False_)
    assert told["budgetBytes"] == 1 << 33
    assert told["plans"] and {row["tileSize"] for row in told["plans"]} == {256}
    with refused(FileNotFoundError, "E-FILE-MISSING"):  # of the volume or model, and nothing of the threshold
        gp.segment_volume("none.nii.gz", "none", threshold=np.float32(0.25), sliding_window=np.True_)


NO_SWITCHES = {
    "memory": lambda s: gp.segment(s, "tissue", memory=True),
    "epochs": lambda s: gp.train([(s, s)], "run", epochs=True),
    "precision": lambda s: gp.classify(s, "run", precision=True),
    "downsample": lambda s: gp.label(s, downsample=True),
    "preset": lambda s: gp.label(s, preset=np.True_),
    "level": lambda s: gp.Slide(s).read(True),
    "batch_size": lambda s: gp.torch.PatchStream(None, batch_size=True),
}
SWITCHES = {
    "sliding_window": lambda s: gp.segment(s, "tissue", sliding_window="yes"),
    "augment": lambda s: gp.train([(s, s)], "run", augment=0),
    "progress": lambda s: gp.label(s, progress=1),
    "gray": lambda s: gp.Slide(s).read(0, None, None, 1),
}


@pytest.mark.parametrize("option, call", [*NO_SWITCHES.items(), *SWITCHES.items()])
def test_a_switch_is_true_or_false_and_nothing_else_is(slide, option, call):
    with refused(TypeError, "E-OPTION-VALUE", option=option):
        call(slide)
