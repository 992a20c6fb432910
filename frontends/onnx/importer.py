"""From an ONNX model to a module of Relax operators between quantize and dequantize."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tvm
from tvm import relax

from frontends.builder import Imported
from frontends.errors import ModelFormatError, UnsupportedOperatorError, reason_of
from frontends.naming import owners, with_results
from frontends.onnx.block_weights import with_weight_products
from frontends.onnx.bounded import with_counts
from frontends.onnx.constants import constants_of, dtype_of, with_values, without_unread_constants
from frontends.onnx.control import with_closed_loops, without_subgraphs
from frontends.onnx.float8 import with_float8
from frontends.onnx.folding import with_folded_shapes
from frontends.onnx.fused_layers import with_fused_layers
from frontends.onnx.grouping import (
    check_groups,
    grouped,
    with_known_types,
    with_nodes,
    with_standard_pairs,
)
from frontends.onnx.growth import check_growth, with_bounds
from frontends.onnx.halves import with_wide_halves
from frontends.onnx.identities import without_clips, without_identities
from frontends.onnx.names import attributes_of, free_prefix, told_by_file
from frontends.onnx.operators import check_operators
from frontends.onnx.package import onnx_package
from frontends.onnx.pairs import with_single_pairs
from frontends.onnx.parameters import (
    with_quantized_parameters,
    with_real_few_bits,
    without_zero_scales,
)
from frontends.onnx.products import with_float_products, with_scaled_data
from frontends.onnx.propagation import propagated
from frontends.onnx.qoperators import RULES
from frontends.onnx.reader import Shapes, read_proto, with_shapes
from frontends.onnx.standard_functions import without_standard_functions
from frontends.onnx.subgraphs import FLOAT
from frontends.onnx.tensors import check_tensors, shapes_of
from qnn_ops.checks import check_choice
from qnn_ops.errors import QnnError
from qnn_ops.onnxruntime import ONNXRUNTIME
from qnn_ops.registry import type_spec
from qnn_ops.serial import serial
from qnn_ops.signature import ARITHMETIC, Signature, TensorInfo, with_signature

_OF_SHAPES = (
    *("Attention", "FusedMatMul", "GroupQueryAttention", "MultiHeadAttention", "QAttention"),
    "RotaryEmbedding",
)
"""Operators that are written by the shapes of their operands, such as masks."""
_ARRAYS = (
    *("bool", "float16", "float32", "float64", "int8", "int16", "int32", "int64"),
    *("uint8", "uint16", "uint32", "uint64"),
)
"""The dtypes of what a run takes and gives."""
_QUANTIZING = ("DynamicQuantizeLinear", "QuantizeLinear")


@serial
def from_onnx(
    model: Any,
    shape_dict: Mapping[str, Sequence[int]] | None = None,
    *,
    outputs: str = "model",
    values: Mapping[str, Any] | None = None,
) -> tuple[tvm.IRModule, dict[str, tvm.runtime.Tensor]]:
    """Import a quantized ONNX model, whose integers are ONNX Runtime's.

    Convolutional networks, as groups of DequantizeLinear, an operator and QuantizeLinear, or of
    quantized operators such as QLinearConv; both give the same integers. Networks that are
    quantized when they run, with MatMulInteger, ConvInteger and what is made of them. The
    documentation's page on numbers of ONNX models says what these are, and which operators there
    are. ``build`` makes integer operators of the groups. What ONNX Runtime leaves in float is
    computed in float32, with a ``LeftInFloatWarning``; a sum of floats may differ in its last bits.

    Args:
        model: the path of an .onnx file, whose constants may lie beside it, where large ones stay:
            these files must not change before the module is built; its contents; or an
            ``onnx.ModelProto``. The package onnx reads it: pip install 'tvm-qnn[onnx]'.
        shape_dict: shapes of inputs by name, where they are not the file's: of a dynamic batch.
        outputs: "model", or "all" for every quantized tensor, too, before the model's own.
        values: of inputs by name, which become constants: one number for all elements, or an array.
            Branches and loops that they decide on are written out; a branch that is not taken need
            not fit.

    Returns:
        The module, and no parameters: its constants are part of it.

    Raises:
        UnsupportedOperatorError: it has operators that are not imported; names them all.
        ModelFormatError: it is malformed.
        QnnError: onnx is missing, a shape is not known or does not fit, or the model needs another
            version of operators.
        OSError: the file cannot be read.
    """
    check_choice("outputs", outputs, ("model", "all"))
    proto = with_values(read_proto(model), values or {})
    imported = import_proto(with_all_outputs(proto) if outputs == "all" else proto, shape_dict)
    return imported.mod, imported.params


def import_proto(proto: Any, shapes: Shapes | None = None) -> Imported:
    """Import what ``read_proto`` gave; see ``from_onnx``."""
    # numpy would warn of what constants give: 0 / 0 is NaN there, too.
    with told_by_file(proto.graph), np.errstate(all="ignore"):
        return _imported(proto, shapes)


def _imported(proto: Any, shapes: Shapes | None) -> Imported:
    onnx = onnx_package()
    for value in proto.graph.input:
        if value.type.WhichOneof("value") == "tensor_type":
            _known(value.name, dtype_of(value))
    given = proto.graph.initializer
    proto = with_bounds(with_standard_pairs(proto), shapes)
    proto = without_standard_functions(proto, shapes)
    proto = with_closed_loops(without_subgraphs(proto, shapes), shapes)
    written = list(proto.graph.node)
    is_of_shapes = any(node.op_type in _OF_SHAPES for node in written)
    if is_of_shapes or _computes_encodings(proto):
        proto = with_folded_shapes(with_shapes(proto, shapes))
    if is_of_shapes:
        proto, *_ = with_known_types(proto)
    proto = _paired_once(proto)
    graph = proto.graph
    check_groups(list(graph.node), constants_of(proto).keys())
    whole = in_groups(proto)
    check_operators(whole.graph.node, attributes_of)
    whole = with_counts(with_folded_shapes(with_shapes(whole, shapes)), attributes_of)
    check_growth(whole.graph, given)
    check_tensors(whole.graph, constants_of(whole), attributes_of)
    whole = without_unread_constants(_propagated(_fused(whole)))
    from frontends.onnx.graph_importer import import_graph

    try:
        mod, values = import_graph(whole)
    except UnsupportedOperatorError:
        raise
    except Exception as error:  # whatever TVM's importer meets
        raise ModelFormatError(f"the ONNX model cannot be imported: {reason_of(error)}") from None
    mod, results = _with_results(mod, written, values)
    main = mod["main"].with_attr("num_input", len(whole.graph.input))
    main = main.with_attr(ARITHMETIC, ONNXRUNTIME)
    mod["main"] = with_signature(main, _signature(onnx, whole, main))
    return Imported(mod, {}, results)


def _computes_encodings(proto: Any) -> bool:
    """Tell whether nodes make scales or zero points, perhaps of constants."""
    made = {name for node in proto.graph.node for name in node.output}
    of = ("DequantizeLinear", "QuantizeLinear")
    return any(
        name in made for node in proto.graph.node if node.op_type in of for name in node.input[1:]
    )


def _with_results(
    mod: tvm.IRModule, nodes: list[Any], values: Mapping[str, Any]
) -> tuple[tvm.IRModule, dict[str, int]]:
    """Name variables for the file's nodes whose results they hold."""
    made = {name: number for number, node in enumerate(nodes) for name in node.output}
    codes = [node.op_type for node in nodes]
    operands = [made.get(node.input[0]) if node.input else None for node in nodes]
    owner = owners(codes, operands, ["QuantizeLinear"], ["DequantizeLinear"], ["Relu", "Clip"])
    results = [(values[name], owner[number]) for name, number in made.items() if name in values]
    return with_results(mod, results, codes)


