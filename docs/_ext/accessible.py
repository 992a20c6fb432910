"""Corrects faults that axe finds in the written pages: HTML of the theme and of Sphinx itself."""

from pathlib import Path
from typing import Any

MENDED = {
    # A heading states its level.
    '<p class="caption" role="heading">': '<p class="caption" role="heading" aria-level="2">',
    # If there are two landmarks of a kind, each has a name.
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="Pages">',
    '<aside class="toc-drawer">': '<aside class="toc-drawer" aria-label="On this page">',
    # Keys can also scroll elements that are wider than the page.
    "<pre>": '<pre tabindex="0">',
    '<div class="table-wrapper colwidths-auto docutils container">': (
        '<div class="table-wrapper colwidths-auto docutils container" tabindex="0">'
    ),
}


def mended(page: str) -> str:
    """Return a page without these faults; a page without faults does not change."""
    for fault, better in MENDED.items():
        page = page.replace(fault, better)
    return page


def _mend(app: Any, error: Exception | None) -> None:
    if error is not None or app.builder.format != "html":
        return
    for path in Path(app.outdir).rglob("*.html"):
        before = path.read_text(encoding="utf-8")
        if (after := mended(before)) != before:
            path.write_text(after, encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Register the extension; Sphinx calls this."""
    app.connect("build-finished", _mend)
    return {"parallel_read_safe": True}
