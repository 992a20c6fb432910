"""The targets of microcontrollers and other machines without an operating system, by name."""

import re
from collections.abc import Mapping
from typing import Any

from qnn_ops.errors import QnnError

HARD_FLOAT = "+hardfloat"
"""The end of a target's name if floats are passed in registers of their own."""


def _thumb(version: str, cpu: str, *extensions: str) -> dict[str, Any]:
    fields: dict[str, Any] = {"kind": "llvm", "mtriple": f"{version}-none-eabi", "mcpu": cpu}
    return {**fields, "mattr": list(extensions)} if extensions else fields


# A Cortex-M0+ calls functions for divisions, for products of 64 bits and for floats. Its libraries
# only have the platform's names for these; for "thumbv6m-none-eabi" LLVM would take GNU's names.
_M0PLUS = {**_thumb("thumbv6m", "cortex-m0plus"), "mtriple": "thumbv6m-unknown-none-gnueabi"}

# Some chips with these cores have no floating-point unit.
_NO_FLOATS = "-fpregs"
# LLVM 22 multiplies vectors of words, when it converts them to floats, by a wrong power of two.
_NO_FLOAT_VECTORS = "-mve.fp"

_RISCV32 = {"kind": "llvm", "mtriple": "riscv32-unknown-none-elf", "mattr": ["+m", "+c"]}

PLAIN_C = "c99"
"""The key of a target whose code is C."""

NAMES: dict[str, dict[str, Any]] = {
    "cortex-m0plus": _M0PLUS,
    "cortex-m3": _thumb("thumbv7m", "cortex-m3"),
    "cortex-m4": _thumb("thumbv7em", "cortex-m4", _NO_FLOATS),
    "cortex-m7": _thumb("thumbv7em", "cortex-m7", _NO_FLOATS),
    "cortex-m33": _thumb("thumbv8m.main", "cortex-m33", _NO_FLOATS),
    "cortex-m55": _thumb("thumbv8.1m.main", "cortex-m55", _NO_FLOAT_VECTORS),
    "cortex-m85": _thumb("thumbv8.1m.main", "cortex-m85", _NO_FLOAT_VECTORS),
    "riscv32": _RISCV32,
    "wasm32": {"kind": "llvm", "mtriple": "wasm32-unknown-unknown"},
    # For any processor, by its own compiler. The kernels use no special instructions.
    "c": {**_RISCV32, "keys": [PLAIN_C, "cpu"], "vector-width": 64},
}
"""Targets by name. If a Cortex has a floating-point unit, ``HARD_FLOAT`` may follow its name."""

_HAVE_FLOATS = ("cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55", "cortex-m85")

_BARE = re.compile(r"thumb.*-none|riscv32.*-none|wasm32")
_DIVIDES = re.compile(r"thumbv[78].*-none")
_ARM = re.compile(r"(arm|thumb)(?!64)")

# The widest reads of LLVM in bits, and so the alignment of tensors, by the beginning of triples.
# TVM knows them for its own architectures. For others it takes 128, and warns at each build.
_VECTOR_BITS = {
    r"thumbv8\.1m": 64,
    r"thumb|riscv32": 32,
    r"(?!x86|amd64|i\d86|arm|aarch64|riscv)": 128,
}


def with_hard_floats(name: str) -> dict[str, Any] | None:
    """Return the target of a name that ends in ``HARD_FLOAT``; None if there is none.

    Args:
        name: a name such as "cortex-m4+hardfloat".
    """
    core = name.removesuffix(HARD_FLOAT)
    if core == name or core not in _HAVE_FLOATS:
        return None
    fields = {**NAMES[core], "mtriple": f"{NAMES[core]['mtriple']}hf"}
    mattr = [each for each in fields.pop("mattr", ()) if each != _NO_FLOATS]
    return {**fields, "mattr": mattr} if mattr else fields


def with_vector_bits(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a target's options with the width of its vectors, if TVM does not know it."""
    triple = str(fields.get("mtriple", ""))
    for pattern, bits in _VECTOR_BITS.items() if triple else ():
        if re.match(pattern, triple):
            return {"vector-width": bits, **fields}
    return dict(fields)


def check_floats(fields: Mapping[str, Any], target: object) -> None:
    """Check that a target passes floats in the way of its platform's libraries.

    LLVM calls the compiler's own functions in the way that the platform's name implies, and all
    other functions as the option says. If these differ, conversions of floats give wrong integers.

    Raises:
        QnnError: if they differ.
    """
    triple, way = str(fields.get("mtriple", "")), fields.get("mfloat-abi")
    if not _ARM.match(triple) or way is None or (way == "hard") == triple.endswith("hf"):
        return
    other = f"{triple}hf" if way == "hard" else triple.removesuffix("hf")
    raise QnnError(
        f"the target {str(target)!r} has -mfloat-abi={way}, but its platform {triple} does not "
        f"pass floats so, and results would be wrong: take -mtriple={other}, or no "
        "-mfloat-abi"
    )


def is_bare(target: Any) -> bool:
    """Tell whether only C files are of use on a target, since no system can load code.

    Args:
        target: TVM's target.
    """
    return _BARE.match(str(target.attrs.get("mtriple", ""))) is not None


def is_plain_c(target: Any) -> bool:
    """Tell whether the code of a target is C99.

    Args:
        target: TVM's target.
    """
    return PLAIN_C in target.keys


def saves_flash(target: Any) -> bool:
    """Tell whether one function for several layers is worth some more instructions.

    It is on Cortex-M, except for cores that divide by calling a function: there the divisors
    would no longer be constants.

    Args:
        target: TVM's target.
    """
    return is_plain_c(target) or _DIVIDES.match(str(target.attrs.get("mtriple", ""))) is not None


def has_loops(target: Any) -> bool:
    """Tell whether a core has instructions for loops; LLVM does not unroll loops that use them.

    Args:
        target: TVM's target, for Cortex-M.
    """
    return str(target.attrs["mtriple"]).startswith("thumbv8.1m")


def alignment_of(target: Any) -> int | None:
    """Return the alignment of tensors in bytes; None for machines with an operating system.

    Args:
        target: TVM's target.
    """
    bits = target.attrs.get("vector-width") if is_bare(target) else None
    return None if bits is None else int(bits) // 8
