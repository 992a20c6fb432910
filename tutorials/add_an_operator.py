"""Adding a quantized operator
===========================

The dialect has no operator for TFLite's ABS on int8 tensors: ABS is computed in float32 between a
dequantize and a quantize. This page adds such an operator, outside the project's own files, in
five steps: its meaning, its primitives, a kernel, the importer's rule, and the test against LiteRT.

Run it with ``python tutorials/add_an_operator.py``.
"""  # noqa: D205, D415

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from tvm import relax
from tvm.relax import op as R
from tvm.script import tirx as T

import tvm_qnn as qnn
from frontends.tflite.converters.context import Context, per_tensor
from frontends.tflite.operators import OPERATORS
from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from legalize.kernels.call import call_tir
from legalize.kernels.table import kernel
from legalize.primitives.registry import primitive
from qnn_ops.arithmetic.accumulator_bounds import centred_bounds, check_scaled
from qnn_ops.arithmetic.rounding import scale_down
from qnn_ops.dialect import declared
from qnn_ops.dialect.attributes import dtype_range
from qnn_ops.dialect.checks import check_dtype, check_quantization
from qnn_ops.dialect.expressions import emitted
from qnn_ops.dialect.registry import Attrs, Known, TensorSpec, operator, spec_of
from qnn_ops.dialect.traits import Channels, Traits

# %%
# What it means
# -------------
# The public function is a signature. The decorator registers it with TVM as
# ``relax.qnn.quantized_abs``, and lets it make calls of the operator. Its expressions are the
# operands, and the other parameters are attributes. Their types in ``qnn_ops.dialect.declared``
# define their form. The traits tell passes over the whole graph what they need to know: which zero
# points change if data or result become uint8 (none here: they are int8 only), whether the result
# ends in a clamp whose bounds an activation may narrow, and where the channels are.


@operator(
    traits=Traits(zero_points={}, moved=None, keeps=None, clamps=False, channels=Channels.ANYWHERE)
)
def quantized_abs(
    quantized_data: relax.Expr,
    input_scale: declared.InputScale,
    input_zero_point: declared.InputZeroPoint,
    output_scale: declared.OutputScale,
    output_zero_point: declared.OutputZeroPoint,
) -> None:
    """Compute |data| in the output's scale and zero point; int8, any shape."""


# %%
# The type rule checks the operands and returns the result's type. Its errors name the operator.


@quantized_abs.type_rule
def _type(attrs: Attrs, data: TensorSpec) -> TensorSpec:
    check_dtype("quantized_data", data.dtype, ("int8",))
    check_quantization("input", attrs.input_scale, attrs.input_zero_point, data.dtype)
    check_quantization("output", attrs.output_scale, attrs.output_zero_point, data.dtype)
    return data


# %%
# The reference is the specification, in numpy. TFLite takes the absolute value of the integer
# difference, and brings it to the output's scale by gemmlowp's two roundings.


def factor(attrs: Attrs) -> float:
    """Compute the output steps of one input step."""
    return attrs.input_scale / attrs.output_scale


@quantized_abs.reference
def _reference(attrs: Attrs, data: np.ndarray) -> np.ndarray:
    return scale_down(
        np.abs(data.astype(np.int32) - attrs.input_zero_point),
        np.asarray(factor(attrs)),
        "tflite",
        attrs.output_zero_point,
        dtype_range("int8"),
        "int8",
    )


x = np.array([-128, -3, 0, 2, 127], np.int8)
print(quantized_abs.evaluate(x, 0.5, -1, 0.75, -128))

# %%
# An importer refuses the call if the framework's own int32 could overflow.


@quantized_abs.overflow_rule
def _overflow(attrs: Attrs, _known: Known, data: TensorSpec) -> None:
    centred = centred_bounds(data.dtype, attrs.input_zero_point)
    check_scaled(centred, factor(attrs), "tflite", attrs.output_zero_point)


# %%
# Primitives
# ----------
# The primitives compute the same with Relax's operators on integers. They run on every processor
# that TVM compiles for.


