"""Operators that the standard defines by other operators, which replace them."""

from typing import Any

from frontends.onnx.graph.graph import Graph
from frontends.onnx.graph.shapes import infer
from frontends.onnx.read.constants import move_constants
from frontends.onnx.read.names import all_nodes, is_of_standard, onnx_package, state

_CAST = "CastLike"
DEFINED = (
    *("AffineGrid", "BlackmanWindow", _CAST, "CausalConvWithState", "CenterCropPad"),
    *("HammingWindow", "HannWindow", "LinearAttention", "MeanVarianceNormalization"),
    *("NegativeLogLikelihoodLoss", "Shrink", "SoftmaxCrossEntropyLoss"),
    *("SwiGLU", "Swish"),
)
"""Operators without a rule of their own."""

_ROUNDS = 8
"""The most rounds: a definition may contain defined operators itself."""


def write_standard_functions(graph: Graph) -> None:
    """Replace operators by their definitions.

    An operator stays if the model's version has no definition of it, or if the definition depends
    on an unknown type.

    Raises:
        QnnError: a shape is not known, or does not fit.
    """
    make = onnx_package().helper.make_tensor_value_info
    for _ in range(_ROUNDS):
        found = _found(graph)
        if not found:
            break
        trial = graph.copy()
        typed = infer(trial)
        if _CAST in found and _write_casts(trial):
            graph.become(trial)
            continue
        for node in all_nodes(typed.graph):
            _state_defaults(node, graph.opset)
        typed.graph.value_info.extend(  # then the package knows the types of constants
            make(tensor.name, tensor.data_type, tensor.dims) for tensor in typed.graph.initializer
        )
        ids = [("", name) for name in sorted(found - {_CAST})]
        try:
            written = onnx_package().inliner.inline_selected_functions(typed, ids, False, True)
        except Exception:  # of the package's library
            break
        move_constants(written.graph)
        for tensor in written.graph.initializer:
            if tensor.name not in trial.constants:
                trial.constants[tensor.name] = tensor
        trial.node, trial.value_info = [*written.graph.node], [*written.graph.value_info]
        if _found(trial) == found and len(trial.node) == len(graph.node):
            break
        trial.find_types()
        graph.become(trial)


def _write_casts(graph: Graph) -> bool:
    """Replace each CastLike whose type is known by a Cast; tell whether there is one."""
    kinds = {name: graph.constants.kind(name) for name in graph.constants} | graph.kinds
    is_new = False
    for node in graph.node:
        if node.op_type == _CAST and (kind := kinds.get(node.input[1], 0)):
            node.op_type = "Cast"
            del node.input[1:]
            state(node, "to", kind)
            is_new = True
    return is_new


def _state_defaults(node: Any, opset: int) -> None:
    """Add an operator's default attributes, which the package leaves out of a definition."""
    if not is_defined(node, opset):
        return
    given = {each.name for each in node.attribute}
    for name, stated in onnx_package().defs.get_schema(node.op_type, opset).attributes.items():
        if name not in given and stated.default_value.name:
            node.attribute.append(stated.default_value)


def is_defined(node: Any, opset: int) -> bool:
    """Tell whether the standard defines an operator by other operators."""
    if not is_of_standard(node, *DEFINED):
        return False
    defs = onnx_package().defs
    if not defs.has(node.op_type, opset):
        return False
    schema = defs.get_schema(node.op_type, opset)
    stated = schema.function_opset_versions, schema.context_dependent_function_opset_versions
    return any(version <= opset for versions in stated for version in versions)


def _found(graph: Graph) -> set[str]:
    return {node.op_type for node in all_nodes(graph) if is_defined(node, graph.opset)}
