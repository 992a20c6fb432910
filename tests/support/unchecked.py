"""Compilation without the checks of arguments with which each function of TVM's begins.

They are the same in every function, and up to half of the code of a small one. Instead, the virtual
machine checks the inputs of ``main``, and ``check_arguments`` those of a single function.
"""

from collections.abc import Sequence
from typing import Any

import tvm
from tvm import tirx

from legalize.passes.bodies import TAKES_POINTERS
from tvm_qnn.target.passes import ALWAYS_LEFT_OUT, left_out


def unchecked(*functions: tirx.PrimFunc) -> tvm.transform.PassContext:
    """Return a context that omits the checks, and the parts of functions that ``build`` omits."""
    disabled = [*ALWAYS_LEFT_OUT, *(left_out_by_name(*functions) if functions else ())]
    return tvm.transform.PassContext(disabled_pass=disabled, config={"tirx.disable_assert": True})


def checked() -> tvm.transform.PassContext:
    """Return a context with the checks, but without passes that ``build`` always omits."""
    return tvm.transform.PassContext(disabled_pass=ALWAYS_LEFT_OUT)


def left_out_by_name(*functions: tirx.PrimFunc) -> tuple[str, ...]:
    """Return the passes that ``build`` omits for functions, if it calls them by name."""
    return left_out(*(each.with_attr(TAKES_POINTERS, True) for each in functions))


def check_arguments(function: tirx.PrimFunc, given: Sequence[tuple[Sequence[int], Any]]) -> None:
    """Assert that a function takes arrays of these shapes and dtypes, as its checks would."""
    sizes: dict[tirx.Var, int] = {}
    for each, (shape, dtype) in zip(function.params, given, strict=True):
        assert str(each.dtype) == str(dtype)
        for size, own in zip(each.shape, shape, strict=True):
            known = sizes.setdefault(size, own) if isinstance(size, tirx.Var) else int(size)
            assert known == own
