"""Compiles the models of the tests for every target, on any machine, and runs those that it can.

python -m tests.targets                           # a share, in minutes
python -m tests.targets --all                     # every model for every target, in hours
python -m tests.targets --target riscv64 --target wasm32
python -m tests.targets --minutes 5               # as many models as begin in that time

A model is run where this processor can, else in an emulator where one is installed; its machine
code must have the instructions that the target's kernels are made of, and none that it lacks. What
was tried is kept in a log: the same command goes on where it was stopped, until the code changes.
The share and the whole have logs of their own, as they emulate different models.
"""

import hashlib
import json
import math
import random
import time
from pathlib import Path

import click
from rich.console import Console

from tests.targets.campaign import Task, run_all, tasks
from tests.targets.models import models
from tests.targets.processors import ROWS
from tests.targets.table import table, write_table
from tests.targets.trial import Outcome

_ROOT = Path(__file__).parents[2]
_CODE = ("qnn_ops", "legalize", "frontends", "tvm_qnn", "tests/targets", "tests/differential")


@click.command()
@click.option("--all", "whole", is_flag=True, help="Every model for every target.")
@click.option("--target", "targets", multiple=True, type=click.Choice(list(ROWS)))
@click.option("--jobs", default=1, show_default=True, type=click.IntRange(min=1))
@click.option(
    "--files",
    default=2,
    show_default=True,
    type=click.IntRange(min=0),
    help="Files of twelve random graphs.",
)
@click.option("--no-emulators", is_flag=True, help="Only run what this processor can.")
@click.option(
    "--minutes",
    type=click.FloatRange(min=0),
    help="After which no model begins. The order is another one for other code.",
)
@click.option(
    "--output",
    default=Path("out/targets"),
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder for the log.",
)
@click.option(
    "--write",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file that has marks for the table.",
)
def main(
    whole: bool,
    targets: tuple[str, ...],
    jobs: int,
    files: int,
    no_emulators: bool,
    minutes: float | None,
    output: Path,
    write: Path | None,
) -> None:
    """Compile, run and check models for targets; ends with 1 if anything is wrong."""
    console, start = Console(highlight=False, soft_wrap=True), time.perf_counter()
    rows = [row for name, row in ROWS.items() if not targets or name in targets]
    work = tasks(models(files), rows, whole=whole)
    output.mkdir(parents=True, exist_ok=True)
    digest = _digest_of_code()
    log = output / f"{'all' if whole else 'share'}_{digest}.jsonl"
    done = _known(log)
    left = [
        Task(
            task.model,
            [row for row in task.rows if (task.model.name, row.name) not in done],
            task.emulate and not no_emulators,
        )
        for task in work
    ]
    if minutes is not None:
        random.Random(digest).shuffle(left)
    seconds = math.inf if minutes is None else 60 * minutes
    with log.open("a") as file:
        for outcome in run_all(left, jobs=jobs, seconds=seconds):
            done[outcome.model, outcome.target] = outcome
            file.write(json.dumps(outcome.fields()) + "\n")
            file.flush()
            if outcome.problem or outcome.refused:
                what = outcome.problem or f"refused: {outcome.refused}"
                console.print(f"{outcome.model}, {outcome.target}: {what}", markup=False)
    wanted = [(task.model.name, row.name) for task in work for row in task.rows]
    outcomes = [done[pair] for pair in wanted if pair in done]
    text = table(rows, outcomes)
    console.print(text, markup=False)
    taken = (time.perf_counter() - start) / 60
    processor = sum(outcome.seconds for outcome in outcomes)
    count = len({outcome.model for outcome in outcomes})
    console.print(f"{count} models, {processor:,.0f} s of a processor; now {taken:.1f} minutes")
    if count < len(work):
        console.print(f"{len(work) - count} models were not tried or are not imported")
    if write is not None:
        write_table(write, text)
    if any(outcome.problem for outcome in outcomes):
        raise SystemExit(1)


def _known(log: Path) -> dict[tuple[str, str], Outcome]:
    entries = map(json.loads, log.read_text().splitlines()) if log.exists() else ()
    outcomes = [Outcome(**entry) for entry in entries]
    return {(outcome.model, outcome.target): outcome for outcome in outcomes}


def _digest_of_code() -> str:
    digest = hashlib.blake2b(digest_size=6)
    for folder in _CODE:
        for file in sorted((_ROOT / folder).rglob("*.py")):
            digest.update(file.read_bytes())
    return digest.hexdigest()


if __name__ == "__main__":
    main()
