"""Runs TVM's own tests of quantized models, and its tutorials, on the façade ``tvm_qnn.relay``.

python -m tests.former CHECKOUT    # a checkout of apache/tvm that still has Relay

The last commit with ``relay.qnn.<operator>`` is 21095b98bb. The last one that has the tests of
front ends, too, is d93f4ad4b8. The last one with ``relay.qnn.op.<operator>`` is 0276c5a0d8. Each
file is copied to a folder with its import lines changed (``tests.former.imports``) and run by
pytest. The command ends with 1 if a test fails that ``tests.former.differences`` does not name.
"""

import io
import tempfile
from contextlib import redirect_stdout
from importlib.util import find_spec
from pathlib import Path

import click

from tests.former.differences import DIFFERENCES
from tests.former.imports import changed
from tests.former.tutorials import TUTORIALS, run
from tests.support.peer_tests import BY_DESIGN, FAILED, PASSED, Case, Table, run_file

FOLDER = Path("tests/python")
FILES = {
    "relay/test_op_qnn_*.py": "",
    "relay/test_pass_fake_quantization_to_integer.py": "",
    "relay/qnn/test_canonicalizations.py": "",
    "frontend/onnx/test_forward.py": "qlinear or qattention or qgemm or integer",
    "frontend/mxnet/test_qnn_ops_utils.py": "",
}
if find_spec("torch"):
    FILES["frontend/pytorch/qnn_test.py"] = "not imagenet and not mergecomposite"  # torchvision
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
    table = Table(PASSED, BY_DESIGN, FAILED, show=show)
    with tempfile.TemporaryDirectory() as name:
        for file, tests in files:
            copy = Path(name, file.name)
            copy.write_text(changed(file.read_text()))
            cases = run_file(copy, "-p", "tests.former.stand_ins", "-k", tests)
            table.add(file.name, cases, DIFFERENCES)
    for tutorial in TUTORIALS:
        file = checkout / "gallery/how_to" / tutorial
        if file.exists() and only in file.name:
            table.add(file.name, [_tutorial(file)], {})
    raise SystemExit(int(table.failed > 0))


def _tutorial(file: Path) -> Case:
    """Run a tutorial."""
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(io.StringIO()):
        try:
            run(file, Path(folder))
        except Exception as error:  # whatever the tutorial meets
            return Case(file.stem, FAILED, str(error))
    return Case(file.stem)


if __name__ == "__main__":
    main()
