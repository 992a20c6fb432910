"""The choice of a rule from an operator's row."""

from __future__ import annotations

from collections.abc import Sequence

from frontends.errors import UnsupportedError
from frontends.tflite.converters.scales import (
    EIGHT_BITS,
    are_plain,
    check_quantized,
    is_complemented,
    is_signed,
    lacks_one_scale,
    with_complements,
    with_positive_scales,
    with_unit_scale,
)
from frontends.tflite.model import Model, Operator, Tensor
from frontends.tflite.operators import Row, Rule, row_of


def rule_for(model: Model, operator: Operator) -> tuple[Rule, bool]:
    """Return an operator's rule, and whether it is a float rule for quantized tensors.

    Raises:
        UnsupportedError: there is none.
        QnnError: the operator's tensors lack quantization.
    """
    rule, is_fallback = _rule_for(model, operator)
    inputs = (model.tensors[index] for index in operator.inputs if index >= 0)
    if row_of(operator.code).is_complemented and any(map(is_complemented, inputs)):
        rule = with_complements(rule)
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
            return row.by_block, False
    if row.data is not None:
        for tensor in inputs[:1] if row.dtypes else ():
            if tensor.dtype not in row.dtypes:
                raise UnsupportedError(f"of {tensor.dtype}")
        return row.data, False
    _check_known(row, model, operator)
    if row.hybrid is not None and _is_hybrid(row, inputs):
        check_quantized(inputs)
        return row.hybrid, False
    # The weights of int16 data are int8.
    data = inputs[:1] + inputs[2:] if row.has_computed_weights else inputs
    activations = {tensor.dtype for tensor in data if not tensor.is_constant}
    dtypes = activations | {tensor.dtype for tensor in outputs}
    is_bytes = dtypes <= {*EIGHT_BITS}
    if dtypes == {"int16"} or is_bytes:
        rule = row.quantized if is_bytes else row.int16
        found = _scaled(row, rule, operator, [*inputs, *outputs])
        if found is None and is_bytes:
            check_quantized([*inputs, *outputs])
        if found is None and is_bytes and row.floats is not None:
            return row.floats, True
        if found is not None:
            return found, False
    is_wider = activations <= {*EIGHT_BITS} and dtypes - activations == {"int16"}
    if row.widens and row.quantized is not None and is_wider:
        check_quantized([*inputs, *outputs])
        return row.quantized, False
    weights = {tensor.dtype for tensor in inputs if tensor.is_constant} & {*EIGHT_BITS}
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
        # Such as paddings, axes or the shape of the result.
        raise UnsupportedError(f"{', '.join(shapes)} must be constant")
    raise UnsupportedError(f"no conversion rule for tensors of type {', '.join(sorted(dtypes))}")


def _scaled(
    row: Row, rule: Rule | None, operator: Operator, tensors: Sequence[Tensor]
) -> Rule | None:
    """Return the rule for tensors of 8 or 16 bits as it reads their scales."""
    if rule is None:
        return None
    if row.is_for_every_scale and are_plain(operator, tensors):
        return with_unit_scale(rule)
    if row.unscaled is not None and any(map(lacks_one_scale, tensors)):
        return row.unscaled
    check_quantized(tensors)
    return with_positive_scales(rule) if row.is_layer and any(map(is_signed, tensors)) else rule


def _check_types(row: Row, tensors: Sequence[Tensor]) -> None:
    """Raise for strings, and for packed numbers that LiteRT's kernels read as if they were others.

    Raises:
        UnsupportedError: there are some.
    """
    for tensor in tensors:
        if tensor.dtype == "string":
            raise UnsupportedError(f"{tensor.label} is of type string")
    packed = [tensor for tensor in tensors if tensor.packed]
    for tensor in packed:
        kind = f"constant {tensor.packed}" if tensor.is_constant else tensor.packed
        if kind not in (*row.unpacks, "constant int4"):
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
    return data not in (*EIGHT_BITS, "int16") and weights in EIGHT_BITS


def _hint(model: Model, operator: Operator) -> str:
    """Name the tensors that an operator reads from others, if there are some."""
    computed = set(model.computed)
    read = [model.tensors[index].name for index in operator.inputs if index in computed]
    if not read:
        return ""
    return (
        "; what comes before it can be imported by itself: name tensors of the model in outputs, "
        f"such as {read}"
    )
