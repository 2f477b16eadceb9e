#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Collects the site's pages in a folder: those of Documentation, those of the repository's root, and the reference.

    pages.py PROGRAM FOLDER

The reference of commands, codes and presets is what PROGRAM prints, and that of environment variables what comments say
where they are read. Sphinx makes that of Python from the package, and Doxygen that of C++ from the public headers; both
go into folders beside FOLDER. Links that leave the pages lead to the repository.
A link or a path of a file that does not exist, or an environment variable without a comment where it is read, is an error.
"""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import headers

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTATION = ROOT / "Documentation"
HOMEPAGE = "https://github.com/InsightSoftwareConsortium/ITKGigapixel"
# Pages of the repository's root, and their places on the site.
ROOT_PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "developers/contributing.md",
    "RELEASING.md": "developers/releasing.md",
    "CHANGELOG.md": "developers/changelog.md",
    "SECURITY.md": "developers/security.md",
    "CODE_OF_CONDUCT.md": "developers/conduct.md",
}
SECTIONS = ["tutorials", "how-to", "reference", "explanation", "evidence", "developers"]


def fail(message):
    sys.exit(f"pages.py: {message}")


def get_place(file):
    """The place of a file of the repository on the site; None: it is not on the site."""
    name = file.relative_to(ROOT).as_posix()
    if name in ROOT_PAGES:
        return ROOT_PAGES[name]
    if file.is_relative_to(DOCUMENTATION) and not file.is_relative_to(DOCUMENTATION / "site") and not file.is_dir():
        return file.relative_to(DOCUMENTATION).as_posix()
    return None


def rewrite_links(text, file):
    """The page's text with each relative link as it has to be on the site."""
    here = Path(get_place(file)).parent

    def rewrite(match):
        target, anchor = match[1], match[2] or ""
        if re.match(r"[a-z]+:", target):
            return match[0]
        there = Path(os.path.normpath(file.parent / target))
        if not there.is_relative_to(ROOT) or not there.exists():
            fail(f"{file.relative_to(ROOT)}: the link to {target} leads nowhere")
        place = get_place(there)
        if place:
            return f"]({os.path.relpath(place, here)}{anchor})"
        return f"]({HOMEPAGE}/{'tree' if there.is_dir() else 'blob'}/main/{there.relative_to(ROOT).as_posix()}{anchor})"

    parts = re.split(r"(^```.*?^```$)", text, flags=re.M | re.S)
    link = re.compile(r"\]\(([^)#\s]+)(#[^)\s]*)?\)")
    return "".join(part if part.startswith("```") else link.sub(rewrite, part) for part in parts)


def check_paths(text, file):
    """Paths of the repository in `code` exist."""
    folders = "Modules|Filters|Wrapping|Testing|Utilities|Examples|Documentation"
    for path in re.findall(rf"`(?:\./)?((?:{folders})/[^`\s]+)[^`]*`", text):
        if not any(ROOT.glob(path)):
            fail(f"{file.relative_to(ROOT)}: there is no {path}")


def ask(program, *arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=True).stdout


def escape(text):
    """Plain text as Markdown; words that are typed as they are become code."""
    words = re.split(r"(?<![\w-])(--?[a-zA-Z][\w-]*)", text)
    return "".join(f"`{part}`" if number % 2 else re.sub(r"([\\`*_\[\]<>{}$|~#])", r"\\\1", part)
                   for number, part in enumerate(words))


def describe_argument(argument, placeholder):
    names = [f"-{argument['short']}"] if "short" in argument else []
    names.append(argument["name"] if argument["positional"] else f"--{argument['name']}")
    signature = ", ".join(name if argument["positional"] else f"{name}{placeholder}" for name in names)
    facts = []
    if "choices" in argument:
        facts.append("One of " + ", ".join(f"`{choice}`" for choice in argument["choices"]))
    unit = argument.get("unit", "")
    if "minimum" in argument and "maximum" in argument:
        facts.append(f"Range: {argument['minimum']:.12g} to {argument['maximum']:.12g} {unit}".rstrip())
    elif unit:
        facts.append(f"Unit: {unit}")
    if argument.get("default", "") != "":
        facts.append(f"Default: `{argument['default']}`")
    if argument["required"]:
        facts.append("Required")
    if argument["repeated"]:
        facts.append("May be given several times")
    body = escape(" ".join(text for text in (argument["description"], argument.get("details")) if text))
    if facts:
        body += "\n\n" + ". ".join(facts) + "."
    return f"````{{option}} {signature}\n{body}\n````\n"


