"""`tvm-qnn targets`."""

from typing import Any

import click

from tvm_qnn.cli.commands.outputs import json_option, print_json


@click.command()
@json_option
def targets(as_json: bool) -> None:
    """List the names that --target takes, and the features of this machine.

    --target also takes a processor's name that LLVM knows, as "cortex-a72", and TVM's own targets,
    as "llvm -mcpu=znver4". Options may follow a name: "aarch64 -mcpu=cortex-a72".
    """
    from tvm_qnn.target.boards import BOARDS
    from tvm_qnn.target.target import NAMES, host_target, parse_target

    host = host_target()
    rows: list[tuple[str, object, str | None]] = [("host", host, None)]
    named = ((name, parse_target(name)) for name in (*NAMES, *BOARDS))
    rows += [(name, target, _why_not_here(target)) for name, target in named]
    boards = {name: board.what for name, board in BOARDS.items()} | {"c": "any, as C99"}
    if as_json:
        print_json(
            [
                {
                    "name": name,
                    "board": boards.get(name),
                    "processor": _processor(target),
                    "runs_here": reason is None,
                    "reason": reason,
                }
                for name, target, reason in rows
            ]
        )
        return
    from rich.table import Table

    from tvm_qnn.io.terminal import Terminal, styled

    table = Table("target", "processor or board", "here")
    for name, target, reason in rows:
        here = styled("runs", "green") if reason is None else reason.split(", this machine")[0]
        table.add_row(name, boards.get(name, _processor(target)), here)
    Terminal().print(table)


def _why_not_here(target: Any) -> str | None:
    from tvm_qnn.target.microcontrollers import is_plain_c
    from tvm_qnn.target.target import why_not_here

    return "a C compiler makes the program" if is_plain_c(target) else why_not_here(target)


def _processor(target: object) -> str:
    attributes = target.attrs  # type: ignore[attr-defined]
    parts = [str(attributes.get("mcpu") or "")]
    parts += [str(extension) for extension in attributes.get("mattr") or []]
    return " ".join(part for part in parts if part)
