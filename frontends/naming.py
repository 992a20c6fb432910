"""Names variables of modules from TVM's importers after the operators whose results they hold."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import tvm
from tvm import relax
from tvm_ffi import structural_map


def owners(
    codes: Sequence[str],
    operands: Sequence[int | None],
    quantizing: Collection[str],
    dequantizing: Collection[str],
    clamping: Collection[str],
) -> list[int]:
    """Return the operator that owns each operator's result, by their numbers.

    A quantize belongs to the operator that computed its operand, and so does a clamp between them:
    these are one group. Every other operator owns its own result.

    Args:
        codes: the operators' kinds.
        operands: the number of the operator that makes each operator's first operand, if any.
        quantizing: kinds of operators that quantize.
        dequantizing: kinds of operators that dequantize.
        clamping: kinds of operators that become part of a quantized one.
    """
    found = []
    for number, code in enumerate(codes):
        owner: int | None = number
        if code in quantizing:
            owner = operands[number]
            while owner is not None and codes[owner] in clamping:
                before = operands[owner]
                if before is None or codes[before] in dequantizing:
                    break
                owner = before
        is_own = owner is None or codes[owner] in (*quantizing, *dequantizing)
        found.append(number if is_own or owner is None else owner)
    return found


def with_results(
    mod: tvm.IRModule, results: Iterable[tuple[Any, int]], codes: Sequence[str]
) -> tuple[tvm.IRModule, dict[str, int]]:
    """Rename the variables that hold operators' results.

    Args:
        mod: a module whose ``main`` is not yet rewritten.
        results: the variables of results, and the number of the operator that owns each, in the
            order of the file. If an operator has several variables, the last gets the name.
        codes: the operators' kinds.

    Returns:
        The module, and the operators' numbers by the names of their variables.
    """
    last = {
        number: variable for variable, number in results if isinstance(variable, relax.DataflowVar)
    }
    names = {
        variable: f"{''.join(c if c.isalnum() else '_' for c in codes[number])}_{number}"
        for number, variable in last.items()
    }
    renamed = {each: relax.DataflowVar(name, each.ty) for each, name in names.items()}
    mod = mod.clone()
    mod["main"] = structural_map(
        mod["main"], (relax.DataflowVar, lambda each: renamed.get(each, each))
    )
    return mod, {names[each]: number for number, each in last.items()}
