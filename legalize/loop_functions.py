"""Adds functions of loops to a module of Relax, and compares them."""

import hashlib
from collections.abc import Sequence
from itertools import count
from typing import Any

import tvm
import tvm_ffi
from tvm import ir, relax, s_tir, tirx
from tvm_ffi import WalkResult, structural_mutate, structural_walk

OPAQUE = 8
"""Relax's pattern kind of a function that must not be fused with others."""

_DIGEST_SIZE = 16


def add_function(
    builder: relax.BlockBuilder, name: str, function: tirx.PrimFunc, **attributes: Any
) -> tvm.ir.GlobalVar:
    """Add a function that passes fuse with no other; add equal functions of one name once.

    Args:
        builder: the module's builder.
        name: the function's name; a number follows it if another function has this name.
        function: the function to add.
        **attributes: further attributes of the function.

    Returns:
        The global variable of the function.
    """
    # The module gives the function its own symbol. Relax's passes look into its root block.
    function = with_body(function.without_attr("global_symbol"), root_block(function.body))
    function = function.with_attrs({"op_pattern": OPAQUE, **attributes})
    # ``builder.add_func`` hashes all functions of the module.
    mod, names = builder.get(), (f"{name}{number or ''}" for number in count())
    new = next(
        each for each in names if each not in mod or tvm_ffi.structural_equal(mod[each], function)
    )
    if new in mod:
        return mod.get_global_var(new)
    variable = typed_variable(new, function)
    builder.update_func(variable, function)
    return variable


def root_block(body: tirx.Stmt) -> tirx.Stmt:
    """Return statements as the root block of a function."""
    return s_tir.SBlockRealize([], True, s_tir.SBlock([], [], [], "root", body))


def with_body(function: tirx.PrimFunc, body: tirx.Stmt) -> tirx.PrimFunc:
    """Return a function of the same type with another body.

    TVM's own method finds the type anew, in all statements of the body.
    """
    return structural_mutate(function, (type(function.body), lambda _old, _mutator: body))


def storing_function(
    parameters: Sequence[Any], body: tirx.Stmt, result: Any = None
) -> tirx.PrimFunc:
    """Return a function whose body stores something.

    TVM's own constructor finds out whether a body does, in all its statements.
    """
    function = tirx.PrimFunc(parameters, tirx.Evaluate(tirx.call_extern("void", "store")), result)
    return with_body(function, body)


def typed_variable(name: str, function: tirx.PrimFunc) -> tvm.ir.GlobalVar:
    """Return a new global variable for a function, of the function's type."""
    variable = tvm.ir.GlobalVar(name)
    relax.expr._update_type(variable, function.ty)
    return variable


def nodes_in(tree: Any, *kinds: type) -> list[Any]:
    """Return the nodes of some kinds in a statement or an expression, a node after its parts."""
    found: list[Any] = []
    structural_walk(tree, (kinds, found.append))
    return found


def function_text(function: tirx.PrimFunc) -> bytes:
    """Return bytes that differ for functions that compute differently.

    TVM's structural hash covers everything but the names of variables, but it mixes small integers
    badly into its 64 bits. So the bytes also have numbers, texts, dtypes and uses of variables. The
    type of a variable, with all sizes of a buffer, is read at its first use.
    """
    found: list[Any] = []
    numbers: dict[int, int] = {}
    dtypes: dict[int, str] = {}  # a few objects occur many times

    def see_value(node: Any) -> None:
        found.append(node.value)

    def see_type(node: Any) -> None:
        handle = node.__chandle__()
        found.append(dtypes.get(handle) or dtypes.setdefault(handle, str(node.dtype)))

    def see_variable(node: Any) -> WalkResult | None:
        known = len(numbers)
        found.append(number := numbers.setdefault(node.__chandle__(), known))
        return None if number == known else WalkResult.SKIP

    seen = [
        *((each, see_value) for each in (tirx.IntImm, tirx.FloatImm, ir.StringImm)),
        (ir.PrimType, see_type),
        (tirx.Var, see_variable),
    ]
    structural_walk(function, seen, order="pre")
    return repr([tvm_ffi.structural_hash(function), *found]).encode()


def function_digest(function: tirx.PrimFunc) -> str:
    """Return a digest of ``function_text``, for names and attributes."""
    return hashlib.blake2b(function_text(function), digest_size=_DIGEST_SIZE).hexdigest()
