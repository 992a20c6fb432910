"""From an ONNX model to a module of Relax operators between quantize and dequantize."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tvm
from tvm import relax

from frontends.builder import Imported
from frontends.errors import ModelFormatError, UnsupportedOperatorError, reason_of
from frontends.naming import owners, with_results
from frontends.onnx.graph.folding import fold
from frontends.onnx.graph.graph import Graph, Rule
from frontends.onnx.graph.shapes import infer
from frontends.onnx.graph.tensors import check_tensors
from frontends.onnx.normalize.bounded import add_counts
from frontends.onnx.normalize.control import close_loops, write_subgraphs
from frontends.onnx.normalize.float8 import write_float8
from frontends.onnx.normalize.fused_layers import write_fused_layers
from frontends.onnx.normalize.gemms import float_product, scale_gemm_data
from frontends.onnx.normalize.grouping import (
    check_groups,
    find_needed_types,
    write_groups,
    write_standard_pairs,
)
from frontends.onnx.normalize.growth import check_bounds, check_growth
from frontends.onnx.normalize.halves import widen_halves
from frontends.onnx.normalize.identities import drop_clip, drop_identity
from frontends.onnx.normalize.pairs import join_pairs
from frontends.onnx.normalize.parameters import (
    decode_few_bits,
    quantize_parameters,
    replace_zero_scales,
)
from frontends.onnx.normalize.propagation import move_quantization
from frontends.onnx.normalize.standard_functions import write_standard_functions
from frontends.onnx.normalize.weight_products import weight_product
from frontends.onnx.operators import check_operators
from frontends.onnx.read.constants import dtype_of, with_values
from frontends.onnx.read.names import told_by_file
from frontends.onnx.read.open_inputs import Shapes, sized_inputs
from frontends.onnx.read.package import copied, onnx_package
from frontends.onnx.read.reader import read_proto
from frontends.onnx.replacements.registry import RULES
from frontends.open_sizes import Bounds
from qnn_ops.arithmetic.onnxruntime import ONNXRUNTIME
from qnn_ops.dialect.checks import check_choice
from qnn_ops.dialect.registry import type_spec
from qnn_ops.dialect.signature import (
    ARITHMETIC,
    Signature,
    TensorInfo,
    named_sizes,
    with_bounds,
    with_signature,
)
from qnn_ops.dialect.sizes import within
from qnn_ops.errors import QnnError
from qnn_ops.serial import serial

_ARRAYS = (
    *("bool", "float16", "float32", "float64", "int8", "int16", "int32", "int64"),
    *("uint8", "uint16", "uint32", "uint64"),
)
"""The dtypes of what a run takes and gives."""
_QUANTIZING = ("DynamicQuantizeLinear", "QuantizeLinear")


@serial
def from_onnx(
    model: Any,
    shape_dict: Shapes | None = None,
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
        shape_dict: shapes of inputs by name, where they are not the file's. A size is a number, a
            name, or a ``range`` of numbers; of a name, each run decides. The file's own names are
            keys, too: ``{"batch": range(1, 17)}``.
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
    known, bounds = sized_inputs(proto.graph, shapes)
    with told_by_file(proto.graph), np.errstate(all="ignore"), within(bounds):
        return _imported(Graph(proto, known), bounds)


def _imported(graph: Graph, bounds: Mapping[str, Bounds]) -> Imported:
    for value in graph.input:
        if value.type.WhichOneof("value") == "tensor_type":
            _known(value.name, dtype_of(value))
    for step in _STEPS:
        if isinstance(step, tuple):
            graph.apply(*step)
        else:
            step(graph)
    return _emitted(graph, bounds)


def _note_nodes(graph: Graph) -> None:
    graph.written = [(node.op_type, [*node.input], [*node.output]) for node in graph.node]


_STEPS: tuple[Callable[[Graph], Any] | tuple[Rule, ...], ...] = (
    write_standard_pairs,
    check_bounds,
    write_standard_functions,
    write_subgraphs,
    write_standard_functions,  # whose types were not known inside of branches
    close_loops,
    _note_nodes,
    find_needed_types,
    (drop_identity,),  # one between two pairs would hide that they are two
    join_pairs,
    (scale_gemm_data, quantize_parameters, weight_product, decode_few_bits),
    write_float8,
    widen_halves,
    (drop_clip, float_product),
    check_groups,
    write_groups,
    (drop_clip,),
    replace_zero_scales,
    check_operators,
    infer,
    fold,
    add_counts,
    check_growth,
    check_tensors,
    write_fused_layers,
    (move_quantization,),
    Graph.drop_unread_constants,
)
"""What makes operators that are converted of a model's, in this order: rules, or whole passes."""


def _emitted(graph: Graph, bounds: Mapping[str, Bounds]) -> Imported:
    """Return the module of a graph of operators that are converted."""
    from frontends.onnx.graph_importer import import_graph

    try:
        mod, values = import_graph(graph)
    except UnsupportedOperatorError:
        raise
    except Exception as error:  # whatever TVM's importer meets
        raise ModelFormatError(f"the ONNX model cannot be imported: {reason_of(error)}") from None
    # Variables are named for the nodes whose results they hold.
    made = {name: number for number, (*_, names) in enumerate(graph.written) for name in names}
    codes = [code for code, *_ in graph.written]
    operands = [made.get(inputs[0]) if inputs else None for _, inputs, _ in graph.written]
    owner = owners(codes, operands, ["QuantizeLinear"], ["DequantizeLinear"], ["Relu", "Clip"])
    named = [(values[name], owner[number]) for name, number in made.items() if name in values]
    # A node's last variable is that which is computed last, whatever the order of its results.
    bindings = (each for block in mod["main"].body.blocks for each in block.bindings)
    places = {binding.var: place for place, binding in enumerate(bindings)}
    named.sort(key=lambda pair: places.get(pair[0], -1))
    mod, results = with_results(mod, named, codes)
    main = mod["main"].with_attr("num_input", len(graph.input))
    main = main.with_attr(ARITHMETIC, ONNXRUNTIME)
    if bounds:
        main = with_bounds(main, bounds)
    mod["main"] = with_signature(main, _signature(graph, main, bounds))
    return Imported(mod, {}, results)


def with_all_outputs(proto: Any) -> Any:
    """Return a copy of the model that also gives what its nodes quantize, in their order."""
    onnx = onnx_package()
    result = copied(proto)
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


def _signature(graph: Graph, main: relax.Function, bounds: Mapping[str, Bounds]) -> Signature:
    inputs = []
    for value in graph.input:
        dtype = _known(value.name, dtype_of(value))
        shape = named_sizes(graph.shape(value.name), bounds)
        inputs.append(TensorInfo(value.name, shape, dtype))
    result = main.ret_ty
    fields = result.fields if isinstance(result, relax.TupleType) else [result]
    outputs = []
    for value, field in zip(graph.output, fields, strict=True):
        spec = type_spec(field, f"output {value.name!r}")
        shape = named_sizes(spec.shape, bounds)
        outputs.append(TensorInfo(value.name, shape, _known(value.name, spec.dtype)))
    return Signature(tuple(inputs), tuple(outputs))
