# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Writes type stubs beside the modules that SWIG has written, from what their docstrings say of C++ types:
stubs.py FOLDER MODULE.py..."""

import ast
import pathlib
import re
import sys

SIGNATURE = re.compile(r"^(\w+)\((.*)\)(?: -> (.+))?$")
PARAMETER = re.compile(r"^(\w+): (.+)$")
TYPES = {
    "bool": "bool",
    "float": "float",
    "double": "float",
    "string": "str",
    "vectorstring": "Tuple[str, ...]",
    "array": "Tuple[int, ...]",
    "Region": "Sequence[int]",
    "Annotation": "Sequence[Sequence[Sequence[float]]]",
    "TrainingProgress": "Dict[str, Any]",
    "GigapixelUNetOutput": "str",
    "Content": "str",
    "TissueMethod": "int",
    "void": "Any",
}
HEAD = '"""Types of what C++ offers; see the classes\' own docstrings."""\n\nfrom typing import Any, Dict, Sequence, Tuple, overload\n\n'


def python_type(words: str, classes: dict[str, str]) -> str:
    """The Python type of a C++ one, Any where it is none of ours."""
    name = re.sub(r"<.*>|\b(const|unsigned|signed|std|gigapixel|itk|long)\b|[&*:]", " ", words).split()
    name = name[-1].removesuffix("_Pointer") if name else "int"
    if name == "char":
        return "str" if "*" in words else "int"
    if name in ("int", "short", "size_t", "uint64_t", "int64_t"):
        return "int"
    return TYPES.get(name, name if name in classes else "Any")


def signatures(function: ast.FunctionDef, classes: dict[str, str]) -> list[str]:
    """What SWIG says of a method: one line ``(self, ...) -> type`` for each way to call it."""
    found: list[tuple[list[str], dict[str, str], str]] = []
    for line in (ast.get_docstring(function) or "").splitlines():
        signature, parameter = SIGNATURE.match(line), PARAMETER.match(line)
        if signature and signature.group(1) == function.name:
            names = [each.split("=")[0].strip() for each in signature.group(2).split(",") if each.strip()]
            returned = python_type(signature.group(3), classes) if signature.group(3) else "None"
            found.append((names, {}, returned))
        elif parameter and found and parameter.group(1) in found[-1][0]:
            found[-1][1].setdefault(parameter.group(1), python_type(parameter.group(2), classes))
    lines = [
        f"({', '.join(n if n == 'self' else f'{n}: {types[n]}' if n in types else n for n in names)}) -> {returned}"
        for names, types, returned in found
    ]
    return list(dict.fromkeys(lines)) or [f"({ast.unparse(function.args)}) -> Any"]


def declared_in(module: ast.Module) -> list[ast.ClassDef]:
    return [node for node in module.body if isinstance(node, ast.ClassDef) and node.name.startswith("itk")]


def stub(declared: list[ast.ClassDef], classes: dict[str, str]) -> str:
    """The stub of a module. *classes*: the module of each class that there is."""
    lines = []
    for node in declared:
        lines += [f"class {node.name}:", f"    @staticmethod\n    def New(*args: Any, **kwargs: Any) -> {node.name}: ..."]
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and not method.name.startswith("_") and method.name != "New":
                ways = signatures(method, classes)
                static = any(ast.unparse(each) == "staticmethod" for each in method.decorator_list)
                for way in ways:
                    lines += ["    @overload"] * (len(ways) > 1) + ["    @staticmethod"] * static
                    lines.append(f"    def {method.name}{way}: ...")
        lines += ["    def __getattr__(self, name: str) -> Any: ...  # what superclasses in itk have", ""]
    text = "\n".join(lines)
    others = {name for name in classes.keys() - {node.name for node in declared} if re.search(rf"\b{name}\b", text)}
    return HEAD + "".join(f"from itk.{classes[name]} import {name}\n" for name in sorted(others)) + "\n" + text


def main(folder: str, *files: str) -> None:
    modules = {path.stem: declared_in(ast.parse(path.read_text())) for path in map(pathlib.Path, files)}
    classes = {node.name: module for module, declared in modules.items() for node in declared}
    for module, declared in modules.items():
        text = stub(declared, classes)
        ast.parse(text)
        (pathlib.Path(folder) / f"{module}.pyi").write_text(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
