"""Runs random quantized graphs here and on their own framework, and compares.

python -m tests.differential                      # 10,000 graphs, with LiteRT's reference kernels
python -m tests.differential --format tflite-open # with open sizes, each graph in three
python -m tests.differential --format onnx        # with ONNX Runtime
python -m tests.differential --format onnx-open --per-file 1  # with first axes of three sizes
python -m tests.differential --format torch --per-file 4  # with ExecuTorch's delegate to XNNPACK
python -m tests.differential --graphs 500 --seed 7
python -m tests.differential --per-file 2         # small models, which become one function
python -m tests.differential --target all         # for every target; run where this machine can

What was compared is kept in a log: the same command again goes on where it was stopped.
"""

import json
import time
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from tests.differential.file import RefusedError
from tests.differential.trial import FILES, run_trial
from tests.targets.processors import ROWS

WAYS = {"both": (False, True), "kernels": (True,), "primitives": (False,)}


@click.command()
@click.option("--graphs", default=10_000, show_default=True, type=click.IntRange(min=1))
@click.option("--format", default="tflite", show_default=True, type=click.Choice(list(FILES)))
@click.option("--seed", default=0, show_default=True, help="Of the first file.")
@click.option(
    "--way",
    default="both",
    show_default=True,
    type=click.Choice(list(WAYS)),
    help="Primitives take most of the time.",
)
@click.option(
    "--target",
    default="host",
    show_default=True,
    help="What to compile for; all: everything that tests.targets knows.",
)
@click.option(
    "--per-file",
    default=25,
    show_default=True,
    type=click.IntRange(min=1),
    help="Graphs of a file. Many take less time; a few become one function.",
)
@click.option(
    "--output",
    default=Path("out/differential"),
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder for the log, and for files with a mismatch; a new one for other code.",
)
def main(
    graphs: int, format: str, seed: int, way: str, target: str, per_file: int, output: Path
) -> None:
    """Compare random graphs with their framework; ends with 1 if an output's element differs."""
    console, start = Console(highlight=False), time.perf_counter()
    output.mkdir(parents=True, exist_ok=True)
    log = output / f"{'' if format == 'tflite' else f'{format}_'}{way}_{target}_{per_file}.jsonl"
    done = _known(log)
    seeds = range(seed, seed + -(-graphs // per_file))
    for number in seeds:
        if number not in done:
            done[number] = _compare(format, number, per_file, way, target, output)
            with log.open("a") as file:
                file.write(json.dumps(done[number]) + "\n")
            for problem in done[number]["problems"]:
                console.print(f"seed {number}: {problem}")
        if number % 10 == 9 or number == seeds[-1]:
            entries = [done[each] for each in seeds if each in done]
            minutes = (time.perf_counter() - start) / 60
            done_so_far = _summary(entries, per_file)
            console.print(f"{done_so_far}, {way}, {target}; {minutes:.1f} minutes")
    if any(done[each]["problems"] for each in seeds):
        raise SystemExit(1)


def _known(log: Path) -> dict[int, dict[str, Any]]:
    entries = map(json.loads, log.read_text().splitlines()) if log.exists() else ()
    return {entry["seed"]: entry for entry in entries}


def _compare(
    format: str, seed: int, per_file: int, way: str, target: str, output: Path
) -> dict[str, Any]:
    targets = [row.target for row in ROWS.values()] if target == "all" else [target]
    try:
        trial = run_trial(seed, per_file, targets, WAYS[way], format)
    except RefusedError as error:
        return {"seed": seed, "operators": 0, "problems": [], "refused": str(error)[:2000]}
    except Exception as error:  # as much of a finding as a wrong number
        problem = f"{type(error).__name__}: {error}"[:2000]
        return {"seed": seed, "operators": 0, "problems": [problem]}
    problems = [
        f"graph {mismatch.graph} by {'kernels' if mismatch.kernels else 'primitives'}: "
        f"{f'for {mismatch.target} ' if target == 'all' else ''}"
        f"{mismatch.differing} elements differ by up to {mismatch.worst}; {trial.save(output)}"
        for mismatch in trial.mismatches
    ]
    return {"seed": seed, "operators": trial.operators, "problems": problems}


def _summary(entries: list[dict[str, Any]], per_file: int) -> str:
    """Count the comparisons, without files that the framework refuses."""
    operators = sum(entry["operators"] for entry in entries)
    wrong = sum(bool(entry["problems"]) for entry in entries)
    refused = sum("refused" in entry for entry in entries)
    graphs = per_file * (len(entries) - refused)
    text = f"{graphs:,} graphs, {operators:,} operators: {wrong} files differ"
    return f"{text}, {refused} refused by the framework" if refused else text


if __name__ == "__main__":
    main()
