"""Fuzzes the importers: damaged models must be refused or become valid modules.

python -m tests.fuzz                              # each importer for a minute
python -m tests.fuzz tflite --seconds 3600 --seed 1000000
"""

from pathlib import Path

import click
from rich.console import Console

from tests.fuzz.campaign import run_campaign
from tests.fuzz.importers import IMPORTERS


@click.command()
@click.argument("importers", nargs=-1, type=click.Choice(list(IMPORTERS)))
@click.option("--seconds", default=60.0, show_default=True, help="For each importer.")
@click.option("--seed", default=0, show_default=True, help="Of the first model.")
@click.option(
    "--output",
    default=Path("out/fuzz"),
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder for what is found.",
)
def main(importers: tuple[str, ...], seconds: float, seed: int, output: Path) -> None:
    """Try damaged models; ends with 1 if an importer fails on one."""
    console = Console(highlight=False, soft_wrap=True)
    wrong = 0
    for name in importers or IMPORTERS:
        result = run_campaign(name, seconds, seed)
        for finding in result.findings:
            wrong += 1
            output.mkdir(parents=True, exist_ok=True)
            for ending, content in finding.files.items():
                (output / f"{name}_{finding.seed}.{ending}").write_bytes(content)
            console.print(f"{name} seed {finding.seed}: {finding.what}")
        console.print(
            f"{name}: {result.tried:,} models, {result.refused:,} refused, "
            f"{len(result.findings)} findings"
        )
    if wrong:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
