"""Join all calls of a model to one function."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tvm
from tvm import relax, s_tir, tirx
from tvm.tirx.buffer import decl_buffer

from legalize.call_plan import Call, Constant, Input, Output, Place, Plan, bytes_of, plan_of
from legalize.kernels.kernel import CALLS_BY_NAME, IS_KERNEL, IS_SMALL
from legalize.loop_functions import storing_function, typed_variable
from legalize.memory_plan import ALIGNMENT, Layout, lay_out, pack
from legalize.passes.bodies import (
    SET_ASIDE,
    body_of,
    call_by_name,
    called,
    has_buffers,
    is_plain,
    is_view,
    linked_name,
    with_barrier,
)
from legalize.passes.share_storage import OpenLayout, lay_out_open
from qnn_ops.dialect.registry import type_spec, view_of
from qnn_ops.dialect.sizes import variables_of
from qnn_ops.errors import QnnError

# The most bytes of the block of all constants, and of the block of all temporary tensors. A larger
# model runs so long that the virtual machine's calls cost nothing compared with its work.
_MOST_WEIGHTS = 1 << 26
_MOST_DATA = 1 << 28
_MOST_CALLS = 1 << 10
_MOST_TENSORS = 64  # the most tensors of main, each of which a function takes and checks
_MOST_OPEN_WEIGHTS = (1 << 31) - 1  # an offset is an int32

# A model with more weights or calls than these calls its functions by name. They are compiled in
# parallel, each once. A keyword spotter of 13 calls takes half of the time to build. One of 4 calls
# would take 1.07 of its time to run.
_WEIGHTS_OF_BODIES = 1 << 20
_MOST_BODIES = 8

# A model with few weights and at most this many calls is small: see ``IS_SMALL``.
_MOST_OF_SMALL = 16

Pointer = Callable[[Place], Any]
"""Returns the address of a tensor."""


def OneFunction() -> tvm.transform.Pass:
    """Replace the calls of ``main`` by one call.

    A call through TVM's virtual machine takes as long as some ten thousand multiplications: it
    makes tensors, and checks each argument. A quarter of a function's code unpacks arguments. The
    one function has all bodies in sequence. If the model has many weights or calls, it calls
    functions by name instead, with pointers: see ``called``. Functions with the same code are one
    function then. Temporary tensors lie in one block of memory. Two share memory if the first is no
    longer needed when the second begins. Constants are one block, too.

    If sizes are open, the function computes from them the offsets of its tensors. It allocates
    memory, and always calls by name.

    ``main`` may only allocate and call, as after ``CallTIRRewrite``; otherwise it stays.
    """

    def rewrite(mod: tvm.IRModule, _context: tvm.transform.PassContext) -> tvm.IRModule:
        try:
            plan = plan_of(mod, is_view, takes_open=True)
            results = results_of(mod["main"])
        except QnnError:
            return mod
        return _joined(mod, plan, results) if _is_worth_it(mod, plan, len(results)) else mod

    return tvm.transform.module_pass(rewrite, opt_level=0, name="OneFunction")


def tell_calls(mod: tvm.IRModule) -> tvm.IRModule:
    """Note in a module of the dialect whether ``OneFunction`` will probably call by name.

    This also notes whether the model is small.
    """
    weights = calls = 0

    def count(expr: relax.Expr) -> None:
        nonlocal weights, calls
        calls += isinstance(expr, relax.Call)
        if isinstance(expr, tvm.ir.GenericConst):
            weights += bytes_of(expr.value)

    relax.analysis.post_order_visit(mod["main"], count)
    if _are_bodies(weights, calls):
        return mod
    is_small = weights < _WEIGHTS_OF_BODIES and calls <= _MOST_OF_SMALL
    return mod.with_attrs({CALLS_BY_NAME: True, **({IS_SMALL: True} if is_small else {})})


def _are_bodies(weights: int, calls: int) -> bool:
    """Tell whether calls are to be the bodies of the called functions."""
    return weights < _WEIGHTS_OF_BODIES and calls <= _MOST_BODIES


def results_of(main: relax.Function) -> list[relax.TensorType]:
    """Return the type of each tensor that main returns.

    Raises:
        QnnError: if a result is a tuple itself, or the rank of a result or parameter is not known.
    """
    ty = main.body.body.ty
    fields = list(ty.fields) if isinstance(ty, relax.TupleType) else [ty]
    for tensor in (*fields, *(each.ty for each in main.params)):
        type_spec(tensor, "a tensor of main")
    return fields


def _is_worth_it(mod: tvm.IRModule, plan: Plan, results: int) -> bool:
    """Tell whether there are several calls with little work, which write all the results."""
    calls = len(plan.calls)
    if calls < 2 or not all(call.function for call in plan.calls):
        return False
    if len(mod["main"].params) + results > _MOST_TENSORS:
        return False
    if not all(is_plain(mod[call.function]) for call in plan.calls):
        return False
    if not {call.arguments[-1] for call in plan.calls}.issuperset(map(Output, range(results))):
        return False
    if plan.is_open:
        return _tells_sizes(mod["main"], plan) and _weights(plan) <= _MOST_OPEN_WEIGHTS
    is_small = _weights(plan) <= _MOST_WEIGHTS and sum(plan.temporaries) <= _MOST_DATA
    return is_small and calls <= _MOST_CALLS


def _tells_sizes(main: relax.Function, plan: Plan) -> bool:
    """Tell whether each open size is one of an input's sizes."""
    sizes = {size for each in main.params for size in each.ty.shape.values}
    used = {found for call in plan.calls for _, size in call.sizes for found in variables_of(size)}
    return used <= {size for size in sizes if isinstance(size, tirx.Var)}


