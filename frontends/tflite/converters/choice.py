"""Chooses a rule from an operator's row."""

from collections.abc import Sequence

from frontends.errors import UnsupportedError
from frontends.tflite.converters import scales
from frontends.tflite.converters.context import Context
from frontends.tflite.converters.quantize import in_float
from frontends.tflite.model import COMPLEX, DTYPES, HANDLE, VARIANT, Model, Operator, Tensor
from frontends.tflite.operators import CONVERTED, MOVED, Row, Rule, row_of
from qnn_ops.errors import QnnError


def checked_rule(ctx: Context) -> tuple[Rule, bool]:
    """Return the result of ``rule_for``, after checks of complex tensors and of TFLM's types.

    Raises:
        QnnError: as ``rule_for``.
    """
    row = row_of(ctx.operator.code)
    for tensor in map(ctx.output, range(len(ctx.operator.outputs))):
        is_complex = tensor.dtype == COMPLEX and (row.gives_complex or row.reshapes)
        if tensor.dtype not in (*DTYPES, HANDLE, VARIANT) and not is_complex:
            raise UnsupportedError(f"{tensor.label} is of type {tensor.dtype}")
    _check_complex(ctx)
    if ctx.model.semantics == "tflm":
        _check_micro(ctx.model, ctx.operator)
    return rule_for(ctx.model, ctx.operator)


def _check_complex(ctx: Context) -> None:
    """Raise if an operator reads a complex tensor but cannot compute with one."""
    row = row_of(ctx.operator.code)
    for index in ctx.operator.inputs:
        tensor = ctx.model.tensors[index]
        if index >= 0 and tensor.dtype == COMPLEX and not (row.takes_complex or row.reshapes):
            raise UnsupportedError(f"{tensor.label} is complex")
    if row.reshapes:
        data, result = ctx.tensor(0), ctx.output()
        if (data.dtype == COMPLEX) != (result.dtype == COMPLEX):
            raise QnnError(f"{data.label} is {data.dtype}, {result.label} is {result.dtype}")


def _check_micro(model: Model, operator: Operator) -> None:
    """Raise unless an operator gives TFLM's results.

    Raises:
        UnsupportedError: it does not, or not for tensors of these types, or with several scales or
            none.
    """
    dtypes = row_of(operator.code).micro
    if not dtypes:
        raise UnsupportedError("what TFLM computes for it is not computed here")
    tensors = [model.tensors[i] for i in (*operator.inputs, *operator.outputs) if i >= 0]
    if others := {tensor.dtype for tensor in tensors if not tensor.is_constant} - dtypes:
        names = ", ".join(sorted(others))
        raise UnsupportedError(
            f"what TFLM computes for tensors of type {names} is not computed here"
        )
    for tensor in tensors if dtypes == CONVERTED else ():
        if tensor.quantization is not None and tensor.quantization.is_per_channel:
            raise UnsupportedError(f"TFLM takes the first scale of {tensor.label} for all of it")
    for tensor in tensors if dtypes != MOVED else ():
        if tensor.dtype == "int8" and tensor.quantization is None and not tensor.is_constant:
            raise UnsupportedError(f"{tensor.label} has no scale, of which TFLM computes another")


def rule_for(model: Model, operator: Operator) -> tuple[Rule, bool]:
    """Return an operator's rule, and whether it is a float rule for quantized tensors.

    Raises:
        UnsupportedError: there is none.
        QnnError: the operator's tensors lack quantization.
    """
    rule, is_fallback = _rule_for(model, operator)
    inputs = (model.tensors[index] for index in operator.inputs if index >= 0)
    if row_of(operator.code).is_complemented and any(map(scales.is_complemented, inputs)):
        rule = scales.with_complements(rule)
    return rule, is_fallback