def in_groups(proto: Any) -> Any:
    """Return a copy of the model without quantized operators: their groups are in their places.

    Raises:
        UnsupportedOperatorError: an operator has none.
    """
    onnx = onnx_package()
    graph = proto.graph
    groups, missing = grouped(proto)
    if missing:
        raise UnsupportedOperatorError(
            [
                (number, graph.node[number].op_type, reason, list(graph.node[number].output))
                for number, reason in missing.items()
            ]
        )
    kept = {value.name for value in graph.output}
    constants, prefix = constants_of(proto), free_prefix(graph)
    nodes = [_copied(onnx, node) for node in groups.nodes]
    nodes = without_clips(nodes, constants, kept)
    more = without_zero_scales(nodes, {**constants, **groups.added}, attributes_of, prefix)
    return with_nodes(proto, nodes, {**groups.added, **more})


def _paired_once(proto: Any) -> Any:
    """Return a copy of the model in which no tensor is quantized twice in a row.

    An Identity between two pairs would hide that they are two. Products that nothing quantizes
    are quantized operators in it, and what is multiplied with quantized data is quantized, too.
    """
    onnx, graph = onnx_package(), proto.graph
    kept = [value.name for value in graph.output]
    nodes = without_identities([_copied(onnx, node) for node in graph.node], kept)
    constants = constants_of(proto)
    prefix = free_prefix(graph)
    nodes, added = with_single_pairs(nodes, constants, kept, prefix)
    nodes, more = with_scaled_data(nodes, {**constants, **added}, attributes_of, prefix)
    added |= more
    known = {**constants, **added}
    nodes, more = with_quantized_parameters(nodes, known, attributes_of, prefix)
    added |= more
    known = {**constants, **added}
    nodes, more = with_weight_products(nodes, known, kept, attributes_of, prefix)
    added |= more
    nodes, more = with_real_few_bits(nodes, known, kept, attributes_of)
    added |= more
    nodes, more = with_float8(nodes, {**constants, **added}, attributes_of, prefix)
    added |= more
    nodes, more = with_wide_halves(nodes, {**constants, **added}, kept, graph.input, prefix)
    added |= more
    nodes = without_clips(nodes, {**constants, **added}, set(kept))
    nodes = with_float_products(nodes, {**constants, **added}, attributes_of, kept)
    return with_nodes(proto, nodes, added)


