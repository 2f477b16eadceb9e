# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""What Slicer's own parser lets through, or crashes on, in the description of a command-line module.

The rules are those of Slicer's Execution Model and of slicer_cli_web, which takes no booleans."""

import re
import xml.etree.ElementTree as ElementTree

HEADER = ("category", "title", "description", "version", "license", "contributor", "acknowledgements")
FILES = {"file", "directory", "image", "geometry", "table", "transform"}
NUMBERS = {"integer": int, "double": float, "float": float}
PLAIN = {"string", "region", *NUMBERS}
ENUMERATIONS = {"string-enumeration", "integer-enumeration"}
IMAGE_TYPES = {None, "scalar", "label", "vector", "tensor", "diffusion-weighted"}
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*$")
RESERVED = {"xml", "returnparameterfile", "help", "version", "echo", "deserialize", "serialize"}


def lint(xml: str) -> list[str]:
    """Sentences on all that is wrong; empty: nothing."""
    if not xml.startswith("<?xml"):
        return ["something stands before the XML"]
    try:
        root = ElementTree.fromstring(xml.encode())
    except ElementTree.ParseError as error:
        return [f"not well-formed: {error}"]
    if root.tag != "executable":
        return [f"the root is {root.tag}, not executable"]
    found = [f"{tag} is missing" for tag in HEADER if not (root.findtext(tag) or "").strip()]
    parameters = []
    for group in root.findall("parameters"):
        found += [f"a group has no {tag}" for tag in ("label", "description") if not group.findtext(tag)]
        parameters += [child for child in group if child.tag not in ("label", "description")]
    for parameter in parameters:
        found += [f"{parameter.findtext('name')}: {sentence}" for sentence in _lint_parameter(parameter)]
    for tag in ("name", "longflag"):
        values = [parameter.findtext(tag) for parameter in parameters if parameter.findtext(tag)]
        found += [f"{tag} {value} twice" for value in sorted(set(values)) if values.count(value) > 1]
    return found


def _lint_parameter(parameter):
    tag, channel = parameter.tag, parameter.findtext("channel")
    if tag not in FILES | PLAIN | ENUMERATIONS:
        yield f"element {tag} is not known"
    for child in ("name", "label", "description"):
        if not (parameter.findtext(child) or "").strip():
            yield f"{child} is missing"
    for child in ("name", "longflag"):
        value = parameter.findtext(child)
        if value is not None and not NAME.match(value):
            yield f"{child} {value} is no word of letters and digits"
    flag = parameter.findtext("longflag")
    if flag in RESERVED:
        yield f"longflag {flag} is Slicer's"
    if channel not in (None, "input", "output"):
        yield f"channel {channel} is not known"
    if tag in FILES and channel is None:
        yield "a file has no channel"
    if flag is None and channel != "output":
        yield "no longflag"
    if tag == "image" and parameter.get("type") not in IMAGE_TYPES:
        yield f"image type {parameter.get('type')} is not known"
    if tag == "region" and parameter.get("coordinateSystem") not in ("lps", "ras", "ijk"):
        yield "a region has no coordinate system"
    yield from _lint_values(parameter)


def _lint_values(parameter):
    default = parameter.findtext("default")
    if parameter.tag in ENUMERATIONS:
        elements = [element.text for element in parameter.findall("element")]
        if default not in elements or len(set(elements)) != len(elements):
            yield f"default {default} or elements {elements} are wrong"
    if parameter.tag not in NUMBERS:
        return
    try:
        value = NUMBERS[parameter.tag](default)
        limits = [parameter.findtext(f"constraints/{limit}") for limit in ("minimum", "maximum")]
        if None not in limits and not float(limits[0]) <= value <= float(limits[1]):
            yield f"default {default} is not from {limits[0]} to {limits[1]}"
    except (TypeError, ValueError):
        yield f"default {default} is no {parameter.tag}"
