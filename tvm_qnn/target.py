"""What to compile for: targets from text, and whether this machine can run their code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import tvm
from tvm.target import codegen

from qnn_ops.errors import QnnError

TargetLike: TypeAlias = "str | Mapping[str, Any] | tvm.target.Target"

EXTENSIONS = frozenset(
    (
        *("sse3", "ssse3", "sse4.1", "sse4.2", "avx", "avx2", "fma", "f16c", "avxvnni"),
        *("popcnt", "lzcnt", "movbe", "bmi", "bmi2", "avxvnniint8"),
        *("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx512vnni"),
        *("avx512ifma", "avx512vbmi", "avx512vbmi2", "avx512bitalg", "avx512vpopcntdq"),
        *("neon", "dotprod", "i8mm", "sve", "sve2"),
    )
)
"""The instruction set extensions that integer code for a processor may use, as LLVM names them.

A processor without one of them stops such code with an illegal instruction. The others that a
processor's name implies (cryptography, half precision, system calls) do not occur in it.
"""


def host_target() -> tvm.target.Target:
    """The target that describes this machine's processor."""
    return tvm.target.Target({"kind": "llvm", "mcpu": codegen.llvm_get_system_cpu()})


def parse_target(target: TargetLike) -> tvm.target.Target:
    """A TVM target from its text, its dict or itself.

    Args:
        target: "host" for this machine; or a kind and options, as in
            "llvm -mcpu=znver4 -mattr=+avx512f,+avx512vnni"; or the same as a dict,
            {"kind": "llvm", "mcpu": "znver4"}; or a ``tvm.target.Target``.

    Raises:
        QnnError: if TVM does not accept it, or LLVM does not know its processor.
    """
    if isinstance(target, tvm.target.Target):
        return target
    if target == "host":
        return host_target()
    if not isinstance(target, (str, Mapping)):
        raise QnnError(f"a target is a text, a dict or a tvm.target.Target, got {target!r}")
    fields = _fields(target) if isinstance(target, str) else dict(target)
    _check_processor(fields, target)
    return _tvm_target(fields, target)


def why_not_here(target: tvm.target.Target) -> str | None:
    """What keeps code for ``target`` from running on this machine; None if nothing does."""
    if target.kind.name != "llvm":
        return None
    triple = str(target.attrs.get("mtriple") or codegen.llvm_get_system_triple())
    if _platform(triple) != _platform(codegen.llvm_get_system_triple()):
        return f"it is for {triple}, this machine is {codegen.llvm_get_system_triple()}"
    missing = EXTENSIONS & (_features(target) - _features(host_target()))
    if missing:
        return f"it needs a processor with {', '.join(sorted(missing))}, which this one lacks"
    return None


def _fields(text: str) -> dict[str, Any]:
    if not text.split():
        raise QnnError("the target is empty; for this machine it is 'host'")
    kind, *options = text.split()
    fields: dict[str, Any] = {"kind": kind}
    for option in options:
        key, separator, value = option.lstrip("-").partition("=")
        if not option.startswith("-") or not separator:
            raise QnnError(f"in the target {text!r}, {option!r} is not of the form -name=value")
        if key in ("mattr", "keys"):
            fields[key] = value.split(",")
        else:
            fields[key] = int(value) if value.isdecimal() else value
    return fields


def _check_processor(fields: Mapping[str, Any], target: TargetLike) -> None:
    # LLVM itself would print a line and go on with a generic processor.
    cpu = fields.get("mcpu")
    if fields.get("kind") != "llvm" or cpu is None:
        return
    without = {key: value for key, value in fields.items() if key not in ("mcpu", "mattr")}
    if cpu not in codegen.llvm_get_cpu_archlist(_tvm_target(without, target)):
        raise QnnError(f"LLVM knows no processor {cpu!r} for the target {target!r}")


def _tvm_target(fields: Mapping[str, Any], target: TargetLike) -> tvm.target.Target:
    try:
        return tvm.target.Target(dict(fields))
    except (ValueError, TypeError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[-1:]
        raise QnnError(f"cannot understand the target {target!r}: {' '.join(reason)}") from None


def _platform(triple: str) -> tuple[str, str]:
    """Architecture and system of "x86_64-pc-linux-gnu"; the vendor does not matter."""
    architecture, *rest = triple.split("-")
    system = next((part for part in rest if part.startswith(("linux", "darwin", "macos"))), "")
    return architecture, system or "-".join(rest)


def _features(target: tvm.target.Target) -> set[str]:
    return {str(feature) for feature in codegen.llvm_get_cpu_features(target)}