def _fused(proto: Any) -> Any:
    """Return a copy of the model with layers in place of what they consist of."""
    graph = proto.graph
    floats = {
        value.name
        for value in (*graph.input, *graph.value_info, *graph.output)
        if value.type.tensor_type.elem_type == FLOAT
    }
    kept = [value.name for value in graph.output]
    nodes, constants, shapes = list(graph.node), constants_of(proto), shapes_of(graph)
    return with_nodes(
        proto, with_fused_layers(nodes, constants, kept, shapes, floats.__contains__), {}
    )


def _propagated(proto: Any) -> Any:
    """Return a copy of the model with quantization where ONNX Runtime moves it to."""
    onnx, graph = onnx_package(), proto.graph
    nodes = [_copied(onnx, node) for node in graph.node]
    types = {
        value.name: value.type.tensor_type.elem_type
        for value in (*graph.input, *graph.value_info, *graph.output)
    }
    kept = [value.name for value in graph.output]
    prefix = free_prefix(graph)
    return with_nodes(proto, propagated(nodes, constants_of(proto), kept, types, prefix), {})


def _copied(onnx: Any, node: Any) -> Any:
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    return copy


def with_all_outputs(proto: Any) -> Any:
    """Return a copy of the model that also gives what its nodes quantize, in their order."""
    onnx = onnx_package()
    result = onnx.ModelProto()
    result.CopyFrom(proto)
    given = [value.name for value in proto.graph.output]
    more = []
    for node in proto.graph.node:
        if node.op_type in _QUANTIZING or node.op_type in RULES:
            more += [name for name in node.output[:1] if name and name not in given]
    values = [onnx.helper.make_empty_tensor_value_info(name) for name in more]
    del result.graph.output[:]
    result.graph.output.extend([*values, *proto.graph.output])
    return result


def _known(name: str, dtype: str) -> str:
    """Return the dtype of an input or output, after a check that arrays may have it."""
    if dtype not in _ARRAYS:
        raise QnnError(f"{name!r} is {dtype}: inputs and outputs may be {', '.join(_ARRAYS)}")
    return dtype


def _signature(onnx: Any, proto: Any, main: relax.Function) -> Signature:
    inputs = []
    for value in proto.graph.input:
        tensor = value.type.tensor_type
        dtype = _known(value.name, dtype_of(value))
        shape = tuple(dim.dim_value for dim in tensor.shape.dim)
        inputs.append(TensorInfo(value.name, shape, dtype))
    result = main.ret_ty
    fields = result.fields if isinstance(result, relax.TupleType) else [result]
    outputs = []
    for value, field in zip(proto.graph.output, fields, strict=True):
        spec = type_spec(field, f"output {value.name!r}")
        outputs.append(TensorInfo(value.name, spec.shape, _known(value.name, spec.dtype)))
    return Signature(tuple(inputs), tuple(outputs))
