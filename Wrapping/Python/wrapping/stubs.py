# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Writes the stubs of the package itk, which has none, from what SWIG's docstrings say of C++ types: stubs.py FOLDER MODULE.py...

They name what the modules declare. Other names of itk stay what they are, or are of any type (https://peps.python.org/pep-0561/).
"""

import ast
import pathlib
import re
import sys

SIGNATURE = re.compile(r"^(\w+)\((.*)\)(?: -> (.+))?$")
#: as SWIG's names of classes end, such as IRGBUC2IUC2
TYPES_OF_IMAGES = re.compile(r"(V?I(RGB)?(UC|US|F)\d)+$")
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
#: The package itself, which makes its names when they are used.
PACKAGE = '''"""Names of itk: of ITKGigapixel with their types, the others as they come."""

from typing import Any, Generic, Type, TypeVar

from itk.support.extras import *
from itk.support.init_helpers import *
from itk.support.types import B as B, D as D, F as F, LD as LD, SC as SC, SI as SI, SL as SL, SS as SS, UC as UC, UI as UI, UL as UL, US as US

_Class = TypeVar("_Class")

class _Template(Generic[_Class]):
    """A class for several types of images, which index it."""

    def __getitem__(self, types: Any) -> Type[_Class]: ...
    def New(self, *args: Any, **kwargs: Any) -> _Class: ...
    def __getattr__(self, name: str) -> Any: ...

def __getattr__(name: str) -> Any: ...
'''
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
    # A text beside may show a call, which has no self.
    found = [each for each in found if "self" in each[0]] or found
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
        bases = [name for name in (ast.unparse(each).split(".")[-1] for each in node.bases) if name in classes]
        lines += [f"class {node.name}({', '.join(bases) or 'Any'}):", f"    @staticmethod\n    def New(*args: Any, **kwargs: Any) -> {node.name}: ..."]
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and not method.name.startswith("_") and method.name != "New":
                ways = signatures(method, classes)
                static = any(ast.unparse(each) == "staticmethod" for each in method.decorator_list)
                for way in ways:
                    lines += ["    @overload"] * (len(ways) > 1) + ["    @staticmethod"] * static
                    lines.append(f"    def {method.name}{way}: ...")
        lines.append("")
    text = "\n".join(lines)
    others = {name for name in classes.keys() - {node.name for node in declared} if re.search(rf"\b{name}\b", text)}
    return HEAD + "".join(f"from itk.{classes[name]} import {name}\n" for name in sorted(others)) + "\n" + text


def names_of(module: str, tree: ast.Module) -> str:
    """What itk offers of a module: its classes, those of several types of images as one, and its functions."""
    declared = [node.name for node in declared_in(tree)]
    families: dict[str, list[str]] = {}
    for name in declared:
        families.setdefault(TYPES_OF_IMAGES.sub("", name), []).append(name)
    lines = [f"from itk.{module} import {name} as {name}" for name in declared]
    for family, members in families.items():
        several = f": _Template[{' | '.join(members)}]"
        lines.append(family.removeprefix("itk") + (f" = {family}" if members == [family] else several))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.args.kwarg and not node.name.endswith("_docstring"):
            # ITK says the types of some arguments wrongly.
            named = "".join(f"{each.arg}: Any = ..., " for each in node.args.kwonlyargs)
            lines.append(f"def {node.name}(*args: Any, {named}**kwargs: Any) -> Any: ...")
    return "\n".join(lines) + "\n"


def main(folder: str, *files: str) -> None:
    modules = {path.stem: ast.parse(path.read_text()) for path in map(pathlib.Path, files)}
    classes = {node.name: module for module, tree in modules.items() for node in declared_in(tree)}
    texts = {module: stub(declared_in(tree), classes) for module, tree in modules.items()}
    texts["__init__"] = "\n".join([PACKAGE, *(names_of(module, tree) for module, tree in modules.items())])
    target = pathlib.Path(folder)
    target.mkdir(exist_ok=True)
    for module, text in texts.items():
        ast.parse(text)
        (target / f"{module}.pyi").write_text(text)
    (target / "py.typed").write_text("partial\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
