"""TVM's importer of ONNX graphs, with own rules for some operators."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import tvm
from tvm import relax
from tvm.relax.frontend.onnx.onnx_frontend import ONNXGraphImporter

import frontends.onnx.converters  # noqa: F401 (registers the rules)
from frontends.errors import UnsupportedOperatorError, reason_of
from frontends.onnx.converters.registry import CONVERTERS
from frontends.onnx.reader import opset_of


class _GraphImporter(ONNXGraphImporter):
    """Asks the own rules first."""

    def _check_for_unsupported_ops(self, graph: Any) -> None:
        """Raise never: operators are checked before."""
        self.numbers = iter(enumerate(graph.node))

    def _convert_operator(
        self, op_name: str, inputs: list[Any], attrs: dict[str, Any], opset: int
    ) -> Any:
        number, node = next(self.numbers)
        attrs["tvm_custom"]["outputs"] = list(node.output)
        try:
            if op_name not in CONVERTERS:
                return self._kept(super()._convert_operator(op_name, inputs, attrs, opset))
            result: relax.Expr = CONVERTERS[op_name](self.bb, list(inputs), attrs)
            return result if isinstance(result, relax.Tuple) else self._kept(result)
        except Exception as error:  # of the rules, and whatever TVM's own meet
            found = (number, op_name, reason_of(error), list(node.output))
            raise UnsupportedOperatorError([found]) from None

    def _kept(self, result: Any) -> Any:
        """Give a tensor that is computed a variable of its own."""
        is_tensor = isinstance(result, relax.Call) and isinstance(
            self.bb.normalize(result).ty, relax.TensorType
        )
        return self.bb.emit(result) if is_tensor else self.bb.normalize(result)


def import_graph(proto: Any) -> tuple[tvm.IRModule, dict[str, Any]]:
    """Import a model whose operators are known, and whose shapes are static.

    Returns:
        The module, and what holds each tensor, by its name.

    Raises:
        UnsupportedOperatorError: a rule, own or TVM's, does not take an operator.
    """
    with contextlib.redirect_stdout(io.StringIO()):  # TVM's importer prints what it fails at
        importer = _GraphImporter({}, "float32")
        mod = importer.from_onnx(proto.graph, opset_of(proto))
    return mod, importer._nodes
