"""The models of the tests as plain C, compiled by gcc with its sanitizers, or by every compiler.

python -m tests.targets.plain_c --files 84 'random graphs'
python -m tests.targets.plain_c --matrix              # each network by each compiler, at each level
python -m tests.targets.plain_c --matrix --inputs 1 --level -O2 digits kws
"""

import tempfile
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from qnn_ops.errors import QnnError
from tests.support.plain_c import SANITIZERS, run_plain_c
from tests.targets.models import Model, models
from tests.targets.networks import Network, networks
from tests.targets.plain_c_matrix import LEVELS, cells, compilers, table


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


def run_matrix(
    networks_: Sequence[Network], levels: Sequence[str], inputs: int, cores: Sequence[str]
) -> bool:
    """Run networks by every compiler that is here, and print a table.

    Args:
        networks_: which ones.
        levels: of optimization.
        inputs: how many of each network.
        cores: the names of compilers; none for all.

    Returns:
        Whether no output differs.
    """
    found, tools = [], []
    for tool in compilers():
        if cores and tool.name not in cores:
            continue
        if tool.missing:
            click.echo(f"{tool.name}: {tool.missing}")
        else:
            tools.append(tool)
    for network in networks_:
        for cell in cells(network, tools, levels, inputs):
            found.append(cell)
            said = cell.problem or cell.impossible or "equal"
            click.echo(f"{cell.network}, {cell.compiler} {cell.level}: {said}")
    click.echo(table(found, tools))
    return not any(cell.problem for cell in found)


@click.command()
@click.argument("names", nargs=-1)
@click.option("--files", default=12, show_default=True, help="How many files of random graphs.")
@click.option("--matrix", is_flag=True, help="Networks by every compiler, here and on boards.")
@click.option("--inputs", default=20, show_default=True, help="Of each network of the matrix.")
@click.option("--level", "levels", multiple=True, type=click.Choice(LEVELS), default=LEVELS)
@click.option("--compiler", "cores", multiple=True, help="One of the matrix; by default all.")
def main(
    names: Sequence[str],
    files: int,
    matrix: bool,
    inputs: int,
    levels: Sequence[str],
    cores: Sequence[str],
) -> None:
    """Compile and run each model whose name has one of NAMES in it, or all."""
    warnings.simplefilter("ignore")

    def wanted(name: str) -> bool:
        return not names or any(each in name for each in names)

    if matrix:
        chosen = [network for network in networks() if wanted(network.name)]
        raise SystemExit(0 if run_matrix(chosen, levels, inputs, cores) else 1)
    found: Counter[str] = Counter()
    for model in models(files):
        if not wanted(model.name):
            continue
        said = outcome(model)
        found[said.partition(":")[0]] += 1
        click.echo(f"{model.name}: {said}")
    click.echo(", ".join(f"{count} {said}" for said, count in found.items()))


if __name__ == "__main__":
    main()
