# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""How Sphinx makes the site from the pages that pages.py collects. Utilities/docs calls both."""

import sys
from types import SimpleNamespace

project = "ITKGigapixel"
author = "The ITKGigapixel Authors"
copyright = author  # Sphinx knows the line by this name

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon"]
myst_enable_extensions = ["colon_fence", "deflist"]
# Links lead to headings as GitHub names them.
myst_heading_anchors = 4
# Options begin with two hyphens, which would become a dash.
smartquotes = False
# Unknown references are warnings, and Utilities/docs makes warnings errors.
nitpicky = True

# The Python package is imported as pages.py has copied it, without what it is built of.
autodoc_mock_imports = ["itk", "itkConfig", "numpy", "itkgigapixel.built"]
# Datasets come from classes of PyTorch. Those that autodoc makes itself would hide the arguments of a dataset.
uint8 = type("dtype", (), {"__repr__": lambda self: "torch.uint8"})()
Dataset = type("Dataset", (), {"__class_getitem__": classmethod(lambda cls, sample: cls)})
sys.modules["torch"] = SimpleNamespace(uint8=uint8, utils=SimpleNamespace(data=SimpleNamespace(Dataset=Dataset, IterableDataset=Dataset)))
sys.modules["torch.utils.data._utils.collate"] = SimpleNamespace(default_collate_fn_map={})
autodoc_member_order = "bysource"
napoleon_google_docstring = False
# A value that is returned has one type, which is no name of one.
napoleon_use_rtype = False
maximum_signature_line_length = 80
autosummary_generate = False
# Types of other packages have no page here.
nitpick_ignore_regex = [("py:class", r"(?!itkgigapixel\.).*")]

html_theme = "furo"
# Doxygen's pages.
html_extra_path = ["../../build-docs/extra"]
html_title = project
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
# Option pages hold headings that the table of contents would repeat.
toc_object_entries = False
# A command's options are written as they are typed.
highlight_language = "sh"


def remove_aliases(app, what, name, obj, options, lines):
    """A field of a named tuple without a comment has Python's own docstring, which says nothing."""
    if lines and lines[0].startswith("Alias for field"):
        lines.clear()


def setup(app):
    app.connect("autodoc-process-docstring", remove_aliases)
