"""Calls of kernels, and their addition to a module."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

from tvm import relax, tirx

from legalize.kernels.kernel import CALLS_BY_NAME, IS_KERNEL, IS_SMALL, SAME_CODE, Builder
from legalize.loop_functions import OPAQUE, add_function, function_digest

KEPT_APART = {IS_KERNEL: True, "op_pattern": OPAQUE}
"""The attributes of a function that passes leave as it is, and fuse with no other."""

SORTED_LAST = "z_"
"""The beginning of the names of functions without "noalias".

TVM 0.27 compiles such a function as if it had the attribute if a function that has it follows in
the order of names. LLVM then lifts loads of constants out of loops, and spills them.
"""


Hear: TypeAlias = Callable[[str, tirx.PrimFunc], None]
"""Takes a kernel's name and function."""

_HEARS: ContextVar[Hear] = ContextVar("_HEARS", default=lambda _name, _function: None)


@contextmanager
def heard(hear: Hear) -> Iterator[None]:
    """During the block, tell of each kernel that is to be called by name, once it is written."""
    token = _HEARS.set(hear)
    try:
        yield
    finally:
        _HEARS.reset(token)


def call_tir(
    builder: Builder,
    name: str,
    function: tirx.PrimFunc,
    operands: list[relax.Expr],
    shape: tuple[int, ...],
    dtype: str,
    into: relax.Expr | None = None,
) -> relax.Expr:
    """Add a function to the module and call it.

    Args:
        builder: the module's builder.
        name: the function's name, if no other has it. Functions with ``SAME_CODE`` are equal if
            they have the same name, which contains the digest.
        function: takes the operands and the result.
        operands: tensors.
        shape: the result's shape.
        dtype: the result's dtype.
        into: a tensor; the function writes a part of it. The result is this tensor, which nothing
            else may read. Without it the result is a new tensor.
    """
    mod = builder.get()
    noted = dict(mod.attrs or {})
    if SAME_CODE in function.attrs and name in mod:
        variable = mod.get_global_var(name)
    else:
        small = {IS_SMALL: True} if IS_SMALL in noted else {}
        variable = add_function(builder, name, function, **KEPT_APART, **small)
        if CALLS_BY_NAME in noted:
            _HEARS.get()(str(variable.name_hint), builder.get()[variable])
    ty = relax.TensorType(shape, dtype)
    if into is None:
        return builder.emit(relax.call_tir(variable, operands, ty))
    last = len(operands)
    return builder.emit(relax.op.call_tir_inplace(variable, [*operands, into], last, ty))


def call_written(
    builder: Builder, function: tirx.PrimFunc, operands: Sequence[relax.Expr]
) -> relax.Expr:
    """Add a function of known sizes to the module and call it.

    The function has its own symbol as its name, and the result is its last parameter.
    """
    name, output = str(function.attrs["global_symbol"]), function.params[-1]
    shape = tuple(map(int, output.shape))
    return call_tir(builder, name, function, list(operands), shape, str(output.dtype))


def with_code(function: tirx.PrimFunc) -> tirx.PrimFunc:
    """Note the digest of a function's code: as ``SAME_CODE``, and in its name."""
    code = function_digest(function)
    name = f"{function.attrs['global_symbol']}_{code}"
    return function.with_attrs({SAME_CODE: code, "global_symbol": name})


def shares_code(builder: Builder, data: relax.Expr) -> bool:
    """Tell whether a call of a kernel may share its function with others.

    It may if another call makes the data: then TVM checks no argument of the function.
    """
    is_inner = isinstance(data, relax.Var) and builder.lookup_binding(data) is not None
    noted = builder.get().attrs or {}
    return is_inner and CALLS_BY_NAME in noted and IS_SMALL not in noted
