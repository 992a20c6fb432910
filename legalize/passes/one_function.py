"""Join all functions that a small model calls to one function, or to a few."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from math import prod
from typing import Any

import numpy as np
import tvm
from tvm import relax, tirx
from tvm.tirx.buffer import decl_buffer
from tvm_ffi import structural_walk

from legalize.call_plan import Call, Constant, Input, Output, Place, Plan, plan_of
from legalize.kernels.kernel import IS_KERNEL
from legalize.memory_plan import ALIGNMENT, Layout, lay_out, pack
from legalize.passes.bodies import body_of, is_plain, is_view, with_barrier
from qnn_ops.errors import QnnError
from qnn_ops.registry import static_spec

# Beyond these, calls cost little beside their work, and one function takes long to compile:
# MobileNet V2, with 53 calls and 3.4 MB, twice as long as its functions apart.
_MOST_CALLS = 64
_MOST_WEIGHTS = 1 << 23
_MOST_DATA = 1 << 24  # of temporary tensors
_MOST_TENSORS = 64  # of main: a function takes them all, and checks each

# A model with so many weights runs so long that a few more calls cost nothing. Its functions are
# compiled in parallel.
_WEIGHTS_OF_PARTS = 1 << 20
_MOST_PARTS = 4
_CALLS_OF_PART = 8


def OneFunction() -> tvm.transform.Pass:
    """Replace the calls of ``main`` by one call, if they are few and their work is small.

    A model with many weights becomes up to four functions with about as many statements each.

    A call through TVM's virtual machine takes as long as some ten thousand multiplications: it
    makes tensors, and checks each argument. The one function has the bodies of all in sequence.
    Temporary tensors lie in one block of memory, and share it if one is no longer needed when the
    other begins. Constants are one block, too. A barrier between two bodies makes LLVM compile each
    separately. If LLVM forwards the values that one body stores into the shuffles of the next, its
    instruction selection may not end.

    ``main`` may only allocate and call, as after ``CallTIRRewrite``; otherwise it stays.
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
        static_spec(field, "a result")
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
    return _weights(plan) <= _MOST_WEIGHTS and sum(plan.temporaries) <= _MOST_DATA


def _weights(plan: Plan) -> int:
    """Return the bytes of constants that calls read, counted at each read."""
    used = [place for call in plan.calls for place in call.arguments]
    weights = [plan.constants[place.number] for place in used if isinstance(place, Constant)]
    return sum(prod(each.shape) * np.dtype(str(each.dtype)).itemsize for each in weights)


@dataclass(frozen=True)
class _Part:
    """Some consecutive calls as one function.

    Attributes:
        function: of the inputs, all constants, the memory of temporary tensors, and the outputs.
        inputs: the numbers of the inputs that it reads.
        outputs: the numbers of the outputs that it writes or reads.
    """

    function: tirx.PrimFunc
    inputs: list[int]
    outputs: list[int]


def _joined(mod: tvm.IRModule, plan: Plan, results: Sequence[relax.TensorType]) -> tvm.IRModule:
    layout = lay_out(plan)
    packed, offsets = pack([constant.numpy() for constant in plan.constants])
    block = np.frombuffer(packed + bytes(ALIGNMENT), np.uint8)  # never empty
    types = ([parameter.ty for parameter in mod["main"].params], results)
    parts = [
        _part(mod, calls, types, layout, (offsets, block.size)) for calls in _shares(mod, plan)
    ]
    return _with_calls(mod, parts, block, max(layout.size, ALIGNMENT), results)


def _shares(mod: tvm.IRModule, plan: Plan) -> list[list[Call]]:
    """Divide the calls into parts with about as many statements each."""
    count = 1
    if _weights(plan) >= _WEIGHTS_OF_PARTS:
        count = max(1, min(_MOST_PARTS, len(plan.calls) // _CALLS_OF_PART))
    sizes = [_statements(mod[call.function]) for call in plan.calls]
    ends = list(accumulate(sizes))
    places = [(end - size / 2) * count // ends[-1] for size, end in zip(sizes, ends, strict=True)]
    numbered = zip(places, plan.calls, strict=True)
    return [[call for _, call in own] for _, own in groupby(numbered, lambda pair: pair[0])]


def _statements(function: tirx.PrimFunc) -> int:
    count = 0

    def see(_node: Any) -> None:
        nonlocal count
        count += 1

    structural_walk(function.body, [(tirx.Stmt, see)])
    return count


def _part(
    mod: tvm.IRModule,
    calls: Sequence[Call],
    types: tuple[Sequence[Any], Sequence[Any]],
    layout: Layout,
    constants: tuple[Sequence[int], int],
) -> _Part:
    """Make one function of some calls.

    Args:
        mod: the module.
        calls: the calls in order.
        types: the types of the model's inputs and outputs.
        layout: the layout of temporary tensors.
        constants: the offset of each in their block, and the block's size.
    """
    offsets, size = constants
    used = [place for call in calls for place in call.arguments]
    tensors: list[dict[int, Any]] = []
    for kind, of_kind in zip((Input, Output), types, strict=True):
        numbers = sorted({place.number for place in used if isinstance(place, kind)})
        known = ((number, of_kind[number]) for number in numbers)
        tensors.append({n: decl_buffer(list(ty.shape), ty.dtype, "tensor") for n, ty in known})
    inputs, outputs = tensors
    memory = decl_buffer((max(layout.size, ALIGNMENT),), "uint8", "memory")
    weights = decl_buffer((size,), "uint8", "constants")

    def pointer(place: Place) -> Any:
        if isinstance(place, Input):
            return inputs[place.number].data
        if isinstance(place, Output):
            return outputs[place.number].data
        if isinstance(place, Constant):
            return tirx.address_of(weights[offsets[place.number]])
        return tirx.address_of(memory[layout.offsets[place.number]])

    body: list[Any] = []
    for call in calls:
        body += body_of(mod, call, pointer)
    parameters = [*inputs.values(), weights, memory, *outputs.values()]
    # Tensors share memory, so tensors of different names may alias.
    attrs = {"tirx.noalias": False, "s_tir": True, IS_KERNEL: True}
    function = tirx.PrimFunc(parameters, with_barrier(body)).with_attrs(attrs)
    return _Part(function, list(inputs), list(outputs))


def _with_calls(
    mod: tvm.IRModule,
    parts: Sequence[_Part],
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

        def allocate(shape: Any, dtype: str) -> relax.Expr:
            return builder.emit(
                relax.op.builtin.alloc_tensor(relax.ShapeExpr(list(shape)), dtype, 0)
            )

        outputs = [allocate(result.shape, str(result.dtype)) for result in results]
        block = relax.const(constants, "uint8")
        scratch = allocate([memory], "uint8")
        for part in parts:
            variable = builder.add_func(part.function, "model")
            read = [main.params[number] for number in part.inputs]
            written = [outputs[number] for number in part.outputs]
            builder.emit(relax.Call(variable, [*read, block, scratch, *written]))
        is_tuple = isinstance(main.body.body.ty, relax.TupleType)
        builder.emit_func_output(relax.Tuple(outputs) if is_tuple else outputs[0])
    joined = builder.get()
    joined["main"] = joined["main"].with_attrs(dict(main.attrs))
    joined.update(tvm.IRModule(kept))
    return joined
