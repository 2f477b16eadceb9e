# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Makes the module itkgigapixel.learning of the program's table of options, so that arguments of train() are typed nowhere twice.

    python learning.py PROGRAM OUTPUT.py
"""

import json
import re
import subprocess
import sys
import textwrap

TYPES = {"switch": "bool", "integer": "int", "number": "float", "choice": "str", "text": "str", "file": "str | os.PathLike"}


def to_argument(name: str) -> str:
    """ "ImagesPerStep" is images_per_step."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def get_default(option: dict) -> object:
    """None where the table has none: it depends on other things, as the description says."""
    if option["type"] == "switch":
        return option["name"].startswith("no-")
    if "default" not in option:
        return () if option["repeated"] else None
    return {"integer": int, "number": float}.get(option["type"], str)(option["default"])


def describe(option: dict) -> str:
    """In words, with choices or range. A switch that turns off is described by what it leaves out."""
    text = " ".join(option[part] for part in ("description", "details") if part in option)
    if option["name"].startswith("no-"):
        text = f"False: {text[0].lower()}{text[1:]}"
    # What the shell calls an option is an argument here, but for commands that are quoted.
    text = re.sub(r"(?<!NETWORK )--([a-z][a-z-]+)", lambda found: f"*{found[1].replace('-', '_')}*", text)
    if "choices" in option:
        text += " One of " + ", ".join(f'"{choice}"' for choice in option["choices"]) + "."
    elif "minimum" in option and "rangeForSlips" not in option and option["maximum"] < 2**53:
        text += f" {option['minimum']:.16g} to {option['maximum']:.16g}."
    return text


def make_module(commands: list[dict]) -> str:
    options = [option for command in commands if command["name"] == "train" for option in command["arguments"] if "property" in option]
    entries, table, documentation = [], [], []
    for option in options:
        name, kind, default, words = to_argument(option["property"]), TYPES[option["type"]], get_default(option), describe(option)
        kind = f"str | Sequence[{kind}]" if option["repeated"] else kind if default is not None else f"Optional[{kind}]"
        entries.append(f"    {name}: {kind}")
        table.append(f"    {name!r}: ({option['property']!r}, {default!r}),")
        documentation += textwrap.wrap(f":param {name}: {words}", 120, initial_indent="    ", subsequent_indent="        ")
    return "\n".join(
        [
            '"""How a network learns: the arguments of train() that come from the table of options."""',
            "",
            "import os",
            "from typing import Optional, Sequence, TypedDict",
            "",
            "",
            "class LearningOptions(TypedDict, total=False):",
            *entries,
            "",
            "",
            "# By argument: the property of itk.GigapixelUNetTrainer, and the default.",
            "TABLE = {",
            *table,
            "}",
            "",
            f"DOCUMENTATION = {chr(10).join(documentation)!r}",
            "",
        ]
    )


if __name__ == "__main__":
    program, output = sys.argv[1:]
    described = subprocess.run([program, "--describe"], capture_output=True, check=True, encoding="utf-8").stdout
    with open(output, "w", encoding="utf-8") as file:
        file.write(make_module(json.loads(described)))
