# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Public headers as Doxygen has to read them.

Macros of ITK become the members that they declare, and lists of options the members of the class that includes them.
A comment describes its whole paragraph, as in Wrapping/Python/wrapping/docstrings.py. Members for subclasses and those
that every class of ITK has are left out. Lines keep their numbers, so that Doxygen's warnings name the right ones.
"""

import re

COMMENT = r"/\*\*(?:(?!\*/).)*\*/"
LIST = re.compile(r'^#include "(\w+OptionList\.h)"$', re.M)
ENTRY = re.compile(rf"({COMMENT})\s*GIGAPIXEL_(\w+)_OPTION\(\s*((?:[^,<]|<[^>]*>)+),\s*(\w+),\s*(\w+),", re.S)
EMPTY = re.compile(r"^#define GIGAPIXEL_(\w+)_OPTION\([^()]*\)$", re.M)
MACRO = re.compile(r"\bitk(Set|Get|Boolean|GigapixelOption|GigapixelSetOptions|GigapixelPatches|New|FactorylessNew)(\w*?)Macro\(([^()]*)\);?")
# A base class describes what a member without a comment overrides; copies are what one expects.
LEFT_OUT = [re.compile(pattern, re.M | re.S) for pattern in (
    r"^#[ \t]*define (?:[^\n]*\\\n)*[^\n]*$",
    r"^extern template [^;]*;",
    r"__attribute__\(\(\w+\(\"\w+\"\)\)\)",
    r"^  using (?:Self|Superclass|Pointer|ConstPointer|\w*(?:Image|Region|Sample|Pixel|Size)Type) = [^;]*;",
    r"^  (?:itkTypeMacro|ITK_DISALLOW_COPY_AND_MOVE)\([^()]*\);",
    r"^  (?:\w+\([^()]*\)|\w+ & operator=\([^()]*\)) = default;",
    r"^  (\w+)\(const \1 & \w+\);",
    r"(?<!\*/\n)^  [\w:&* ]+\w+\([^()]*\)(?: const)? override;",
    r"(?<!\*/\n)^  [\w:&* ]+\n  \w+\([^()]*\)(?: const)? override\n  \{(?:\}|\n.*?^  \})",
)]


def expand_list(text, of_class, without):
    """The entries of a list of options on one line, without some macros: Set and Get of a class, else fields."""
    members = []
    for comment, macro, kind, name, field in ENTRY.findall(text):
        if macro in without:
            continue
        set_and_get = f"void Set{name}(const {kind} & value); /** See Set{name}(). */ {kind} Get{name}() const;"
        if macro == "OPTIONAL":
            set_and_get += f" /** Takes Set{name}() back. */ void Clear{name}();"
            kind = f"std::optional<{kind}>"
        members += [" ".join(comment.replace(" * ", " ").split()), set_and_get if of_class else f"{kind} {field};"]
    return " ".join(members)


def expand_losses(text):
    """The enumerators, each with its name in a network's file."""
    return " ".join(f"/** {name} */ {loss}," for loss, name in re.findall(r'^GIGAPIXEL_\w*LOSS\((\w+), ("[^"]+")', text, re.M))


def expand_macro(match):
    action, kind, arguments = match.groups()
    first, *others = [argument.strip() for argument in re.split(r",(?![^<]*>)", arguments)]
    if "New" in action:
        return "/** Makes an object. */ static Pointer New();"
    if action == "Boolean":
        return f"/** See Set{first}(). */ void {first}On(); /** See Set{first}(). */ void {first}Off();"
    if action == "GigapixelPatches":
        return "void SetPatches(const gigapixel::Patches & patches); /** See SetPatches(). */ void ClearPatches(); /** See SetPatches(). */ std::optional<gigapixel::Patches> GetPatches() const;"
    if action == "GigapixelSetOptions":
        return f"void Set{first}(const gigapixel::{first} & options);"
    if action == "GigapixelOption":
        return f"void Set{others[0]}(const {first} & value); /** See Set{others[0]}(). */ {first} Get{others[0]}() const;"
    value = "std::string" if "String" in kind else others[0] + (" *" if "Object" in kind or "Input" in kind else "")
    return f"void Set{first}({value} value);" if action == "Set" else f"{value} Get{first}() const;"


def describe_paragraphs(text):
    """Functions below a described one in its paragraph refer to it."""
    lines, described, declaration = [], "", ""
    for line in text.split("\n"):
        begins = re.match(r"  [\w~\[]", line)
        if not line.strip() or line.startswith("  /**"):
            described = "comment" if line.strip() else ""
        elif begins and not declaration and described not in ("", "comment") and "///<" not in line:
            line = f"  /** See {described}. */{line[1:]}"
        if begins or declaration:
            declaration += line.split("//")[0]
            if re.search(r"[;}]\s*$", declaration) and (begins or re.match(r"  \}|.*;", line)):
                name = re.search(r"(\w+)\(", re.sub(r"/\*\*.*?\*/", "", declaration))
                if name and described == "comment":
                    described = f"{name[1]}()"
                declaration = ""
        lines.append(line)
    return "\n".join(lines)


def convert(text, group, lists):
    """The header's text. The group is the module's name; lists has the text of each list of options by the name of its file."""
    of_class = "itkGigapixelOptionMacro(" in text
    # A class leaves those options out whose macro is empty where it includes the list.
    without = iter([EMPTY.findall(before) for before in LIST.split(text)[::2]])
    # The alias of the Doxyfile ends the line behind the group's name.
    text = re.sub(r"^/\*\* (?!\\file)(?:\\class \w+)?", rf"/** \\module{{{group}}}", text, flags=re.M)
    # Doxygen takes the rest of a line for the title.
    text = re.sub(r"(\\name [^\n]*?) @\{(\s*)\*/", r"\1 */ /** @{\2*/", text)
    text = re.sub(r"^protected:$", "private:", text, flags=re.M)
    for pattern in LEFT_OUT:
        text = pattern.sub(lambda match: "\n" * match[0].count("\n"), text)
    text = text.replace('#include "gigapixelLossList.h"', expand_losses(lists["gigapixelLossList.h"]))
    text = LIST.sub(lambda match: expand_list(lists[match[1]], of_class, next(without)), text)
    return describe_paragraphs(MACRO.sub(expand_macro, text))