def _weights(plan: Plan) -> int:
    """Return the bytes of constants that calls read, counted at each read."""
    used = [place for call in plan.calls for place in call.arguments]
    weights = [plan.constants[place.number] for place in used if isinstance(place, Constant)]
    return sum(map(bytes_of, weights))


def _joined(mod: tvm.IRModule, plan: Plan, results: Sequence[relax.TensorType]) -> tvm.IRModule:
    layout: Layout | OpenLayout = lay_out_open(plan) if plan.is_open else lay_out(plan)
    arrays = map(view_of, plan.constants)
    block, offsets = pack(arrays, spare=ALIGNMENT)  # never empty
    used = {place for call in plan.calls for place in call.arguments}
    inputs = {
        number: _tensor(parameter.ty)
        for number, parameter in enumerate(mod["main"].params)
        if plan.is_open or Input(number) in used
    }
    outputs = [_tensor(result) for result in results]
    size = layout.size if isinstance(layout, OpenLayout) else max(layout.size, ALIGNMENT)
    memory = decl_buffer((size,), "uint8", "memory", layout=None)
    weights = decl_buffer((block.size,), "uint8", "constants")

    def pointer(place: Place) -> Any:
        if isinstance(place, Input):
            return inputs[place.number].data
        if isinstance(place, Output):
            return outputs[place.number].data
        if isinstance(place, Constant):
            return tirx.address_of(weights[offsets[place.number]])
        return tirx.address_of(memory[layout.offsets[place.number]])

    names = names_of(mod, plan)
    write = writer_of(mod, names)
    body = [statement for call in plan.calls for statement in write(call, pointer)]
    is_given = isinstance(layout, Layout)
    if isinstance(layout, OpenLayout):
        body = [*layout.bindings, tirx.AllocBuffer(memory), *body]
    # Tensors share memory, so tensors of different names may alias.
    attrs = {"tirx.noalias": False, "s_tir": True, IS_KERNEL: True}
    parameters = [*inputs.values(), weights, *([memory] if is_given else []), *outputs]
    function = storing_function(parameters, with_barrier(body)).with_attrs(attrs)
    if plan.is_open:  # main has the same variables of sizes
        function = s_tir.renew_defs(function)
    scratch = size if is_given else None
    named = named_functions(mod, plan, names)
    return with_call(mod, function, list(inputs), block, scratch, results, named)


