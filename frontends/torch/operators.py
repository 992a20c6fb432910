"""The imported operators: own rules for operators that quantize, TVM's rules for the rest."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
from tvm import relax

from frontends.errors import UnsupportedError
from frontends.torch.call import CHECKS, OWN, Call, adapted
from frontends.torch.functions import DELEGATED, EXACT
from frontends.torch.inductor import (
    CHANNELS,
    DEQUANTIZE,
    INDUCTOR,
    QUANTIZE,
    check_product,
    is_of_inductor,
    is_product,
)
from frontends.torch.quantized.affine import GROUPS
from frontends.torch.quantized.dynamic import DYNAMIC, LAYERS, check_dynamic
from frontends.torch.quantized.floats import INT_PRODUCT
from frontends.torch.quantized.groups import PRODUCT, check_groups, product
from frontends.torch.reader import calls_of, operator_of, values_of
from qnn_ops import dequantize, quantize, quantized_dense
from qnn_ops.arithmetic.xnnpack import XNNPACK
from qnn_ops.arrays import Array
from qnn_ops.dialect.attributes import dtype_range
from qnn_ops.dialect.registry import spec_of

QUANTIZING, DEQUANTIZING = (QUANTIZE,), (DEQUANTIZE, CHANNELS)
_SUMS = ("add.Tensor", "add_.Tensor")
_NAMED_PADS = {"conv1d.padding": relax.op.nn.conv1d, "conv2d.padding": relax.op.nn.conv2d}
"""Convolutions whose padding is a name, such as "same"."""
_DIVISIONS = ("floor_divide", "floor_divide_", "remainder", "remainder_", "fmod", "fmod_", "div")
_RANDOM = "nondeterministic_seeded"


def rules(
    constants: Mapping[str, Array], *, of_inductor: bool = False, is_exact: bool = False
) -> dict[str, Callable[[Any, Any], Any]]:
    """Return the rules of operators that quantize, by their names, for TVM's importer.

    Args:
        constants: of the program, by the names of their nodes.
        of_inductor: whether X86InductorQuantizer quantized it.
        is_exact: whether functions of float32 are PyTorch's, not the delegate's.
    """
    functions = INDUCTOR if of_inductor else EXACT if is_exact else DELEGATED
    own = {**OWN, **_QUANTIZED, **LAYERS, PRODUCT: product, **functions}
    return {name: adapted(rule, constants) for name, rule in own.items()}


def _quantize(call: Call) -> relax.Expr:
    data, scale, point, *_, dtype = call.values
    return quantize(call.expr(data), float(scale), int(point), _name(dtype), arithmetic=XNNPACK)


def _dequantize(call: Call) -> relax.Expr:
    data, scale, point, *_ = call.values
    return dequantize(call.expr(data), float(scale), int(point))


def _dequantize_channels(call: Call) -> relax.Expr:
    data, scales, points, axis, *_ = call.values
    zeros = [int(point) for point in call.constants[points.name]]
    zero = zeros[0] if len(set(zeros)) == 1 else zeros
    return dequantize(call.expr(data), call.constants[scales.name].tolist(), zero, axis=int(axis))


_QUANTIZED = {QUANTIZE: _quantize, DEQUANTIZE: _dequantize, CHANNELS: _dequantize_channels}


@OWN.of("pixel_shuffle.default")
def pixel_shuffle(call: Call) -> relax.Expr:
    """Move channels into the image, by operators that TVM can lower."""
    data, factor = call.expr(call.node.args[0]), int(call.node.args[1])
    *lead, depth, height, width = spec_of(data).shape
    rank, channels = len(lead), depth // factor**2
    parts = call.emit(relax.op.reshape(data, (*lead, channels, factor, factor, height, width)))
    order = [*range(rank + 1), rank + 3, rank + 1, rank + 4, rank + 2]
    moved = call.emit(relax.op.permute_dims(parts, order))
    return relax.op.reshape(moved, (*lead, channels, height * factor, width * factor))


@OWN.of(INT_PRODUCT)
def product_of_bytes(call: Call) -> relax.Expr:
    """Multiply int8 matrices, [rows, depth] and [depth, units]; returns their int32 sums."""
    data, columns = map(call.expr, call.node.args)
    rows = call.emit(relax.op.permute_dims(columns))
    return quantized_dense(data, rows, 1.0, 0, 1.0, 0, 1.0, 0, "int32")


@OWN.of(*_NAMED_PADS)
def named_pads(call: Call) -> relax.Expr:
    """Convolve with padding "same" or "valid"; odd padding is longer at the end."""
    data, weights, bias, strides, padding, dilation, groups = call.values
    operand, kernel = call.expr(data), call.expr(weights)
    steps = [int(step) for step in dilation]
    sizes = spec_of(kernel).shape[2:]
    steps = steps * len(sizes) if len(steps) == 1 else steps
    totals = [
        step * (size - 1) if padding == "same" else 0
        for step, size in zip(steps, sizes, strict=True)
    ]
    pads = [*(total // 2 for total in totals), *(total - total // 2 for total in totals)]
    convolve = _NAMED_PADS[operator_of(call.node)]
    window = {"strides": list(strides), "padding": pads, "dilation": steps, "groups": int(groups)}
    result = call.emit(convolve(operand, kernel, **window))
    if bias is None:
        return result
    return relax.op.add(result, relax.op.reshape(call.expr(bias), (1, -1, *[1] * len(sizes))))


@CHECKS.of("avg_pool2d.default")
def check_average(node: Any) -> None:
    """Raise if an average has its own divisor, which TVM's importer ignores."""
    if values_of(node)[-1] is not None:
        raise UnsupportedError("its divisor_override is not imported")


