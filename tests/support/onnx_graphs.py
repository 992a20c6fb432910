"""ONNX models of a few nodes, on ONNX Runtime and compiled here."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

import tvm_qnn as qnn
from frontends.onnx import from_onnx
from qnn_ops.errors import LeftInFloatWarning, QnnError

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

Array = np.ndarray[Any, Any]
Node = tuple[Any, ...]
"""An operator, the names of its operands and of its results, and its attributes if it has some.

Names are words of one text, ``_`` for none.
"""

MICROSOFT = {
    *("BiasGelu", "DynamicQuantizeLSTM", "DynamicQuantizeMatMul", "MatMulIntegerToFloat"),
    *("Attention", "EmbedLayerNormalization", "FastGelu", "GatherBlockQuantized", "MatMulNBits"),
    *("GroupQueryAttention", "RotaryEmbedding"),
    *("MultiHeadAttention", "QAttention", "QEmbedLayerNormalization", "QGemm", "QuickGelu"),
    *("FusedConv", "FusedGemm", "FusedMatMul", "MatMulBnb4", "MatMulInteger16"),
    *("SkipLayerNormalization", "SkipSimplifiedLayerNormalization"),
    *("QLinearAdd", "QLinearAveragePool", "QLinearConcat", "QLinearGlobalAveragePool"),
    *("QLinearLeakyRelu", "QLinearMul", "QLinearSigmoid", "QLinearSoftmax", "QLinearWhere"),
}


class Net:
    """A model and the data of a run.

    Args:
        nodes: of it.
        data: the inputs by name.
        constants: by name.
        outputs: names of them. None for the results that no node reads.
        opset: the version of the standard's operators.
        standard: operators that are the standard's; ONNX Runtime has others of these names.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        data: dict[str, Array],
        constants: Mapping[str, Any] | None = None,
        outputs: Sequence[str] | None = None,
        *,
        opset: int = 17,
        standard: Sequence[str] = (),
    ) -> None:
        helper, self.data = onnx.helper, data
        made = [node_of(*node, standard=standard) for node in nodes]
        if outputs is None:
            read = {name for node in made for name in node.input}
            results = [name for node in made for name in node.output]
            outputs = [name for name in results if name and name not in read]
        given = [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
            )
            for name, array in data.items()
        ]
        wanted = [helper.make_empty_tensor_value_info(name) for name in outputs]
        self.model = proto_of(made, given, wanted, constants or {}, opset)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.model, self.data))

    def theirs(self) -> list[Array]:
        """Return the outputs of ONNX Runtime."""
        return on_runtime(self.model, self.data)

    def ours(self, **options: Any) -> list[Array]:
        """Return the outputs of the model as it is compiled here."""
        return compiled(self.model, self.data, **options)

    def typed(self) -> "Net":
        """Return the net with a model that states all types and shapes, as most files do."""
        net = copy(self)
        net.model = onnx.shape_inference.infer_shapes(self.model, strict_mode=True)
        return net

    def check(self, **options: Any) -> list[Array]:
        """Compare every bit, as `check_equal` does."""
        return check_equal(self.model, self.data, **options)

    def check_near(
        self, part: float = 0, *, rtol: float = 0, atol: float = 0, in_float: bool = False
    ) -> tuple[list[Array], list[Array]]:
        """Compare our results and ONNX Runtime's, and return both.

        They may be apart by a part of the largest, or as numpy's tolerances say.
        """
        both = self.ours(in_float=in_float), self.theirs()
        for ours, theirs in zip(*both, strict=True):
            assert_near(ours, theirs, part, rtol=rtol, atol=atol)
        return both

    def check_refused(self, reason: str, error: type[Exception] = QnnError) -> None:
        """Import the model; the error must have this text."""
        with pytest.raises(error, match=reason):
            from_onnx(self.model)


@dataclass(frozen=True)
class Held:
    """An array that is a constant of an operator."""

    array: Array


def one(op: str, *operands: Any, opset: int = 17, results: int = 1, **attributes: Any) -> Net:
    """Return a model of one operator.

    Args:
        op: its name.
        *operands: an array is data of the run; `Held`, a number or a list is a constant, of float32
            if it has a point; None is an operand that is missing.
        opset: the version of the standard's operators.
        results: how many there are.
        **attributes: of the operator.
    """
    data: dict[str, Array] = {}
    constants: dict[str, Any] = {}
    names = []
    for number, operand in enumerate(operands):
        same = [name for name, array in data.items() if array is operand]
        names.append("_" if operand is None else same[0] if same else f"x{number}")
        if isinstance(operand, np.ndarray):
            data[names[-1]] = operand
        elif operand is not None:
            constants[names[-1]] = _constant(operand)
    outputs = " ".join(f"y{number}" for number in range(results))
    return Net([(op, " ".join(names), outputs, attributes)], data, constants, opset=opset)


