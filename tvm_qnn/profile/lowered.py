"""Assigns the functions of a compiled model to the file's operators.

Tensors keep their names until the operators are lowered; then TVM's own passes fuse and rename. But
these passes keep the hand-written kernels, and their order. So each kernel that runs marks a
position in the lowered function, and a function that runs between two kernels comes from between
their calls.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relax, tirx

from legalize.kernels.isa import amx
from legalize.kernels.kernel import IS_KERNEL

LAST_PASS = "LegalizeQnn"
"""The pass that leaves no operator of the dialect."""


# A reshape runs no function.
_RESHAPE = tvm.ir.Op.get("relax.reshape")


@dataclass(frozen=True)
class LoweredCall:
    """One call of the lowered function.

    Attributes:
        kernel: the name of the kernel that it calls, if it calls one.
        operator: the number of its operator, if this is known.
    """

    kernel: str | None
    operator: int | None


@tvm.instrument.pass_instrument
class KeptModule:
    """Keeps the module as it is before or after some pass; TVM calls its methods."""

    def __init__(self, *, before: str = "", after: str = "") -> None:
        """Begin without a module."""
        self._before, self._after = before, after
        self.mod: tvm.IRModule | None = None

    def run_before_pass(self, mod: tvm.IRModule, info: Any) -> None:
        """Keep the module that the pass gets."""
        self.mod = mod if info.name == self._before else self.mod

    def run_after_pass(self, mod: tvm.IRModule, info: Any) -> None:
        """Keep the module that the pass returns."""
        self.mod = mod if info.name == self._after else self.mod


def lowered_calls(mod: tvm.IRModule, operators: Mapping[str, int]) -> list[LoweredCall]:
    """Return the calls in ``main`` in order, each with the operator to whose result it leads.

    Args:
        mod: the lowered module.
        operators: an operator's number by the name of the variable that holds its result.
    """
    kernels = {
        variable.name_hint
        for variable, function in mod.functions_items()
        if isinstance(function, tirx.PrimFunc) and IS_KERNEL in function.attrs
    }
    lowered: list[LoweredCall] = []
    pending: list[str | None] = []
    bindings = [binding for block in mod["main"].body.blocks for binding in block.bindings]
    for binding in bindings:
        if isinstance(binding.value, relax.Call) and binding.value.op != _RESHAPE:
            pending.append(_kernel(binding.value, kernels))
        operator = operators.get(binding.var.name)
        if operator is not None:
            lowered += [LoweredCall(kernel, operator) for kernel in pending]
            pending = []
    return lowered + [LoweredCall(kernel, None) for kernel in pending]


def functions_on_tiles(mod: tvm.IRModule) -> set[str]:
    """Return the names of the kernels that multiply on AMX's tiles."""
    return {
        variable.name_hint
        for variable, function in mod.functions_items()
        if isinstance(function, tirx.PrimFunc)
        and IS_KERNEL in function.attrs
        and amx.PRODUCT in function.script()
    }


def assign(calls: Sequence[str], lowered: Sequence[LoweredCall]) -> list[int | None]:
    """Return the operator of each function that ran, None if it is unclear.

    Args:
        calls: names of the functions, in the order in which they ran.
        lowered: the calls of the lowered function.
    """
    return [next(iter(each)) if len(each) == 1 else None for each in candidates(calls, lowered)]


def candidates(calls: Sequence[str], lowered: Sequence[LoweredCall]) -> list[frozenset[int | None]]:
    """Return for each function that ran the operators that it may belong to; empty if unknown.

    Args:
        calls: names of the functions, in the order in which they ran.
        lowered: the calls of the lowered function.
    """
    anchors = [index for index, call in enumerate(lowered) if call.kernel is not None]
    kernels = {lowered[index].kernel for index in anchors}
    if [name for name in calls if name in kernels] != [lowered[index].kernel for index in anchors]:
        return [frozenset()] * len(calls)
    owners: list[frozenset[int | None]] = []
    done = 0
    for name in calls:
        if name in kernels:
            owners.append(frozenset([lowered[anchors[done]].operator]))
            done += 1
        else:
            before = anchors[done - 1] + 1 if done else 0
            after = anchors[done] if done < len(anchors) else len(lowered)
            owners.append(frozenset(call.operator for call in lowered[before:after]))
    return owners


def _kernel(call: relax.Call, kernels: set[str]) -> str | None:
    function = call.args[0] if call.args else None
    if isinstance(function, tvm.ir.GlobalVar) and function.name_hint in kernels:
        return str(function.name_hint)
    return None
