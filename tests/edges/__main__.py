"""Runs random models of one operator here and on LiteRT's reference kernels, and compares.

With ``--against tflm`` TFLM replaces LiteRT; ``pip install tflite-micro`` installs it.

python -m tests.edges                       # 3,000 models
python -m tests.edges --models 500 --seed 7
python -m tests.edges --only DILATE         # models of that operator alone
python -m tests.edges --list "refused here" # and says which of them LiteRT runs
python -m tests.edges --against tflm        # with the integers of --reference tflm
"""

from collections import Counter
from itertools import count, islice

import click
from rich.console import Console

# Importing them registers their operators.
from tests.edges import arithmetic, choices, layers, moves, places, rows, stablehlo, states  # noqa: F401
from tests.edges.campaign import FRAMEWORKS, GOOD, run_campaign
from tests.edges.draw import RULES, code_of
from tests.support.tflm import missing


@click.command()
@click.option("--models", default=3000, show_default=True, type=click.IntRange(min=1))
@click.option("--seed", default=0, show_default=True, help="Of the first model.")
@click.option("--list", "listed", multiple=True, type=click.Choice(GOOD), help="Tell these, too.")
@click.option("--only", multiple=True, type=click.Choice(sorted(RULES)), metavar="OPERATOR")
@click.option("--against", default="litert", show_default=True, type=click.Choice([*FRAMEWORKS]))
def main(
    models: int, seed: int, listed: tuple[str, ...], only: tuple[str, ...], against: str
) -> None:
    """Compare models of one operator with their framework; ends with 1 if one is a fault."""
    if against == "tflm" and (reason := missing()):
        raise click.ClickException(reason)
    console = Console(highlight=False, markup=False, soft_wrap=True)
    counts: Counter[str] = Counter()
    seeds = (each for each in count(seed) if not only or code_of(each) in only)
    for outcome in run_campaign([*islice(seeds, models)], FRAMEWORKS[against]):
        counts[outcome.kind] += 1
        done = counts.total()
        if outcome.kind not in GOOD or outcome.kind in listed:
            console.print(f"seed {outcome.seed} {outcome.code} {outcome.kind}: {outcome.text}")
        if done % 100 == 0 or done == models:
            summary = ", ".join(f"{number:,} {kind}" for kind, number in counts.items())
            console.print(f"{done:,} models: {summary}")
    if set(counts) - set(GOOD):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