def write_command(command, help_text, folder):
    """A page for a command. Names of values are those of its --help."""
    name = command["name"]
    usage = re.match(r"Usage: (.*?)\n\n", help_text, re.S)[1]
    usage = " ".join(usage.split())
    lines = [f"# gigapixel {name}", "", escape(command["description"]), "", f"```sh\n{usage}\n```", ""]
    lines += ["## Examples", "", "```sh", *command["examples"], "```", "", f"```{{program}} gigapixel {name}\n```", ""]
    for title, positional in (("Arguments", True), ("Options", False)):
        arguments = [argument for argument in command["arguments"] if argument["positional"] == positional]
        if arguments:
            lines += [f"## {title}", ""]
        for argument in arguments:
            found = re.search(rf"^  (?:-\w, )?--{re.escape(argument['name'])}(?: (\S+))?", help_text, re.M)
            placeholder = f" {found[1]}" if found and found[1] else ""
            lines.append(describe_argument(argument, placeholder))
    (folder / f"{name}.md").write_text("\n".join(lines))


def write_commands(program, folder):
    folder.mkdir()
    commands = json.loads(ask(program, "--describe"))
    for command in commands:
        write_command(command, ask(program, command["name"], "--help"), folder)
    rows = [f"| [{command['name']}]({command['name']}.md) | {escape(command['summary'])} |" for command in commands]
    table = ["# Commands", "", "| command | what it is for |", "| --- | --- |", *rows, ""]
    tree = ["```{toctree}", ":hidden:", *[command["name"] for command in commands], "```", ""]
    (folder / "index.md").write_text("\n".join(table + tree))
    return commands


def write_presets(program, commands, page):
    lines = ["# Presets", "", "## Networks", ""]
    lines += ["`train --network NAME:OPTION=VALUE` takes these networks. The table has their default options.", ""]
    lines += ["| preset | axes | parameters | multiply-adds per pixel | halo | stride | channels | classes | learning rate |", "|" + " --- |" * 9]
    networks = json.loads(ask(program, "networks", "--json"))
    for network in networks:
        cells = [f"{network['multiplyAddsPerPixel']:.0f}", *[str(network[key]) for key in ("halo", "stride", "channels", "classes", "learningRate")]]
        lines.append(f"| `{network['name']}` | {network['axes']} | {network['parameters']} | {' | '.join(cells)} |")
    for network in networks:
        summary = escape(network["summary"])
        lines += ["", f"### {network['name']}", "", f"{summary[0].upper()}{summary[1:]}.", ""]
        for option in network["options"]:
            lines.append(f"- `{option['name']}` ({escape(option['range'])}; default `{option['default']}`): {escape(option['description'])}")
    lines += ["", "## Tissue", ""]
    label = next(command for command in commands if command["name"] == "label")
    preset = next(argument for argument in label["arguments"] if argument["name"] == "preset")
    lines += [escape(preset["description"]), "", f"The default is `{preset['default']}`.", ""]
    page.write_text("\n".join(lines))


def describe_attribute(attribute):
    if attribute["required"]:
        return f"**`{attribute['name']}`**"
    words = [word for word in attribute["words"] if json.dumps(word) != attribute["default"]]
    values = ", ".join([attribute["default"].strip('"')] * (attribute["default"] != "") + words)
    return f"`{attribute['name']}`" + (f" ({values})" if values else "")


def write_operations(program, page):
    """Fills the two tables of a page, which has a remark in their places."""
    rows = {False: [], True: []}
    for operation in json.loads(ask(program, "networks", "--operations", "--json")):
        attributes = ", ".join(describe_attribute(attribute) for attribute in operation["attributes"])
        rows[operation["seesWholeImage"]].append(f"| `{operation['type']}` | {attributes} | {escape(operation['summary'])} |")
    text = page.read_text()
    for whole, part in ((False, "a part"), (True, "all")):
        table = "\n".join(["| type | attributes | what it does |", "| --- | --- | --- |", *rows[whole]])
        text = text.replace(f"<!-- operations: each value sees {part} of the image -->", table)
    page.write_text(text)


def write_python(program, page, folder):
    """A page of what the package makes public, and in FOLDER the package, which Sphinx reads."""
    package = folder / "itkgigapixel"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "Wrapping/Python/itkgigapixel", package, ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run([sys.executable, "-B", ROOT / "Wrapping/Python/option_table.py", program, package / "option_table.py"], check=True)
    lines = ["Python", "======", ""]
    for module in ("itkgigapixel", "itkgigapixel.torch"):
        file = package / ("torch.py" if module.endswith("torch") else "__init__.py")
        names = ast.literal_eval(re.search(r"^__all__ = (\[.*?\])$", file.read_text(), re.M | re.S)[1])
        lines += [module, "-" * len(module), "", f".. currentmodule:: {module}", "", ".. autosummary::", "   :nosignatures:", ""]
        lines += [*[f"   {name}" for name in names], "", f".. automodule:: {module}", "   :members:", "   :inherited-members: tuple, list, Exception, Dataset", ""]
    page.write_text("\n".join(lines))


def find_modules():
    """Pairs of the folder of a module with public headers and what it provides, from the page of modules."""
    for row in re.findall(r"^\| (\[.*?) \| (.*?) \|", (DOCUMENTATION / "developers/modules.md").read_text(), re.M):
        for folder in re.findall(r"\]\(\.\./\.\./([\w/]+)\)", row[0]):
            if any((ROOT / folder / "include").glob("*.h")):
                yield folder, row[1]


