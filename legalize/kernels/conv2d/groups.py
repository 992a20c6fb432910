"""Grouped convolutions as one convolution for each group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import relax
from tvm.relax import op as R

from legalize.kernels.kernel import Rule
from qnn_ops.registry import Attrs, constant_of, spec_of


def each_group(rule: Rule) -> Rule:
    """Return a rule that splits the channels of grouped convolutions of NHWC data.

    Args:
        rule: serves convolutions of one group.
    """

    def served(
        builder: relax.BlockBuilder, attrs: Attrs, operands: Sequence[relax.Expr]
    ) -> relax.Expr | None:
        data, *constants = operands
        arrays = [constant_of(constant) for constant in constants]
        layouts = (attrs.data_layout, attrs.out_layout)
        if any(array is None for array in arrays) or layouts != ("NHWC", "NHWC"):
            return None
        groups = attrs.groups
        per_group = spec_of(data).shape[3] // groups
        axes = [attrs.kernel_layout.index("O"), *([0] * len(arrays))]
        results = []
        for group in range(groups):
            first = group * per_group
            part = builder.emit(
                R.strided_slice(data, axes=[3], begin=[first], end=[first + per_group])
            )
            own = [
                relax.const(_part(array, axis, group, groups), str(array.dtype))
                for array, axis in zip(arrays, axes, strict=False)
                if array is not None
            ]
            result = rule(builder, _attrs_of(attrs, group), [part, *own])
            if result is None:
                return None
            results.append(builder.emit(result))
        return R.concat(results, axis=3)

    return served


def _attrs_of(attrs: Attrs, group: int) -> Attrs:
    """Return the attributes of the convolution of one group."""
    own: dict[str, Any] = {"groups": 1}
    for name in ("kernel_scale", "kernel_zero_point"):
        values = getattr(attrs, name)
        if isinstance(values, tuple):
            size = len(values) // attrs.groups
            own[name] = values[group * size : (group + 1) * size]
    return Attrs(**{**vars(attrs), **own})


def _part(array: Any, axis: int, group: int, groups: int) -> Any:
    size = array.shape[axis] // groups
    return array.take(range(group * size, (group + 1) * size), axis)
