"""Take the code of kernels out of a module."""

from typing import TypeAlias

import tvm
from tvm import relax, tirx

from legalize.call_plan import is_number
from legalize.kernels.kernel import CALLS_BY_NAME, IS_KERNEL, SAME_CODE
from legalize.loop_functions import root_block, with_body
from legalize.passes.bodies import SET_ASIDE, call_by_name, called, linked_name

Codes: TypeAlias = "dict[tirx.PrimFunc, tuple[str, tirx.PrimFunc]]"
"""By kernel, what ``code_of`` returns for it."""


def set_aside(mod: tvm.IRModule, known: Codes) -> tuple[tvm.IRModule, dict[str, tirx.PrimFunc]]:
    """Return a module whose kernels call their code by name, and this code.

    No pass changes a kernel, but each would read or copy its code. The code can be compiled while
    passes work on the module.

    A kernel keeps its code if its calls are bodies (without ``CALLS_BY_NAME``), or if sizes are
    open.

    Args:
        mod: a lowered module.
        known: what is known of its kernels' code.

    Returns:
        The module, and the functions by the names for the linker.
    """
    if CALLS_BY_NAME not in (mod.attrs or {}):
        return mod, {}
    codes: dict[str, tirx.PrimFunc] = {}
    functions = dict(mod.functions_items())
    for variable in _called(mod):
        function = functions[variable]
        if not isinstance(function, tirx.PrimFunc) or not has_one_size(function):
            continue
        name, code = known.get(function) or code_of(variable.name_hint, function)
        codes.setdefault(name, code)
        pointers = [parameter.data for parameter in function.params]
        caller = with_body(function, root_block(*call_by_name(name, pointers)))
        functions[variable] = caller.with_attr(SET_ASIDE, name)
    return tvm.IRModule(functions, attrs=mod.attrs), codes


def _called(mod: tvm.IRModule) -> list[tvm.ir.GlobalVar]:
    """Return the functions that Relax functions call. Passes leave others behind."""
    functions = [each for each in mod.functions.values() if isinstance(each, relax.Function)]
    blocks = (block for function in functions for block in function.body.blocks)
    values = (binding.value for block in blocks for binding in block.bindings)
    given = (each for value in values for each in getattr(value, "args", ()))
    return list(dict.fromkeys(each for each in given if isinstance(each, tvm.ir.GlobalVar)))


def has_one_size(function: tirx.PrimFunc) -> bool:
    """Tell whether a function is a kernel whose code is that of one size."""
    if IS_KERNEL not in function.attrs or any(map(is_number, function.params)):
        return False
    sizes = (size for parameter in function.params for size in parameter.shape)
    return SAME_CODE in function.attrs or all(isinstance(size, tirx.IntImm) for size in sizes)


def code_of(name: str, kernel: tirx.PrimFunc) -> tuple[str, tirx.PrimFunc]:
    """Return the code of a kernel as a function that takes pointers, and its name for the linker.

    Args:
        name: the kernel's own name.
        kernel: ``has_one_size`` holds for it.
    """
    linked = linked_name(name, kernel)
    return linked, called(kernel, ()).with_attr("global_symbol", linked)
