"""Runs other projects' own tests with changed import lines, and prints how many ended how."""

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import click

ROOT = Path(__file__).parents[2]
PASSED, BY_DESIGN, SKIPPED, FAILED = "passed", "differs by design", "skipped", "failed"
_KINDS = {"skipped": SKIPPED, "failure": FAILED, "error": FAILED}
"""How a test ended, by the mark that pytest's report has."""


@dataclass(frozen=True)
class Case:
    """A test that was run.

    Attributes:
        test: its class, or its file if it has none, and its name.
        kind: PASSED, SKIPPED or FAILED.
        reason: why it did not pass.
    """

    test: str
    kind: str = PASSED
    reason: str = ""


def run_file(file: Path, *options: str, environment: Mapping[str, str] | None = None) -> list[Case]:
    """Run the tests of a file by pytest, in its folder.

    Args:
        file: with the tests.
        *options: for pytest.
        environment: variables that the tests read.

    Raises:
        ClickException: the file cannot be run.
    """
    report = file.parent / "report.xml"
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "addopts="]
    command += [*options, f"--rootdir={file.parent}", f"--junitxml={report}", str(file)]
    variables = {**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})}
    done = subprocess.run(
        command, cwd=file.parent, env=variables, capture_output=True, text=True, check=False
    )
    if not report.exists() or "collection failure" in report.read_text():
        raise click.ClickException(f"{file.name}: cannot be run\n{done.stdout[-2000:]}")
    return list(map(_case, ElementTree.parse(report).iter("testcase")))


def _case(element: ElementTree.Element) -> Case:
    test = f"{(element.get('classname') or '').rsplit('.', 1)[-1]}::{element.get('name')}"
    for mark, kind in _KINDS.items():
        if (found := element.find(mark)) is not None:
            return Case(test, kind, (found.get("message") or "")[:300])
    return Case(test)


def with_changes(source: str, changes: Sequence[tuple[str, str]]) -> str:
    """Return a script with some of its lines changed.

    Args:
        source: of the script.
        changes: pairs of a regular expression for the beginning of a statement and the text that
            replaces it. The first one that fits is taken.
    """
    return "\n".join(_changed(line, changes) for line in source.split("\n"))


def _changed(line: str, changes: Sequence[tuple[str, str]]) -> str:
    statement = line.lstrip()
    for pattern, text in changes:
        if re.match(pattern, statement):
            indent = line[: len(line) - len(statement)]
            return indent + re.sub(pattern, text, statement, count=1)
    return line


class Table:
    """A table with a line for each file, printed as the files are run.

    Attributes:
        failed: how many tests failed that should not.
    """

    def __init__(self, *kinds: str, show: bool) -> None:
        """Print the head.

        Args:
            *kinds: the columns.
            show: whether each test that does not pass is named with the reason.
        """
        self.failed = 0
        self._kinds, self._show = kinds, show
        print(f"| file | {' | '.join(kinds)} |\n|---|{'---:|' * len(kinds)}")

    def add(self, name: str, cases: Iterable[Case], differences: Mapping[str, str]) -> None:
        """Print the line of a file.

        Args:
            name: of the file.
            cases: its tests.
            differences: reasons by the names of tests that fail by design.
        """
        counts = Counter[str]()
        for case in cases:
            kind, reason = case.kind, case.reason
            if kind == FAILED and case.test in differences:
                kind, reason = BY_DESIGN, differences[case.test]
            if self._show and reason:
                print(f"  {case.test}: {kind}: {reason}")
            counts[kind] += 1
        self.failed += counts[FAILED]
        print(f"| {name} | {' | '.join(str(counts[kind]) for kind in self._kinds)} |", flush=True)
