"""Parses targets, and decides whether this machine can run their code."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import tvm
from tvm.target import codegen

from qnn_ops.errors import QnnError
from tvm_qnn.target import microcontrollers
from tvm_qnn.target.boards import BOARDS
from tvm_qnn.target.options import with_options
from tvm_qnn.target.processor import TILES, Requirements, extensions_here, parts, told_of

TargetLike: TypeAlias = "str | Mapping[str, Any] | tvm.target.Target"

EXTENSIONS = frozenset(
    (
        *("sse3", "ssse3", "sse4.1", "sse4.2", "avx", "avx2", "fma", "f16c", "avxvnni"),
        *("popcnt", "lzcnt", "movbe", "bmi", "bmi2", "avxvnniint8"),
        *("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx512vnni"),
        *("avx512ifma", "avx512vbmi", "avx512vbmi2", "avx512bitalg", "avx512vpopcntdq"),
        *TILES,
        *("neon", "dotprod", "i8mm", "sve", "sve2"),
    )
)
"""The extensions of instruction sets that integer code may use, by LLVM's names.

Code with one of them ends with an illegal instruction on a processor without it. A processor's name
also implies other extensions (cryptography, half precision, system calls); the code has none of
them.
"""


_X86: dict[str, Any] = {"kind": "llvm", "mtriple": "x86_64-linux-gnu"}
_AARCH64: dict[str, Any] = {"kind": "llvm", "mtriple": "aarch64-linux-gnu"}
_ARMV7: dict[str, Any] = {"kind": "llvm", "mtriple": "armv7l-unknown-linux-gnueabihf"}

NAMES: dict[str, dict[str, Any]] = {
    # The first processors with these instructions; later ones run their code, too.
    "x86-sse4.1": {**_X86, "mcpu": "nehalem"},
    "x86-avx2": {**_X86, "mcpu": "haswell"},
    "x86-avx-vnni": {**_X86, "mcpu": "alderlake"},
    "x86-avx512": {**_X86, "mcpu": "skylake-avx512"},
    "x86-avx512-vnni": {**_X86, "mcpu": "cascadelake"},
    "x86-amx": {**_X86, "mcpu": "sapphirerapids"},
    "aarch64": {**_AARCH64, "mattr": ["+neon"]},
    "aarch64-dotprod": {**_AARCH64, "mattr": ["+neon", "+dotprod"]},
    "aarch64-i8mm": {**_AARCH64, "mattr": ["+neon", "+dotprod", "+i8mm"]},
    "armv7-neon": {**_ARMV7, "mattr": ["+neon", "+vfp4", "+thumb2"]},
    **microcontrollers.NAMES,
}
"""Targets by the names that ``parse_target`` takes beside TVM's, for Linux or without a system."""

_HALF_REGISTERS = "prefer-256-bit"  # LLVM's name

_PLATFORMS = ("x86-sse4.1", "aarch64", "armv7-neon")  # one for each architecture


# LLVM's other names for the architectures that it lists.
_ALIASES = re.compile(r"amd64|i[3-9]86|arm64(e|ec)?|(arm|thumb)(eb)?v[4-9][a-z0-9.]*")


def host_target() -> tvm.target.Target:
    """Return the target of this machine's processor."""
    fields: dict[str, Any] = {"kind": "llvm", "mcpu": codegen.llvm_get_system_cpu()}
    # LLVM goes by the processor's name. The processor may have more extensions, or fewer if the
    # system or a virtual machine hides some.
    told = told_of(EXTENSIONS)
    named, here = told & _features(tvm.target.Target(fields)), extensions_here(sorted(told))
    # Missing extensions come first: removing one also removes those that depend on it.
    differing = [f"-{name}" for name in sorted(named - here)]
    differing += [f"+{name}" for name in sorted(here - named)]
    if differing:
        fields["mattr"] = differing
    return tvm.target.Target(_completed(fields))


