"""The operators that oneDNN's subgraph backend fused: the parts of a fused node."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.mxnet import folding
from frontends.mxnet.attributes import Attributes
from frontends.mxnet.converters.context import Context
from frontends.mxnet.graph import Graph, Node
from frontends.mxnet.scalars import Array, Number, Value, is_known, scalar
from qnn_ops.errors import QnnError

# Activations by operators of other names, which have no act_type.
_FUNCTIONS = ("clip", "abs")
_ACTIVATIONS = ("Activation", "LeakyReLU", *_FUNCTIONS)


@dataclass(frozen=True)
class Activation:
    """An activation within a fused node.

    Attributes:
        kind: its act_type, "clip", "abs" or "leaky".
        attrs: its attributes.
    """

    kind: str
    attrs: Attributes


@dataclass(frozen=True)
class Fused:
    """The parts of a fused node.

    Attributes:
        main: the convolution's or fully connected layer's attributes.
        batch_norm: the batch normalization's attributes, if there is one.
        activations: the activations that follow, in order.
        names: the roles of the node's inputs, in order: data, weight, bias, gamma, beta, mean,
            variance, sum.
    """

    main: Attributes
    batch_norm: Attributes | None
    activations: tuple[Activation, ...]
    names: tuple[str, ...]

    def position(self, name: str) -> int | None:
        """Return the index of the input with a role; None if there is none."""
        return self.names.index(name) if name in self.names else None


def read_fused(ctx: Context, main: str) -> Fused:
    """Return the parts of a fused node whose first operator is ``main``.

    Raises:
        QnnError: the node does not have the form that MXNet writes.
    """
    if len(ctx.node.subgraphs) != 1:
        raise QnnError(f"needs one subgraph, has {len(ctx.node.subgraphs)}")
    nodes = [node for node in ctx.node.subgraphs[0].nodes if not node.is_variable]
    known = (main, "BatchNorm", "elemwise_add", *_ACTIVATIONS)
    for node in nodes:
        if node.op not in known:
            raise UnsupportedError(f"{node.op} in its subgraph")
    mains = [node for node in nodes if node.op == main]
    if len(mains) != 1:
        raise QnnError(f"needs one {main} in its subgraph, has {len(mains)}")
    attrs = Attributes(mains[0].attrs)
    batch_norm = next((Attributes(node.attrs) for node in nodes if node.op == "BatchNorm"), None)
    names = ["data", "weight"]
    if not attrs.flag("no_bias", False):
        names.append("bias")
    if batch_norm is not None:
        names += ["gamma", "beta", "mean", "variance"]
    if any(node.op == "elemwise_add" for node in nodes):
        names.append("sum")
    activations = tuple(_activation(node) for node in nodes if node.op in _ACTIVATIONS)
    return Fused(attrs, batch_norm, activations, tuple(names))


def _activation(node: Node) -> Activation:
    attrs = Attributes(node.attrs)
    if node.op == "Activation":
        return Activation(attrs.text("act_type"), attrs)
    if node.op == "clip" and attrs.real("a_min") != 0:
        raise UnsupportedError("a fused clip that does not begin at 0")
    kind = node.op if node.op in _FUNCTIONS else attrs.text("act_type", "leaky")
    return Activation(kind, attrs)


def activated(value: Any, activation: Activation | None, unit: Number) -> Any:
    """Return the activation of float32 numbers.

    Args:
        value: the numbers, an ``Expression``.
        activation: of a kind in ``FUNCTIONS``; None for none.
        unit: the number that means one unit.
    """
    return value if activation is None else FUNCTIONS[activation.kind](value, activation, unit)


def _clipped(value: Any, activation: Activation, unit: Number) -> Any:
    end = scalar(activation.attrs.real("a_max")) * unit
    return np.minimum(np.maximum(value, scalar(0)), end)


def _bent(value: Any, activation: Activation, _: Number) -> Any:
    slope = scalar(activation.attrs.real("slope", 0.25))
    return np.where(value > 0, value, value * slope)


FUNCTIONS: dict[str, Callable[[Any, Activation, Number], Any]] = {
    "relu": lambda value, *_: value.to(R.nn.relu(value.expr)),
    "clip": _clipped,
    "leaky": _bent,
    "abs": lambda value, *_: np.abs(value),
}
"""Activations of float32 numbers, by kind."""


def scaled_bias(ctx: Context, bias: Array, steps: Number) -> Number:
    """Return a bias in steps of the sums, as float32 whole numbers."""
    if is_known(steps):
        return folding.quantize_bias(bias, steps).astype(np.float32)
    product = ctx.beside(steps, bias, "_bias") * steps
    return np.clip(np.rint(product), -(2.0**31), 2.0**31)


def known_steps(value: Number, what: str = "data") -> Number:
    """Return what a calibrated layer must know of a range when importing.

    Raises:
        UnsupportedError: it is computed in a run.
    """
    if not is_known(value):
        raise UnsupportedError(f"calibrated, but the range of its {what} is known at run time only")
    return value


def weight_of(ctx: Context, fused: Fused, name: str) -> Array | None:
    """Return a constant input as float32; None if it is left out."""
    position = fused.position(name)
    if position is None:
        return None
    array = ctx.constant(position)
    if array.dtype.kind != "f" or not np.isfinite(array).all():
        raise QnnError(f"{ctx.names[position]!r} must be finite floats")
    return array.astype(np.float32)


def convert_in_float(ctx: Context) -> list[Value]:
    """Return a fused node that was left unquantized: its operators one by one."""
    if len(ctx.node.subgraphs) != 1:
        raise QnnError(f"needs one subgraph, has {len(ctx.node.subgraphs)}")
    graph = ctx.node.subgraphs[0]
    values: list[Value] = [ctx.value(position) for position in range(ctx.arity)]
    # Inputs are ordered by operator, with the other term of a sum last. The variables of the
    # subgraph are in the order in which the operators read them.
    order = list(dict.fromkeys(_variables(graph)))
    if len(order) != len(values):
        raise QnnError(f"its subgraph has {len(order)} variables, got {len(values)} inputs")
    by_number = dict(zip(order, values, strict=True))
    numbers = [number for number, node in enumerate(graph.nodes) if node.is_variable]
    return ctx.convert(graph, [by_number[number] for number in numbers])


def _variables(graph: Graph) -> Iterator[int]:
    sums = [node for node in graph.nodes if node.op == "elemwise_add"]
    for node in [node for node in graph.nodes if node not in sums] + sums:
        for entry in node.inputs:
            if graph.nodes[entry.node].is_variable:
                yield entry.node
