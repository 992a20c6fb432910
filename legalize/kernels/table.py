"""The table of all kernels, by operator and features, in the order of preference.

An operator's kernels are in its folder: a new kernel is a row there, a new operator a line here.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from tvm import relax

from legalize.kernels import convert, dynamic, mean, pad, resize, svdf
from legalize.kernels.blockwise import rules as blockwise
from legalize.kernels.conv2d.arm import rules as conv2d_arm
from legalize.kernels.conv2d.calls import Scaling
from legalize.kernels.conv2d.mcu import rules as conv2d_mcu
from legalize.kernels.conv2d.x86 import fusions as conv2d_fusions
from legalize.kernels.conv2d.x86 import rules as conv2d_x86
from legalize.kernels.depthwise.arm import rules as depthwise_arm
from legalize.kernels.depthwise.mcu import rules as depthwise_mcu
from legalize.kernels.depthwise.x86 import rules as depthwise_x86
from legalize.kernels.elementwise import mcu as elementwise_mcu
from legalize.kernels.elementwise import rules as elementwise
from legalize.kernels.float_conv2d import rules as float_conv2d
from legalize.kernels.isa.base import VectorIsa
from legalize.kernels.isa.vectors import VECTORS
from legalize.kernels.join import rules as join
from legalize.kernels.kernel import (
    Fusions,
    Kernel,
    OpenRule,
    Row,
    Rule,
    Slice,
    VectorRule,
)
from legalize.kernels.matmul import rules as matmul
from legalize.kernels.pool import mcu as pool_mcu
from legalize.kernels.pool import rules as pool
from legalize.kernels.softmax import mcu as softmax_mcu
from legalize.kernels.softmax import rules as softmax
from qnn_ops.dialect.registry import Operator

# These rules serve the vectors of every instruction set.
_VECTOR_ROWS: tuple[tuple[Operator[Any], VectorRule], ...] = (
    *blockwise.RULES,
    *convert.RULES,
    *dynamic.RULES,
    *elementwise.RULES,
    *float_conv2d.RULES,
    *join.RULES,
    *mean.RULES,
    *pad.RULES,
    *pool.RULES,
    *resize.RULES,
    *softmax.RULES,
    *svdf.RULES,
)


def _on(isa: VectorIsa, rule: VectorRule) -> Rule:
    """Return a rule for the vectors of an instruction set."""
    alone = partial(rule, isa=isa)
    return OpenRule(alone) if rule in (*softmax.OPEN, *dynamic.OPEN) else alone


_ROWS: tuple[Row, ...] = (
    *conv2d_arm.ROWS,
    *depthwise_arm.ROWS,
    *conv2d_mcu.ROWS,
    *depthwise_mcu.ROWS,
    *elementwise_mcu.ROWS,
    *pool_mcu.ROWS,
    *softmax_mcu.ROWS,
    *conv2d_x86.ROWS,
    *depthwise_x86.ROWS,
    *matmul.ROWS,
    *blockwise.ROWS,
    *((op, isa.features, _on(isa, rule)) for isa in VECTORS for op, rule in _VECTOR_ROWS),
)

KERNELS: dict[str, list[Kernel]] = {}
"""Kernels by the operator's name in TVM. The first that serves is used."""


def kernel(operator: Operator[Any], *features: str) -> Callable[[Rule], Rule]:
    """Append ``rule(builder, attrs, operands)`` for targets that have all ``features``.

    This is for operators outside this project, whose own rows are above.
    """

    def decorate(rule: Rule) -> Rule:
        KERNELS.setdefault(operator.op.name, []).append(Kernel(features, rule))
        return rule

    return decorate


for _operator, _features, _rule in _ROWS:
    kernel(_operator, *_features)(_rule)

_Result = relax.Expr | None

SUMS: Fusions[Callable[[relax.BlockBuilder, relax.Call, relax.Call, relax.Expr], _Result]] = (
    Fusions(conv2d_fusions.SUMS)
)
"""``rule(builder, sum, producer, other)`` fuses a sum with the call that makes an operand.

``sum`` is a call of ``quantized_add`` or ``quantized_subtract``, ``producer`` the call of the
registered operator that makes one of its operands, and ``other`` the other operand.
"""

PARTS: Fusions[Callable[[relax.BlockBuilder, relax.Call, Slice, _Result], _Result]] = Fusions(
    [*conv2d_fusions.PARTS, *map(float_conv2d.parts_for, VECTORS)]
)
"""``rule(builder, call, part, into)`` writes a result to the channels ``part`` of a larger tensor.

The rule returns the larger tensor: ``into``, or a new one if that is None.
"""

BORDERS: Fusions[Callable[[relax.BlockBuilder, relax.Call, relax.Call], _Result]] = Fusions(
    [*conv2d_fusions.BORDERS, *join.BORDERS]
)
"""``rule(builder, call, reader)`` adds to a result the padding of the convolution that reads it.

The rule returns None also if that does not save the reader a copy.
"""


SCALED: Fusions[Callable[[relax.BlockBuilder, relax.Call, Scaling], _Result]] = Fusions(
    conv2d_fusions.SCALED, takes_open=True
)
"""``rule(builder, call, scaling)`` scales the sums of a call of ``quantized_dense``."""