def writer_of(mod: tvm.IRModule, names: Mapping[str, str]) -> Callable[[Call, Pointer], list[Any]]:
    """Return a function that writes a call: as its function's body, or as a call by a name."""
    written: set[int] = set()

    def write(call: Call, pointer: Pointer) -> list[Any]:
        name = names.get(str(call.function))
        if name is None:
            function = mod[call.function]
            # A function that is called twice is copied, and so is one that differs in attributes.
            if (output := function.params[-1].__chandle__()) in written:
                function = s_tir.renew_defs(function)
            written.add(output)
            return body_of(function, call, pointer)
        sizes = (value for _, value in call.sizes)
        return call_by_name(name, [*map(pointer, call.arguments), *sizes])

    return write


def names_of(mod: tvm.IRModule, plan: Plan) -> dict[str, str]:
    """Return names for the linker, by the functions' own names, of those that have no body here.

    Calls of open sizes never become bodies, nor do functions that are set aside, nor functions with
    buffers beside kernels: TVM's passes for buffers would walk over all kernels, in a time that
    grows with the square of their statements.
    """
    functions = {call.function: mod[call.function] for call in plan.calls if call.function}
    if _are_bodies(_weights(plan), len(plan.calls)) and not plan.is_open:
        has_kernels = any(IS_KERNEL in each.attrs for each in functions.values())
        functions = {
            name: each
            for name, each in functions.items()
            if SET_ASIDE in each.attrs or (has_kernels and has_buffers(each))
        }
    return {
        name: each.attrs.get(SET_ASIDE) or linked_name(name, each)
        for name, each in functions.items()
    }


def named_functions(
    mod: tvm.IRModule, plan: Plan, names: Mapping[str, str]
) -> dict[str, tirx.PrimFunc]:
    """Return the functions that are called by names from ``names_of``, if they have their code."""
    sizes = {str(call.function): [size for size, _ in call.sizes] for call in plan.calls}
    return {
        new: called(mod[old], sizes[old])
        for old, new in names.items()
        if SET_ASIDE not in mod[old].attrs
    }


def _tensor(ty: relax.TensorType) -> Any:
    return decl_buffer(list(ty.shape), ty.dtype, "tensor", layout=None)


def with_call(
    mod: tvm.IRModule,
    function: tirx.PrimFunc,
    inputs: Sequence[int],
    constants: np.ndarray[Any, Any],
    memory: int | None,
    results: Sequence[relax.TensorType],
    named: Mapping[str, tirx.PrimFunc],
) -> tvm.IRModule:
    """Return the module whose ``main`` only calls a function.

    Args:
        mod: has ``main`` with the parameters.
        function: takes inputs, constants, memory and results.
        inputs: the numbers of the inputs that it takes.
        constants: a block of bytes, from ``pack``.
        memory: the bytes of its memory for temporary tensors; None: it takes no memory.
        results: the types of the results.
        named: the functions that it calls, by their names.
    """
    main = mod["main"]
    builder = relax.BlockBuilder()
    model = typed_variable("model", function)
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
        scratch = [] if memory is None else [allocate([memory], "uint8")]
        read = [main.params[number] for number in inputs]
        constant = relax.const(tvm.runtime.from_dlpack(constants))
        builder.emit(relax.Call(model, [*read, constant, *scratch, *outputs]))
        is_tuple = isinstance(main.ret_ty, relax.TupleType)
        builder.emit_func_output(relax.Tuple(outputs) if is_tuple else outputs[0])
    joined = builder.get()
    joined["main"] = joined["main"].with_attrs(dict(main.attrs))
    joined[model] = function  # the builder would hash it
    joined.update(tvm.IRModule(kept))
    joined.update(tvm.IRModule(dict(named)))
    return joined
