"""`tvm-qnn inspect`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tvm_qnn.cli.commands.json_output import json_option, print_json
from tvm_qnn.cli.commands.options import ModelFile, model_argument, progress
from tvm_qnn.cli.commands.outputs import check_file

if TYPE_CHECKING:
    from frontends.summary import Summary, TensorNote
    from tvm_qnn.io.terminal import Terminal


@click.command()
@model_argument
@click.option("--ir", is_flag=True, help="Print the module of quantized operators.")
@click.option(
    "--html",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A file for one page with the graph, to open in a browser.",
)
@click.option("--times", is_flag=True, help="With --html: compile, and time each operator.")
@json_option
def inspect(
    model: ModelFile,
    ir: bool,
    html: Path | None,
    times: bool,
    as_json: bool,
) -> None:
    """Show what MODEL holds, and what becomes integer code.

    Inputs, outputs, quantization, operators with their counts and products (MACs), parameters;
    which operators are lowered to integers, which fall back to float32, which cannot be imported
    and why.
    """
    if times and html is None:
        raise click.UsageError("--times is for the page: give --html, too")
    if ir and (as_json or html is not None):
        raise click.UsageError("--ir prints the module only: leave out --json and --html")
    from tvm_qnn.io.text import visible

    source = model.read()
    if html is not None:
        check_file(html)
    if ir:
        click.echo(visible(source.convert(model.shapes).mod.script(show_meta=False), kept="\n"))
        return
    summary = source.summary(model.path.name, model.shapes)
    if html is not None:
        from tvm_qnn.inspect import html_report
        from tvm_qnn.io.outputs import write_text

        seconds = _seconds(model) if times else None
        write_text(html, html_report(summary, seconds))
    if as_json:
        print_json({**asdict(summary), "macs": summary.macs})
    else:
        from tvm_qnn.io.terminal import Terminal

        _print(Terminal(), summary)


def _seconds(model: ModelFile) -> dict[str, float]:
    from tvm_qnn.io.progress import timed
    from tvm_qnn.profile import profile

    with timed(progress(), f"Compile {model.path.name} and time its operators"):
        found = profile(
            model.path, params=model.params, shapes=model.shapes, semantics=model.semantics
        )
    return {layer.name: layer.seconds for layer in found.layers}


def _print(console: Terminal, summary: Summary) -> None:
    from rich.table import Table

    from tvm_qnn.io.terminal import styled

    size = f"{summary.parameters:,} parameters in {summary.parameter_bytes / 1e6:,.2f} MB"
    work = f", {summary.macs / 1e6:,.1f} M MACs" if summary.macs else ""
    holds = f"{len(summary.operators)} operators, {size}{work}"
    console.print(styled(summary.name), f", {summary.format}: {holds}", sep="")
    for title, notes in (("input", summary.inputs), ("output", summary.outputs)):
        for note in notes:
            console.print(f"  {title} ", styled(note.name), f"  {_description(note)}", sep="")
    if summary.inputs and not any(note.dtype for note in summary.inputs):
        name = summary.inputs[0].name
        console.print(f"  shapes and MACs depend on the input's: --shape {name}=1,3,224,224")
    table = Table("operator")
    table.add_column("count", justify="right")
    table.add_column("M MACs", justify="right")
    table.add_column("computed in")
    for code, lowering, count, macs in summary.counts():
        table.add_row(code, str(count), f"{macs / 1e6:,.1f}" if macs else "", lowering)
    console.print(table)
    groups: dict[tuple[str, str], list[int]] = {}
    for operator in summary.unsupported:
        groups.setdefault((operator.code, operator.reason), []).append(operator.index)
    for (kind, reason), indices in groups.items():
        places = ", ".join(map(str, indices))
        refused = styled(f"{kind} cannot be imported", "red")
        console.print(refused, f": {reason} (operator {places})", sep="")


def _description(note: TensorNote) -> str:
    parts = [note.dtype, "×".join(map(str, note.shape)), note.quantization]
    return "  ".join(part for part in parts if part)
