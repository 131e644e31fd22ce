"""Sphinx configuration."""

import sys
from pathlib import Path

import klsnmf

sys.path.insert(0, str(Path(__file__).parent))  # for data_sets, an extension of our own

project = "klsnmf"
author = "the klsnmf developers"
copyright = "2026, the klsnmf developers"
release = version = klsnmf.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "data_sets",
]
exclude_patterns = ["_build"]

# The docstrings follow numpydoc and already name the types.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False

math_number_all = False
html_theme = "alabaster"
html_theme_options = {
    "description": "Clustering by nonnegative matrix factorization with local similarity learning",
    "fixed_sidebar": True,
    "page_width": "1040px",
}
html_show_sourcelink = False