def _constant(operand: Any) -> Array:
    if isinstance(operand, Held):
        return operand.array
    array = np.asarray(operand)
    is_plain = array.dtype == np.float64 and not isinstance(operand, np.generic)
    return array.astype(np.float32) if is_plain else array


def each(make: Callable[..., Net], *choices: Iterable[Any]) -> dict[str, Net]:
    """Return the models of all combinations of arguments, by the texts of these."""
    return {"-".join(map(str, given)): make(*given) for given in product(*choices)}


def equal(
    rows: Mapping[str, Net], *, signed_zeros: bool = True, **options: Any
) -> Callable[..., None]:
    """Return a test that compares every bit of the results of models, as `check_equal` does."""
    both = _together(rows, **options)

    @pytest.mark.parametrize("name", rows)
    def test(name: str) -> None:
        for ours, theirs in both(name):
            assert_equal(ours, theirs, signed_zeros=signed_zeros)

    return test


def near(
    rows: Mapping[str, Net], part: float = 0, *, rtol: float = 0, atol: float = 0, **options: Any
) -> Callable[..., None]:
    """Return a test of results of models, which may be apart as `Net.check_near` says."""
    both = _together(rows, **options)

    @pytest.mark.parametrize("name", rows)
    def test(name: str) -> None:
        for ours, theirs in both(name):
            assert_near(ours, theirs, part, rtol=rtol, atol=atol)

    return test


def _together(
    rows: Mapping[str, Net], *, primitives: bool = False, **options: Any
) -> Callable[[str], list[tuple[Array, Array]]]:
    """Return a function of the results of a row and those of ONNX Runtime.

    Models of one opset are compiled together, which takes less than half of the time that they take
    apart. If this fails, each is compiled by itself, so that the error is that of one row. A row
    that does not fail by itself warns.
    """
    groups: dict[int, list[str]] = {}
    for name, net in rows.items():
        groups.setdefault(net.model.opset_import[0].version, []).append(name)

    def pairs(net: Net) -> list[tuple[Array, Array]]:
        theirs = net.theirs()
        ways = (True, False) if primitives else (True,)
        ours = [net.ours(kernels=kernels, **options) for kernels in ways]
        return [pair for each in ours for pair in zip(each, theirs, strict=True)]

    @cache
    def all_pairs(names: tuple[str, ...]) -> dict[str, list[tuple[Array, Array]]] | str:
        nets = [rows[name] for name in names]
        owners = [
            name for name, net in zip(names, nets, strict=True) for _ in net.model.graph.output
        ]
        found: dict[str, list[tuple[Array, Array]]] = {}
        try:
            results = pairs(joined(nets))
        except Exception as error:  # the row that fails alone raises it again
            return f"{type(error).__name__}: {error}"
        for owner, result in zip(owners * (1 + primitives), results, strict=True):
            found.setdefault(owner, []).append(result)
        return found

    def both(name: str) -> list[tuple[Array, Array]]:
        names = next(tuple(each) for each in groups.values() if name in each)
        found = all_pairs(names)
        if isinstance(found, dict):
            return found[name]
        alone = pairs(rows[name])
        warnings.warn(f"{name!r} fails only beside other rows: {found}", stacklevel=2)
        return alone

    return both


def joined(nets: Sequence[Net]) -> Net:
    """Return a net of all nodes of several, of one opset; each one's names have its number."""
    whole = copy(nets[0])
    whole.data, whole.model = {}, onnx.ModelProto()
    whole.model.CopyFrom(nets[0].model)
    whole.model.graph.Clear()
    whole.model.graph.name = "graph"
    for number, net in enumerate(nets):
        named = onnx.compose.add_prefix(net.model, f"{number}_")
        named.graph.ClearField("name")
        whole.model.graph.MergeFrom(named.graph)
        whole.data |= {f"{number}_{name}": array for name, array in net.data.items()}
    return whole


def refused(*rows: tuple[str, Net], error: type[Exception] = QnnError) -> Callable[..., None]:
    """Return a test that imports models; the error of each must have its text."""

    @pytest.mark.parametrize(("reason", "net"), rows)
    def test(reason: str, net: Net) -> None:
        net.check_refused(reason, error)

    return test


def node_of(
    op: str,
    operands: str,
    results: str,
    attributes: Mapping[str, Any] | None = None,
    *,
    standard: Sequence[str] = (),
) -> Any:
    """Return a node; an attribute may name its domain."""
    domain = "com.microsoft" if op in MICROSOFT and op not in standard else None
    return onnx.helper.make_node(
        op,
        *(["" if name == "_" else name for name in words.split()] for words in (operands, results)),
        **{"domain": domain, **(attributes or {})},
    )


