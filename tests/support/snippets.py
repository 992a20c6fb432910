"""The snippets of README and documentation, and what runs them."""

import os
import re
import shlex
import subprocess
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from tvm_qnn.cli import main

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    *(path for folder in ("docs", "docs/guides") for path in sorted((ROOT / folder).glob("*.md"))),
]


@dataclass(frozen=True)
class Snippet:
    """A block of code of a page.

    Attributes:
        kind: its language, as the page says.
        text: without the page's indentation.
    """

    kind: str
    text: str

    @property
    def lines(self) -> list[str]:
        """The commands of a shell, without comments and prompts."""
        lines = self.text.replace("\\\n", " ").splitlines()
        if self.kind == "text":
            lines = [line[2:] for line in lines if line.startswith("$ ")]
        elif self.kind != "sh":
            return []
        found: list[str] = []
        for line in lines:
            text = re.sub(r"(^|\s)# .*", "", line).strip()
            if found and found[-1].count("'") % 2:  # a text of several lines
                found[-1] += f"\n{text}"
            elif text:
                found.append(text)
        return found


def snippets(page: Path | str, kind: str = "") -> list[Snippet]:
    """Return the snippets of a page, all or those of a language.

    Args:
        page: its path, from the repository's root.
        kind: the language.
    """
    text = (ROOT / page).read_text(encoding="utf-8")
    found = re.findall(r"^( *)```(\w+)\n(.*?)^ *```", text, re.DOTALL | re.MULTILINE)
    made = (Snippet(each, textwrap.dedent(block)) for _, each, block in found)
    return [each for each in made if kind in ("", each.kind)]


def run_python(page: str, names: dict[str, Any]) -> Iterator[Snippet]:
    """Run the Python snippets of a page one after the other; yield each when it has run.

    Args:
        page: its path, from the repository's root.
        names: what the first one finds; the snippets add theirs.
    """
    for each in snippets(page, "python"):
        exec(each.text, names)
        yield each


def run_command(line: str) -> str:
    """Run one line of a shell, and return what it prints; commands of tvm-qnn run in this process.

    Raises:
        AssertionError: it fails.
    """
    words = shlex.split(line)
    if words[0] == "cd":
        os.chdir(words[1])
        return ""
    if words[0] == "tvm-qnn":
        result = CliRunner().invoke(main, words[1:])
        assert result.exit_code == 0, f"{line}: {result.output}{result.exception or ''}"
        return result.stdout
    done = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{line}: {done.stdout}{done.stderr}"
    return done.stdout
