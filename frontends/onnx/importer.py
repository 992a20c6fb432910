"""Imports an ONNX model as a Relax module of operators between quantize and dequantize."""

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
"""The dtypes of a run's inputs and outputs."""
_QUANTIZING = ("DynamicQuantizeLinear", "QuantizeLinear")


@serial
def from_onnx(
    model: Any,
    shape_dict: Shapes | None = None,
    *,
    outputs: str = "model",
    values: Mapping[str, Any] | None = None,
) -> tuple[tvm.IRModule, dict[str, tvm.runtime.Tensor]]:
    """Import a quantized ONNX model; its integers equal ONNX Runtime's.

    Two kinds of models are imported. Statically quantized networks consist of groups
    (DequantizeLinear, an operator, QuantizeLinear) or of quantized operators such as QLinearConv;
    both give the same integers. Dynamically quantized networks use MatMulInteger, ConvInteger and
    operators that contain them. The documentation's page on the numbers of ONNX models explains the
    integers and lists the operators. ``build`` turns the groups into integer operators. Operators
    that ONNX Runtime leaves in float are computed in float32, with a ``LeftInFloatWarning``; a sum
    of floats may differ in its last bits.

    Args:
        model: the path of an .onnx file, the contents of one, or an ``onnx.ModelProto``. Large
            constants in files beside it stay there; these files must not change before the module
            is built. The package onnx reads the model: pip install 'tvm-qnn[onnx]'.
        shape_dict: shapes of inputs by name, in place of the file's. A size is a number, a name, or
            a ``range`` of numbers; each run decides the size of a name. The file's own names of
            sizes are keys, too: ``{"batch": range(1, 17)}``.
        outputs: "model", or "all" to return every quantized tensor before the model's outputs.
        values: of inputs by name, which become constants: one number for all elements, or an array.
            Branches and loops that depend only on these values are written out; a branch that is
            not taken need not fit.

    Returns:
        The module, and no parameters: its constants are part of it.

    Raises:
        UnsupportedOperatorError: the model has operators that are not imported; the error names
            them all.
        ModelFormatError: the model is malformed.
        QnnError: onnx is missing, a shape is not known or does not fit, or the model needs another
            version of the operators.
        OSError: the file cannot be read.
    """
    check_choice("outputs", outputs, ("model", "all"))
    proto = with_values(read_proto(model), values or {})
    imported = import_proto(with_all_outputs(proto) if outputs == "all" else proto, shape_dict)
    return imported.mod, imported.params


def import_proto(proto: Any, shapes: Shapes | None = None) -> Imported:
    """Import the result of ``read_proto``; see ``from_onnx``."""
    # numpy would warn of results of constants, as 0 / 0, which is NaN at run time, too.
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
    write_standard_functions,  # again: inside of branches types were not known before
    close_loops,
    _note_nodes,
    find_needed_types,
    (drop_identity,),  # an Identity between two pairs would hide the second pair
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
"""The steps, in order, that turn a model's operators into converted ones: rules or whole passes."""


def _emitted(graph: Graph, bounds: Mapping[str, Bounds]) -> Imported:
    """Return the module of a graph whose operators all have conversion rules."""
    from frontends.onnx.graph_importer import import_graph

    try:
        mod, values = import_graph(graph)
    except UnsupportedOperatorError:
        raise
    except Exception as error:  # of TVM's importer
        raise ModelFormatError(f"the ONNX model cannot be imported: {reason_of(error)}") from None
    # Variables are named after the nodes whose results they hold.
    made = {name: number for number, (*_, names) in enumerate(graph.written) for name in names}
    codes = [code for code, *_ in graph.written]
    operands = [made.get(inputs[0]) if inputs else None for _, inputs, _ in graph.written]
    owner = owners(codes, operands, ["QuantizeLinear"], ["DequantizeLinear"], ["Relu", "Clip"])
    named = [(values[name], owner[number]) for name, number in made.items() if name in values]
    # A node's last variable is the one computed last, in any order of its results.
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
    """Return a copy of the model that also returns every quantized tensor, in the nodes' order."""
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
    """Return the dtype of an input or output, after a check that arrays support it."""
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
