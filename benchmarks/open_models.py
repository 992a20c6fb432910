"""Models with a size that may be open: a dense layer, an encoder, networks of pictures."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tvm
from tvm import relax
from tvm.relax import op as R

import qnn_ops as q
import tvm_qnn as qnn
from qnn_ops.errors import QnnError
from tvm_qnn import zoo

_HEADS = 4
_SCALE, _POINT = 0.05, 3  # of an encoder's tensors
_PRODUCTS = 0.3, -4  # of the results of its dense layers


def dense(size: Any, width: int) -> tvm.IRModule:
    """Return a dense layer for a number of rows."""
    return _model((size, width), lambda x: _dense(x, width, np.random.default_rng(0)))


def encoder(size: Any, width: int) -> tvm.IRModule:
    """Return a layer of a transformer for a number of tokens."""
    return _model((1, size, width), lambda x: _encoder(x, width))


def pictures(name: str) -> Callable[[Any, int], tvm.IRModule]:
    """Return a function that returns a network of the zoo for a number of pictures."""

    def network(size: Any, _width: int) -> tvm.IRModule:
        return with_batch(*qnn.from_tflite(zoo.build(name, "int8")), size)

    return network


def _model(shape: Any, body: Callable[[relax.Var], relax.Expr]) -> tvm.IRModule:
    builder = relax.BlockBuilder()
    data = relax.Var("data", relax.TensorType(shape, "int8"))
    with builder.function("main", [data]):
        builder.emit_func_output(builder.emit(body(data)))
    return builder.get()


def _emit(call: relax.Expr) -> relax.Var:
    return relax.BlockBuilder.current().emit(call)


def _dense(x: relax.Expr, units: int, rng: np.random.Generator) -> relax.Var:
    depth = int(x.ty.shape[-1])
    weights = relax.const(rng.integers(-127, 127, (units, depth), dtype=np.int8))
    encodings = _SCALE, _POINT, 0.01, 0, *_PRODUCTS
    return _emit(q.quantized_dense(x, weights, *encodings, "int8"))


def _encoder(x: relax.Expr, width: int) -> relax.Expr:
    rng, shape = np.random.default_rng(0), list(x.ty.shape)

    def heads() -> relax.Var:
        parts = (*shape[:2], _HEADS, width // _HEADS)
        return _emit(R.permute_dims(_emit(R.reshape(_dense(x, width, rng), parts)), [0, 2, 1, 3]))

    queries, keys, values = heads(), heads(), heads()
    numbers = *_PRODUCTS, *_PRODUCTS, 9.0, 1
    scores = _emit(q.quantized_matmul(queries, keys, *numbers, "int8", transpose_rhs=True))
    shares = _emit(q.quantized_softmax(scores, 0.9, 1, 1 / 256, -128, "int8"))
    mixed = q.quantized_matmul(shares, values, 1 / 256, -128, *_PRODUCTS, _SCALE, _POINT, "int8")
    mixed = _emit(R.permute_dims(_emit(mixed), [0, 2, 1, 3]))
    normed = _normed(_dense(_emit(R.reshape(mixed, shape)), width, rng), x, width)
    inner = _emit(q.dequantize(_dense(normed, 4 * width, rng), *_PRODUCTS))
    inner = _emit(q.quantize(_emit(R.nn.gelu(inner)), _SCALE, _POINT, "int8"))
    return _normed(_dense(inner, width, rng), normed, width)


def _normed(lhs: relax.Expr, rhs: relax.Expr, width: int) -> relax.Var:
    names = ("lhs_scale", "lhs_zero_point", "rhs_scale", "rhs_zero_point", "output_scale")
    numbers: Any = dict(zip(names, (*_PRODUCTS, _SCALE, _POINT, 0.25), strict=True))
    total = q.quantized_add(lhs, rhs, **numbers, output_zero_point=1, out_dtype="int8")
    reals = _emit(q.dequantize(_emit(total), 0.25, 1))
    factors = (relax.const(make(width, np.float32)) for make in (np.ones, np.zeros))
    normed = _emit(R.nn.layer_norm(reals, *factors, axes=[-1]))
    return _emit(q.quantize(normed, _SCALE, _POINT, "int8"))


def with_batch(mod: tvm.IRModule, params: Mapping[str, Any], batch: Any) -> tvm.IRModule:
    """Return a network for a number of pictures.

    Args:
        mod: a network of one picture: axis 0 of each tensor that depends on the inputs is 1.
        params: its constants.
        batch: the number of pictures, or a variable.

    Raises:
        QnnError: the network does more than call operators.
    """
    main = relax.transform.BindParams("main", dict(params))(mod)["main"]
    known: dict[Any, relax.Expr] = {}

    def opened(expr: relax.Expr) -> relax.Expr:
        if isinstance(expr, relax.Tuple):
            return relax.Tuple([opened(field) for field in expr.fields])
        if isinstance(expr, relax.ShapeExpr):
            return relax.ShapeExpr([batch, *list(expr.values)[1:]])
        if isinstance(expr, relax.TupleGetItem):
            return relax.TupleGetItem(opened(expr.tuple_value), expr.index)
        if isinstance(expr, relax.Call):
            return relax.Call(expr.op, [opened(each) for each in expr.args], expr.attrs)
        return known.get(expr, expr) if isinstance(expr, relax.Var) else expr

    for each in main.params:
        ty = relax.TensorType([batch, *list(each.ty.shape)[1:]], each.ty.dtype)
        known[each] = relax.Var(each.name, ty)
    builder = relax.BlockBuilder()
    with builder.function("main", [known[each] for each in main.params]):
        for block in main.body.blocks:
            for binding in block.bindings:
                if not isinstance(binding, relax.VarBinding):
                    raise QnnError("the network does more than call operators")
                known[binding.var] = builder.emit(opened(binding.value))
        builder.emit_func_output(opened(main.body.body))
    return builder.get()