def parse_target(target: TargetLike) -> tvm.target.Target:
    """Return a TVM target from a text, a dict or a target.

    Args:
        target: "host" for this machine; or one of ``NAMES``, alone or with options, as in
            "aarch64 -mcpu=cortex-a72" (``+hardfloat`` may follow a microcontroller with a
            floating-point unit, as in "cortex-m4+hardfloat"); or one of ``BOARDS`` or a processor,
            also with options, as in "raspberrypi4" or "cortex-a72"; or a kind and options, as in
            "llvm -mcpu=znver4 -mattr=+avx512f,+avx512vnni"; or the same as a dict,
            {"kind": "llvm", "mcpu": "znver4"}; or a ``tvm.target.Target``.

    Raises:
        QnnError: if TVM refuses it, it is not a processor's, LLVM does not know its platform,
            processor or extensions, or it passes floats in another way than its platform.
    """
    if isinstance(target, tvm.target.Target):
        _check_platform(target, target)
        fields = dict(target.export())
        microcontrollers.check_floats(fields, target)
        return target if _completed(fields) == fields else _tvm_target(fields, target)
    if target == "host":
        return host_target()
    if not isinstance(target, (str, Mapping)):
        raise QnnError(f"a target is a text, a dict or a tvm.target.Target, got {target!r}")
    fields = _fields(target) if isinstance(target, str) else dict(target)
    _check_kind(fields.get("kind", "llvm"), target)
    microcontrollers.check_floats(fields, target)
    # First without the options that LLVM only knows for a given platform.
    platform = {key: value for key, value in fields.items() if key not in ("mcpu", "mattr")}
    _check_platform(_tvm_target(platform, target), target)
    _check_processor(fields, platform, target)
    return _tvm_target(fields, target)


def split_targets(text: str) -> list[str]:
    """Return the targets of a text that separates them by commas, as "x86-avx2,x86-amx".

    A comma inside a target, as in "llvm -mattr=+avx2,+fma", is followed by a sign.
    """
    return [part.strip() for part in re.split(r",(?![+-])", text)]


def parse_targets(targets: Sequence[TargetLike]) -> list[tvm.target.Target]:
    """Return the TVM targets of one library's variants, as ``parse_target`` makes them.

    Raises:
        QnnError: as ``parse_target``; or if there are no targets, they have different
            architectures or systems, or two have the same requirements.
    """
    if not targets:
        raise QnnError("a library is for one target or several, got none")
    parsed = [parse_target(target) for target in targets]
    needs = [requirements(target) for target in parsed]
    for place, (target, need) in enumerate(zip(targets, needs, strict=True)):
        if parts(need.platform) != parts(needs[0].platform):
            raise QnnError(
                f"the targets of a library are of one architecture: {str(targets[0])!r} is for "
                f"{needs[0].platform}, {str(target)!r} for {need.platform}"
            )
        for other, known in zip(targets[:place], needs[:place], strict=True):
            if known.extensions == need.extensions:
                raise QnnError(
                    f"of the targets {str(other)!r} and {str(target)!r}, which need the same of a "
                    "processor, one would never be taken: leave it out"
                )
    return parsed


def requirements(target: tvm.target.Target) -> Requirements:
    """Return the requirements of a target's code on the machine that runs it."""
    triple = str(target.attrs.get("mtriple") or codegen.llvm_get_system_triple())
    return Requirements(triple, tuple(sorted(EXTENSIONS & _features(target))))


def why_not_here(target: tvm.target.Target) -> str | None:
    """Say why this machine cannot run a target's code; None if it can."""
    return requirements(target).why_not_here()


def runnable_target(target: TargetLike) -> tvm.target.Target:
    """Return a TVM target, as ``parse_target`` makes it, if this machine can run its code.

    Raises:
        QnnError: as ``parse_target``; or if this machine cannot run the code.
    """
    parsed = parse_target(target)
    if reason := why_not_here(parsed):
        raise QnnError(f"code for {str(target)!r} cannot run here: {reason}")
    return parsed


def _fields(text: str) -> dict[str, Any]:
    if not text.split():
        raise QnnError("the target is empty; for this machine it is 'host'")
    kind, *options = text.split()
    if kind in BOARDS:
        kind, *first = BOARDS[kind].target.split()
        options = [*first, *options]
    fields: dict[str, Any] = dict(_named(kind) or {"kind": kind})
    for option in options:
        key, separator, value = option.lstrip("-").partition("=")
        if not option.startswith("-") or not separator:
            raise QnnError(f"in the target {text!r}, {option!r} is not of the form -name=value")
        if key in ("mattr", "keys"):
            fields[key] = value.split(",")
        else:
            fields[key] = int(value) if value.isdecimal() else value
    return fields


def _named(kind: str) -> dict[str, Any] | None:
    """Return the options of one of ``NAMES`` or of a processor that LLVM knows; None otherwise."""
    named = microcontrollers.with_hard_floats(kind) or NAMES.get(kind)
    if named or kind in tvm.target.Target.list_kinds():
        return named
    platforms = (NAMES[name] for name in _PLATFORMS if _knows(NAMES[name], kind, kind))
    return next(({**platform, "mcpu": kind} for platform in platforms), None)


