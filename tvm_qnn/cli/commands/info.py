"""`tvm-qnn info`."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tvm_qnn.cli.commands.outputs import json_option, print_json

if TYPE_CHECKING:
    from tvm_qnn.library.metadata import Metadata


_V2 = {"sse3", "ssse3", "sse4.1", "sse4.2", "popcnt"}
_V3 = _V2 | {"avx", "avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt", "movbe"}
_V4 = _V3 | {f"avx512{part}" for part in ("f", "bw", "cd", "dq", "vl")}
_ICE = _V4 | {f"avx512{part}" for part in ("vnni", "bitalg", "ifma", "vbmi", "vbmi2", "vpopcntdq")}
_ZEN5 = _ICE | {"avx512bf16", "avxvnni"}
_PROCESSORS = {
    "x86_64": (
        ("Intel from Nehalem, AMD from Jaguar", _V2),
        ("Intel from Haswell, AMD from Zen", _V3),
        ("Intel from Alder Lake, AMD from Zen 5", _V3 | {"avxvnni"}),
        ("Intel Xeon from Skylake, AMD from Zen 4", _V4),
        ("Intel Xeon from Cascade Lake, AMD from Zen 4", _V4 | {"avx512vnni"}),
        ("Intel Xeon from Ice Lake, AMD from Zen 4", _ICE),
        ("Intel Xeon from Sapphire Rapids, AMD from Zen 5", _ZEN5),
        ("Intel Xeon from Sapphire Rapids", _ZEN5 | {"amx-tile", "amx-int8", "amx-bf16"}),
    ),
    "aarch64": (
        ("every 64-bit ARM processor", {"neon"}),
        ("ARM from Cortex-A75 and Neoverse N1", {"neon", "dotprod"}),
        ("ARM from Cortex-X2 and Neoverse V1", {"neon", "dotprod", "i8mm"}),
    ),
}
"""The processors that have all of some extensions, with older processors first."""


@click.command()
@click.argument("library", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@json_option
def info(library: Path, as_json: bool) -> None:
    """Show the description in LIBRARY, a file ending in .so; none of its code is loaded.

    This is: inputs, outputs and states; the targets of its code, and the one that this machine runs
    or why it runs none; the versions that made it, and its SHA-256. --json lists each extension of
    the instruction set that it needs.
    """
    # Imported late, so that `tvm-qnn --help` answers at once.
    from tvm_qnn.io.text import visible
    from tvm_qnn.library.files import read_origin

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
        needs = _in_words(each.requirements.platform, each.requirements.extensions)
        lines.append(f"  for {each.processor}: {needs}{note}")
    lines += [f"  cannot run here: {reason}"] if reason else []
    lines.append("  made with " + ", ".join(map(" ".join, taken.versions.items())))
    click.echo(visible("\n".join(lines), kept="\n"))


def _in_words(platform: str, extensions: Collection[str]) -> str:
    """Name the processors that run a library, or the needed extensions if none is known."""
    from tvm_qnn.target.processor import parts

    architecture, system = parts(platform)
    where = f"{system.capitalize()} on {architecture}"
    if not extensions:
        return where
    for title, has in _PROCESSORS.get(architecture, ()):
        if has.issuperset(extensions):
            return f"{where}: {title}"
    return f"{where}, needs {', '.join(extensions)}"


def _fields(variant: Metadata) -> dict[str, Any]:
    return {
        "target": json.loads(variant.target_text),
        "platform": variant.requirements.platform,
        "needs": list(variant.requirements.extensions),
    }
