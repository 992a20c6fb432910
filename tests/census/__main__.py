"""Compares every .tflite file under a folder with LiteRT's reference kernels.

python -m tests.census ../shared/models/tflite
python -m tests.census FOLDER --json > census.json
"""

import json
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape

from tests.census.table import tables
from tests.census.trial import try_file


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--seconds", default=900.0, show_default=True, help="For one file on either side.")
@click.option("--json", "as_json", is_flag=True, help="Print what became of each file as JSON.")
def main(folder: Path, seconds: float, as_json: bool) -> None:
    """Import, build and compare; ends with 1 if a file differs or a process crashed."""
    progress = Console(stderr=True, highlight=False, soft_wrap=True)
    outcomes = []
    for file in sorted(folder.rglob("*.tflite")):
        outcomes.append(try_file(folder, file, seconds))
        last = outcomes[-1]
        progress.print(escape(": ".join([last.file, last.kind, *last.reasons[:1]])))
    if as_json:
        click.echo(json.dumps([asdict(outcome) for outcome in outcomes], indent=1))
    else:
        click.echo(tables(outcomes), nl=False)
    if {outcome.kind for outcome in outcomes} & {"differs", "crashed"}:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