def write_cpp(page, folder):
    """A page of the modules, and below FOLDER the headers that Doxygen reads, and its layout with a way back to the site."""
    modules = dict(find_modules())
    files = [file for pattern in ("Modules/*/include/*.h", "Filters/*/include/*.h") for file in sorted(ROOT.glob(pattern))]
    lists = {file.name: file.read_text() for file in files if file.name.endswith("List.h")}
    for file in files:
        module = file.relative_to(ROOT).parts[:2]
        if "/".join(module) not in modules:
            fail(f"developers/modules.md has no row of {'/'.join(module)}")
        if file.name not in lists:
            target = folder / "headers" / file.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(headers.convert(file.read_text(), f"Gigapixel{module[1]}", lists))
    (folder / "extra/reference/cpp").mkdir(parents=True)
    groups = [f"/** \\defgroup Gigapixel{Path(module).name} {module} */" for module in modules]
    # Doxygen asks for comments of the members of a namespace where the namespace itself has one.
    groups += ["/** \\namespace itk Filters, readers and writers. */", "/** \\namespace gigapixel What filters and the program share. */"]
    (folder / "headers/groups.h").write_text("\n".join(groups) + "\n")
    subprocess.run(["doxygen", "-l", folder / "layout.xml"], check=True)
    layout = (folder / "layout.xml").read_text()
    home = '<tab type="user" url="../../index.html" title="ITKGigapixel"/>'
    (folder / "layout.xml").write_text(re.sub(r'<tab type="mainpage".*?/>', home, layout))
    rows = [f'| <a href="cpp/group__Gigapixel{Path(module).name}.html">{module}</a> | {text} |' for module, text in modules.items()]
    lines = ["# C++", "", 'The public headers, by modules. <a href="cpp/annotated.html">All classes</a> have a list, too.', ""]
    page.write_text("\n".join([*lines, "| module | what it provides |", "| --- | --- |", *rows, ""]))


def find_variables():
    """The environment variables of the comments where they are read, by the places of these: names and texts."""
    places = {"Tests": ("Testing", "Wrapping/Slicer"), "Scripts": ("Utilities",), "Program and libraries": ("Modules", "Filters", "Wrapping")}
    variables = {place: {} for place in places}
    read = set()
    for folder in ("Modules", "Filters", "Wrapping", "Testing", "Utilities"):
        for file in sorted((ROOT / folder).rglob("*")):
            if not file.is_file() or file.suffix not in ("", ".cxx", ".h", ".hxx", ".py", ".sh"):
                continue
            name, text = file.relative_to(ROOT).as_posix(), file.read_text(errors="ignore")
            place = next(place for place, folders in places.items() if name.startswith(folders))
            for variable, first, more in re.findall(r"(?://|#) Environment variable (\w+): (.*)((?:\n *(?://|#) .*)*)", text):
                if len(re.findall(rf"\b{variable}\b", text)) < 2:
                    fail(f"{name} does not read {variable}")
                variables[place][variable] = " ".join([first, *re.findall(r"(?://|#) (.*)", more)])
            if place != "Tests" and "tests" not in file.parts:
                read |= set(re.findall(r"\$\{?(GIGAPIXEL_\w+)" if folder == "Utilities" else r'"(GIGAPIXEL_[A-Z_]+)"', text))
    described = {variable for each in variables.values() for variable in each}
    if read - described:
        fail(f"environment variables without a comment where they are read: {sorted(read - described)}")
    return variables


def write_environment(page):
    """Fills the tables of a page, which has a remark in their places."""
    text = page.read_text()
    for place, variables in find_variables().items():
        rows = [f"| `{variable}` | {variables[variable]} |" for variable in sorted(variables)]
        text = text.replace(f"<!-- environment: {place} -->", "\n".join(["| variable | effect |", "| --- | --- |", *rows]))
    page.write_text(text)


def main(program, folder):
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(DOCUMENTATION, folder, ignore=shutil.ignore_patterns("site"))
    for file in [*DOCUMENTATION.rglob("*.md"), *[ROOT / name for name in ROOT_PAGES]]:
        text = file.read_text()
        check_paths(text, file)
        (folder / get_place(file)).write_text(rewrite_links(text, file))
    tree = ["", "```{toctree}", ":hidden:", *[f"{section}/index" for section in SECTIONS], "```", ""]
    with open(folder / "index.md", "a") as home:
        home.write("\n".join(tree))
    commands = write_commands(program, folder / "reference/commands")
    write_presets(program, commands, folder / "reference/presets.md")
    write_operations(program, folder / "reference/operations.md")
    write_python(program, folder / "reference/python.rst", folder.parent / "python")
    write_cpp(folder / "reference/cpp.md", folder.parent)
    (folder / "Codes.md").write_text(ask(program, "--codes"))
    write_environment(folder / "reference/environment.md")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
