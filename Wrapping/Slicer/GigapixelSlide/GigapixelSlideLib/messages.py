# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Errors and warnings of the programs in the words of the form.

A program writes each of them as a line of JSON, with the fields of `gigapixel --json`. What to do is a matter of options and
commands there, and one of fields and buttons here."""

import json

from slicer.i18n import tr as _

#: Fields of the form, by the options that stand behind them.
FIELDS = {
    "--slide-mpp": _("Slide > Resolution"),
    "--level": _("View > Level"),
    "--mpp": _("View > Resolution"),
    "--plane": _("Slide > Focal plane"),
    "--channel": _("View > Channel"),
    "--region": _("View > Region"),
    "--model": _("Model"),
    "--network": _("Train > Network"),
    "--epochs": _("Train > Epochs"),
    "--memory": _("Train > Memory"),
    "--mask": _("Label tissue > Keep mask as"),
    "--output": _("Train > Run folder"),
    "--run": _("Train > Run folder"),
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
    "E-SLIDE-CHANNEL": _("Choose another channel under View, or under Train"),
    "E-SLIDE-CHANNELS": _("Choose a channel under View, or under Train"),
    "E-SLIDE-IMAGE": _("Correct Slide > Focal plane, or convert the image that you want to a file of its own"),
    "E-SLIDE-LEVEL": _("Choose one of the levels under View"),
    "E-SLIDE-PLANES": _("Empty Slide > Focal plane, or export one plane to a file of its own"),
    "E-SLIDE-RESOLUTION": _("State the resolution under Slide, or choose a coarser one under View"),
    "E-TISSUE-PRESET": _("Choose another preset"),
    "E-WEIGHTS-MISMATCH": _("Choose another model, or another network"),
    "W-MASK-RESOLUTION": _("State the resolution under Slide"),
    "W-MEMORY-BUDGET": _("Give more under Train > Memory"),
    "W-SLIDE-RESOLUTION": _("State the resolution under Slide"),
}

def describe(diagnostic):
    """A sentence of the fields of an error or a warning. Names of files stay as they are."""
    code, file, option, why, step = (diagnostic.get(name) or "" for name in ("code", "file", "option", "why", "do"))
    field = f"“{FIELDS[option]}”" if option in FIELDS else option
    if option:
        parts = why.split(file) if file else [why]
        why = (file or "").join(part.replace(option, field) for part in parts)
    subjects = [each for each in (file, field) if each and each not in why]
    if not subjects and not (file and why.startswith(file)):
        why = why[:1].upper() + why[1:]
    # A step that the program gives may be right here, too; one with options or commands never is.
    isForShells = "--" in step or "gigapixel " in step
    step = STEPS.get(code, "" if isForShells else step[:1].upper() + step[1:])
    return ": ".join([*subjects, why]) + ". " + (f"{step}. " if step else "") + f"[{code}]"


def translate(text):
    """What programs have written, line by line; lines of the system and of libraries stay as they are."""
    return "\n".join(_translateLine(line) for line in text.strip().splitlines())


def _translateLine(line):
    try:
        return describe(json.loads(line)) if line.startswith("{") else line
    except ValueError:
        return line
