"""Runs TVM's own tests of quantized models, and its tutorials, on the façade ``tvm_qnn.relay``.

python -m tests.former CHECKOUT    # a checkout of apache/tvm that still has Relay

The last commit with ``relay.qnn.<operator>`` is 21095b98bb. The last one that has the tests of
front ends, too, is d93f4ad4b8. The last one with ``relay.qnn.op.<operator>`` is 0276c5a0d8. Each
file is copied to a folder with its import lines changed (``tests.former.imports``) and run by
pytest. The command ends with 1 if a test fails that ``tests.former.differences`` does not name.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path
from xml.etree import ElementTree

import click

from tests.former.differences import DIFFERENCES
from tests.former.imports import changed
from tests.former.tutorials import TUTORIALS, run

ROOT = Path(__file__).parents[2]
FOLDER = Path("tests/python")
FILES = {
    "relay/test_op_qnn_*.py": "",
    "relay/test_pass_fake_quantization_to_integer.py": "",
    "relay/qnn/test_canonicalizations.py": "",
    "frontend/onnx/test_forward.py": "qlinear or qattention or qgemm or integer",
    "frontend/mxnet/test_qnn_ops_utils.py": "",
}
"""Which tests of which files to run: all of them, or those whose names pytest selects."""


@click.command()
@click.argument("checkout", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--only", default="", help="Files whose names contain this.")
@click.option("--show", is_flag=True, help="Print why each test failed.")
def main(checkout: Path, only: str, show: bool) -> None:
    """Run tests and tutorials of a CHECKOUT of apache/tvm and print a table."""
    found = [
        (file, tests)
        for name, tests in FILES.items()
        for file in sorted((checkout / FOLDER).glob(name))
    ]
    if not found:
        raise click.ClickException(f"{checkout} has no {FOLDER}/{next(iter(FILES))}")
    files = [(file, tests) for file, tests in found if only in file.name]
    print("| file | passed | differs by design | failed |\n|---|---:|---:|---:|")
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        for file, tests in files:
            failed += _run(file, tests, Path(name), show)
    for tutorial in TUTORIALS:
        file = checkout / "gallery/how_to" / tutorial
        if file.exists() and only in file.name:
            failed += _run_tutorial(file)
    raise SystemExit(int(failed > 0))


def _run(file: Path, tests: str, folder: Path, show: bool) -> int:
    """Run a file's tests, print its line of the table, and return how many failed."""
    copy, report = folder / file.name, folder / "report.xml"
    copy.write_text(changed(file.read_text()))
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "addopts="]
    command += ["-p", "tests.former.stand_ins", "-k", tests]
    command += [f"--rootdir={folder}", f"--junitxml={report}", str(copy)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if not report.exists() or "collection failure" in report.read_text():
        raise click.ClickException(f"{file.name}: cannot be run\n{done.stdout[-2000:]}")
    passed, by_design, failed = 0, 0, 0
    for case in ElementTree.parse(report).iter("testcase"):
        problem = next(iter([*case.findall("failure"), *case.findall("error")]), None)
        test = f"{file.stem}::{case.get('name')}"
        if case.find("skipped") is not None:
            continue
        if problem is None:
            passed += 1
        elif test in DIFFERENCES:
            by_design += 1
        else:
            failed += 1
            if show:
                print(f"  {test}: {(problem.get('message') or '')[:300]}")
    print(f"| {file.name} | {passed} | {by_design} | {failed} |", flush=True)
    return failed


def _run_tutorial(file: Path) -> int:
    """Run a tutorial, print its line of the table, and return 1 if it failed."""
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(io.StringIO()):
        try:
            run(file, Path(folder))
            failed = 0
        except Exception as error:  # whatever the tutorial meets
            print(f"  {file.name}: {error}", file=sys.stderr)
            failed = 1
    print(f"| {file.name} | {1 - failed} | 0 | {failed} |", flush=True)
    return failed


if __name__ == "__main__":
    main()
