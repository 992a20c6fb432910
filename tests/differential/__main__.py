"""Runs random quantized graphs here and on LiteRT's reference kernels, and compares.

python -m tests.differential                      # 10,000 graphs
python -m tests.differential --graphs 500 --seed 7
"""

from __future__ import annotations

import time
from pathlib import Path

import click
from rich.console import Console

from tests.differential.trial import run_trial

PER_FILE = 20
WAYS = {"both": (False, True), "kernels": (True,), "primitives": (False,)}


@click.command()
@click.option("--graphs", default=10_000, show_default=True, type=click.IntRange(min=1))
@click.option("--seed", default=0, show_default=True, help="Of the first file.")
@click.option(
    "--way",
    default="both",
    show_default=True,
    type=click.Choice(list(WAYS)),
    help="Primitives take most of the time.",
)
@click.option("--target", default="host", show_default=True)
@click.option(
    "--output",
    default=Path("out/differential"),
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder for files with a mismatch.",
)
def main(graphs: int, seed: int, way: str, target: str, output: Path) -> None:
    """Compare random graphs with LiteRT; ends with 1 if an element of an output differs."""
    console, start = Console(highlight=False), time.perf_counter()
    files = -(-graphs // PER_FILE)
    operators = wrong = 0
    for number in range(files):
        try:
            trial = run_trial(seed + number, PER_FILE, target, WAYS[way])
        except Exception:
            console.print(f"seed {seed + number}:")
            raise
        operators += trial.operators
        for mismatch in trial.mismatches:
            wrong += 1
            by = "kernels" if mismatch.kernels else "primitives"
            console.print(
                f"seed {trial.seed} graph {mismatch.graph} {by}: {mismatch.differing} elements "
                f"differ by up to {mismatch.worst}; {trial.save(output)}"
            )
        if number % 10 == 9 or number + 1 == files:
            minutes = (time.perf_counter() - start) / 60
            console.print(
                f"{PER_FILE * (number + 1):,} graphs, {operators:,} operators, {way}: "
                f"{wrong} outputs differ; {minutes:.1f} minutes"
            )
    if wrong:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
