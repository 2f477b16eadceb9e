# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Runs of the program that plan_grid.py and plan_ladder.py have in common."""

import json
import subprocess
import sys


def run(program, *arguments):
    """The JSON that the program prints; None where it says that the budget is too small."""
    done = subprocess.run([str(program), *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0 and "memory limit" in done.stderr:
        return None
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, arguments))}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def make_slide(program, folder, size):
    slide, mask = folder / f"{size}.tif", folder / f"{size}.mask.pyramid.tif"
    if not slide.exists():
        run(program, "synthesize", slide, "--size", size, "--quiet", "--json")
    if not mask.exists():
        run(program, "label", slide, "-o", mask, "--quiet", "--json")
    return slide, mask


def make_cohort(cohort, slide, mask):
    cohort.write_text(f"slide,mask,split\n{slide},{mask},train\n")
    return cohort
