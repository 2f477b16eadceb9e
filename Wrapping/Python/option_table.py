# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Makes the module itkgigapixel.option_table of the program's tables of options, so that arguments of functions are typed nowhere twice.

    python option_table.py PROGRAM OUTPUT.py
"""

import json
import re
import subprocess
import sys
import textwrap
from typing import NamedTuple, Optional

#: Of a parameter's text in NumPy's style, in the docstring of a function
INDENT = {"initial_indent": " " * 8, "subsequent_indent": " " * 8}
TYPES = {"switch": "bool", "integer": "int", "number": "float", "choice": "str", "text": "str", "file": "str | os.PathLike[str]", "memory": "int | str", "numbers": "Sequence[float]"}

#: Of what a :class:`Slide` may have been given already.
GIVEN = ("slide-mpp", "channel", "window")
OF_SLIDE = " A :class:`Slide` keeps its own where this is not given."

#: The command whose options a function takes, and those that it has another way for, or none.
FUNCTIONS = {
    "train": ("train", "cohort folds fold"),
    "segment": ("segment", "model probability"),
    "segment_volume": ("segment", "model"),
    "classify": ("classify", "model cohort per-patient maps"),
    "plan": ("plan", "network"),
    "evaluate": ("evaluate", ""),
    "outline": ("outline", "like"),
    "rasterize": ("rasterize", "like"),
    "overlay": ("overlay", ""),
    "measure": ("measure", "slide"),
    "report": ("report", ""),
    "label": ("label", "model origin mpp"),
    "convert": ("convert", "slide-mpp compression quality subsampling content colors tile-size bilevel bigtiff"),
    "import_onnx": ("import", "weights weights-set"),
    "import_network": ("import", "weights weights-set logits"),
}
#: What Python has another way for: the output is an argument of its own, and a :class:`Slide` knows how it is read.
IN_ANOTHER_WAY = "output threads strict image plane".split()


class Form(NamedTuple):
    """How a function takes an option: the argument, its type, this in words, and the default."""

    argument: str
    kind: str
    words: str
    default: object


TEXT = ("str", "str", "")
#: Options that functions take in Python's own forms, some of them those of a command or function alone.
IN_OWN_FORM = {
    "channel": Form("channels", "Optional[Channels]", "str, int or sequence of these", None),
    "window": Form("window", "Optional[Window]", '"auto" or (float, float)', None),
    "tissue": Form("tissue", "Path | np.ndarray", "path-like or array of shape (y, x)", ""),
    "region": Form("region", "Optional[Region]", "(int, int, int, int)", None),
    "size": Form("size", "Sequence[int]", "sequence of int", ()),
    "class": Form("class_names", "Sequence[str]", "sequence of str", ()),
    "class-name": Form("class_name", "Optional[str]", "str", None),
    "preset": Form("preset", "Optional[str]", "str", None),
    "train network": Form("network", "Optional[Path]", "path-like", None),
    "loss": Form("loss", *TEXT),
    "objective": Form("objective", *TEXT),
    "report slides": Form("slides", "Optional[Path]", "path-like", None),
    "report picture-size": Form("picture_size", "int", "int", 0),
    **{f"import {name}": Form(name, *TEXT) for name in ("name", "logits", "orientation")},
    "import mpp": Form("mpp", "float", "float", 0.0),
    "import_onnx tile-size": Form("tile_size", "int", "int", 0),
}


def is_of(function: str, option: dict) -> bool:
    """Whether an option of the command is an argument from the table. Those of slides are none of volumes."""
    is_ours = not option["positional"] and "forShells" not in option and option["name"] not in [*IN_ANOTHER_WAY, *FUNCTIONS[function][1].split()]
    return is_ours and (function != "segment_volume" or "scope" not in option)


def to_form(function: str, option: dict) -> Form:
    """In Python's own form, or as the table has it."""
    own = [IN_OWN_FORM.get(f"{of}{option['name']}") for of in (f"{function} ", f"{FUNCTIONS[function][0]} ", "")]
    return next(filter(None, own), None) or Form(to_argument(option), to_type(option), describe_type(option), get_default(option))


def to_argument(option: dict) -> str:
    """ "images-per-step" is images_per_step. A switch that turns off is named as what it is about, by the property: augment."""
    if option["name"].startswith("no-"):
        return re.sub(r"(?<!^)(?=[A-Z])", "_", option["property"]).lower()
    return option["name"].replace("-", "_")


def to_class(function: str) -> str:
    """Of the arguments of a function: SegmentVolumeOptions."""
    return "".join(word.capitalize() for word in function.split("_")) + "Options"


def get_kind(option: dict) -> str:
    """A choice among numbers is one."""
    has_words = not all(choice.isdecimal() for choice in option.get("choices", ()))
    if option["type"] == "choice" and not has_words:
        return "int"
    return "int | str" if option["type"] == "integer" and has_words else TYPES[option["type"]]


def to_type(option: dict) -> str:
    kind = get_kind(option)
    if option["repeated"]:
        return f"str | Sequence[{kind}]"
    return kind if get_default(option) is not None else f"Optional[{kind}]"


