"""Settings of Sphinx: `make docs` builds the pages, the tutorials among them."""

import runpy
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent)]

project = "tvm-qnn"
author = "the tvm-qnn developers"
copyright = author
version = release = runpy.run_path(str(HERE.parent / "tvm_qnn" / "version.py"))["__version__"]

extensions = [
    "accessible",
    "myst_parser",
    "operator_table",
    "speed_charts",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_click",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "tutorials/GALLERY_HEADER.rst"]
html_theme = "furo"
html_title = f"tvm-qnn {version}"
templates_path = ["_templates"]
html_theme_options = {"top_of_page_buttons": []}
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_js_files = [("versions.js", {"defer": "defer"})]
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/versions.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}

autodoc_mock_imports = ["torch"]  # the documentation does not need it
autodoc_typehints = "description"
autodoc_preserve_defaults = True
napoleon_use_ivar = True  # a named tuple describes its fields itself, too
autodoc_member_order = "bysource"
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

sphinx_gallery_conf = {
    "examples_dirs": "../tutorials",
    "gallery_dirs": "tutorials",
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"__init__\.py",
    "within_subsection_order": "reading_order.ReadingOrder",
    "download_all_examples": False,
    "abort_on_example_error": True,
}
