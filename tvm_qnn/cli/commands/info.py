"""`tvm-qnn info`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tvm_qnn.cli.commands.json_output import json_option, print_json

if TYPE_CHECKING:
    from tvm_qnn.library.metadata import Metadata


@click.command()
@click.argument("library", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@json_option
def info(library: Path, as_json: bool) -> None:
    """Show what LIBRARY, a file ending in .so, tells of itself; none of its code is loaded.

    Inputs, outputs and states; the targets that it has code for, which of them is taken on this
    machine, or why none is; the versions that made it, and its SHA-256.
    """
    # Not before it is needed: `tvm-qnn --help` answers at once.
    from tvm_qnn.io.text import visible
    from tvm_qnn.library.library import read_origin

    origin = read_origin(library)
    taken = origin.metadata
    reason = taken.why_not_here()
    if as_json:
        print_json(
            {
                "file": str(library),
                "bytes": library.stat().st_size,
                "sha256": origin.digest,
                **json.loads(taken.signature.to_json()),
                "variants": [
                    {**_fields(each), "taken": each is taken and reason is None}
                    for each in (taken, *taken.others)
                ],
                "why_not_here": reason,
                "versions": dict(taken.versions),
            }
        )
        return
    lines = [f"{library}: {library.stat().st_size / 1e6:.1f} MB, SHA-256 {origin.digest}"]
    signature = taken.signature
    lines += [f"  {role} {each.describe()}" for role, each in signature.by_role()]
    for each in (taken, *taken.others):
        note = "  (taken here)" if each is taken and reason is None else ""
        extensions = ", ".join(each.requirements.extensions) or "nothing else"
        needs = f"{each.requirements.platform}, needs {extensions}"
        lines.append(f"  for {each.processor}: {needs}{note}")
    lines += [f"  cannot run here: {reason}"] if reason else []
    lines.append("  made with " + ", ".join(map(" ".join, taken.versions.items())))
    click.echo(visible("\n".join(lines), kept="\n"))


def _fields(variant: Metadata) -> dict[str, Any]:
    return {
        "target": json.loads(variant.target_text),
        "platform": variant.requirements.platform,
        "needs": list(variant.requirements.extensions),
    }
