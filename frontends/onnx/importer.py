"""Imports an ONNX model as a Relax module of operators between quantize and dequantize."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tvm

from frontends.builder import Imported
from frontends.onnx.graph.folding import fold
from frontends.onnx.graph.graph import Graph, Rule
from frontends.onnx.graph.shapes import infer
from frontends.onnx.graph.subgraphs import state_plain
from frontends.onnx.graph.tensors import check_inputs, check_tensors
from frontends.onnx.normalize.blocks import state_averages
from frontends.onnx.normalize.bounded import add_counts
from frontends.onnx.normalize.control import close_loops, write_subgraphs
from frontends.onnx.normalize.fused_layers import write_fused_layers
from frontends.onnx.normalize.grouping import (
    check_groups,
    find_needed_types,
    write_groups,
    write_standard_pairs,
)
from frontends.onnx.normalize.growth import check_bounds, check_growth
from frontends.onnx.normalize.halves import widen_halves, write_float8
from frontends.onnx.normalize.identities import drop_clip, drop_identity
from frontends.onnx.normalize.pairs import join_pairs, move_quantization
from frontends.onnx.normalize.parameters import (
    decode_few_bits,
    quantize_parameters,
    replace_zero_scales,
)
from frontends.onnx.normalize.standard_functions import write_standard_functions
from frontends.onnx.normalize.weight_products import float_product, scale_gemm_data, weight_product
from frontends.onnx.operators import check_operators
from frontends.onnx.read.constants import with_values
from frontends.onnx.read.names import copied, onnx_package, told_by_file
from frontends.onnx.read.open_inputs import Shapes
from frontends.onnx.read.reader import read_proto
from frontends.onnx.replacements.registry import RULES
from qnn_ops.dialect.checks import check_choice
from qnn_ops.dialect.sizes import within
from qnn_ops.serial import serial

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
    from frontends.onnx.graph_importer import import_graph

    graph = Graph(proto, shapes)
    # numpy would warn of results of constants, as 0 / 0, which is NaN at run time, too.
    with told_by_file(proto.graph), np.errstate(all="ignore"), within(graph.bounds):
        for step in _STEPS:
            if isinstance(step, tuple):
                graph.apply(*step)
            else:
                step(graph)
        return import_graph(graph)


def _note_plain(graph: Graph) -> None:
    state_plain(graph.node, {value.name for value in graph.input})


def _note_nodes(graph: Graph) -> None:
    graph.written = [(node.op_type, [*node.input], [*node.output]) for node in graph.node]


_STEPS: tuple[Callable[[Graph], Any] | tuple[Rule, ...], ...] = (
    check_inputs,
    _note_plain,
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
    state_averages,
    (move_quantization,),
    Graph.drop_unread_constants,
)
"""The steps, in order, that check a model and turn its operators into converted ones.

They are rules or whole passes.
"""


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
