"""Runs LiteRT's own tests of its interpreter on ``tvm_qnn.litert``.

python -m tests.litert_tests CHECKOUT    # a checkout of google-ai-edge/LiteRT

The file is ``tflite/python/interpreter_test.py``, as of commit f67457790c. It is copied to a folder
with its import lines changed (``tests.litert_tests.imports``), beside the models that it reads, and
run by pytest. It takes of TensorFlow what ``tests.litert_tests.stand_ins`` has. The command ends
with 1 if a test fails that ``tests.litert_tests.differences`` does not name. With ``--on-litert``
the same is run on the installed ai_edge_litert.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import click

from tests.litert_tests.differences import DIFFERENCES
from tests.litert_tests.imports import changed
from tests.litert_tests.models import write_models
from tests.litert_tests.stand_ins import FOLDER

ROOT = Path(__file__).parents[2]
FILE = Path("tflite/python/interpreter_test.py")


@click.command()
@click.argument("checkout", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--on-litert", is_flag=True, help="Run them on ai_edge_litert instead.")
@click.option("--show", is_flag=True, help="Print why each test failed.")
def main(checkout: Path, on_litert: bool, show: bool) -> None:
    """Run the tests of a CHECKOUT of google-ai-edge/LiteRT and print a table."""
    if not (checkout / FILE).is_file():
        raise click.ClickException(f"{checkout} has no {FILE}")
    with tempfile.TemporaryDirectory() as name:
        cases = _cases(checkout, Path(name), "ai_edge_litert" if on_litert else "tvm_qnn.litert")
    counts = Counter[str]()
    for test, problem in cases:
        kind = "passed" if problem is None else problem[0]
        if kind == "failed" and test in DIFFERENCES and not on_litert:
            kind = "differs by design"
            if show:
                print(f"  {test}: {DIFFERENCES[test]}")
        elif problem and show:
            print(f"  {test}: {kind}: {problem[1]}")
        counts[kind] += 1
    kinds = ("passed", "differs by design", "skipped", "failed")
    print(f"| file | {' | '.join(kinds)} |\n|---|---:|---:|---:|---:|")
    print(f"| {FILE.name} | {' | '.join(str(counts[kind]) for kind in kinds)} |")
    raise SystemExit(int(counts["failed"] > 0))


def _cases(checkout: Path, folder: Path, package: str) -> list[tuple[str, tuple[str, str] | None]]:
    """Run the tests; return each one's name, and what kept it from passing."""
    copy, report = folder / FILE.name, folder / "report.xml"
    copy.write_text(changed((checkout / FILE).read_text(), package))
    write_models(checkout, folder)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "addopts="]
    command += [f"--rootdir={folder}", f"--junitxml={report}", str(copy)]
    environment = {**os.environ, FOLDER: str(folder), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    if not report.exists() or "collection failure" in report.read_text():
        raise click.ClickException(f"{FILE.name}: cannot be run\n{done.stdout[-2000:]}")
    cases: list[tuple[str, tuple[str, str] | None]] = []
    for case in ElementTree.parse(report).iter("testcase"):
        test = f"{(case.get('classname') or '').rsplit('.', 1)[-1]}::{case.get('name')}"
        problem = None
        for kind, tag in (("skipped", "skipped"), ("failed", "failure"), ("failed", "error")):
            if (found := case.find(tag)) is not None:
                problem = kind, (found.get("message") or "")[:300]
        cases.append((test, problem))
    return cases


if __name__ == "__main__":
    main()