def _rule_for(model: Model, operator: Operator) -> tuple[Rule, bool]:
    row = row_of(operator.code)
    inputs = [model.tensors[index] for index in operator.inputs if index >= 0]
    outputs = [model.tensors[index] for index in operator.outputs]
    _check_types(row, [*inputs, *outputs])
    for position, index in enumerate(operator.inputs):
        if index >= 0 and model.tensors[index].blocks:
            if row.by_block is None or position != 1:
                raise UnsupportedError(f"{model.tensors[index].label} has scales by block")
            scales.check_real(outputs)
            return row.by_block, False
    if row.data is not None:
        for tensor in inputs[:1] if row.dtypes else ():
            if tensor.dtype not in row.dtypes:
                raise UnsupportedError(f"of {tensor.dtype}")
        return row.data, False
    _check_known(row, model, operator)
    if row.hybrid is not None and _is_hybrid(row, inputs):
        scales.check_quantized(inputs)
        scales.check_real(outputs)
        return row.hybrid, False
    # The weights of int16 data are int8.
    data = inputs[:1] + inputs[2:] if row.has_computed_weights else inputs
    activations = {tensor.dtype for tensor in data if not tensor.is_constant}
    dtypes = activations | {tensor.dtype for tensor in outputs}
    is_bytes = dtypes <= {*scales.EIGHT_BITS}
    if dtypes == {"int16"} or is_bytes:
        rule = row.quantized if is_bytes else row.int16
        found = scales.scaled_rule(row, rule, operator, [*inputs, *outputs])
        if found is None and is_bytes:
            scales.check_quantized([*inputs, *outputs])
        if found is None and is_bytes and row.floats is not None:
            return in_float(row.floats), True
        if found is not None:
            return found, False
    is_wider = activations <= {*scales.EIGHT_BITS} and dtypes - activations == {"int16"}
    if row.widens and row.quantized is not None and is_wider:
        scales.check_quantized([*inputs, *outputs])
        return row.quantized, False
    if row.sums is not None and activations <= {"int8"} and dtypes - activations == {"int32"}:
        return row.sums, False
    weights = {tensor.dtype for tensor in inputs if tensor.is_constant} & {*scales.EIGHT_BITS}
    if "float32" in activations and weights:
        raise UnsupportedError(
            f"float32 activations with {weights.pop()} weights, for which there is no hybrid rule"
        )
    if dtypes == {"float32"} and row.floats is not None:
        return row.floats, False
    if dtypes in ({"int32"}, {"int64"}, {"bool"}) and row.whole is not None:
        return row.whole, False
    shapes = [t.label for t in inputs if not t.is_constant and t.dtype in ("int32", "int64")]
    if shapes and {tensor.dtype for tensor in outputs}.isdisjoint(("int32", "int64", "bool")):
        # Operands such as paddings, axes or the shape of the result.
        raise UnsupportedError(f"{', '.join(shapes)} must be constant")
    raise UnsupportedError(f"no conversion rule for tensors of type {', '.join(sorted(dtypes))}")


def _check_types(row: Row, tensors: Sequence[Tensor]) -> None:
    """Raise for strings, and for packed numbers that LiteRT's kernels read as another type.

    Raises:
        UnsupportedError: a tensor has such a type.
    """
    for tensor in tensors:
        if tensor.dtype == "string":
            raise UnsupportedError(f"{tensor.label} is of type string")
    packed = [tensor for tensor in tensors if tensor.packed]
    for tensor in packed:
        names = {tensor.packed, f"constant {tensor.packed}" if tensor.is_constant else ""}
        if names.isdisjoint(row.unpacks):
            raise UnsupportedError(
                f"{tensor.label} is {tensor.packed}, which LiteRT does not unpack there"
            )
    if all(tensor.is_constant for tensor in packed) or "int2" in row.unpacks:
        return
    kinds = sorted({each.packed or each.dtype for each in tensors if each.dtype == "int8"})
    if len(kinds) > 1:
        raise UnsupportedError(f"tensors of {' and '.join(kinds)}")


def _check_known(row: Row, model: Model, operator: Operator) -> None:
    """Raise if there is no rule for any type."""
    if operator.code.startswith("CUSTOM:"):
        name = operator.code.removeprefix("CUSTOM:")
        what = row.refusal or "is no operator of LiteRT's own"
        if name.startswith("Flex"):
            what = f"is TensorFlow's {name.removeprefix('Flex')}, no operator of LiteRT's own"
        raise UnsupportedError(what + _hint(model, operator))
    if row.refusal:
        raise UnsupportedError(row.refusal)
    if not (row.quantized or row.floats or row.hybrid or row.whole):
        raise UnsupportedError("no conversion rule")


def _is_hybrid(row: Row, inputs: Sequence[Tensor]) -> bool:
    """Tell whether the data is not quantized, and the weights are bytes."""
    if max(row.data_and_weights) >= len(inputs):
        return False
    data, weights = (inputs[position].dtype for position in row.data_and_weights)
    return data not in (*scales.EIGHT_BITS, "int16") and weights in scales.EIGHT_BITS


def _hint(model: Model, operator: Operator) -> str:
    """Name the operand tensors that other operators compute, if there are any."""
    computed = set(model.computed)
    read = [model.tensors[index].name for index in operator.inputs if index in computed]
    if not read:
        return ""
    return (
        "; what comes before it can be imported by itself: name tensors of the model in outputs, "
        f"such as {read}"
    )
