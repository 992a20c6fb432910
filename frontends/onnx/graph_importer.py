"""TVM's importer of ONNX graphs, with this package's rules for some operators."""

import contextlib
import io
import warnings
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import tvm
from tvm import relax
from tvm.relax.frontend.onnx.onnx_frontend import ONNXGraphImporter

import frontends.onnx.converters  # noqa: F401 (registers the rules)
from frontends.builder import Imported, all_ended
from frontends.errors import (
    ModelFormatError,
    UnsupportedError,
    UnsupportedOperatorError,
    reason_of,
)
from frontends.naming import owners, with_results
from frontends.onnx.converters.indices import counted_operands
from frontends.onnx.converters.movement import OPEN
from frontends.onnx.converters.registry import CONVERTERS, Call
from frontends.onnx.graph.graph import Graph
from frontends.onnx.graph.tensors import checked_dtype
from frontends.onnx.read.constants import dtype_of
from frontends.onnx.read.deciding import DECIDING
from frontends.ranges import of_sizes
from qnn_ops.arithmetic.onnxruntime import ONNXRUNTIME
from qnn_ops.dialect.expressions import Expression
from qnn_ops.dialect.registry import constant_of, type_spec
from qnn_ops.dialect.signature import (
    ARITHMETIC,
    Signature,
    TensorInfo,
    named_sizes,
    with_bounds,
    with_signature,
)
from qnn_ops.dialect.sizes import as_extent, is_open

_DEPENDS = "depends on the data, which values of inputs at import may tell"


class _GraphImporter(ONNXGraphImporter):
    """Asks this package's rules first.

    Attributes:
        sizes: arrays of numbers and open sizes, by the names of the tensors that hold them.
    """

    sizes: Mapping[str, Any] = MappingProxyType({})

    def _sanitize_name(self, name: str) -> str:
        """Return a name that TVM accepts, without a warning: the signature has the file's name."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return str(super()._sanitize_name(name))

    def _parse_graph_initializers(self, graph: Any) -> None:
        """Make constants; the values of a mapped constant stay in their file."""
        for name, array in graph.constants.items():
            if not name.strip():
                raise ValueError("Tensor's name is required.")
            if array.dtype != object:
                self._nodes[name] = relax.const(_tensor(array))

    def _check_for_unsupported_ops(self, graph: Any) -> None:
        """Never raise: operators were checked before."""
        self.numbers = iter(enumerate(graph.node))

    def _construct_nodes(self, graph: Any) -> None:
        """Convert nodes, after the tensors that each run computes from open sizes."""
        self.sizes = {name: each for name, each in graph.constants.items() if each.dtype == object}
        for name, array in self.sizes.items():
            self._nodes[name] = of_sizes(self.bb, array)
        super()._construct_nodes(graph)

    def _convert_operator(
        self, op_name: str, inputs: list[Any], attrs: dict[str, Any], opset: int
    ) -> Any:
        number, node = next(self.numbers)
        pairs = zip(node.input, inputs, strict=False)
        values = [self.sizes.get(name, constant_of(each)) for name, each in pairs]
        stated = {name: each for name, each in attrs.items() if name != "tvm_custom"}
        call = Call(op_name, self.bb, list(inputs), stated, list(node.output), opset, values)
        try:
            if op_name in OPEN and any(map(_has_open_size, (*values, *inputs))):
                return self._kept(OPEN[op_name](call))
            if op_name not in CONVERTERS:
                for index in DECIDING.get(op_name, ()):
                    given = inputs[index] if index < len(inputs) else None
                    if given is not None and constant_of(given) is None:
                        raise UnsupportedError(f"{node.input[index]!r} {_DEPENDS}")
                inputs[:] = counted_operands(call)
                return self._kept(super()._convert_operator(op_name, inputs, attrs, opset))
            result = CONVERTERS[op_name](call)
            result = result.expr if isinstance(result, Expression) else result
            return result if isinstance(result, relax.Tuple) else self._kept(result)
        except Exception as error:  # of this package's rules or TVM's
            found = (number, op_name, reason_of(error), list(node.output))
            raise UnsupportedOperatorError([found]) from None

    def _kept(self, result: Any) -> Any:
        """Give a computed tensor a variable of its own."""
        made = self.bb.normalize(result)
        if not isinstance(made.ty, relax.TensorType):
            return made
        if not isinstance(made.ty.shape, relax.ShapeExpr):
            raise UnsupportedError(f"the shape of its result {_DEPENDS}")
        return self.bb.emit(result) if isinstance(result, relax.Call) else made


def _has_open_size(value: Any) -> bool:
    """Tell whether a value contains an open size, or its shape does."""
    if isinstance(value, np.ndarray):
        return value.dtype == object
    shape = getattr(getattr(value, "ty", None), "shape", None)
    return shape is not None and not all(isinstance(size, tvm.tirx.IntImm) for size in shape)


def _tensor(array: Any) -> Any:
    if isinstance(array.base, np.memmap):
        with contextlib.suppress(BufferError, RuntimeError, TypeError, ValueError):
            return tvm.runtime.from_dlpack(array)
    return tvm.runtime.tensor(array)


def import_graph(graph: Graph) -> Imported:
    """Import a model of known operators and shapes.

    Raises:
        UnsupportedOperatorError: a rule of this package or of TVM refuses an operator.
        ModelFormatError: TVM's importer fails otherwise.
        QnnError: no array of a run has the dtype of an output.
    """
    try:
        mod, values = _converted(graph)
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
    indices = {binding.var: index for index, binding in enumerate(bindings)}
    named.sort(key=lambda pair: indices.get(pair[0], -1))
    mod, results = with_results(mod, named, codes)
    main = mod["main"].with_attr("num_input", len(graph.input))
    main = main.with_attr(ARITHMETIC, ONNXRUNTIME)
    if graph.bounds:
        main = with_bounds(main, graph.bounds)
    mod["main"] = with_signature(main, _signature(graph, main.ret_ty))
    return Imported(mod, {}, results)


def _converted(graph: Graph) -> tuple[tvm.IRModule, dict[str, Any]]:
    """Return a module, and the expression of each tensor by the tensor's name."""
    # TVM's importer prints its failures, and it computes with constants, even 0 / 0.
    with contextlib.redirect_stdout(io.StringIO()), np.errstate(all="ignore"):
        # TVM's importer would take a size of 0 for an open one.
        shapes = {
            name: list(map(as_extent, shape))
            for name, shape in graph.shapes.items()
            if 0 in shape or is_open(shape)
        }
        importer = _GraphImporter(shapes, "float32")
        with all_ended(importer.bb):
            mod = importer.from_onnx(graph, graph.opset)
        if graph.symbols:
            mod = relax.transform.DeadCodeElimination()(mod)
    return mod, importer._nodes


def _signature(graph: Graph, result: relax.Type) -> Signature:
    def info(value: Any, shape: Sequence[int], dtype: str) -> TensorInfo:
        return TensorInfo(value.name, named_sizes(shape, graph.bounds), dtype)

    inputs = [info(each, graph.shape(each.name), dtype_of(each)) for each in graph.input]
    fields = result.fields if isinstance(result, relax.TupleType) else [result]
    outputs = []
    for value, field in zip(graph.output, fields, strict=True):
        spec = type_spec(field, f"output {value.name!r}")
        outputs.append(info(value, spec.shape, checked_dtype(value.name, spec.dtype)))
    return Signature(tuple(inputs), tuple(outputs))
