# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Reads and renders a recipe as rattler-build does before it builds: check.py RECIPE. It fetches nothing, and builds nothing."""

import sys

from rattler_build import PlatformConfig, RenderConfig, Stage0Recipe, VariantConfig

# What conda-forge chooses for all recipes.
CHOSEN = {"c_compiler": ["gcc"], "cxx_compiler": ["gxx"], "c_stdlib": ["sysroot"], "c_stdlib_version": ["2.28"]}

platform = PlatformConfig(target_platform="linux-64")
(rendered,) = Stage0Recipe.from_file(sys.argv[1]).render(VariantConfig(CHOSEN), RenderConfig(platform=platform))
assert "gxx_linux-64" in rendered.recipe.to_dict()["requirements"]["build"]
