"""The constants of a convolution and of its groups, before kernels lay them out."""

from collections.abc import Sequence

import numpy as np
import pytest
from tvm import relax

import legalize
from legalize.kernels.conv2d.constants import each_group
from qnn_ops import quantized_conv2d
from qnn_ops.dialect.layouts import permutation
from qnn_ops.dialect.registry import Attrs, attrs_of
from tests.support.arrays import full_range
from tests.support.encodings import encodings
from tests.support.modules import module
from tests.support.operators import run

ATTRS = encodings(
    input=(0.5, 7), output=(4.0, 3), out_dtype="int8", data_layout="NHWC", padding=(1, 0, 1, 2)
)


def ungrouped(
    builder: relax.BlockBuilder, attrs: Attrs, operands: Sequence[relax.Expr]
) -> relax.Expr:
    """Return the convolution itself, of one group."""
    assert attrs.groups == 1
    data, kernel, *bias = operands
    return quantized_conv2d(data, kernel, bias=bias[0] if bias else None, **vars(attrs))


@pytest.mark.parametrize("layout", ["OHWI", "HWIO", "OIHW"])
@pytest.mark.parametrize(("groups", "per_axis"), [(2, True), (3, False), (12, True)])
def test_groups_are_joined_in_order(layout: str, groups: int, per_axis: bool) -> None:
    rng = np.random.default_rng(0)
    data = full_range(rng, "int8", (1, 6, 5, 12))
    kernel = full_range(rng, "int8", (24, 3, 2, 12 // groups)).transpose(
        permutation("OHWI", layout)
    )
    bias = rng.integers(-99, 99, 24, dtype=np.int32)
    scales = rng.uniform(0.001, 0.02, 24).astype(np.float32).tolist()
    attrs = {
        **ATTRS,
        "kernel_scale": scales if per_axis else scales[0],
        "kernel_zero_point": 0,
        "kernel_layout": layout,
        "groups": groups,
    }
    constants = [relax.const(kernel), relax.const(bias)]

    def body(x: relax.Expr) -> relax.Expr:
        builder = relax.BlockBuilder.current()
        call = builder.normalize(quantized_conv2d(x, constants[0], bias=constants[1], **attrs))
        result = each_group(ungrouped, 1000)(builder, attrs_of(call), [x, *constants])
        assert result is not None
        return result

    mod = legalize.LegalizeQnn()(module({"x": data}, body))
    expected = quantized_conv2d.evaluate(data, kernel, bias=bias, **attrs)
    np.testing.assert_array_equal(run(mod, [data]), expected)
