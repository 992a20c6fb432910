from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.relax import op as R

from legalize.lower import lower
from legalize.passes.scale_sums import ScaleSums
from qnn_ops import dynamic_encoding, dynamic_quantize, quantized_dense
from qnn_ops.arithmetic.rounded import rounded
from qnn_ops.arrays import Array
from qnn_ops.dialect.registry import spec_of
from tests.support.hybrid import float_rows
from tests.support.kernels import Place, each_x86_product
from tests.support.modules import emit, module
from tests.support.operators import run

AVX2 = tvm.target.Target({"kind": "llvm", "mcpu": "haswell"})
ORT: dict[str, Any] = {"arithmetic": "onnxruntime"}


class Layer:
    """A dense layer as frontends write it, and its result."""

    def __init__(self, seed: int, shape: tuple[int, ...], units: int, **kind: Any) -> None:
        rng = np.random.default_rng(seed)
        self.data = float_rows(rng, shape)
        self.weights = rng.integers(-128, 128, (units, shape[-1])).astype(np.int8)
        count = units if kind.get("per_channel", True) else 1
        self.scales = (2.0 ** rng.uniform(-20, 20, count)).astype(np.float32)
        self.bias = rng.normal(0, 100, units).astype(np.float32)
        self.has_bias = kind.get("bias", True)
        self.has_points = kind.get("points", True)
        self.whole = kind.get("whole", False)
        self.each = kind.get("each", () if self.whole else (*shape[:-1], 1))

    @property
    def _attrs(self) -> dict[str, Any]:
        return {"whole": True, **ORT} if self.whole else {}

    @property
    def _points(self) -> Array:
        return self.weights.sum(axis=1, dtype=np.int32)

    def emit(
        self, data: relax.Expr, changed: Callable[[relax.Expr], relax.Expr] | None = None
    ) -> relax.Expr:
        """Write the layer, with the sums changed on their way."""
        encoding = emit(dynamic_encoding(data, self.has_points or self.whole, **self._attrs))
        ort = ORT if self.whole else {}
        values = emit(dynamic_quantize(data, encoding, "uint8" if self.whole else "int8", **ort))

        def field(number: int) -> relax.Expr:
            axis = 0 if self.whole else self.data.ndim - 1
            column = emit(R.strided_slice(encoding, [axis], [number], [number + 1]))
            return emit(R.reshape(column, self.each))

        weights = relax.const(self.weights)
        sums = emit(quantized_dense(values, weights, 1.0, 0, 1.0, 0, 1.0, 0, "int32"))
        if changed is not None:
            sums = emit(changed(sums))
        if self.has_points or self.whole:
            points = R.astype(field(2), "int32")
            if self.whole:
                moved = R.subtract(points, relax.const(-128, "int32"))
                points = R.astype(emit(R.astype(moved, "uint8")), "int32")
            taken = R.multiply(emit(points), relax.const(self._points))
            sums = emit(R.subtract(sums, taken))
        scales = self.scales if self.scales.size > 1 else self.scales[0]
        factor = R.multiply(field(0), relax.const(scales))
        product = emit(R.multiply(R.astype(sums, "float32"), factor))
        if not self.has_bias:
            return product
        return emit(R.add(relax.const(self.bias), emit(rounded(product))))

    def expected(self) -> Array:
        with np.errstate(all="ignore"):
            return self._expected()

    def _expected(self) -> Array:
        asymmetric = self.has_points or self.whole
        encoding = dynamic_encoding.evaluate(self.data, asymmetric, **self._attrs)
        ort = ORT if self.whole else {}
        values = dynamic_quantize.evaluate(self.data, encoding, **ort).astype(np.int64)
        # The zero points of int8; those of uint8 are as much larger as its values.
        points = encoding[..., 2:3].astype(np.int64)
        sums = (values - points if asymmetric else values) @ self.weights.T.astype(np.int64)
        result = sums.astype(np.float32) * (encoding[..., :1] * self.scales)
        return result + self.bias if self.has_bias else result


def module_of(layers: list[Layer], **kwargs: Any) -> tvm.IRModule:
    """A module of the layers' results in one row."""

    def body(*inputs: relax.Expr) -> relax.Expr:
        rows = [
            emit(R.reshape(layer.emit(data, **kwargs), (-1,)))
            for layer, data in zip(layers, inputs, strict=True)
        ]
        return R.concat(rows) if len(rows) > 1 else rows[0]

    return module({f"x{i}": layer.data for i, layer in enumerate(layers)}, body)


def tensors(mod: tvm.IRModule) -> list[tuple[str, int]]:
    """Dtype and rank of the result of ``main``."""
    found = []
    for block in mod["main"].body.blocks:
        for binding in block.bindings:
            if isinstance(binding.var.ty, relax.TensorType):
                spec = spec_of(binding.var)
                found.append((spec.dtype, len(spec.shape)))
    return found


