"""The bodies of the functions that a plan calls, in sequence."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from math import prod
from string import digits
from typing import Any

import tvm
from tvm import s_tir, tirx
from tvm.relax.analysis import has_reshape_pattern
from tvm.tirx.buffer import decl_buffer

from legalize.call_plan import Call, Place, is_number
from legalize.kernels.border import BORDER
from legalize.kernels.kernel import IS_KERNEL, SAME_CODE
from legalize.loop_functions import function_digest, nodes_in, root_block, storing_function
from qnn_ops.dialect.sizes import sizes_of

TAKES_POINTERS = "qnn.takes_pointers"
"""The attribute of functions that ``called`` makes."""

SET_ASIDE = "qnn.set_aside"
"""The attribute of functions whose code ``set_aside`` took. Its value is the code's name."""

_WRAPPED = 1  # the tvm::CallingConv of functions that TVM leaves without a wrapper for its runtime

# This emits no instruction. LLVM keeps no values of memory in registers across it.
BARRIER = "qnn_barrier"
_BARRIER_CODE = f"""
define linkonce_odr hidden void @{BARRIER}() alwaysinline {{
  call void asm sideeffect "", "~{{memory}}"()
  ret void
}}
"""


def body_of(function: tirx.PrimFunc, call: Call, pointer: Callable[[Place], Any]) -> list[Any]:
    """Return the statements of a called function, its tensors at these addresses, and a barrier.

    The function's variables become those of the statements: ``s_tir.renew_defs`` makes others. The
    barrier between two bodies makes LLVM compile each separately. If LLVM forwards the values
    that one body stores into the shuffles of the next, its instruction selection may not end.
    """
    assert not call.sizes  # functions of open sizes are called by name
    tensors = [
        tirx.DeclBuffer(parameter, data=pointer(place))
        for parameter, place in zip(function.params, call.arguments, strict=True)
    ]
    barrier = tirx.Evaluate(tirx.call_extern("void", BARRIER))
    return [*_any_sizes(function), *tensors, function.body, barrier]


def called(function: tirx.PrimFunc, sizes: Sequence[tirx.Var]) -> tirx.PrimFunc:
    """Return a function that ``call_by_name`` calls, with a pointer for each of its tensors.

    After the pointers it takes its open sizes. It returns 0, or another number after an error that
    the runtime keeps.
    """
    given = [each for each in function.params if not is_number(each)]
    pointers = [tirx.Var(f"argument_{i}", "handle") for i in range(len(given))]
    tensors = [
        tirx.DeclBuffer(parameter, data=tirx.reinterpret("handle", each))
        for parameter, each in zip(given, pointers, strict=True)
    ]
    body = root_block(tirx.SeqStmt([*_any_sizes(function), *tensors, function.body]))
    # With "noalias" LLVM writes more code, which is not faster.
    attrs = {"calling_conv": _WRAPPED, "tirx.noalias": False, TAKES_POINTERS: True}
    parameters = [*pointers, *sizes]
    result = storing_function(parameters, body, tvm.ir.PrimType("int32"))
    result = result.with_attrs({**function.attrs, **attrs})
    # Nothing reads the border any more, and functions of any border may have the same code.
    return result.without_attr(BORDER)


def _any_sizes(function: tirx.PrimFunc) -> list[Any]:
    """Return the statements that set a function's variables for sizes, if no code reads them."""
    if SAME_CODE not in function.attrs:
        return []
    sizes = (size for each in function.params for size in each.shape)
    variables = dict.fromkeys(size for size in sizes if isinstance(size, tirx.Var))
    return [tirx.Bind(each, tirx.const(1, each.ty.dtype)) for each in variables]


def linked_name(name: str, function: tirx.PrimFunc) -> str:
    """Return a name for the linker, with a digest of the code.

    A function of another library, or of C, has the same name only if it is equal. The names of
    functions of tensors have a single underscore before a digest.
    """
    code = function.attrs.get(SAME_CODE) or function_digest(function)
    return f"{name.partition(f'_{code}')[0].rstrip(digits)}__{code}"


def call_by_name(name: str, arguments: Sequence[Any]) -> list[Any]:
    """Return the call of a function that ``called`` made, with its pointers and sizes."""
    result = tirx.call_extern("int32", name, *arguments)
    error = tirx.Evaluate(tirx.call_intrin("void", "tirx.tvm_throw_last_error"))
    return [tirx.IfThenElse(result != 0, error, None)]


def copied(to: Any, source: Any, size: int) -> list[Any]:
    """Return the statements that copy bytes."""
    target, data = (decl_buffer((size,), "uint8", name) for name in ("to", "from"))
    place = tirx.Var("i", "int32")
    stored = tirx.BufferStore(target, data[place], [place])
    loop = tirx.For(place, 0, size, tirx.ForKind.SERIAL, stored)
    return [tirx.DeclBuffer(target, data=to), tirx.DeclBuffer(data, data=source), loop]


def with_barrier(statements: list[Any]) -> tirx.Stmt:
    """Return the root block of a function whose statements may contain the barrier."""
    body = tirx.AttrStmt(
        *(tirx.IntImm("int32", 0), "pragma_import_llvm", tvm.ir.StringImm(_BARRIER_CODE)),
        tirx.SeqStmt(statements),
    )
    return root_block(body)


def is_view(function: Any) -> bool:
    """Tell whether a function only copies a tensor, perhaps to another shape."""
    if not isinstance(function, tirx.PrimFunc) or IS_KERNEL in function.attrs:
        return False
    # The index of a lookup along an axis of size 1 is also an argument, which nothing reads. Taking
    # the first rows of a tensor has the pattern, too.
    tensors = [each for each in function.params if isinstance(each.ty, tirx.BufferType)]
    counts = [prod(sizes_of(each.shape)) for each in tensors]
    return len(counts) == 2 and counts[0] == counts[1] and bool(reshapes(function))


def reshapes(function: tirx.PrimFunc) -> bool | None:
    """Tell whether a function copies a tensor in order; None if TVM cannot tell.

    For some transposes of open sizes, such as n + 2 rows, TVM ends with an error.
    """
    with suppress(tvm.error.InternalError):
        return bool(has_reshape_pattern(function))
    return None


def has_buffers(function: tirx.PrimFunc) -> bool:
    """Tell whether ``owns_buffers`` holds for a block of a function."""
    return any(map(owns_buffers, nodes_in(function.body, s_tir.SBlock)))


def owns_buffers(block: Any) -> bool:
    """Tell whether a block has buffers or an initial value, for which TVM has passes."""
    return bool(block.alloc_buffers or block.match_buffers or block.init)


def is_plain(function: Any) -> bool:
    """Tell whether a function is a TIR function of tensors that begin where their memory begins."""
    if not isinstance(function, tirx.PrimFunc):
        return False
    types = [parameter.ty for parameter in function.params if not is_number(parameter)]
    return all(
        isinstance(ty, tirx.BufferType)
        and isinstance(ty.elem_offset, tirx.IntImm)
        and ty.elem_offset.value == 0
        for ty in types
    )