@CHECKS.of("_upsample_bilinear2d_aa.default")
def refuse_smoothing(_node: Any) -> None:
    """Raise: TVM's importer ignores the smoothing."""
    raise UnsupportedError("antialias=True is not imported")


def reasons(program: Any, known: Collection[str], constants: Mapping[str, Array]) -> dict[int, str]:
    """Tell why nodes cannot be imported, by their numbers among the nodes that compute.

    Args:
        program: the program.
        known: the names of the operators that are imported.
        constants: of the program, by the names of their nodes.
    """
    found: dict[int, str] = {}
    dtype = "uint8" if is_of_inductor(program) else "int8"
    for number, node in enumerate(calls_of(program)):
        try:
            _check(node, known, constants, dtype)
            if dtype == "uint8":
                check_product(node, constants)
            _check_hazards(node, constants)
        except UnsupportedError as error:
            found[number] = str(error)
    return found


def _check(node: Any, known: Collection[str], constants: Mapping[str, Array], dtype: str) -> None:
    name = operator_of(node)
    is_quantizing = str(node.target).startswith("quantized_decomposed.")
    if is_quantizing and name in (QUANTIZE, DEQUANTIZE):
        _check_per_tensor(node, dtype, is_result=name.startswith("quantize"))
    elif is_quantizing and name == CHANNELS:
        if any(getattr(each, "name", "") not in constants for each in node.args[1:3]):
            raise UnsupportedError("its scales and zero points are not constant")
    elif is_quantizing and name in DYNAMIC:
        check_dynamic(node, constants)
    elif is_quantizing and name == GROUPS:
        check_groups(node, constants)
    elif is_quantizing or name not in known:
        is_dynamic = "choose_qparams" in name
        what = "scales that are computed at run time are not imported"
        raise UnsupportedError(what if is_dynamic else "no conversion rule")
    elif name in CHECKS:
        CHECKS[name](node)
    elif dtype == "int8" and name in _SUMS and any(map(is_product, node.all_input_nodes)):
        # XNNPACK then computes the product in float; here the addend would become a bias.
        raise UnsupportedError("its operand is a product that is not quantized: make it the bias")


def _check_per_tensor(node: Any, wanted: str, *, is_result: bool) -> None:
    _, scale, point, low, high, dtype = values_of(node)[:6]
    if not isinstance(scale, float) or not isinstance(point, int):
        raise UnsupportedError("its scale and zero point are not constant")
    if scale != float(np.float32(scale)):
        raise UnsupportedError(f"its scale {scale!r} is no float32 number, as those of PT2E are")
    name = _name(dtype)
    if name != wanted:
        raise UnsupportedError(f"{name} is not imported here: the other activations are {wanted}")
    ends = dtype_range(name)
    if is_result and (low, high) != ends:
        raise UnsupportedError(
            f"its values must be from {ends[0]} to {ends[1]}, got {low} to {high}"
        )


def _check_hazards(node: Any, constants: Mapping[str, Array]) -> None:
    """Check an operator that TVM's importer accepts but may compute differently.

    Args:
        node: the call of the operator.
        constants: of the program, by the names of their nodes.

    Raises:
        UnsupportedError: it draws random numbers, or may divide integers by zero.
    """
    if not hasattr(node.target, "_schema"):
        return
    names = [argument.name for argument in node.target._schema.arguments]
    values = dict(zip(names, values_of(node), strict=True))
    if _is_random(node, values):
        raise UnsupportedError("it is random; of a dropout: call eval() before torch.export.export")
    if _divides_integers(node):
        divisor = values["other"]
        divisor = constants.get(divisor.name) if hasattr(divisor, "name") else divisor
        if divisor is None or not np.all(divisor):
            # The processor's division would end the process.
            raise UnsupportedError("it divides integers by numbers that may be 0")


def _is_random(node: Any, values: Mapping[str, Any]) -> bool:
    """Tell whether a run draws numbers. TVM's importer draws them once, or leaves them out."""
    if _RANDOM not in {tag.name for tag in node.target.tags}:
        return False
    is_training = values.get("train", values.get("training", True)) is not False
    shares = [values[name] for name in ("p", "dropout", "dropout_p") if name in values]
    return is_training and shares != [0]


def _divides_integers(node: Any) -> bool:
    if operator_of(node).split(".")[0] not in _DIVISIONS:
        return False
    dtype = str(node.meta["val"].dtype)
    return not dtype.startswith(("torch.float", "torch.bfloat"))


def _name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")
