"""`tvm-qnn report`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tvm_qnn.cli.commands import options
from tvm_qnn.cli.commands.layer_table import layer_table
from tvm_qnn.cli.commands.outputs import check_file, json_option, print_json

if TYPE_CHECKING:
    from tvm_qnn.footprint.footprint import Footprint


@click.command()
@options.model_argument
@options.target_option
@options.ram_limit_option
@click.option(
    "--core",
    metavar="CORE",
    help="With --target c: the core whose compiler measures the C code: cortex-m0plus, "
    "cortex-m4, xtensa, rv32imc or avr.",
)
@click.option(
    "--html",
    type=options.NEW_FILE,
    help="A file for one page with a map of the memory, to open in a browser.",
)
@json_option
def report(
    model: options.ModelFile,
    target: str,
    ram_limit: int | None,
    core: str | None,
    html: Path | None,
    as_json: bool,
) -> None:
    """Show how much of a target's memory MODEL takes, layer by layer.

    For each layer it shows products (MACs), constants and code in flash, bytes of the workspace in
    use, and how many channels are left out because they are one number for every input (--json
    lists them). It adds up the RAM, with and without `compile --arena`. For microcontrollers it
    estimates the instructions of layers that have kernels. The figures are those of the C files
    that `tvm-qnn compile` writes. Nothing runs, except with --core: the core's emulator QEMU, if it
    is installed, counts the instructions of a run.
    """
    from qnn_ops.errors import QnnError
    from tvm_qnn.footprint.footprint import footprint
    from tvm_qnn.footprint.page import report_page
    from tvm_qnn.io.outputs import write_text
    from tvm_qnn.io.pages import how_made
    from tvm_qnn.io.progress import timed
    from tvm_qnn.io.terminal import Terminal
    from tvm_qnn.target.target import split_targets

    if html is not None:
        check_file(html)
    if len(split_targets(target)) > 1:
        raise QnnError(f"a report is for one target, got {target!r}")
    with timed(options.progress(), f"Compile {model.path.name} for {target}"):
        found = footprint(model.file, target, **model.reading, ram_limit=ram_limit, core=core)
    if html is not None:
        title = f"{model.path.name} for {target}"
        write_text(html, report_page(title, found, how_made("apache-tvm")))
    if as_json:
        totals = ("macs", "estimated_instructions", "flash", "ram", "arena_ram")
        print_json({**asdict(found), **{name: getattr(found, name) for name in totals}})
        return
    console = Terminal()
    console.print(_table(found, console.width))
    for line in _lines(found):
        console.print(line, soft_wrap=True)


def _table(found: Footprint, width: int) -> Any:
    layers = []
    has_estimates = any(layer.estimated_instructions is not None for layer in found.layers)
    for layer in found.layers:
        left_out = str(sum(map(len, layer.left_out.values())) or "")
        sizes = [layer.constant_bytes, layer.function_bytes, layer.workspace]
        if has_estimates:
            sizes.insert(0, layer.estimated_instructions)
        row = ["×".join(map(str, layer.shape)), left_out, f"{layer.macs:,}" if layer.macs else ""]
        layers.append((layer.name, layer.code, [*row, *map(_number, sizes)]))
    estimates = ["instr.\n(est.)"] if has_estimates else []
    figures = ("output", "left\nout", "MACs", *estimates, "con-\nstants", "code", "work-\nspace")
    return layer_table(layers, figures, width)


def _lines(found: Footprint) -> Iterator[str]:
    parts = {"inputs": found.inputs, "outputs": found.outputs, "states": found.states}
    parts["constants"] = found.copied_bytes
    beside = "".join(f", {name} {size:,}" for name, size in parts.items() if size)
    yield (
        f"RAM {found.ram:,} bytes: workspace {found.workspace:,}{beside}; "
        f"with --arena {found.arena_ram:,}"
    )
    code = "code not known" if found.function_bytes is None else f"code {found.function_bytes:,}"
    flash = found.constant_bytes if found.flash is None else found.flash
    yield f"flash {flash:,} bytes: constants {found.constant_bytes:,}, {code}"
    if (strips := found.strips) is not None:
        rows = "one row" if strips["rows"] == 1 else f"up to {strips['rows']} rows"
        yield (
            f"{strips['layers']} layers run in {strips['count']} strips of {rows}, "
            f"with {strips['repeated_macs']:,} MACs more"
        )
    share = f", {found.macs / found.model_macs:.0%} of the file's" if found.model_macs else ""
    yield f"{found.macs:,} MACs{share}"
    counts = [layer.estimated_instructions for layer in found.layers]
    known = [count for count in counts if count is not None]
    if known:
        without = len(counts) - len(known)
        rest = f"; layers without an estimate: {without}" if without else ""
        yield f"about {sum(known):,} instructions by estimate{rest}"
    if found.counted_instructions is not None:
        yield f"{found.counted_instructions:,} instructions of a run on zeros, counted by QEMU"


def _number(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"