def pair(operands: str, result: str, **attributes: Any) -> list[Node]:
    """Return the nodes that quantize a tensor, by a scale and a zero point, and dequantize it."""
    integers, (_, *encoding) = f"{result}_integers", operands.split()
    return [
        ("QuantizeLinear", operands, integers, attributes),
        ("DequantizeLinear", " ".join([integers, *encoding]), result, attributes),
    ]


def tensors_of(constants: Mapping[str, Any]) -> list[Any]:
    """Return constants by name as those of a graph."""
    return [
        onnx.numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()
    ]


def proto_of(
    nodes: Sequence[Any],
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    constants: Mapping[str, Any],
    opset: int = 17,
    **told: Any,
) -> Any:
    """Return a model of nodes and values of the package onnx."""
    helper = onnx.helper
    graph = helper.make_graph(nodes, "graph", inputs, outputs, tensors_of(constants))
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    version = 8 if opset < 21 else 10
    return helper.make_model(graph, **{"opset_imports": opsets, "ir_version": version, **told})


def subgraph(
    nodes: Sequence[Node],
    inputs: Sequence[tuple[str, int, Sequence[int]]],
    outputs: Sequence[tuple[str, int, Sequence[int] | None]],
    **constants: Any,
) -> Any:
    """Return a branch or the body of a loop; inputs and outputs have a name, a type and a shape."""
    info = onnx.helper.make_tensor_value_info
    values = [[info(*each) for each in values] for values in (inputs, outputs)]
    made = [node_of(*node) for node in nodes]
    return onnx.helper.make_graph(made, "body", *values, tensors_of(constants))


def on_runtime(model: Any, inputs: Mapping[str, Array]) -> list[Array]:
    """Return the outputs of ONNX Runtime, with all that it fuses."""
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.qdqisint8allowed", "1")
    options.intra_op_num_threads = 1  # several would take the range of a part of a batch each
    providers = ["CPUExecutionProvider"]
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers)
    return list(session.run(None, dict(inputs)))


def compiled(
    model: Any,
    inputs: Mapping[str, Array],
    target: Any = "host",
    *,
    in_float: bool = False,
    **options: Any,
) -> list[Array]:
    """Return the outputs of the model as it is compiled here; some operators may be in float."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if in_float:
            warnings.simplefilter("ignore", LeftInFloatWarning)
        mod, params = from_onnx(model)
        library = qnn.build(mod, target, params, **options)
    result = library.run(*inputs.values())
    return list(result.values()) if isinstance(result, dict) else [result]


def check_equal(
    model: Any,
    inputs: Mapping[str, Array],
    *,
    primitives: bool = False,
    in_float: bool = False,
    signed_zeros: bool = True,
) -> list[Array]:
    """Compare every bit, through kernels, and perhaps through primitives; return the outputs.

    All NaN are alike, and without `signed_zeros` -0 is 0.
    """
    expected = on_runtime(model, inputs)
    for kernels in (True, False) if primitives else (True,):
        actual = compiled(model, inputs, in_float=in_float, kernels=kernels)
        for ours, theirs in zip(actual, expected, strict=True):
            assert_equal(ours, theirs, f"kernels={kernels}", signed_zeros=signed_zeros)
    return expected


def assert_equal(ours: Array, theirs: Array, told: str = "", *, signed_zeros: bool = True) -> None:
    """Assert that two results are of the same bits, as `check_equal` says."""
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    np.testing.assert_array_equal(ours, theirs, err_msg=told)
    if signed_zeros and theirs.dtype.kind == "f":
        is_zero = theirs == 0
        signs, wanted = np.signbit(ours[is_zero]), np.signbit(theirs[is_zero])
        np.testing.assert_array_equal(signs, wanted, err_msg=f"{told} signs of zeros")


def assert_near(ours: Array, theirs: Array, part: float = 0, *, rtol: float, atol: float) -> None:
    """Assert that two results are as near as `Net.check_near` says."""
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    finite = np.abs(theirs[np.isfinite(theirs)]).max(initial=0)
    np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=atol + part * finite)


def steps_apart(ours: Array, theirs: Array) -> int:
    """Return how many float32 lie between two arrays at most."""
    places = [array.astype(np.float32).view(np.int32).astype(np.int64) for array in (ours, theirs)]
    ordered = [np.where(place < 0, -(2**31) - place, place) for place in places]
    return int(np.abs(ordered[0] - ordered[1]).max(initial=0))
