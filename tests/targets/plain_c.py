"""The models of the matrix as plain C, compiled by gcc with its sanitizers.

python -m tests.targets.plain_c --files 84 'random graphs'
"""

from __future__ import annotations

import tempfile
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from qnn_ops.errors import QnnError
from tests.support.plain_c import SANITIZERS, run_plain_c
from tests.targets.models import Model, models


def outcome(model: Model) -> str:
    """Say what became of a model: equal, refused, not imported, or what differs."""
    loaded = model.load()
    if loaded is None:
        return "not imported"
    with tempfile.TemporaryDirectory() as folder:
        try:
            results = run_plain_c(
                loaded.mod, loaded.params, loaded.inputs, Path(folder), "-O1", *SANITIZERS
            )
        except QnnError as error:
            return f"refused: {error}"
        except AssertionError as error:  # of the compiler, or of the program
            return f"failed: {str(error)[-500:]}"
    return loaded.differs(results) or "equal"


@click.command()
@click.argument("names", nargs=-1)
@click.option("--files", default=12, show_default=True, help="How many files of random graphs.")
def main(names: Sequence[str], files: int) -> None:
    """Compile and run each model whose name has one of NAMES in it, or all."""
    warnings.simplefilter("ignore")
    found: Counter[str] = Counter()
    for model in models(files):
        if names and not any(name in model.name for name in names):
            continue
        said = outcome(model)
        found[said.partition(":")[0]] += 1
        click.echo(f"{model.name}: {said}")
    click.echo(", ".join(f"{count} {said}" for said, count in found.items()))


if __name__ == "__main__":
    main()