def get_default(option: dict) -> object:
    """None where the table has none: it depends on other things, as the description says."""
    if option["type"] == "switch":
        return option["name"].startswith("no-")
    if "default" not in option or "mayBeUnset" in option:
        return () if option["repeated"] or option["type"] == "numbers" else None
    return {"int": int, "int | str": int, "float": float}.get(get_kind(option), str)(option["default"])


def describe_type(option: dict) -> str:
    """As NumPy's style has it."""
    kind = get_kind(option)
    words = ", ".join(choice if kind == "int" else f'"{choice}"' for choice in option.get("choices", ()))
    if option["type"] == "choice":
        return f"{{{words}}}"
    kind = kind.replace("str | os.PathLike[str]", "path-like").replace("Sequence[float]", "sequence of float")
    kind = kind.replace("str", f"{{{words}}}") if words else kind
    return kind.replace(" | ", " or ") + " or sequence of these" * option["repeated"]


def show(default: object) -> str:
    return json.dumps(default) if isinstance(default, str) else repr(default)


def describe(function: str, option: dict, described: list[dict], default: object) -> str:
    """In words, with choices or range. Volumes have other defaults. A switch that turns off is described by what it leaves out."""
    text = " ".join(option[part] for part in ("description", "details") if part in option)
    if option["name"].startswith("no-"):
        text = f"False: {text[0].lower()}{text[1:]}"
    # What the shell calls an option is an argument here, but for commands that are quoted.
    arguments = {each["name"]: to_form(function, each).argument for each in described if not each["positional"]}
    text = re.sub(r"(?<!NETWORK )--([a-z][a-z-]+)", lambda found: f"*{arguments.get(found[1], found[1].replace('-', '_'))}*", text)
    inputs = "|".join(each["name"] for each in described if each["positional"])
    text = re.sub(rf"\b({inputs})\b(?!-)", lambda found: found[1].lower(), text) if inputs else text
    text = re.sub(r"\bWithout it\b:?", f"{show(default)}:", text)
    text = re.sub(r"[\w.]+_(?!\w)", lambda found: f"``{found[0]}``", text)  # else a reference in reStructuredText
    if "minimum" in option and "choices" not in option and "rangeForSlips" not in option and option["maximum"] < 2**53:
        text += f" {option['minimum']:.16g} to {option['maximum']:.16g} {option.get('unit', '')}".rstrip() + "."
    elif "unit" in option and "pixels" not in text:
        text += f" In {option['unit']}."
    has_other_default = "default" in option and not default and get_kind(option) != "bool" and show(default) != option["default"]
    text += f" {show(default)}: {option['default']}." if has_other_default and function != "segment_volume" else ""
    text += OF_SLIDE * (option["name"] in GIVEN and function != "report")
    return text[0].upper() + text[1:]


def parameter(form: Form, text: str) -> str:
    shown = "optional" if form.default is None else f"default {show(form.default)}"
    return f"    {form.argument} : {form.words}, {shown}\n{textwrap.fill(text, 120, **INDENT)}"


def make_module(commands: list[dict]) -> str:
    lines = [
        '"""The arguments of functions that come from the tables of options."""',
        "",
        "import os",
        "from typing import Optional, Sequence, TypedDict",
        "",
        "import numpy as np",
        "from itkgigapixel.slide_content import Channels, Path, Region, Window",
    ]
    tables, documentation, taken = [], [], []
    described = {command["name"]: command["arguments"] for command in commands}
    for function, (command, _) in FUNCTIONS.items():
        options = [(to_form(function, option), option) for option in described[command] if is_of(function, option)]
        lines += ["", "", f"class {to_class(function)}(TypedDict, total=False):"]
        lines += [f"    {form.argument}: {form.kind}" for form, _ in options]
        tables += [f"    {function!r}: {{"]
        tables += [f"        {form.argument!r}: ({option['name']!r}, {option.get('property')!r}, {form.default!r})," for form, option in options]
        tables += ["    },"]
        words = [parameter(form, describe(function, option, described[command], form.default)) for form, option in options]
        documentation += [f"    {function!r}: {chr(10).join(words)!r},"]
        taken += [f"    {function!r}: {[option['name'] for option in described[command]]!r},"]
    lines += ["", "", "# By function and argument: the name in the program, the property of the filter in ITK, if there is one, and the default."]
    lines += ["TABLES = {", *tables, "}", "", "DOCUMENTATION = {", *documentation, "}"]
    presets = next(option["choices"] for option in described["label"] if option["name"] == "preset")
    lines += ["", f"PRESETS = {presets!r}"]
    return "\n".join([*lines, "", "# By function: all that its command takes.", "TAKEN = {", *taken, "}", ""])


if __name__ == "__main__":
    program, output = sys.argv[1:]
    described = subprocess.run([program, "--describe"], capture_output=True, check=True, encoding="utf-8").stdout
    with open(output, "w", encoding="utf-8") as file:
        file.write(make_module(json.loads(described)))
