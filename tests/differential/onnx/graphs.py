"""Random small quantized ONNX graphs, in either form.

What a graph computes is drawn from one generator, and how it is written from another: of one seed
the graph of DequantizeLinear, operator, QuantizeLinear and that of QLinearConv and its like are the
same network.
"""

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np
import onnx

from qnn_ops.arrays import Array
from tests.support.arrays import Chances, full_range

FORMS = ("qdq", "qoperator")
OF_BLOCKS = 21
"""The operators whose DequantizeLinear has scales by block."""
_ODD_SCALES = (0.05, 1e-3, 30.0)
ANY_RANK = range(99)


@dataclass(frozen=True)
class Value:
    """A quantized tensor or constant: its names, and what its integers stand for.

    Attributes:
        name: of the integers.
        shape: of them.
        scales: one, or one for each channel.
        point: the zero point.
        encoding: the names of the constants that hold both.
        axis: of the channels, if it has some.
    """

    name: str
    shape: tuple[int, ...]
    scales: Array
    point: int
    encoding: tuple[str, str]
    axis: int | None = None

    @property
    def scale(self) -> float:
        return float(self.scales.max())

    @property
    def triple(self) -> list[str]:
        return [self.name, *self.encoding]


@dataclass(frozen=True)
class Bias:
    """A bias as int32 steps of some scales, and perhaps as reals that come to these."""

    steps: Array
    reals: Array | None
    scales: Array


