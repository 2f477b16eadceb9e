# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Makes the module itkgigapixel.option_table of the program's tables of options, so that arguments of functions are typed nowhere twice.

    python option_table.py PROGRAM OUTPUT.py
"""

import json
import re
import subprocess
import sys
import textwrap

#: Of a parameter's text in NumPy's style, in the docstring of a function
INDENT = {"initial_indent": " " * 8, "subsequent_indent": " " * 8}
TYPES = {"switch": "bool", "integer": "int", "number": "float", "choice": "str", "text": "str", "file": "str | os.PathLike[str]", "memory": "int | str"}

#: Of what a :class:`Slide` may have been given already.
GIVEN = ("slide_mpp", "channels", "window")
OF_SLIDE = " None: what the :class:`Slide` was given, if one was."

#: The command whose arguments a function has, and whether it is for slides.
FUNCTIONS = {"train": ("train", True), "segment": ("segment", True), "segment_volume": ("segment", False), "classify": ("classify", True), "plan": ("plan", True)}

#: Functions that are a command: all of its options are theirs, but for those of a shell.
COMMANDS = {"evaluate": ("evaluate", True)}
OF_SHELL = ("overwrite", "threads", "quiet", "json", "help", "help-all")

#: Options that functions take in Python's own forms: the argument and its type. The image and its plane are a :class:`Slide`'s.
IN_OWN_FORM = {
    "level": ("level", "int, optional"),
    "mpp": ("mpp", "float, optional"),
    "slide-mpp": ("slide_mpp", "float, optional"),
    "image": None,
    "plane": None,
    "channel": ("channels", "str, int or sequence of these, optional"),
    "window": ("window", '"auto" or (float, float), optional'),
    "tissue": ("tissue", 'path-like or array of shape (y, x), default ""'),
}


def is_of(function: str, option: dict, for_slides: bool) -> bool:
    """Whether an option of the command is an argument from the table."""
    if function in COMMANDS:
        return not option["positional"] and option["name"] not in OF_SHELL
    return "property" in option and option["name"] not in IN_OWN_FORM and (for_slides or "scope" not in option)


def to_argument(option: dict) -> str:
    """ "images-per-step" is images_per_step. A switch that turns off is named as what it is about, by the property: augment."""
    if option["name"].startswith("no-"):
        return re.sub(r"(?<!^)(?=[A-Z])", "_", option["property"]).lower()
    return option["name"].replace("-", "_")


def to_class(function: str) -> str:
    """Of the arguments of a function: SegmentVolumeOptions."""
    return "".join(word.capitalize() for word in function.split("_")) + "Options"


def to_type(option: dict) -> str:
    kind = TYPES[option["type"]]
    if option["type"] == "integer" and "choices" in option:  # words in the number's place
        kind = "int | str"
    if option["repeated"]:
        return f"str | Sequence[{kind}]"
    return kind if get_default(option) is not None else f"Optional[{kind}]"


def get_default(option: dict) -> object:
    """None where the table has none: it depends on other things, as the description says."""
    if option["type"] == "switch":
        return option["name"].startswith("no-")
    if "default" not in option or "mayBeUnset" in option:
        return () if option["repeated"] else None
    return {"integer": int, "number": float}.get(option["type"], str)(option["default"])


def describe_type(option: dict) -> str:
    """As NumPy's style has it, with the default."""
    words = ", ".join(f'"{choice}"' for choice in option.get("choices", ()))
    kind = f"{{{words}}}" if option["type"] == "choice" else TYPES[option["type"]].replace("str | os.PathLike[str]", "path-like").replace(" | ", " or ")
    kind = f"{kind} or {{{words}}}" if option["type"] == "integer" and words else kind
    kind = f"{kind} or sequence of these" if option["repeated"] else kind
    default = get_default(option)
    shown = json.dumps(default) if isinstance(default, str) else repr(default)
    return f"{kind}, optional" if default is None else f"{kind}, default {shown}"


def describe(option: dict, for_slides: bool) -> str:
    """In words, with choices or range. Volumes have other defaults. A switch that turns off is described by what it leaves out."""
    text = " ".join(option[part] for part in ("description", "details") if part in option)
    if option["name"].startswith("no-"):
        text = f"False: {text[0].lower()}{text[1:]}"
    # What the shell calls an option is an argument here, but for commands that are quoted.
    text = re.sub(r"(?<!NETWORK )--([a-z][a-z-]+)", lambda found: f"*{found[1].replace('-', '_')}*", text)
    text = re.sub(r"\b(PREDICTION|TRUTH)\b", lambda found: f"*{found[1].lower()}*", text)
    text = re.sub(r"[\w.]+_(?!\w)", lambda found: f"``{found[0]}``", text)  # else a reference in reStructuredText
    if "minimum" in option and "choices" not in option and "rangeForSlips" not in option and option["maximum"] < 2**53:
        text += f" {option['minimum']:.16g} to {option['maximum']:.16g} {option.get('unit', '')}".rstrip() + "."
    elif "unit" in option:
        text += f" In {option['unit']}."
    return text + (f" None: {option['default']}." if {"mayBeUnset", "default"} <= option.keys() and for_slides else "")


def parameter(name: str, kind: str, text: str) -> str:
    return f"    {name} : {kind}\n{textwrap.fill(text, 120, **INDENT)}"


def make_module(commands: list[dict]) -> str:
    lines = [
        '"""The arguments of functions that come from the tables of options."""',
        "",
        "import os",
        "from typing import Optional, Sequence, TypedDict",
    ]
    tables, documentation = [], []
    described = {command["name"]: command["arguments"] for command in commands}
    for function, (command, for_slides) in {**FUNCTIONS, **COMMANDS}.items():
        options = {to_argument(option): option for option in described[command] if is_of(function, option, for_slides)}
        lines += ["", "", f"class {to_class(function)}(TypedDict, total=False):"]
        lines += [f"    {name}: {to_type(option)}" for name, option in options.items()]
        tables += [f"    {function!r}: {{"]
        tables += [f"        {name!r}: ({option.get('property')!r}, {get_default(option)!r})," for name, option in options.items()]
        tables += ["    },"]
        in_own_form = [(IN_OWN_FORM[option["name"]], option) for option in described[command] if for_slides and IN_OWN_FORM.get(option["name"])]
        words = [parameter(*form, describe(option, for_slides) + OF_SLIDE * (form[0] in GIVEN)) for form, option in in_own_form]
        words += [parameter(name, describe_type(option), describe(option, for_slides)) for name, option in options.items()]
        documentation += [f"    {function!r}: {chr(10).join(words)!r},"]
    lines += ["", "", "# By function and argument: the property of the filter in ITK, if there is one, and the default.", "TABLES = {", *tables, "}"]
    return "\n".join([*lines, "", "DOCUMENTATION = {", *documentation, "}", ""])


if __name__ == "__main__":
    program, output = sys.argv[1:]
    described = subprocess.run([program, "--describe"], capture_output=True, check=True, encoding="utf-8").stdout
    with open(output, "w", encoding="utf-8") as file:
        file.write(make_module(json.loads(described)))
