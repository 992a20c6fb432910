"""The channels that are left out of a model, and the products that remain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
import tvm

from legalize.passes import DropConstantChannels
from legalize.passes.live_channels import LiveChannels, layer_of
from qnn_ops.registry import spec_of


@dataclass(frozen=True)
class Remains:
    """What is left of operators, by their numbers.

    Attributes:
        left_out: the channels of an operator's result that are left out, where some are.
        shares: how much of an operator's products remains.
    """

    left_out: Mapping[int, tuple[int, ...]]
    shares: Mapping[int, Fraction]


@tvm.instrument.pass_instrument
class WholeModule:
    """Keeps the module as it is before channels are left out."""

    def __init__(self) -> None:
        """Start with none."""
        self.mod: tvm.IRModule | None = None
        self._last = DropConstantChannels().info.name

    def run_before_pass(self, mod: tvm.IRModule, info: Any) -> None:
        """Keep the module that the pass gets; TVM calls this."""
        if info.name == self._last:
            self.mod = mod


def remains_of(mod: tvm.IRModule, operators: Mapping[str, int]) -> Remains:
    """Tell what is left out of a module.

    Args:
        mod: before channels are left out.
        operators: numbers of operators by the name of the variable that holds their result.
    """
    live = LiveChannels(mod["main"])
    left_out: dict[int, tuple[int, ...]] = {}
    shares: dict[int, Fraction] = {}
    products = remaining = Fraction(0)
    for block in mod["main"].body.blocks:
        for binding in block.bindings:
            kept = live.kept.get(binding.var)
            if (layer := layer_of(binding.value)) is not None:
                read = None if layer.is_depthwise else live.kept.get(binding.value.args[0])
                count = layer.rows.size * prod(spec_of(binding.var).shape[:-1])
                products += count
                remaining += count * _share(kept) * _share(read)
            if (operator := operators.get(binding.var.name)) is None:
                continue
            if kept is not None:
                left_out[operator] = tuple(np.flatnonzero(~kept).tolist())
            if products:
                shares[operator] = remaining / products
            products = remaining = Fraction(0)
    return Remains(left_out, shares)


def _share(kept: np.ndarray[Any, Any] | None) -> Fraction:
    return Fraction(1) if kept is None else Fraction(int(kept.sum()), kept.size)
