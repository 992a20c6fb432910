"""Writes HTML pages that need nothing but a browser: text, tables, pictures, light and dark."""

import shlex
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from html import escape
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from string import Template

from tvm_qnn.io.text import visible
from tvm_qnn.version import __version__


def page(title: str, parts: Iterable[str]) -> str:
    """Return a page.

    Args:
        title: the page's title, as plain text.
        parts: the parts of its body, in HTML.
    """
    template = Template((files("tvm_qnn.io") / "page.html").read_text("utf-8"))
    return template.substitute(title=escape(visible(title)), body="\n".join(parts))


def text(content: str) -> str:
    """Return plain text as HTML."""
    return escape(visible(content))


def page_table(heads: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "") -> str:
    """Return a table of plain texts.

    Args:
        heads: the columns' heads; empty for a table without heads.
        rows: the cells.
        kind: "words" for a table without numbers.
    """

    def line(cells: Iterable[str], tag: str) -> str:
        return f"<tr>{''.join(f'<{tag}>{text(cell)}</{tag}>' for cell in cells)}</tr>"

    head = line((each.replace("_", " ") for each in heads), "th") if heads else ""
    body = "".join(line(row, "td") for row in rows)
    classed = f' class="{kind}"' if kind else ""
    return f'<div class="table" tabindex="0"><table{classed}>{head}{body}</table></div>'


def how_made(*packages: str) -> dict[str, str]:
    """Return how a page was made: the command, the date, and versions.

    Args:
        packages: packages beside tvm-qnn; missing ones are left out.
    """
    versions = [f"tvm-qnn {__version__}"]
    for package in packages:
        with suppress(PackageNotFoundError):
            versions.append(f"{package} {version(package)}")
    return {
        "command": shlex.join(["tvm-qnn", *sys.argv[1:]]),
        "date": datetime.now().astimezone().isoformat(" ", "minutes"),
        "versions": ", ".join(versions),
    }
