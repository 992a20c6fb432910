"""TFLite models made for a test, imported, and compared with LiteRT."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pytest

from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from frontends.tflite.reader import read_model
from frontends.tflite.sparsity import Sparsity
from frontends.tflite.writer import ModelWriter
from qnn_ops.arrays import Array
from qnn_ops.dialect.attributes import QUANTIZED
from qnn_ops.dialect.signature import signature_of
from qnn_ops.errors import QnnError
from tests.support.arrays import any_of, full_range
from tests.support.references import evaluate
from tests.support.unchecked import unchecked
from tvm_qnn.build import build
from tvm_qnn.compare import Comparison, compare
from tvm_qnn.library.arrays import results_of
from tvm_qnn.library.library import Library
from tvm_qnn.oracle import LiteRtSession, litert_tensors

Output = tuple[Sequence[int], str, Quantization | None]

Q = Quantization.per_tensor(0.5, 3)
ANY = (1,)
"""A declared shape: LiteRT works shapes out by itself."""

CONVOLUTION: dict[str, Any] = {"padding": "VALID", "stride_h": 1, "stride_w": 1}
CONVOLUTION |= {"dilation_h_factor": 1, "dilation_w_factor": 1}
"""Options of a convolution without padding and strides."""
_POOL = {"padding": "VALID", "stride_h": 1, "stride_w": 1, "filter_height": 2, "filter_width": 2}
_WINDOWS: dict[str, dict[str, Any]] = {
    "CONV_2D": CONVOLUTION,
    "DEPTHWISE_CONV_2D": {**CONVOLUTION, "depth_multiplier": 1},
    "AVERAGE_POOL_2D": _POOL,
    "MAX_POOL_2D": _POOL,
}


@dataclass(frozen=True, eq=False)
class Operand:
    """A tensor that a model has once, however many operators read it.

    Attributes:
        kind: its shape, dtype and quantization.
        array: its numbers; None if they are random.
        is_constant: whether the file has them; otherwise a run gets them. Those of int4 are int8.
        is_state: whether the model keeps them from run to run.
    """

    kind: Output
    array: Array | None = None
    is_constant: bool = False
    is_state: bool = False


Result = TypeVar("Result", int, Operand)


def x(*shape: int, dtype: str = "int8", encoding: Quantization | None = Q) -> Operand:
    """Return an input of random numbers; ``Q`` is an encoding of 8 bits alone."""
    return Operand((shape, dtype, None if encoding is Q and dtype not in QUANTIZED else encoding))


def given(values: Any, dtype: str, encoding: Quantization | None = None) -> Operand:
    """Return an input of certain numbers."""
    array = np.array(values, dtype)
    return Operand((array.shape, dtype, encoding), array)


def fixed(values: Any, dtype: str, encoding: Quantization | None = None) -> Operand:
    """Return a constant."""
    array = np.array(values, dtype)
    return Operand((array.shape, dtype, encoding), array, is_constant=True)


def state(*shape: int, dtype: str = "float32", encoding: Quantization | None = None) -> Operand:
    """Return a tensor that keeps its numbers from run to run."""
    return Operand((shape, dtype, encoding), is_state=True)


class Sheet:
    """A model of as many operators as a test has questions: compiling it once answers all."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.arrays: list[Array] = []
        self.writer = ModelWriter()
        self._inputs: list[int] = []
        self._outputs: list[int] = []
        self._placed: dict[Operand, int] = {}
        self._count = 0

    def input(self, array: Array, quantization: Quantization | None = None) -> int:
        self.arrays.append(array)
        name = self._name("x")
        index = self.writer.tensor(name, array.shape, array.dtype.name, quantization)
        self._inputs.append(index)
        return index

    def narrow(self, array: Array, dtype: str, quantization: Quantization | None) -> int:
        """Add an input of int4 or int2, whose numbers a run gets as int8."""
        self.arrays.append(array)
        index = self.writer.tensor(self._name("x"), array.shape, dtype, quantization)
        self._inputs.append(index)
        return index

    def random_input(self, shape: Sequence[int], dtype: str, quantization: Quantization) -> int:
        return self.input(full_range(self.rng, dtype, tuple(shape)), quantization)

    def constant(self, array: Any, quantization: Quantization | None = None) -> int:
        data = np.asarray(array)
        if data.dtype == np.int64:
            data = data.astype(np.int32)
        name = self._name("c")
        return self.writer.tensor(name, data.shape, data.dtype.name, quantization, data)

    def sparse(
        self, shape: Sequence[int], values: Array, sparsity: Sparsity, quantization: Quantization
    ) -> int:
        """Return a constant that stores only some of its values."""
        name, dtype = self._name("c"), values.dtype.name
        return self.writer.tensor(name, shape, dtype, quantization, values, sparsity)

    def packed(self, numbers: Array, dtype: str, quantization: Quantization | None) -> int:
        """Return a constant of int4 or int2, of numbers in int8."""
        return self.writer.tensor(self._name("c"), numbers.shape, dtype, quantization, numbers)

    def bias(self, array: Array, quantization: Quantization | None = None) -> int:
        """Add a constant of the array's own dtype."""
        name = self._name("c")
        return self.writer.tensor(name, array.shape, array.dtype.name, quantization, array)

    def operator(self, code: str, operands: Sequence[int], *outputs: Output, **options: Any) -> int:
        results = [self.writer.tensor(self._name("y"), *output) for output in outputs]
        self.writer.operator(code, operands, results, **options)
        self._outputs += results
        return results[0]

    def add(self, code: str, *operands: Any, gives: Any = None, **options: Any) -> Sheet:
        """Add an operator.

        Args:
            code: its name.
            *operands: each an `Operand`, numbers, which become a constant of int32, or None for one
                that is missing.
            gives: its result, or a list of several: a dtype, or all that a tensor has. None for
                the dtype and encoding of the first input.
            **options: of the operator. A window has size 2, steps of 1 and no padding unless they
                say otherwise.

        Returns:
            This sheet.
        """
        self.made(code, *operands, gives=gives, **options)
        return self

    def made(self, code: str, *operands: Any, gives: Any = None, **options: Any) -> Any:
        """Add an operator as `add` does; return its result, or a list of several, as operands."""
        indices = [self._place(each) for each in operands]
        if gives is None:
            known = [each.kind for each in operands if isinstance(each, Operand)]
            gives = next((ANY, *kind[1:]) for kind in known)
        results = [
            (ANY, each, None) if isinstance(each, str) else each
            for each in (gives if isinstance(gives, list) else [gives])
        ]
        first = self.operator(code, indices, *results, **{**_WINDOWS.get(code, {}), **options})
        found = [Operand(kind) for kind in results]
        self._placed |= {each: first + place for place, each in enumerate(found)}
        return found if isinstance(gives, list) else found[0]

    def _place(self, operand: Any) -> int:
        """Return the index of an operand, which may be in the model already."""
        if operand is None:
            return -1
        if not isinstance(operand, Operand):
            return self.constant(np.array(operand, np.int32))
        if operand not in self._placed:
            shape, dtype, encoding = operand.kind
            if operand.is_state:
                name = self._name("s")
                kept = self.writer.tensor(name, shape, dtype, encoding, is_variable=True)
                return self._placed.setdefault(operand, kept)
            array = any_of(self.rng, dtype, shape) if operand.array is None else operand.array
            add = self.packed if operand.is_constant else self.narrow
            self._placed[operand] = add(array, dtype, encoding)
        return self._placed[operand]

    def inside(self, result: Result) -> Result:
        """Make a result no output of the model."""
        index = self._placed[result] if isinstance(result, Operand) else result
        self._outputs.remove(index)
        return result

    def model(self) -> bytes:
        return self.writer.finish(self._inputs, self._outputs)

    def check_refused(self, reason: str, error: type[Exception] = QnnError) -> None:
        """Import the model; the error must have this text."""
        check_refused(self.model(), reason, error)

    def check(self) -> Comparison:
        """Compile the primitives of all operators; every tensor must be LiteRT's."""
        return check(self.model(), self.arrays)

    def check_open(
        self, names: Sequence[Any], *runs: dict[str, int], kernels: bool = True, **bounds: range
    ) -> Library:
        """Compile with open sizes; in runs of several sizes every output must be LiteRT's.

        Args:
            names: of the sizes of each input, with numbers where a size is not open.
            runs: the sizes by name.
            kernels: whether to use them.
            bounds: of sizes by name.
        """
        model = self.model()
        inputs = [each.name for each in signature_of(from_tflite(model)[0]).inputs]
        mod, params = from_tflite(model, {**dict(zip(inputs, names, strict=True)), **bounds})
        library = build(mod, "llvm", params, kernels=kernels)
        for sizes in runs:
            arrays = [
                self._like(array, [sizes.get(size, size) for size in shape])
                for array, shape in zip(self.arrays, names, strict=True)
            ]
            expected = litert_tensors(model, arrays, resize=True)
            for index, found in zip(self._outputs, results_of(library.run(*arrays)), strict=True):
                assert found.dtype == expected[index].dtype
                np.testing.assert_array_equal(found, expected[index], err_msg=f"{index} {sizes}")
        return library

    def _like(self, array: Array, shape: Sequence[Any]) -> Array:
        if array.dtype.name in QUANTIZED:
            return full_range(self.rng, array.dtype.name, tuple(shape))
        return self.rng.integers(0, 5, shape).astype(array.dtype)

    def check_default(self) -> None:
        """Compile all operators; outputs must be those of LiteRT's default kernels.

        Its reference kernels lack some operators.
        """
        model = self.model()
        with unchecked():
            results = results_of(library_of(model).run(*self.arrays))
        expected = LiteRtSession(model, xnnpack=False).run(self.arrays)
        for wanted, found in zip(expected, results, strict=True):
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(found, wanted)

    def outputs(self, target: str = "llvm", **options: Any) -> list[tuple[Array, Array]]:
        """Compile all operators; return each output of the model, and LiteRT's."""
        model = self.model()
        results = results_of(library_of(model, target, **options).run(*self.arrays))
        expected = litert_tensors(model, self.arrays)
        return [
            (found, expected[index]) for index, found in zip(self._outputs, results, strict=True)
        ]

    def run(self) -> Array:
        """Compile the primitives of all operators, and return the one output."""
        with unchecked():
            return np.asarray(library_of(self.model(), kernels=False).run(*self.arrays))

    def check_reference(self) -> None:
        """Check the same without compiling."""
        check_reference(self.model(), self.arrays)

    def _name(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self._count}"


