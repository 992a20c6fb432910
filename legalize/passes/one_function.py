"""Make one function of all the functions that a small model calls."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import tvm
from tvm import relax, tirx
from tvm.tirx.buffer import decl_buffer

from legalize.call_plan import Constant, Input, Output, Place, Plan, plan_of
from legalize.kernels.kernel import IS_KERNEL
from legalize.memory_plan import ALIGNMENT, lay_out, pack
from legalize.passes.bodies import body_of, is_plain, is_view, with_barrier
from qnn_ops.errors import QnnError
from qnn_ops.registry import type_spec

# Beyond these, calls cost little beside what they do, and one function takes long to compile:
# MobileNet V2, of 53 calls and 3.4 MB, twice as long as its functions apart.
_MOST_CALLS = 64
_MOST_WEIGHTS = 1 << 23
_MOST_DATA = 1 << 24  # of temporary tensors
_MOST_TENSORS = 64  # of main: a function takes them all, and checks each


def OneFunction() -> tvm.transform.Pass:
    """Replace the calls of ``main`` by one call, where they are few and their work is little.

    A call through TVM's virtual machine takes as long as some ten thousand multiplications: it
    makes tensors, and checks each argument. The one function has the bodies of all in a row.
    Temporary tensors have places in one block of memory, and share them where one is not needed
    any more when the other begins; constants are one block, too. Between two bodies stands a
    barrier, so that LLVM compiles each as if it stood alone: where it puts what one writes into
    the shuffles of the next, its selection of instructions may go on without end.

    ``main`` must allocate and call only, as ``CallTIRRewrite`` leaves it; else it stays.
    """

    def rewrite(mod: tvm.IRModule, _context: tvm.transform.PassContext) -> tvm.IRModule:
        try:
            plan = plan_of(mod, is_view=is_view)
            results = _results(mod["main"])
        except QnnError:
            return mod
        return _joined(mod, plan, results) if _is_worth_it(mod, plan, len(results)) else mod

    return tvm.transform.module_pass(rewrite, opt_level=0, name="OneFunction")


def _results(main: relax.Function) -> list[relax.TensorType]:
    """Return the type of each tensor that main returns.

    Raises:
        QnnError: if one is a tuple itself, or its shape is not known.
    """
    ty = main.body.body.ty
    fields = list(ty.fields) if isinstance(ty, relax.TupleType) else [ty]
    for field in fields:
        type_spec(field, "a result")
    return fields


def _is_worth_it(mod: tvm.IRModule, plan: Plan, results: int) -> bool:
    """Tell whether there are several calls with little work, which write all the results."""
    calls = len(plan.calls)
    if not 2 <= calls <= _MOST_CALLS or not all(call.function for call in plan.calls):
        return False
    if len(mod["main"].params) + results > _MOST_TENSORS:
        return False
    if not all(is_plain(mod[call.function]) for call in plan.calls):
        return False
    if not {call.arguments[-1] for call in plan.calls}.issuperset(map(Output, range(results))):
        return False
    used = [place for call in plan.calls for place in call.arguments]
    weights = [plan.constants[place.number] for place in used if isinstance(place, Constant)]
    sizes = (prod(each.shape) * np.dtype(str(each.dtype)).itemsize for each in weights)
    return sum(sizes) <= _MOST_WEIGHTS and sum(plan.temporaries) <= _MOST_DATA


def _joined(mod: tvm.IRModule, plan: Plan, results: Sequence[relax.TensorType]) -> tvm.IRModule:
    main = mod["main"]
    layout = lay_out(plan)
    size = max(layout.size, ALIGNMENT)
    packed, offsets = pack([constant.numpy() for constant in plan.constants])
    block = np.frombuffer(packed + bytes(ALIGNMENT), np.uint8)  # there is always something

    memory = decl_buffer((size,), "uint8", "memory")
    constants = decl_buffer((block.size,), "uint8", "constants")
    types = [*(parameter.ty for parameter in main.params), *results]
    tensors = [decl_buffer(list(ty.shape), ty.dtype, "tensor") for ty in types]
    inputs, outputs = tensors[: len(main.params)], tensors[len(main.params) :]

    def pointer(place: Place) -> Any:
        if isinstance(place, Input):
            return inputs[place.number].data
        if isinstance(place, Output):
            return outputs[place.number].data
        if isinstance(place, Constant):
            return tirx.address_of(constants[offsets[place.number]])
        return tirx.address_of(memory[layout.offsets[place.number]])

    body: list[Any] = []
    for call in plan.calls:
        body += body_of(mod, call, pointer)
    # Places are used again for other tensors: nothing may be taken for distinct by its name.
    attrs = {"tirx.noalias": False, "s_tir": True, IS_KERNEL: True}
    function = tirx.PrimFunc([*inputs, constants, memory, *outputs], with_barrier(body)).with_attrs(
        attrs
    )
    return _with_one_call(mod, function, block, size, results)


def _with_one_call(
    mod: tvm.IRModule,
    function: tirx.PrimFunc,
    constants: np.ndarray[Any, Any],
    memory: int,
    results: Sequence[relax.TensorType],
) -> tvm.IRModule:
    main = mod["main"]
    builder = relax.BlockBuilder()
    kept = {
        variable: other
        for variable, other in mod.functions_items()
        if not isinstance(other, tirx.PrimFunc) and variable.name_hint != "main"
    }
    with builder.function("main", list(main.params)):
        variable = builder.add_func(function, "model")

        def allocate(shape: Any, dtype: str) -> relax.Expr:
            return builder.emit(
                relax.op.builtin.alloc_tensor(relax.ShapeExpr(list(shape)), dtype, 0)
            )

        outputs = [allocate(result.shape, str(result.dtype)) for result in results]
        block = relax.const(constants, "uint8")
        scratch = allocate([memory], "uint8")
        builder.emit(relax.Call(variable, [*main.params, block, scratch, *outputs]))
        is_tuple = isinstance(main.body.body.ty, relax.TupleType)
        builder.emit_func_output(relax.Tuple(outputs) if is_tuple else outputs[0])
    joined = builder.get()
    joined["main"] = joined["main"].with_attrs(dict(main.attrs))
    joined.update(tvm.IRModule(kept))
    return joined
