"""Sphinx configuration."""

import importlib.util
import os
import sys
from pathlib import Path

import klsnmf

sys.path.insert(0, str(Path(__file__).parent))  # for extensions of our own

# The examples compute with small matrices, for which more threads are slower on busy machines.
os.environ.setdefault("OMP_NUM_THREADS", "1")

project = "klsnmf"
author = "the klsnmf developers"
copyright = "2026, the klsnmf developers"
release = version = klsnmf.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "myst_parser",
    "data_sets",
    "sizes",
]
exclude_patterns = ["_build", "results", "templates", "**sg_execution_times.rst"]
templates_path = ["templates"]  # for the page of each class
suppress_warnings = ["myst.header"]  # what pages include begins below their own title
source_suffix = {".rst": "restructuredtext"}  # the Markdown of the results is included by pages

# The docstrings follow numpydoc and already name the types.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "within_subsection_order": "FileNameSortKey",
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("klsnmf",),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "image_srcset": ["2x"],
    "write_computation_times": False,  # that page would load a style sheet from elsewhere
}

# MathJax is copied into the pages from an installed package, so that formulas need no network. This
# file draws them as SVG and needs no fonts: pages work when they are opened from a disk.
_mathjax = importlib.util.find_spec("sphinx-mathjax-offline")
assert _mathjax is not None
assert _mathjax.origin is not None
mathjax_path = "tex-svg.js"
math_number_all = False

html_theme = "furo"
html_title = "klsnmf"
html_static_path = [
    "_static",
    str(Path(_mathjax.origin).parent / "static" / "mathjax" / mathjax_path),
]
html_css_files = ["pages.css"]
html_show_sourcelink = False
html_copy_source = False
