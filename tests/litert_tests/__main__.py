"""Runs LiteRT's own tests of its interpreter on ``tvm_qnn.litert``.

python -m tests.litert_tests CHECKOUT    # a checkout of google-ai-edge/LiteRT

The file is ``tflite/python/interpreter_test.py``, as of commit f67457790c. It is copied to a folder
with its import lines changed (``tests.litert_tests.imports``), beside the models that it reads, and
run by pytest. It takes of TensorFlow what ``tests.litert_tests.stand_ins`` has. The command ends
with 1 if a test fails that ``tests.litert_tests.differences`` does not name. With ``--on-litert``
the same is run on the installed ai_edge_litert.
"""

import tempfile
from pathlib import Path

import click

from tests.litert_tests.differences import DIFFERENCES
from tests.litert_tests.imports import changed
from tests.litert_tests.models import write_models
from tests.litert_tests.stand_ins import FOLDER
from tests.support.peer_tests import BY_DESIGN, FAILED, PASSED, SKIPPED, Table, run_file

FILE = Path("tflite/python/interpreter_test.py")


@click.command()
@click.argument("checkout", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--on-litert", is_flag=True, help="Run them on ai_edge_litert instead.")
@click.option("--show", is_flag=True, help="Print why each test failed.")
def main(checkout: Path, on_litert: bool, show: bool) -> None:
    """Run the tests of a CHECKOUT of google-ai-edge/LiteRT and print a table."""
    if not (checkout / FILE).is_file():
        raise click.ClickException(f"{checkout} has no {FILE}")
    package = "ai_edge_litert" if on_litert else "tvm_qnn.litert"
    table = Table(PASSED, BY_DESIGN, SKIPPED, FAILED, show=show)
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name, FILE.name)
        copy.write_text(changed((checkout / FILE).read_text(), package))
        write_models(checkout, copy.parent)
        cases = run_file(copy, environment={FOLDER: name})
    table.add(FILE.name, cases, {} if on_litert else DIFFERENCES)
    raise SystemExit(int(table.failed > 0))


if __name__ == "__main__":
    main()
