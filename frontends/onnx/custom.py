"""Custom operators with rules from users."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from tvm import relax, tirx

from frontends.builder import all_ended
from frontends.errors import UnsupportedError, UnsupportedOperatorError, reason_of
from frontends.onnx.converters.registry import CONVERTERS, Call
from frontends.onnx.graph.graph import Graph
from frontends.onnx.graph.shapes import STAND_INS
from frontends.onnx.operators import OPERATORS
from frontends.onnx.read.constants import Array
from frontends.onnx.read.mapped import is_external
from frontends.onnx.read.names import CUSTOM, copied, onnx_package
from frontends.onnx.read.standard import DOMAINS
from frontends.onnx.replacements.registry import RULES
from qnn_ops.dialect.registry import constant_of
from qnn_ops.errors import QnnError

_UNCHECKED = "tvm_qnn.unchecked"
"""A domain without operators known to the package onnx."""


@dataclass(frozen=True)
class CustomCall:
    """A custom operator of a file, for which a rule returns expressions.

    Attributes:
        inputs: the operands' expressions; None for an operand that is left out.
        outputs: the names of the results.
        attributes: by name, as numbers, texts, arrays, and lists of them.
    """

    inputs: tuple[relax.Expr | None, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any]

    def constant(self, index: int) -> Array:
        """Return the value of a constant operand.

        Raises:
            QnnError: it is not constant.
        """
        operand = self.inputs[index]
        if operand is None or (value := constant_of(operand)) is None:
            raise QnnError(f"input {index} is not constant")
        return value


CustomRule = Callable[[CustomCall], "relax.Expr | list[relax.Expr]"]
"""Returns the expression of the operator's output, or a list of expressions for several outputs."""


def custom(domain: str, name: str) -> Callable[[CustomRule], CustomRule]:
    """Decorate a function that says what a custom operator computes.

    The function gets a ``CustomCall``. It returns the expression of the result, of Relax or of the
    dialect's operators, or a list of expressions. An import calls it several times: first to learn
    the shapes of results. A later function for the same operator replaces it. If a file defines the
    operator as a function, this function goes first.

    Args:
        domain: of the operator, as files have it.
        name: of the operator.

    Raises:
        QnnError: if tvm-qnn has a rule for this operator itself.
    """
    if domain in DOMAINS or (domain == "com.microsoft" and name in RULES):
        raise QnnError(f"custom: tvm-qnn imports {name!r} of {domain or 'ai.onnx'} itself")
    code = f"{domain}.{name}"

    def decorate(rule: CustomRule) -> CustomRule:
        def convert(call: Call) -> relax.Expr:
            made = _results(call.builder, rule, call.given, call.outputs, call.attributes)
            return made[0] if len(made) == 1 else relax.Tuple(made)

        def stand_in(model: Any, node: Any) -> Any:
            return _with_types(model, node, rule)

        CUSTOM[domain, name] = code
        OPERATORS[code] = None
        CONVERTERS[code], STAND_INS[code] = convert, stand_in
        return rule

    return decorate


def _results(
    builder: relax.BlockBuilder, rule: CustomRule, inputs: Any, outputs: Any, attributes: Any
) -> list[relax.Var]:
    """Return the variables of the results of a rule."""
    plain = {name: _plain(value) for name, value in attributes.items()}
    given = rule(CustomCall(tuple(inputs), tuple(outputs), plain))
    made = list(given) if isinstance(given, list | tuple) else [given]
    if len(made) != len(outputs):
        raise UnsupportedError(f"its rule gives {len(made)} tensors, the file lists {len(outputs)}")
    if odd := [each for each in made if not isinstance(each, relax.Expr)]:
        raise UnsupportedError(f"its rule gives a {type(odd[0]).__name__}, no expression")
    return [builder.emit(each) for each in made]


def _plain(value: Any) -> Any:
    """Return an attribute's value without types of the package onnx."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, onnx_package().TensorProto):
        return onnx_package().numpy_helper.to_array(value)
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def _with_types(model: Any, node: Any, rule: CustomRule) -> Any:
    """State the types of a node's results, which its rule determines.

    Returns:
        The node, in a domain that shape inference ignores.
    """
    onnx = onnx_package()
    if all(each.domain != _UNCHECKED for each in model.opset_import):
        model.opset_import.append(onnx.helper.make_opsetid(_UNCHECKED, 1))
    result = copied(node)
    result.domain = _UNCHECKED
    typed = Graph(onnx.shape_inference.infer_shapes(model))
    typed.symbols = _Variables()
    typed.find_types()
    try:
        operands = [_operand(typed, name) for name in node.input]
    except UnsupportedError:
        return result
    attributes = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
    builder = relax.BlockBuilder()
    parameters = [each for each in operands if isinstance(each, relax.Var)]
    try:
        with all_ended(builder), builder.function("main", parameters):
            made = _results(builder, rule, operands, node.output, attributes)
            builder.emit_func_output(made)
    except Exception as error:  # of the rule
        number = [each.output[:1] for each in model.graph.node].index(node.output[:1])
        found = (number, node.op_type, reason_of(error), list(node.output))
        raise UnsupportedOperatorError([found]) from None
    names = {variable: name for name, variable in typed.symbols.items()}
    for name, variable in zip(node.output, made, strict=True):
        kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(str(variable.ty.dtype)))
        shape = [
            int(size) if isinstance(size, tirx.IntImm) else names.get(size)
            for size in variable.ty.shape
        ]
        for stated in [each for each in model.graph.value_info if each.name == name]:
            model.graph.value_info.remove(stated)
        model.graph.value_info.append(onnx.helper.make_tensor_value_info(name, kind, shape))
    return result


class _Variables(dict[str, Any]):
    """Variables of open sizes, by their names in a file, made when they are asked for."""

    def get(self, name: str, default: Any = None) -> Any:
        """Return a variable; None if the package onnx made the name up, or it is no identifier."""
        if not name.isidentifier() or name.startswith("unk__"):
            return default
        return self.setdefault(name, tirx.Var(name, "int64"))


def _operand(graph: Graph, name: str) -> relax.Expr | None:
    """Return an operand as a constant, or as a variable of its type if its value is not known.

    Raises:
        UnsupportedError: its shape is not known.
    """
    if not name:
        return None
    if name in graph.constants and not is_external(graph.constants.data[name]):
        return relax.const(graph.constants[name])
    return relax.Var(name, relax.TensorType(graph.shape(name), graph.dtype(name)))
