# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Messages of the programs in the words of the form.

A program says "FILE: why; what to do. [CODE]", and what to do is a matter of its options. Here it is one of fields and buttons."""

import re

from slicer.i18n import tr as _

#: Fields of the form, by the options that stand behind them.
FIELDS = {
    "--slide-mpp": _("Slide > Resolution"),
    "--level": _("View > Level"),
    "--mpp": _("View > Resolution"),
    "--channel": _("View > Channel"),
    "--region": _("View > Region"),
    "--model": _("Model"),
    "--network": _("Train > Network"),
    "--epochs": _("Train > Epochs"),
    "--memory": _("Train > Memory"),
    "--output": _("Keep mask as"),
}

#: What to do, by codes.
STEPS = {
    "E-COHORT-CONFLICT": _("Correct the table under Train"),
    "E-COHORT-FORMAT": _("Correct the table under Train"),
    "E-COHORT-LABELS": _("Correct the labels in the table under Train"),
    "E-DISK-FULL": _("Free space on the disk, or choose another folder"),
    "E-FILE-KIND": _("Choose another file"),
    "E-FILE-MISSING": _("Choose the file again"),
    "E-INSTALLATION": _("Install the wheel of itk-gigapixel again"),
    "E-MASK-FORMAT": _("Where segments overlap, export them to a label volume (Segmentations), and choose that"),
    "E-MASK-GRID": _("Draw the mask over a level of the whole slide, which is the source volume then (Segment Editor)"),
    "E-MEMORY": _("Close other volumes, or give less under Train > Memory"),
    "E-MEMORY-BUDGET": _("Give more under Train > Memory"),
    "E-MODEL-FORMAT": _("Choose best.safetensors of a training run"),
    "E-OUTPUT-EXISTS": _("Choose another name, or remove what is there"),
    "E-REGION": _("Move the region of interest onto the slide"),
    "E-RUN-CONFLICT": _("Choose another run folder, or the slides and settings that the run began with"),
    "E-SLIDE-CHANNEL": _("Choose a channel under View"),
    "E-SLIDE-CHANNELS": _("Choose a channel under View"),
    "E-SLIDE-LEVEL": _("Choose one of the levels under View"),
    "E-SLIDE-RESOLUTION": _("State the resolution under Slide, or choose a coarser one under View"),
    "E-TISSUE-PRESET": _("Choose another preset"),
    "E-WEIGHTS-MISMATCH": _("Choose another model, or another network"),
    "W-MASK-RESOLUTION": _("State the resolution under Slide"),
    "W-MEMORY-BUDGET": _("Give more under Train > Memory"),
}

_OPTION = r"--[a-z][\w-]*"
_FOR_SHELLS = re.compile(rf"{_OPTION}|\bgigapixel [a-z]|\bSet[A-Z]\w+\(|\bin Python\b")


def _name(option):
    """The field of an option, or its name in words."""
    field = FIELDS.get(option[0])
    return f"“{field or option[0][2:].replace('-', ' ')}”"


def _translateLine(line):
    found = re.fullmatch(r"(?:gigapixel: )?(?:warning: )?(.*?)\.? (\[([EW]-[A-Z-]+)\])", line.strip())
    if not found:
        return re.sub(_OPTION, _name, line)
    sentence, bracket, code = found.groups()
    why, _semicolon, step = sentence.rpartition("; ")
    if not why:
        why, step = step, ""
    # A step that the program gives may be right here, too; one with options never is.
    if code in STEPS or _FOR_SHELLS.search(step):
        step = STEPS.get(code, "")
    why = re.sub(r" ?\([^()]*" + _OPTION + r"[^()]*\)", "", why)
    why = re.sub(_OPTION, _name, why)
    if re.match(r"[a-z]+ ", why):  # no file's name
        why = why[0].upper() + why[1:]
    return f"{why}. {step[0].upper() + step[1:] + '. ' if step else ''}{bracket}"


def translate(text):
    """What programs have said, line by line."""
    return "\n".join(_translateLine(line) for line in text.strip().splitlines())
