"""`tvm-qnn profile`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tvm_qnn.cli.commands import options
from tvm_qnn.cli.commands.layer_table import layer_table
from tvm_qnn.cli.commands.outputs import check_file, check_folder, json_option, print_json

if TYPE_CHECKING:
    from tvm_qnn.profile.layers import Profile


@click.command()
@options.model_argument
@options.target_option
@options.rounds_option(20)
@options.folder_option("The folder for the picture.", default=Path("out"), show_default=True)
@json_option
def profile(
    model: options.ModelFile, target: str, rounds: int, output: Path, as_json: bool
) -> None:
    """Show where MODEL spends its time.

    Times each operator on one thread of one core, and counts its operations (a product and its
    addition are two). A layer's peak is the speed of its multiplying instruction, on vectors or on
    AMX's tiles, with all data in registers; it is measured beside the layer. A 3 × 3 convolution
    may exceed it, if a transform saves many of its products. Each operator is called alone, which
    costs some time: their sum is more than a run of `bench` takes. With --json, or without
    matplotlib, no picture is drawn.
    """
    from frontends.formats import format_of
    from tvm_qnn.io.progress import timed
    from tvm_qnn.io.terminal import Terminal
    from tvm_qnn.profile.chart import save_chart
    from tvm_qnn.profile.layers import profile as measure

    format_of(model.file, model.params, model.semantics)
    path = None if as_json else _picture(output, model.path)
    with timed(options.progress(), f"Compile {model.path.name} and time its operators"):
        found = measure(model.file, target, rounds, **model.reading)
    if as_json:
        print_json(asdict(found))
        return
    console = Terminal()
    console.print(_table(found, console.width))
    console.print(_by_operator(found))
    console.print(_summary(found))
    if path is not None:
        output.mkdir(parents=True, exist_ok=True)
        save_chart(path, found, f"{model.path.name}: {_summary(found)}")
        console.print(f"Picture: {path}")


def _picture(folder: Path, model: Path) -> Path | None:
    """Return the path for the picture; None, with a note, if nothing can draw it."""
    from qnn_ops.errors import QnnError
    from tvm_qnn.io.figures import new_figure

    try:
        new_figure(1, 1)
    except QnnError as error:
        click.echo(f"Without a picture: {error}", err=True)
        return None
    check_folder(folder)
    path = folder / f"profile_{model.stem}.png"
    if path.exists():
        check_file(path)
    return path


def _table(found: Profile, width: int) -> Any:
    from tvm_qnn.profile.layers import share_of_peak

    total = sum(layer.seconds for layer in found.layers)
    layers = []
    for layer in found.layers:
        row = ["×".join(map(str, layer.shape)), f"{1e6 * layer.seconds:.1f}"]
        row += [f"{layer.seconds / total:.1%}"]
        if layer.operations:
            row += [f"{layer.speed / 1e9:.0f}", _percent(share_of_peak([layer]))]
        layers.append((layer.name, layer.code, row))
    return layer_table(layers, ("output", "µs", "time", "GOP/s", "of peak"), width)


def _by_operator(found: Profile) -> Any:
    from tvm_qnn.io.terminal import figures_table
    from tvm_qnn.profile.layers import share_of_peak

    table = figures_table(["operator"], ("layers", "µs", "time", "GOP/s", "of peak"))
    total = sum(layer.seconds for layer in found.layers)
    kinds = {
        layer.code: [other for other in found.layers if other.code == layer.code]
        for layer in found.layers
    }
    for code, layers in sorted(kinds.items(), key=lambda kind: -sum(x.seconds for x in kind[1])):
        seconds = sum(layer.seconds for layer in layers)
        work = sum(layer.operations for layer in layers)
        figures = str(len(layers)), f"{1e6 * seconds:.1f}", f"{seconds / total:.1%}"
        row = [code or "(other)", *figures]
        row += [f"{work / seconds / 1e9:.0f}", _percent(share_of_peak(layers))] if work else []
        table.add_row(*row)
    return table


def _summary(found: Profile) -> str:
    speed = found.operations / found.seconds / 1e9
    text = (
        f"{1e3 * found.seconds:.3g} ms a run, {found.operations / 1e9:.3g} GOP, {speed:.0f} GOP/s"
    )
    if found.share is None:
        return text
    peaks = [f"{peak / 1e9:.0f} GOP/s ({name})" for name, peak in found.peaks.items()]
    return f"{text}, {_percent(found.share)} of the measured peak of {' and '.join(peaks)}"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.0%}"
