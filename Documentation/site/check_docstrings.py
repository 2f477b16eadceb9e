# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Checks the docstrings of what the Python package makes public, by numpydoc's validator: check_docstrings.py FOLDER

FOLDER has the package, as pages.py has copied it. Beyond the validator's checks, a function has a section Raises, and the
type of each parameter ends in the default that the signature has. Properties, tuples of fields and errors have no sections.
"""

import ast
import importlib
import inspect
import re
import sys
from pathlib import Path

import conf
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import validate
from sphinx.ext.autodoc.mock import mock

CHECKS = {
    "GL07": "sections are in NumPy's order",
    "GL08": "there is a docstring",
    "SS01": "there is a summary",
    "SS03": "the summary ends in a period",
    "SS06": "the summary is one line",
    "PR01": "each parameter is documented",
    "PR02": "no other parameter is",
    "PR03": "parameters are in the signature's order",
    "PR04": "each has a type",
    "PR07": "each has a description",
    "PR08": "which begins with a capital",
    "PR09": "and ends in a period",
    "RT01": "there is a section Returns",
    "RT03": "which has a description",
    "YD01": "there is a section Yields",
    "EX01": "there is an example",
}
# What these do cannot fail.
CANNOT_FAIL = {
    "itkgigapixel.History",
    "itkgigapixel.presets",
    "itkgigapixel.Slide.close",
    "itkgigapixel.torch.PatchStream.order",
    "itkgigapixel.torch.PatchStream.set_epoch",
}


def find_names(package):
    """Functions, classes and their methods."""
    for module in ("itkgigapixel", "itkgigapixel.torch"):
        file = package / module.replace(".", "/")
        text = (file / "__init__.py" if file.is_dir() else file.with_suffix(".py")).read_text()
        for name in ast.literal_eval(re.search(r"^__all__ = (\[.*?\])$", text, re.MULTILINE | re.DOTALL)[1]):
            thing = getattr(importlib.import_module(module), name)
            if inspect.isclass(thing) and issubclass(thing, (tuple, Exception)):
                continue
            yield f"{module}.{name}"
            if inspect.isclass(thing):
                found = inspect.getmembers(thing, inspect.isfunction)
                methods = [each for each, of in found if of.__module__.startswith("itkgigapixel") and not each.startswith("_")]
                yield from (f"{module}.{name}.{each}" for each in methods)


def find_thing(name):
    module = "itkgigapixel.torch" if name.startswith("itkgigapixel.torch.") else "itkgigapixel"
    thing = importlib.import_module(module)
    for part in name.removeprefix(f"{module}.").split("."):
        thing = getattr(thing, part)
    return thing


def find_faults(name):
    thing = find_thing(name)
    yield from (f"{code}: {text}" for code, text in validate(name)["errors"] if code in CHECKS)
    documentation = get_doc_object(thing)
    if not documentation["Raises"] and name not in CANNOT_FAIL:
        yield "there is no section Raises"
    signature = inspect.signature(thing).parameters
    for parameter in [each for each in documentation["Parameters"] if each.name in signature]:
        default = signature[parameter.name].default
        stated = re.search(r", (optional|default (.*))$", parameter.type)
        expected = None if default is inspect.Parameter.empty else "optional" if default is None else f"default {default!r}"
        if (stated and stated[1].replace('"', "'")) != expected:
            yield f"the default of {parameter.name} is {expected}"


def main(package):
    sys.path.insert(0, str(package))
    with mock(conf.autodoc_mock_imports):
        faults = [f"{name}: {fault}" for name in find_names(package) for fault in find_faults(name)]
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
