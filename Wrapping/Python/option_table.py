# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Makes the module itkgigapixel.option_table of the program's tables of options, so that arguments of functions are typed nowhere twice.

    python option_table.py PROGRAM OUTPUT.py
"""

import json
import re
import subprocess
import sys
import textwrap

#: of a parameter's text in NumPy's style, in the docstring of a function
INDENT = {"initial_indent": " " * 8, "subsequent_indent": " " * 8}
TYPES = {"switch": "bool", "integer": "int", "number": "float", "choice": "str", "text": "str", "file": "str | os.PathLike", "memory": "int | str"}

#: the commands whose arguments functions of the same name have
FUNCTIONS = ("train", "segment")


def to_argument(option: dict) -> str:
    """ "images-per-step" is images_per_step. A switch that turns off is named as what it is about, by the property: augment."""
    if option["name"].startswith("no-"):
        return re.sub(r"(?<!^)(?=[A-Z])", "_", option["property"]).lower()
    return option["name"].replace("-", "_")


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
    if "default" not in option:
        return () if option["repeated"] else None
    return {"integer": int, "number": float}.get(option["type"], str)(option["default"])


def describe_type(option: dict) -> str:
    """As NumPy's style has it, with the default."""
    words = ", ".join(f'"{choice}"' for choice in option.get("choices", ()))
    kind = f"{{{words}}}" if option["type"] == "choice" else TYPES[option["type"]].replace("str | os.PathLike", "path-like").replace(" | ", " or ")
    kind = f"{kind} or {{{words}}}" if option["type"] == "integer" and words else kind
    kind = f"{kind} or sequence of these" if option["repeated"] else kind
    default = get_default(option)
    shown = json.dumps(default) if isinstance(default, str) else repr(default)
    return f"{kind}, optional" if default is None else f"{kind}, default {shown}"


def describe(option: dict) -> str:
    """In words, with choices or range. A switch that turns off is described by what it leaves out."""
    text = " ".join(option[part] for part in ("description", "details") if part in option)
    if option["name"].startswith("no-"):
        text = f"False: {text[0].lower()}{text[1:]}"
    # What the shell calls an option is an argument here, but for commands that are quoted.
    text = re.sub(r"(?<!NETWORK )--([a-z][a-z-]+)", lambda found: f"*{found[1].replace('-', '_')}*", text)
    text = re.sub(r"[\w.]+_(?!\w)", lambda found: f"``{found[0]}``", text)  # else a reference in reStructuredText
    if "minimum" in option and "choices" not in option and "rangeForSlips" not in option and option["maximum"] < 2**53:
        text += f" {option['minimum']:.16g} to {option['maximum']:.16g}."
    return text


def make_module(commands: list[dict]) -> str:
    lines = [
        '"""The arguments of functions that come from the tables of options."""',
        "",
        "import os",
        "from typing import Optional, Sequence, TypedDict",
    ]
    tables, documentation = [], []
    for command in [command for command in commands if command["name"] in FUNCTIONS]:
        options = {to_argument(option): option for option in command["arguments"] if "property" in option}
        lines += ["", "", f"class {command['name'].capitalize()}Options(TypedDict, total=False):"]
        lines += [f"    {name}: {to_type(option)}" for name, option in options.items()]
        tables += [f"    {command['name']!r}: {{"]
        tables += [f"        {name!r}: ({option['property']!r}, {get_default(option)!r})," for name, option in options.items()]
        tables += ["    },"]
        words = [f"    {name} : {describe_type(option)}\n{textwrap.fill(describe(option), 120, **INDENT)}" for name, option in options.items()]
        documentation += [f"    {command['name']!r}: {chr(10).join(words)!r},"]
    lines += ["", "", "# By function and argument: the property of the filter in ITK, and the default.", "TABLES = {", *tables, "}"]
    return "\n".join([*lines, "", "DOCUMENTATION = {", *documentation, "}", ""])


if __name__ == "__main__":
    program, output = sys.argv[1:]
    described = subprocess.run([program, "--describe"], capture_output=True, check=True, encoding="utf-8").stdout
    with open(output, "w", encoding="utf-8") as file:
        file.write(make_module(json.loads(described)))