def check(model: bytes, arrays: Sequence[Array]) -> Comparison:
    """Compile the primitives of a model; every tensor must be LiteRT's."""
    with unchecked():
        comparison = compare(model, arrays, target="llvm", kernels=False)
    assert comparison.differing == ()
    return comparison


def check_reference(model: bytes, arrays: Sequence[Array]) -> None:
    """Compute a model by the numpy references of its operators; every tensor must be LiteRT's."""
    mod, params = from_tflite(model, outputs="all")
    constants = [value.numpy() for value in params.values()]
    results = evaluate(mod, [*arrays, *constants])
    expected = litert_tensors(model, arrays)
    for index, result in zip(read_model(model).computed, results, strict=True):
        assert result.dtype == expected[index].dtype
        np.testing.assert_array_equal(result, expected[index])


def library_of(model: Any, target: Any = "llvm", shape_dict: Any = None, **options: Any) -> Library:
    """Import a model and build it; ``options`` are those of ``build``."""
    mod, params = from_tflite(model, shape_dict)
    return build(mod, target, params, **options)


def random_quantization(rng: np.random.Generator, dtype: str, scale: float = 0.05) -> Quantization:
    """Return a scale near the given one, now and then a power of two (ties), and any zero point."""
    info = np.iinfo(dtype)
    chosen = scale * float(rng.uniform(0.5, 2.0))
    if rng.random() < 0.4:
        chosen = float(2.0 ** np.round(np.log2(chosen)))
    return Quantization.per_tensor(chosen, int(rng.integers(info.min, info.max, endpoint=True)))


def one(code: str, *operands: Any, gives: Any = None, **options: Any) -> Sheet:
    """Return a model of one operator, as `Sheet.add` describes it."""
    return Sheet().add(code, *operands, gives=gives, **options)


def refused(*rows: tuple[str, Sheet], error: type[Exception] = QnnError) -> Callable[..., None]:
    """Return a test that imports models; the error of each must have its text."""

    @pytest.mark.parametrize(("reason", "sheet"), rows)
    def test(reason: str, sheet: Sheet) -> None:
        sheet.check_refused(reason, error)

    return test


def check_refused(
    model: Any, reason: str, error: type[Exception] = QnnError, **options: Any
) -> None:
    """Import a model; the error must have this text."""
    with pytest.raises(error, match=reason):
        from_tflite(model, **options)
