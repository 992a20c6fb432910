"""Shows whether a change of the sources changes what is compiled.

python -m tests.fingerprint take out/before.json                 # before a refactoring
python -m tests.fingerprint compare out/before.json              # after it: equal, or what differs
python -m tests.fingerprint compare out/before.json out/after.json
python -m tests.fingerprint take out/quick.json --models 'digits/*' --models 'random/0[0-4]'

Models are lowered for every named target, up to where TVM makes machine code; nothing is
compiled. A file is for the machine where it was taken, and for its versions of TVM and numpy.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tests.fingerprint.fingerprint import WAYS, Fingerprint, compare, matching, take
from tests.fingerprint.models import models

FILE = click.Path(dir_okay=False, path_type=Path)
OLD_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group()
def main() -> None:
    """Show whether a change of the sources changes what is compiled."""


def share(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that choose a share of the cases, and how it is worked on."""
    for option in (
        click.option("--jobs", default=1, show_default=True, type=click.IntRange(min=1)),
        click.option(
            "--targets",
            multiple=True,
            metavar="PATTERN",
            help="Only targets whose name this fits, as 'x86-*'; 'primitives' is without kernels.",
        ),
        click.option(
            "--models",
            "names",
            multiple=True,
            metavar="PATTERN",
            help="Only models whose name this fits, as 'zoo/*'. May be repeated.",
        ),
    ):
        command = option(command)
    return command


@main.command("take")
@click.argument("file", type=FILE)
@share
def take_command(file: Path, names: Sequence[str], targets: Sequence[str], jobs: int) -> None:
    """Write the fingerprint of the sources as they are to FILE."""
    ways = matching(list(WAYS), targets)
    cases = {name: ways for name in matching(list(models()), names) if ways}
    if not cases:
        raise click.ClickException("there is no such model or target")
    fingerprint = _taken(cases, jobs)
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(
        f"{json.dumps(name)}: {{\n"
        + ",\n".join(f"{json.dumps(way)}: {json.dumps(hashes)}" for way, hashes in each.items())
        + "\n}"
        for name, each in fingerprint.items()
    )
    file.write_text(f"{{\n{lines}\n}}\n")


@main.command("compare")
@click.argument("old", type=OLD_FILE)
@click.argument("new", type=OLD_FILE, required=False)
@share
def compare_command(
    old: Path, new: Path | None, names: Sequence[str], targets: Sequence[str], jobs: int
) -> None:
    """Compare OLD with NEW, or with the sources as they are; ends with 1 if a case differs."""
    before = _part(json.loads(old.read_text()), names, targets)
    if not before:
        raise click.ClickException(f"{old} has no such model or target")
    if new is None:
        known = models()
        after = _taken({name: list(before[name]) for name in before if name in known}, jobs)
    else:
        after = _part(json.loads(new.read_text()), names, targets)
    comparison = compare(before, after)
    console = Console(highlight=False, markup=False, soft_wrap=True)
    for (model, difference), ways in comparison.grouped.items():
        console.print(f"{model} for {', '.join(ways)}: {difference}")
    console.print(f"{comparison.equal:,} cases are equal, {len(comparison.differing):,} differ")
    if comparison.differing:
        raise SystemExit(1)


def _part(whole: Fingerprint, names: Sequence[str], targets: Sequence[str]) -> Fingerprint:
    return {
        name: {way: whole[name][way] for way in ways}
        for name in matching(list(whole), names)
        if (ways := matching(list(whole[name]), targets))
    }


def _taken(cases: Mapping[str, Sequence[str]], jobs: int) -> Fingerprint:
    """Take a fingerprint, and show how far it is."""
    console, start = Console(highlight=False, stderr=True), time.perf_counter()
    columns: list[Any] = [MofNCompleteColumn(), BarColumn(), TimeElapsedColumn()]
    found: Fingerprint = {}
    with Progress(*columns, TextColumn("{task.description}"), console=console) as progress:
        task = progress.add_task("", total=len(cases))
        for name, hashes in take(cases, jobs):
            found[name] = hashes
            progress.update(task, advance=1, description=name)
        progress.update(task, description="")
    number = sum(map(len, found.values()))
    console.print(f"{number:,} cases in {time.perf_counter() - start:.0f} s")
    return {name: found[name] for name in sorted(found)}


if __name__ == "__main__":
    main()
