"""Loop, as a loop of two Relax functions: a condition and a body."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.builder import ModuleBuilder
from frontends.errors import UnsupportedError, UnsupportedOperatorError, reason_of
from frontends.onnx.converters.registry import Call, converter
from frontends.onnx.read.names import copied, onnx_package
from qnn_ops.dialect.registry import TensorSpec, constant_of, spec_of
from qnn_ops.dialect.signature import ARITHMETIC
from qnn_ops.errors import QnnError

_BEFORE_CARRIED = 2
_NEXT, _GOES_ON = "tvm_qnn_next_iteration", "tvm_qnn_goes_on"


@converter("Loop")
def _loop(call: Call) -> relax.Expr:
    """Repeat the body, a function of the iteration's number, a flag and the carried tensors."""
    count, flag, *carried = call.given
    body = call.attributes["body"]
    if any(each is None for each in carried):
        raise UnsupportedError("an operand is missing")
    iteration = relax.const(np.zeros(_declared(body.input[0]), np.int64), "int64")
    going = relax.const(np.array(True), "bool") if flag is None else flag
    begin = [iteration, call.emit(R.reshape(going, _declared(body.input[1]))), *carried]
    limit = constant_of(count)
    if count is not None and limit is None:
        begin.append(call.emit(R.reshape(count, ())))
    begin = [call.emit(each) for each in begin]
    specs = [spec_of(each) for each in begin]
    step = _body(body, specs, len(carried), call.integer("opset"))
    if [spec_of(relax.Var("made", ty)) for ty in step.ret_ty.fields] != specs:
        raise UnsupportedError("tensors whose shapes or types change from iteration to iteration")
    if any(0 in spec.shape for spec in specs):
        raise UnsupportedError("tensors without elements")
    test = _condition(specs, len(carried), limit)
    made = ModuleBuilder(block=call.builder).loop(test, step, begin)
    results = made[_BEFORE_CARRIED : _BEFORE_CARRIED + len(carried)]
    return results[0] if len(results) == 1 else relax.Tuple(results)


def _declared(value: Any) -> tuple[int, ...]:
    """Return the shape of a body's single number: a scalar's, or that of one axis."""
    return (1,) * min(len(value.type.tensor_type.shape.dim), 1)


def _condition(
    specs: Sequence[TensorSpec], carried: int, limit: np.ndarray[Any, Any] | None
) -> relax.Function:
    """Return the function that tells whether there is another iteration."""
    inner = ModuleBuilder()
    state = [
        inner.add_input(f"state{number}", spec.shape, spec.dtype)
        for number, spec in enumerate(specs)
    ]

    def convert() -> list[relax.Expr]:
        iteration, flag = (inner.array(each).reshape() for each in state[:_BEFORE_CARRIED])
        if limit is not None:
            return [(flag & (iteration < np.int64(limit.item()))).expr]
        is_open = len(state) > _BEFORE_CARRIED + carried
        return [(flag & (iteration < inner.array(state[-1])) if is_open else flag).expr]

    return inner.function(convert)


def _body(body: Any, specs: Sequence[TensorSpec], carried: int, opset: int) -> relax.Function:
    """Import the body as a model of its own that also returns the next iteration's number."""
    from frontends.onnx.importer import import_proto

    onnx, helper = onnx_package(), onnx_package().helper
    graph = copied(body)
    names = [value.name for value in graph.input]
    outputs = [value.name for value in graph.output]
    if len(specs) > len(names):
        names.append("tvm_qnn_count")
    del graph.input[:], graph.output[:], graph.value_info[:]
    kinds = [helper.np_dtype_to_tensor_dtype(np.dtype(spec.dtype)) for spec in specs]
    graph.input.extend(
        helper.make_tensor_value_info(name, kind, spec.shape)
        for name, kind, spec in zip(names, kinds, specs, strict=True)
    )
    one = onnx.numpy_helper.from_array(np.ones(specs[0].shape, np.int64), "tvm_qnn_one")
    shape = np.array(specs[1].shape, np.int64)
    flag = onnx.numpy_helper.from_array(shape, "tvm_qnn_flag")
    graph.initializer.extend([one, flag])
    graph.node.append(helper.make_node("Add", [names[0], "tvm_qnn_one"], [_NEXT]))
    graph.node.append(helper.make_node("Reshape", [outputs[0], "tvm_qnn_flag"], [_GOES_ON]))
    results = [_NEXT, _GOES_ON, *outputs[1:], *names[_BEFORE_CARRIED + carried :]]
    graph.output.extend(
        helper.make_tensor_value_info(name, kind, spec.shape)
        for name, kind, spec in zip(results, kinds, specs, strict=True)
    )
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    try:
        mod = import_proto(model).mod
    except UnsupportedOperatorError as error:
        reasons = "; ".join(f"{name}: {reason}" for _, name, reason, _ in error.operators)
        raise UnsupportedError(f"in its body: {reasons}") from None
    except QnnError as error:
        raise UnsupportedError(f"in its body: {reason_of(error)}") from None
    if len(mod.functions) > 1:
        raise UnsupportedError("a loop inside a loop")
    function = mod["main"]
    for name in list(function.attrs.keys()):
        if name != ARITHMETIC:
            function = function.without_attr(name)
    return function
