# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Writes what C++ headers say about classes and methods as SWIG docstrings: docstrings.py OUTPUT HEADER..."""

import pathlib
import re
import sys
import textwrap

# How ITK names the instances of a template. Names that do not exist do no harm.
ENDINGS = ("IUC2", "IF2", "IRGBUC2", "IUC2IUC2", "IRGBUC2IUC2", "IRGBUC2IRGBUC2", "IUC2IF2", "IRGBUC2IF2", "IUC2VIUC2", "IUC2VIF2")
COMMENT = re.compile(r"/\*\*(.*?)\*/(.*?)(?=\n\s*\n|/\*\*|\Z)", re.DOTALL)
CLASS = re.compile(r"\s*(?:template\s*<.*?>\s*)?(?:class|struct)\s+(?:\w+_EXPORT\s+)?(\w+)\s*[:{]", re.DOTALL)
MACRO = re.compile(r"\bitk(Set|Get|Boolean)\w*Macro\((\w+)")
OPTION_MACRO = re.compile(r"\bitkGigapixelOptionMacro\((?:[^,<]|<[^>]*>)+,\s*(\w+),")
# A list of entries, each of which is made a Set and a Get where the list is included.
LIST = re.compile(r'#include "(\w+List\.h)"')
# Definitions of macros, and remarks, are no declarations.
NO_DECLARATION = re.compile(r"^[ \t]*(?:#[ \t]*define(?:[^\n]*\\\n)*|//)[^\n]*\n", re.MULTILINE)
ENTRY = re.compile(r"GIGAPIXEL_\w+_OPTION\(\s*[^,]+,\s*(\w+),")
METHOD = re.compile(r"\b([A-Z]\w+)\([^()]*\)\s*(?:const)?\s*(?:override)?\s*[;{]")


def text_of(comment: str) -> str:
    """The comment without Doxygen's marks."""
    lines = [re.sub(r"^\s*\* ?", "", line) for line in comment.splitlines()]
    text = "\n".join(line for line in lines if not re.match(r"\s*\\(class|ingroup)", line))
    text = re.sub(r"\\(brief|par|a|c|code|endcode|name|sa)\b ?|@[{}]", "", text)
    text = re.sub(r"\\throw (\w+)", r"Raises \1:", text)
    text = re.sub(r"\\(param|tparam) (\w+)", r"\2:", text)
    return textwrap.dedent(re.sub(r"\\return ", "Returns ", text)).strip()


def members(following: str) -> list[str]:
    """The methods that the lines after a comment declare."""
    names = []
    for kind, name in MACRO.findall(following):
        names += [f"{name}On", f"{name}Off"] if kind == "Boolean" else [f"{kind}{name}"]
    for name in ENTRY.findall(following) + OPTION_MACRO.findall(following):
        names += [f"Set{name}", f"Get{name}", f"Clear{name}"]
    return names + METHOD.findall(following)


def docstrings(header: str):
    """Tuples (class, endings of its instances, ``::method`` or nothing, text)."""
    current, endings = "", ("",)
    for comment, following in COMMENT.findall(header):
        declared = CLASS.match(following)
        if declared:
            current = declared.group(1)
            endings = ENDINGS if "template" in declared.group() else ("",)
            yield current, endings, "", text_of(comment)
        elif current:
            for name in members(following):
                yield current, endings, f"::{name}", text_of(comment)


def read(header: pathlib.Path) -> str:
    """The header with the lists that it includes, which lie in a module."""
    root = pathlib.Path(__file__).resolve().parents[3]
    text = LIST.sub(lambda found: next(root.glob(f"Modules/*/include/{found[1]}")).read_text(), header.read_text())
    return NO_DECLARATION.sub("", text)


def main(output: str, *headers: str) -> None:
    lines = []
    for header in headers:
        for name, endings, member, text in docstrings(read(pathlib.Path(header))):
            quoted = '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
            lines += [f'%feature("docstring") itk{name}{ending}{member} {quoted};' for ending in endings]
    pathlib.Path(output).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
