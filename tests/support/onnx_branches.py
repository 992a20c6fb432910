"""Many operators between DequantizeLinear and QuantizeLinear in a model, against ONNX Runtime."""

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tvm_qnn as qnn
from frontends.onnx import from_onnx
from qnn_ops.errors import LeftInFloatWarning
from tests.support.onnx_graphs import onnx as onnx
from tests.support.onnx_graphs import proto_of
from tvm_qnn.oracle import onnxruntime_tensors

RNG = np.random.default_rng(7)

SHAPE = (1, 4, 8, 8)
"""Of the data if nothing else is said."""


@dataclass(frozen=True)
class Weights:
    """Quantized constants: values, and a scale or one for each of the first axis."""

    values: np.ndarray
    scales: np.ndarray


@dataclass(frozen=True)
class Case:
    """One operator.

    Attributes:
        op: its name.
        operands: names: "x" is the data, "y" the data of another encoding; or constants.
        attributes: of it.
        scale: of the result; None for the data's encoding.
        count: of its results.
        before: an operator of one operand before it.
        after: one after it.
    """

    op: str
    operands: tuple[Any, ...] = ("x",)
    attributes: dict[str, Any] = field(default_factory=dict)
    scale: float | None = None
    count: int = 1
    before: str = ""
    after: str = ""


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def floats(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def pool(op: str, kernel: list[int], scale: float | None = None, **attributes: Any) -> Case:
    return Case(op, ("x",), {"kernel_shape": kernel, **attributes}, scale)


class Branches:
    """A model of operators that read the same tensors."""

    def __init__(
        self, cases: dict[str, Case], dtype: str, x_scale: float, shape: tuple[int, ...]
    ) -> None:
        self.dtype, self.low, self.shape = dtype, int(np.iinfo(dtype).min), shape
        self.constants: dict[str, np.ndarray] = {}
        self.nodes: list[Any] = []
        self.outputs: list[str] = []
        self.encodings = {
            "x": self.encoding("x", x_scale, 117),
            "y": self.encoding("y", 0.0811, 131),
        }
        self.reals = {}
        for name, encoding in self.encodings.items():
            bytes_of = self.node("QuantizeLinear", [name, *encoding])[0]
            self.reals[name] = self.node("DequantizeLinear", [bytes_of, *encoding])[0]
        for number, case in enumerate(cases.values()):
            self.add(case, number)

    def constant(self, array: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(array)
        return name

    def encoding(self, name: str, scale: float, point: int) -> tuple[str, str]:
        zero_point = np.asarray(self.low + point).astype(self.dtype)
        return self.constant(np.float32(scale)), self.constant(zero_point)

    def node(self, op: str, inputs: list[str], count: int = 1, **attributes: Any) -> list[str]:
        outputs = [f"t{len(self.nodes)}_{place}" for place in range(count)]
        self.nodes.append(onnx.helper.make_node(op, inputs, outputs, **attributes))
        return outputs

    def operand(self, each: Any) -> str:
        if isinstance(each, Weights):
            arrays = [each.values, each.scales]
            if each.values.dtype == np.int8:
                arrays.append(np.zeros(each.scales.shape, np.int8))
            names = [self.constant(array) for array in arrays]
            axis = {"axis": 0} if each.scales.ndim else {}
            return self.node("DequantizeLinear", names, **axis)[0]
        name = each if isinstance(each, str) else self.constant(each)
        return self.reals.get(name, name)

    def add(self, case: Case, number: int) -> None:
        operands = [self.operand(each) for each in case.operands]
        if case.before:
            operands[0] = self.node(case.before, operands[:1])[0]
        results = self.node(case.op, operands, case.count, **case.attributes)
        if case.after:
            results = self.node(case.after, results)
        points = (0, 90, 128)
        encoding = (
            self.encodings["x"]
            if case.scale is None
            else self.encoding("", case.scale, points[number % 3])
        )
        for result in results:
            (name,) = self.node("QuantizeLinear", [result, *encoding])
            self.outputs.append(self.node("DequantizeLinear", [name, *encoding])[0])

    def model(self) -> Any:
        helper = onnx.helper
        values = [
            helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, self.shape) for name in "xy"
        ]
        results = [
            helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None)
            for name in self.outputs
        ]
        model = proto_of(self.nodes, values, results, self.constants, 18)
        return onnx.shape_inference.infer_shapes(model)  # of the outputs


def check(
    cases: dict[str, Case], dtype: str, x_scale: float, shape: tuple[int, ...] = SHAPE
) -> list[str]:
    """Compare all; return what was said of floats. Data of 256 values has all that there are."""
    branches = Branches(cases, dtype, x_scale, shape)
    model = branches.model()
    values = np.resize(RNG.permutation(256), shape)
    steps = np.float32(x_scale) * (values - 117).astype(np.float32)
    other = RNG.normal(0, 3, shape).astype(np.float32)
    wanted = onnxruntime_tensors(model, [steps, other])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", LeftInFloatWarning)
        mod, params = from_onnx(model)
        library = qnn.build(mod, "host", params)
    results = library.run(steps, other)
    results = results if isinstance(results, dict) else {branches.outputs[0]: results}
    names = iter(branches.outputs)
    wrong = []
    for name, case in cases.items():
        for _ in range(case.count):
            key = next(names)
            differ = int((results[key] != wanted[key]).sum())
            if differ or results[key].shape != wanted[key].shape:
                wrong.append(f"{name}: {differ} of {wanted[key].size}")
    assert not wrong
    return [str(each.message) for each in said if each.category is LeftInFloatWarning]
