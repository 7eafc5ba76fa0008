"""How Sphinx builds this guide: `make docs`. Nothing is fetched from the network."""

from __future__ import annotations

import sys
from pathlib import Path

from nodecopy import __version__

sys.path.append(str(Path(__file__).parent / "extensions"))

project = "nodecopy"
author = "The nodecopy developers"
project_copyright = author
release = version = __version__
language = "en-GB"

extensions = [
    "array_types",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "myst_parser",
    "code_names",
    "plain_docstrings",
]
exclude_patterns = ["_build"]
smartquotes_action = "D"  # dashes only: "fixed" is a value, and keeps its quotes
highlight_language = "none"  # an indented block is a command, a tree or a formula
pygments_style, pygments_dark_style = "a11y-light", "a11y-dark"

# `name` in a docstring is a link where it names something that the reference documents.
default_role = "py:obj"
autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints_format = "short"
autodoc_use_type_comments = False  # there are none, and looking for them takes a second
autodoc_type_aliases = {
    name: name for name in ("Draws", "FeatureMatrix", "Features", "Ids", "Progress", "Weights")
}
maximum_signature_line_length = 80
strip_signature_backslash = True  # keeps the last underscore of classes_
napoleon_attr_annotations = False  # the signature has them
napoleon_numpy_docstring = False
napoleon_use_ivar = True  # attributes are a list within the class, not separate entries
napoleon_use_rtype = False
python_use_unqualified_type_names = True

suppress_warnings = ["ref.python"]  # a short name in a docstring may fit two attributes

myst_heading_anchors = 3

html_theme = "furo"
html_title = f"nodecopy {version}"
html_static_path, html_css_files = ["static"], ["wrap.css"]
html_copy_source = False
html_show_sphinx = False
