"""What a compiled function's loops consist of."""

import re
from typing import Any

import tvm

_FUNCTION = re.compile(r"\t\.type\t(\w+),[@%]function")
# Checks of arguments, functions that raise errors, and conversions of float16.
_AROUND = ("__tvm_ffi", "__tvm_set_raised", "__truncsfhf2", "__extendhfsf2")
_LABEL = re.compile(r"(\.L\w+):")
_JUMP = re.compile(r"\t[a-z][\w.]*\s+(?:.*\s)?(\.L\w+)$")


def loops(function: Any, target: Any) -> list[list[str]]:
    """Return the instructions of each loop of a PrimFunc, from its label to the jump back to it.

    What TVM writes around the function, to check its arguments, is left out.
    """
    library = tvm.compile(function, target=tvm.target.Target(target)).mod
    _, *bodies = _FUNCTION.split(library.inspect_source("asm"))
    return [
        loop
        for name, body in zip(bodies[::2], bodies[1::2], strict=True)
        if not name.startswith(_AROUND)
        for loop in _loops(body)
    ]


def _loops(body: str) -> list[list[str]]:
    lines = [line.split("@")[0].rstrip() for line in body.splitlines()]
    labels = {match[1]: i for i, line in enumerate(lines) if (match := _LABEL.match(line))}
    jumps = [(i, match[1]) for i, line in enumerate(lines) if (match := _JUMP.match(line))]
    return [lines[labels[to] : i + 1] for i, to in jumps if labels.get(to, i + 1) <= i]