class Graph(Chances):
    """A file under way; several graphs, which do not touch, may stand in one."""

    def __init__(self, rng: np.random.Generator, form: str | None = None) -> None:
        self.rng = rng
        self.style = np.random.default_rng(int(rng.integers(1 << 30)))
        self.form = form
        self.opset = OF_BLOCKS if self.style.random() < 0.3 else 17
        # One a file: ONNX Runtime's exact products of uint8 take no int8 beside them.
        self.dtype = str(self.choice("uint8", "int8"))
        self.inputs: list[Any] = []
        self.arrays: list[Array] = []
        self.outputs: list[Any] = []
        self.owners: list[int] = []  # the graph of each output
        self.nodes: list[Any] = []
        self.constants: dict[str, Array] = {}
        self.values: list[Value] = []  # of the graph under way
        self._results: list[Value] = []
        self._read: set[str] = set()
        self._reals: dict[str, str] = {}
        self._count = self._graphs = 0

    def name(self) -> str:
        self._count += 1
        return f"t{self._count}"

    def constant(self, array: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(array)
        if self.style.random() < 0.1:
            value = onnx.numpy_helper.from_array(self.constants[name])
            self.nodes.append(onnx.helper.make_node("Constant", [], [name], value=value))
        return name

    def node(self, op: str, inputs: Sequence[str], **attributes: Any) -> str:
        """Write a node of one result, of a domain that an attribute may name."""
        output = self.name()
        stated = attributes.pop("domain", "")
        domain = "com.microsoft" if op in MICROSOFT else stated
        made = onnx.helper.make_node(op, list(inputs), [output], domain=domain, **attributes)
        self.nodes.append(made)
        return output

    def encoded(self, scale: Any, point: int, dtype: str = "") -> tuple[str, str]:
        """Write a scale, or several, and a zero point of the same shape."""
        scales = np.asarray(scale, np.float32)
        points = np.full(scales.shape, point, dtype or self.dtype)
        return self.constant(scales), self.constant(points)

    def input(self, shape: Sequence[int]) -> Value:
        """Add an input: integers, or reals and their QuantizeLinear."""
        scale, point = self.encoding(0.05)
        encoding, shape = self.encoded(scale, point), tuple(int(size) for size in shape)
        integers, is_real = self.data(shape), self.chance(0.5)
        name = f"x{len(self.arrays)}"
        if is_real:
            array = self._around(integers, scale, point)
            result = self.node("QuantizeLinear", [name, *encoding])
        else:
            array, result = integers, name
        self.arrays.append(array)
        self.inputs.append(_info(name, array.dtype, shape))
        value = Value(result, shape, np.array([scale], np.float32), point, encoding)
        self.values.append(value)
        self._results += [value] if is_real else []
        return value

    def _around(self, integers: Array, scale: float, point: int) -> Array:
        """Return reals about those of integers: ties, neighbours of ties, and odd ones."""
        parts = np.array([0, 0.5, 0.5, 0.25, -0.5, 0.4999999], np.float32)
        moved = self.rng.choice(parts, integers.shape)
        reals = (integers.astype(np.float32) - point + moved) * np.float32(scale)
        if self.chance(1 / 8):
            odd = np.array([np.nan, np.inf, -np.inf, -0.0, 1e-40, 3e38], np.float32)
            places = self.rng.random(integers.shape) < 0.1
            reals = np.where(places, self.rng.choice(odd, integers.shape), reals)
        return reals.astype(np.float32)

    def held(self, array: Array, scale: float, point: int) -> Value:
        """Write a quantized constant."""
        encoding = self.encoded(scale, point)
        scales = np.array([scale], np.float32)
        return Value(self.constant(array), array.shape, scales, point, encoding)

    def weights(self, shape: Sequence[int], axis: int) -> Value:
        """Draw weights: by tensor or by channel, symmetric or not."""
        dtype = "int8" if self.dtype == "int8" else str(self.choice("int8", "int8", "uint8"))
        array = full_range(self.rng, dtype, tuple(shape))
        if self.chance(1 / 6):
            array = np.where(array > np.iinfo(dtype).min + 128, 127, -128 if dtype == "int8" else 0)
        per_channel = self.chance(0.6)
        scales = self.rng.uniform(0.002, 0.03, shape[axis] if per_channel else ())
        scales = np.asarray(scales)
        if self.chance(1 / 8):
            scales = np.asarray(scales * 10 ** self.rng.uniform(-6, 0, scales.shape))
        if self.chance(0.4):
            scales = np.asarray(2.0 ** np.rint(np.log2(scales)))  # ties abound
        point = 0 if dtype == "int8" and self.chance(0.8) else int(full_range(self.rng, dtype, ()))
        kept = scales.astype(np.float32)
        names = self.encoded(kept, point, dtype)
        name = self.constant(array.astype(dtype))
        return Value(
            name, tuple(shape), kept.reshape(-1), point, names, axis if per_channel else None
        )

    def bias(self, data: Value, weights: Value, channels: int) -> Bias | None:
        """Draw a bias, which may be missing."""
        kind, size = self.choice("none", "integers", "integers", "reals"), 9000
        if self.chance(1 / 8):
            size = int(self.choice(1 << 20, 1 << 27))
        steps = self.rng.integers(-size, size, channels)
        scales = np.asarray(data.scales * weights.scales, np.float32)
        if weights.axis is None:
            scales = scales.reshape(())
        if kind == "none":
            return None
        if kind == "integers":
            return Bias(steps.astype(np.int32), None, scales)
        halves = self.rng.choice([0, 0.5, 0.3], channels)
        reals = np.asarray((steps + halves).astype(np.float32) * scales, np.float32)
        return Bias(np.rint(reals / scales).astype(np.int32), reals, scales)

    def real(self, value: Value) -> str:
        """Write the DequantizeLinear of a tensor, or take one that there is."""
        self._read.add(value.name)
        if value.name in self._reals and self.style.random() < 0.5:
            return self._reals[value.name]
        axis = {} if value.axis is None else {"axis": value.axis}
        self._reals[value.name] = self.node("DequantizeLinear", value.triple, **axis)
        return self._reals[value.name]

    def _real_bias(self, bias: Bias) -> str:
        if bias.reals is not None:
            return self.constant(bias.reals)
        axis = {"axis": 0} if bias.scales.ndim else {}
        names = [self.constant(bias.steps), self.constant(bias.scales)]
        return self.node("DequantizeLinear", names, **axis)

    def group(
        self,
        op: str,
        operands: Sequence[Value],
        result: Value,
        bias: Bias | None = None,
        then: tuple[str, Sequence[float]] | None = None,
        **attributes: Any,
    ) -> Value:
        """Write an operator in the graph's form.

        Args:
            op: the operator of the standard whose result is quantized.
            operands: of it.
            result: of ``result`` or ``same``, whose name is replaced.
            bias: the last operand.
            then: an operator that quantizing does by itself, and its further operands.
            attributes: of the operator.
        """
        self._read.update(value.name for value in operands)
        quantized = QLINEAR.get(op) if self._form == "qoperator" else None
        if quantized is not None:
            inputs = [name for value in operands for name in value.triple]
            steps = [] if bias is None else [self.constant(bias.steps)]
            names = quantized[1](inputs, [*result.encoding], steps)
            extra = {"opset": 13} if op == "Softmax" else {}
            return self.add(self.node(quantized[0], names, **attributes, **extra), result)
        reals = [self.real(value) for value in operands]
        if bias is not None:
            reals.append(self._real_bias(bias))
        real = self.node(op, reals, **attributes)
        if then is not None:
            real = self.node(then[0], [real, *(self.constant(np.float32(x)) for x in then[1])])
        return self.add(self.node("QuantizeLinear", [real, *result.encoding]), result)

    def moved(
        self, op: str, value: Value, shape: Sequence[int], *others: Any, **attributes: Any
    ) -> Value:
        """Write an operator that moves values: on integers, or with another encoding after it."""
        names = [self.constant(other) for other in others]
        if self.chance(1 / 8):  # another one: no integers any more
            result = self.result(shape, value.scale)
        else:
            result = Value(
                "", tuple(int(n) for n in shape), value.scales, value.point, value.encoding
            )
        if result.encoding == value.encoding and self._form == "qoperator":
            self._read.add(value.name)
            return self.add(self.node(op, [value.name, *names], **attributes), result)
        real = self.node(op, [self.real(value), *names], **attributes)
        return self.add(self.node("QuantizeLinear", [real, *result.encoding]), result)

    def result(self, shape: Sequence[int], scale: float, point: int | None = None) -> Value:
        """Draw the encoding of a result of about a scale; its name comes later."""
        # One in eight has a scale that does not fit: most saturates, or all is about zero.
        scale *= self.choice(*_ODD_SCALES) if self.chance(1 / 8) else 1
        drawn, any_point = self.encoding(min(max(scale, 1e-7), 1e6))
        chosen = any_point if point is None else point
        names = self.encoded(drawn, chosen)
        return Value("", tuple(int(n) for n in shape), np.array([drawn], np.float32), chosen, names)

    def add(self, name: str, like: Value) -> Value:
        """Add a tensor from which the graph may grow."""
        value = Value(name, like.shape, like.scales, like.point, like.encoding)
        self.values.append(value)
        self._results.append(value)
        return value

    def encoding(self, scale: float) -> tuple[float, int]:
        """Draw a scale near the given one, often a power of two, and any zero point."""
        info = np.iinfo(self.dtype)
        scale *= float(self.rng.uniform(0.5, 2.0))
        if self.chance(0.4):
            scale = float(2.0 ** np.round(np.log2(scale)))
        point = int(self.rng.integers(info.min, info.max, endpoint=True))
        if self.chance(1 / 4):
            point = int(self.choice(info.min, info.max, info.min, info.min + 128))
        return float(np.float32(scale)), point

    @property
    def operators(self) -> int:
        """How many operators there are, without those that quantize or dequantize."""
        around = ("QuantizeLinear", "DequantizeLinear", "Constant")
        return sum(node.op_type not in around for node in self.nodes)

    @property
    def lowest(self) -> int:
        return int(np.iinfo(self.dtype).min)

    def data(self, shape: Sequence[int]) -> Array:
        """Numbers of all the range, or of its ends only."""
        numbers = full_range(self.rng, self.dtype, tuple(shape))
        if self.chance(1 / 6):
            info = np.iinfo(self.dtype)
            return np.where(numbers > info.min + 128, info.max, info.min).astype(self.dtype)
        return numbers

    def begin(self) -> None:
        """Begin another graph."""
        self.values, self._results, self._read, self._reals = [], [], set(), {}
        self._form = self.form or FORMS[int(self.style.integers(2))]

    def end(self) -> None:
        """End a graph: its outputs are all unread values, and sometimes read ones, too."""
        for value in self._results:
            if value.name not in self._read or self.chance(0.1):
                is_real = self.chance(0.3)
                name = self.real(value) if is_real else value.name
                dtype = np.dtype("float32" if is_real else self.dtype)
                if name not in {each.name for each in self.outputs}:
                    self.outputs.append(_info(name, dtype, value.shape))
                    self.owners.append(self._graphs)
        self._graphs += 1

    def finish(self) -> Any:
        """Return the model."""
        helper = onnx.helper
        made = {name for node in self.nodes for name in node.output}
        constants = [
            onnx.numpy_helper.from_array(array, name)
            for name, array in self.constants.items()
            if name not in made
        ]
        if self.style.random() < 0.2:  # ONNX Runtime takes them in any order
            self.style.shuffle(self.nodes)
        graph = helper.make_graph(self.nodes, "random", self.inputs, self.outputs, constants)
        opsets = [helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1)]
        ir_version = 8 if self.opset < OF_BLOCKS else 10
        return helper.make_model(graph, opset_imports=opsets, ir_version=ir_version)


