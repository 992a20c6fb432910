"""Runs PyTorch's own tests of backends of TorchDynamo on ``torch.compile(backend="tvm_qnn")``.

python -m tests.dynamo_tests CHECKOUT    # a checkout of pytorch/pytorch

The file is ``test/dynamo/test_backends.py``, as of commit 00f9d1153e. It is copied to a folder with
the names of backends changed (``CHANGES``) and run by pytest. The command ends with 1 if a test
fails that ``DIFFERENCES`` does not name. With ``--on-pytorch`` the file is run as it is.
"""

import tempfile
from pathlib import Path

import click

from tests.support.peer_tests import (
    BY_DESIGN,
    FAILED,
    PASSED,
    SKIPPED,
    Table,
    run_file,
    with_changes,
)

FILE = Path("test/dynamo/test_backends.py")

CHANGES = (
    (r'(.*_check_backend_works\()"\w+"', r'\1"tvm_qnn"'),
    (r'(.*\bbackend=)"(?:inductor|aot_eager)"', r'\1"tvm_qnn"'),
    (r'(.*(?:lookup_backend|ExplainWithBackend|assertIn)\()"inductor"', r'\1"tvm_qnn"'),
)
"""Pairs of a regular expression for a statement and the text that replaces it."""

_COUNTS = "PyTorch 2.13 counts graphs otherwise, with any backend"
_OPTIONS = "options of other backends are refused"
DIFFERENCES = {
    "TestOptimizationsCPU::test_tvm_cpu": _OPTIONS,
    "TestCustomBackendAPI::test_backend_recompilation": _OPTIONS,
    "TestExplainWithBackend::test_explain_with_backend": _COUNTS,
}
"""The reason by the test's class and name."""


@click.command()
@click.argument("checkout", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--on-pytorch", is_flag=True, help="Run them on PyTorch's backends instead.")
@click.option("--show", is_flag=True, help="Print why each test did not pass.")
def main(checkout: Path, on_pytorch: bool, show: bool) -> None:
    """Run the tests of a CHECKOUT of pytorch/pytorch and print a table."""
    if not (checkout / FILE).is_file():
        raise click.ClickException(f"{checkout} has no {FILE}")
    table = Table(PASSED, BY_DESIGN, SKIPPED, FAILED, show=show)
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name, FILE.name)
        copy.write_text(with_changes((checkout / FILE).read_text(), () if on_pytorch else CHANGES))
        cases = run_file(copy)
    table.add(FILE.name, cases, {} if on_pytorch else DIFFERENCES)
    raise SystemExit(int(table.failed > 0))


if __name__ == "__main__":
    main()
