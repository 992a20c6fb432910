"""Runs ONNX Runtime's own tests of its sessions on ``tvm_qnn.onnxruntime``.

python -m tests.onnxruntime_tests CHECKOUT    # a checkout of microsoft/onnxruntime

The files are as of v1.21.0. Each is copied to a folder with its import lines changed
(``tests.onnxruntime_tests.imports``), beside the models that it reads, and run by pytest. The
command ends with 1 if a test fails that ``tests.onnxruntime_tests.differences`` does not name. With
``--on-onnxruntime`` the same is run on the installed onnxruntime.
"""

import tempfile
from dataclasses import replace
from pathlib import Path

import click

from tests.onnxruntime_tests.differences import DIFFERENCES, SAY_NOTHING
from tests.onnxruntime_tests.imports import changed
from tests.onnxruntime_tests.models import write_models
from tests.support.peer_tests import BY_DESIGN, FAILED, PASSED, SKIPPED, Case, Table, run_file

FOLDER = Path("onnxruntime/test/python")
FILES = ("onnxruntime_test_python.py", "onnxruntime_test_python_iobinding.py")


@click.command()
@click.argument("checkout", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--on-onnxruntime", is_flag=True, help="Run them on onnxruntime instead.")
@click.option("--show", is_flag=True, help="Print why each test did not pass.")
def main(checkout: Path, on_onnxruntime: bool, show: bool) -> None:
    """Run the tests of a CHECKOUT of microsoft/onnxruntime and print a table."""
    files = [checkout / FOLDER / name for name in FILES]
    if missing := [file for file in files if not file.is_file()]:
        raise click.ClickException(f"{checkout} has no {missing[0].relative_to(checkout)}")
    table = Table(PASSED, BY_DESIGN, SKIPPED, FAILED, show=show)
    for file in files:
        with tempfile.TemporaryDirectory() as name:
            copy = Path(name, file.name)
            copy.write_text(changed(file.read_text(), on_onnxruntime))
            write_models(checkout / "onnxruntime/test/testdata", copy.parent / "testdata")
            cases = map(_counted, run_file(copy))
            table.add(file.name, cases, {} if on_onnxruntime else DIFFERENCES)
    raise SystemExit(int(table.failed > 0))


def _counted(case: Case) -> Case:
    """Return a test as it counts: one that says nothing on this machine is skipped."""
    reason = SAY_NOTHING.get(case.test)
    return replace(case, kind=SKIPPED, reason=reason) if reason else case


if __name__ == "__main__":
    main()