def extremes() -> Layer:
    """A layer of rows that are infinite, no numbers, or zeros, and of scales that overflow."""
    layer = Layer(5, (6, 37), 19)
    layer.data[0, 3], layer.data[1, 36], layer.data[2], layer.data[3] = np.inf, np.nan, 0, 3e38
    layer.scales[:4] = 1e-45, 3e38, 0, np.inf
    layer.bias[4:6] = np.inf, -0.0
    return layer


@each_x86_product
def test_sums_are_scaled_as_they_stand_there(place: Place) -> None:
    layers = [
        Layer(1, (7, 33), 70),
        Layer(2, (1, 5), 3, points=False, per_channel=False),
        Layer(3, (2, 3, 64), 33, bias=False),
        Layer(4, (30, 130), 97, whole=True, per_channel=False),
        Layer(6, (64,), 17, whole=True),
        Layer(7, (13, 8), 1, points=False, bias=False),
        extremes(),
    ]
    mod = lower(module_of(layers), tvm.target.Target(place.target))
    # Neither sums nor zero points.
    assert not {dtype for dtype, _ in tensors(mod)} & {"int32", "int64"}
    result = run(mod, [layer.data for layer in layers], place.target)
    np.testing.assert_array_equal(result, np.concatenate([x.expected().ravel() for x in layers]))


@pytest.mark.parametrize("points", [False, True])
def test_the_kernel_adds_the_bias(points: bool) -> None:
    text = ScaleSums(AVX2)(module_of([Layer(1, (3, 8), 5, points=points)])).script()
    assert "conv2d" in text
    assert not [each for each in ("R.add(", "R.where(", "R.abs(") if each in text]


def _other_columns(sums: relax.Expr) -> relax.Expr:
    return R.multiply(sums, sums)


def _read_twice(sums: relax.Expr) -> relax.Expr:
    return R.maximum(emit(R.negative(sums)), sums)


@pytest.mark.parametrize("changed", [R.negative, _other_columns, _read_twice])
def test_sums_with_another_reader_stay(changed: Callable[..., relax.Expr]) -> None:
    before = module_of([Layer(1, (3, 8), 5)], changed=changed)
    tvm.ir.assert_structural_equal(ScaleSums(AVX2)(before), before)


def test_fields_that_do_not_fit_the_rows_stay() -> None:
    # As many rows as units: along the columns their scales broadcast, too.
    for each, name in (((5, 1), "conv2d"), ((1, 5), "quantized_dense")):
        layer = Layer(1, (5, 8), 5, points=False, bias=False, each=each)
        assert name in ScaleSums(AVX2)(module_of([layer])).script()


def test_a_product_that_is_not_rounded_takes_no_bias(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "rounded", lambda product: product)
    mod = ScaleSums(AVX2)(module_of([Layer(1, (3, 8), 5)]))
    assert "conv2d" in mod.script()
    assert "R.add(" in mod.script()


def test_another_choice_takes_no_bias(monkeypatch: pytest.MonkeyPatch) -> None:
    def leaky(product: relax.Expr) -> relax.Call:
        return R.where(
            R.less(product, relax.const(0.0)), R.multiply(product, relax.const(0.5)), product
        )

    monkeypatch.setitem(globals(), "rounded", leaky)
    mod = ScaleSums(AVX2)(module_of([Layer(1, (3, 8), 5)]))
    assert "conv2d" in mod.script()
    assert "R.where(" in mod.script()


@pytest.mark.parametrize(
    "changed", [lambda x: R.subtract(x, relax.const(0.5)), lambda x: R.astype(x, "float32")]
)
def test_scales_that_are_changed_stay(
    changed: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    emit = R.strided_slice
    monkeypatch.setattr(R, "strided_slice", lambda *args: changed(emit(*args)))
    before = module_of([Layer(1, (3, 8), 5, points=False)])
    monkeypatch.undo()
    tvm.ir.assert_structural_equal(ScaleSums(AVX2)(before), before)


def test_sums_of_constants_stay() -> None:
    layer = Layer(1, (3, 8), 5)
    data = R.reshape(relax.const(layer.data), (3, 8))
    before = module({}, lambda: layer.emit(emit(data)))
    tvm.ir.assert_structural_equal(ScaleSums(AVX2)(before), before)


def test_targets_without_a_kernel_change_nothing() -> None:
    before = module_of([Layer(1, (3, 8), 5)])
    target = tvm.target.Target({"kind": "llvm", "mcpu": "x86-64"})
    tvm.ir.assert_structural_equal(ScaleSums(target)(before), before)