def _check_kind(kind: Any, target: TargetLike) -> None:
    # Before TVM makes a target: for a graphics card it searches one and prints a line.
    if kind == "llvm":
        return
    if kind in tvm.target.Target.list_kinds():
        raise QnnError(f"a target is a processor, of kind llvm; {str(target)!r} is not")
    names = ", ".join(["host", *NAMES, "llvm"])
    raise QnnError(f"cannot understand the target {target!r}: it begins with none of {names}")


def _check_platform(parsed: tvm.target.Target, target: TargetLike) -> None:
    if parsed.kind.name != "llvm":
        raise QnnError(f"a target is a processor, of kind llvm; {str(target)!r} is not")
    # For an unknown architecture LLVM would end the process.
    triple = str(parsed.attrs.get("mtriple") or codegen.llvm_get_system_triple())
    architecture = triple.split("-")[0]
    known = {str(name) for name in codegen.llvm_get_targets()}
    if architecture not in known and not _ALIASES.fullmatch(architecture):
        raise QnnError(f"LLVM knows no architecture {architecture!r} of the target {str(target)!r}")


def _check_processor(
    fields: Mapping[str, Any], platform: Mapping[str, Any], target: TargetLike
) -> None:
    # LLVM would print a line and go on, with a generic processor or without the extension.
    cpu = fields.get("mcpu")
    if cpu is not None and not _knows(platform, cpu, target):
        others = [name for name in _PLATFORMS if _knows(NAMES[name], cpu, target)]
        hint = f"; it knows it for '{others[0]} -mcpu={cpu}'" if others else ""
        raise QnnError(f"LLVM knows no processor {cpu!r} for the target {target!r}{hint}")
    attributes = fields.get("mattr", ())
    for attribute in attributes if isinstance(attributes, list | tuple) else ():
        sign, name = str(attribute)[:1], str(attribute)[1:]
        with_it = _tvm_target({**platform, "mattr": [f"+{name}"]}, target)
        if sign not in ("+", "-") or name not in _features(with_it):
            raise QnnError(
                f"LLVM knows no extension {attribute!r} (+name or -name) for the target {target!r}"
            )


def _knows(platform: Mapping[str, Any], cpu: str, target: TargetLike) -> bool:
    return cpu in codegen.llvm_get_cpu_archlist(_tvm_target(platform, target))


def _for_hard_floats(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a platform that ends in hf, for code that links with its libraries.

    LLVM does not recognize "gnueabihf" in a name without a vendor. It then passes arguments to the
    compiler's own functions in the wrong registers, so that conversions of floats give wrong
    integers. For "eabihf" it calls other functions than C's memcpy and memset.
    """
    triple = str(fields.get("mtriple", ""))
    if not triple.endswith("hf"):
        return fields
    architecture, *rest = triple.removesuffix("-eabihf").split("-")
    if triple.endswith("-eabihf"):
        rest.append("gnueabihf")
    if len(rest) == 2:
        triple = "-".join([architecture, "unknown", *rest])
    return {"mfloat-abi": "hard", **fields, "mtriple": triple}


def _with_whole_registers(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a processor, for loops that use whole registers.

    For some processors with registers of 512 bits LLVM makes vectors of 256 bits, which do not
    lower the clock; but the kernels use all 512 bits anyway.
    """
    extensions = list(fields.get("mattr", ()))
    told = any(str(each)[1:] == _HALF_REGISTERS for each in extensions)
    if told or "mcpu" not in fields or _HALF_REGISTERS not in _features(tvm.target.Target(fields)):
        return fields
    return {**fields, "mattr": [*extensions, f"-{_HALF_REGISTERS}"]}


def _completed(fields: dict[str, Any]) -> dict[str, Any]:
    fields = _with_whole_registers(_for_hard_floats(fields))
    return with_options(microcontrollers.with_vector_bits(fields))


def _tvm_target(fields: Mapping[str, Any], target: TargetLike) -> tvm.target.Target:
    try:
        return tvm.target.Target(_completed(dict(fields)))
    except (ValueError, TypeError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[-1:]
        raise QnnError(f"cannot understand the target {target!r}: {' '.join(reason)}") from None


def _features(target: tvm.target.Target) -> set[str]:
    return {str(feature) for feature in codegen.llvm_get_cpu_features(target)}
