# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""How Sphinx makes the site from the pages that pages.py collects. Utilities/docs calls both."""

project = "ITKGigapixel"
author = "The ITKGigapixel Authors"
copyright = author  # Sphinx knows the line by this name

extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "deflist"]
# Links lead to headings as GitHub names them.
myst_heading_anchors = 4
# Options begin with two hyphens, which would become a dash.
smartquotes = False
# Unknown references are warnings, and Utilities/docs makes warnings errors.
nitpicky = True

html_theme = "furo"
html_title = project
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
# Option pages hold headings that the table of contents would repeat.
toc_object_entries = False
# A command's options are written as they are typed.
highlight_language = "sh"