def _info(name: str, dtype: Any, shape: Sequence[int]) -> Any:
    element = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    return onnx.helper.make_tensor_value_info(name, element, shape)


Order = Callable[[list[str], list[str], list[str]], list[str]]
"""Joins the names of operands, of the result's encoding, and of a bias if there is one."""


def _in_order(inputs: list[str], into: list[str], bias: list[str]) -> list[str]:
    return [*inputs, *into, *bias]


_PLAIN = (
    *("Add", "AveragePool", "Conv", "GlobalAveragePool", "LeakyRelu", "MatMul", "Mul", "Sigmoid"),
    "Softmax",
)
QLINEAR: dict[str, tuple[str, Order]] = {
    "Gemm": ("QGemm", lambda inputs, into, bias: [*inputs, *(bias or [""]), *into]),
    "Concat": ("QLinearConcat", lambda inputs, into, _: [*into, *inputs]),
    **{op: (f"QLinear{op}", _in_order) for op in _PLAIN},
}
"""The quantized operator of one of the standard, and how its operands are ordered."""

IN_BOTH = ("GatherBlockQuantized", "MatMulNBits", "RotaryEmbedding")
"""ONNX Runtime's own operators of floats, which graphs of either form have."""

MICROSOFT = {*IN_BOTH, *(name for name, _ in QLINEAR.values())} - {"QLinearConv", "QLinearMatMul"}

Step = Callable[[Graph, Value], "Value | None"]
STEPS: list[Step] = []


def step(weight: int = 1, *, ranks: Container[int] = ANY_RANK) -> Callable[[Step], Step]:
    """Register one way to grow a graph from values of these ranks.

    It returns None where its operator does not fit.
    """

    def decorate(function: Step) -> Step:
        @wraps(function)
        def fitting(graph: Graph, value: Value) -> Value | None:
            fits = len(value.shape) in ranks
            return function(graph, value) if fits else None

        STEPS.extend([fitting] * weight)
        return fitting

    return decorate
