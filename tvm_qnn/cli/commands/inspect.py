"""`tvm-qnn inspect`."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tvm_qnn.cli.commands.options import FILE, NEW_FILE, ModelFile, model_argument, progress
from tvm_qnn.cli.commands.outputs import check_file, json_option, print_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from frontends.formats import Source
    from frontends.summary import Summary, TensorNote
    from tvm_qnn.inspect.changes import Changes
    from tvm_qnn.io.terminal import Terminal


@click.command()
@model_argument
@click.option("--ir", is_flag=True, help="Print the module of quantized operators.")
@click.option(
    "--html", type=NEW_FILE, help="A file for one page with the graph, to open in a browser."
)
@click.option(
    "--model-explorer",
    "explorer",
    type=NEW_FILE,
    help="A .json file with the graph, to open in Google's Model Explorer.",
)
@click.option(
    "--times", is_flag=True, help="With a file of the graph: compile, and time each operator."
)
@click.option(
    "--against",
    type=FILE,
    help="Another model of the same format: list how MODEL differs; the page shows it in colours.",
)
@json_option
def inspect(
    model: ModelFile,
    ir: bool,
    html: Path | None,
    explorer: Path | None,
    times: bool,
    against: Path | None,
    as_json: bool,
) -> None:
    """Show the contents of MODEL, and which of its operators become integer code.

    It lists inputs, outputs, quantization, operators with their counts and products (MACs), and
    parameters. It names the operators that become integer code, those that fall back to float32,
    and those that cannot be imported, with the reason.
    """
    written = [path for path in (html, explorer) if path is not None]
    if times and not written:
        raise click.UsageError("--times is for the graph: give --html or --model-explorer, too")
    if ir and (as_json or written or against is not None):
        raise click.UsageError(
            "--ir prints the module only: leave out --json, --against and files of the graph"
        )
    from tvm_qnn.io.outputs import write_text
    from tvm_qnn.io.terminal import Terminal
    from tvm_qnn.io.text import to_json, visible

    source = model.read()
    for path in written:
        check_file(path)
    if ir:
        click.echo(visible(source.convert(model.shapes).mod.script(show_meta=False), kept="\n"))
        return
    summary = source.summary(model.path.name, model.shapes)
    changes = None if against is None else _changes(model, source, summary, against)
    seconds = _seconds(model) if times else None
    if html is not None:
        from tvm_qnn.inspect.report import html_report

        page = html_report(summary, seconds, constants=source.constants(), changes=changes)
        write_text(html, page)
    if explorer is not None:
        from tvm_qnn.inspect.model_explorer import model_explorer_graph

        write_text(explorer, to_json(model_explorer_graph(summary, seconds)))
    if as_json:
        told = {} if changes is None else {"against": _as_json(changes)}
        print_json({**asdict(summary), "macs": summary.macs, **told})
    elif changes is not None:
        _print_changes(Terminal(), summary, changes)
    else:
        _print(Terminal(), summary)


def _seconds(model: ModelFile) -> dict[str, float]:
    from tvm_qnn.io.progress import timed
    from tvm_qnn.profile.layers import profile

    with timed(progress(), f"Compile {model.path.name} and time its operators"):
        found = profile(model.file, **model.reading)
    return {layer.name: layer.seconds for layer in found.layers}


def _changes(model: ModelFile, source: Source, summary: Summary, against: Path) -> Changes:
    from tvm_qnn.inspect.changes import Described, changes_of

    other = replace(model, path=against, params=None)
    read = other.read()
    theirs = Described(read.summary(against.name, other.shapes), read.constants())
    return changes_of(Described(summary, source.constants()), theirs)


def _as_json(changes: Changes) -> dict[str, Any]:
    """Return the operators of MODEL by their indices, and removed ones by theirs."""
    other = changes.other.summary
    return {
        "name": other.name,
        "equal": len(changes.partners) - len(changes.changed),
        "changed": [
            {
                "place": place,
                "place_there": changes.partners[place],
                "changes": [each._asdict() for each in found],
            }
            for place in changes.changed
            if (found := changes.changes[place])
        ],
        "added": list(changes.added),
        "removed": [asdict(other.operators[place]) for place in changes.removed],
    }


def _print_changes(console: Terminal, summary: Summary, changes: Changes) -> None:
    from rich.table import Table

    from tvm_qnn.io.terminal import styled

    other, changed = changes.other.summary, changes.changed
    counts = f"{len(changes.partners) - len(changed)} operators are equal, {len(changed)} changed"
    counts += f", {len(changes.added)} added, {len(changes.removed)} removed"
    console.print(styled(summary.name), " beside ", styled(other.name), f": {counts}", sep="")
    table = Table("", "operator", "gives", "in its")
    for operators, places, kind in (
        (summary.operators, changed, "changed"),
        (summary.operators, changes.added, "added"),
        (other.operators, changes.removed, "removed"),
    ):
        for place in places:
            operator = operators[place]
            found = changes.changes[place] if kind == "changed" else ()
            told = ", ".join(dict.fromkeys(each.what for each in found))
            what = f"{operator.index} {operator.code}"
            table.add_row(kind, what, styled(operator.name, ""), told)
    if table.row_count:
        console.print(table)


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
    for entry in summary.signatures:
        ends = (
            (title, _told(notes)) for title, notes in (("", entry.inputs), ("→ ", entry.outputs))
        )
        told = "  ".join(f"{title}{text}" for title, text in ends if text)
        console.print("  signature ", styled(entry.name), f"  {told}", sep="")
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


def _told(notes: Sequence[TensorNote]) -> str:
    return ", ".join(
        f"{note.name} {_description(replace(note, quantization=''))}" for note in notes
    )


def _description(note: TensorNote) -> str:
    parts = [note.dtype, "×".join(map(str, note.shape)), note.quantization]
    return "  ".join(part for part in parts if part)