@primitive(quantized_abs)
def _primitive(builder: relax.BlockBuilder, attrs: Attrs, data: relax.Expr) -> relax.Expr:
    difference = R.subtract(R.astype(data, "int32"), relax.const(attrs.input_zero_point, "int32"))
    return emitted(
        builder,
        scale_down,
        R.abs(difference),
        factor(attrs),
        "tflite",
        attrs.output_zero_point,
        dtype_range("int8"),
        "int8",
    )


# %%
# A kernel
# --------
# If the scales are equal, nothing is scaled, and 16 bits are enough for every intermediate value. A
# kernel states its vectors explicitly: ``Ramp`` is sixteen consecutive indices. The rule returns
# None for calls that its kernel does not support; primitives compute these calls. ``"sse2"`` names
# the feature that the target must have.


@kernel(quantized_abs, "sse2")
def _kernel(
    builder: relax.BlockBuilder, attrs: Attrs, operands: Sequence[relax.Expr]
) -> relax.Expr | None:
    data = spec_of(operands[0])
    size = int(np.prod(data.shape))
    if attrs.input_scale != attrs.output_scale or size % 16:
        return None
    zero, result_zero = attrs.input_zero_point, attrs.output_zero_point

    @T.prim_func(private=True, s_tir=True)
    def absolute(x: T.handle, y: T.handle) -> None:
        X = T.match_buffer(x, data.shape, "int8")
        Y = T.match_buffer(y, data.shape, "int8")
        source = T.decl_buffer((size,), "int8", data=X.data)
        target = T.decl_buffer((size,), "int8", data=Y.data)
        for i in range(size // 16):
            wide = T.Cast("int16x16", source[T.Ramp(i * 16, 1, 16)]) - T.Broadcast(
                T.int16(zero), 16
            )
            value = T.max(wide, T.Broadcast(T.int16(0), 16) - wide) + T.Broadcast(
                T.int16(result_zero), 16
            )
            target[T.Ramp(i * 16, 1, 16)] = T.Cast(
                "int8x16", T.min(value, T.Broadcast(T.int16(127), 16))
            )

    return call_tir(builder, "abs", absolute, list(operands), data.shape, "int8")


# %%
# The importer's rule
# -------------------
# One function becomes the operator's exact rule in the table of TFLite's operators. From now on ABS
# on int8 tensors no longer falls back to float32.


def convert_abs(ctx: Context) -> relax.Expr:
    """Return the absolute value."""
    data, result = ctx.input(0), ctx.output()
    return quantized_abs(data.expr, *data.quantization, *per_tensor(result))


OPERATORS["ABS"] = replace(OPERATORS["ABS"], quantized=convert_abs)

# %%
# The test
# --------
# The project's writer makes a model of one operator. It runs on every int8 value, once with equal
# scales, which the kernel supports, and once with different scales. LiteRT's reference kernels give
# the right answers.


def model(input_quantization: tuple[float, int], output_quantization: tuple[float, int]) -> bytes:
    """Return a model that is one ABS."""
    writer = ModelWriter()
    x = writer.tensor("x", (1, 256), "int8", Quantization.per_tensor(*input_quantization))
    y = writer.tensor("y", (1, 256), "int8", Quantization.per_tensor(*output_quantization))
    writer.operator("ABS", [x], [y])
    return writer.finish([x], [y])


every_value: Any = np.arange(-128, 128, dtype=np.int8).reshape(1, 256)
for scales in [((0.5, 3), (0.5, -100)), ((0.5, 3), (0.3, -128))]:
    content = model(*scales)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a fallback would warn
        mod, params = qnn.from_tflite(content)
    print(next(line.strip() for line in mod.script().splitlines() if "quantized_abs" in line))
    for kernels in (False, True):
        comparison = qnn.compare(content, [every_value], kernels=kernels)
        print("  kernel:   " if kernels else "  primitive:", "equal", comparison.is_equal)
        assert comparison.is_equal

figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
axes.step(every_value[0], qnn.build(mod, "host", params).run(every_value)[0], where="mid")
axes.set_xlabel("int8 value")
axes.set_ylabel("quantized_abs")
plt.show()

# %%
# In the project itself these pieces stand in ``qnn_ops/``, ``legalize/primitives/``,
# ``legalize/kernels/`` and ``frontends/tflite/converters/``, and ``tests/`` mirrors them.
# ``CONTRIBUTING.md`` says which of these files an operator needs.
