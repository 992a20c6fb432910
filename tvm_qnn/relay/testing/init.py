"""``relay.testing.init``: parameters of a test network, drawn as Relay drew them."""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec

import numpy as np
import tvm
from tvm import relax

from qnn_ops.dialect.registry import spec_of
from tvm_qnn.relay.expr import module_of

Array = np.ndarray[Any, Any]

_INPUT = "data"
_CONSTANT = {"bias": 0, "gamma": 1, "beta": 0, "mean": 0, "var": 1}


_Parameters = ParamSpec("_Parameters")
Workload = tuple[tvm.IRModule, dict[str, tvm.runtime.Tensor]]
"""A module and its parameters."""


class Xavier:
    """Draws weights that keep the data's variance; other parameters have no effect on the data."""

    def __init__(
        self, rnd_type: str = "uniform", factor_type: str = "avg", magnitude: float = 3
    ) -> None:
        """Choose the distribution of weights.

        Args:
            rnd_type: "uniform".
            factor_type: the number of connections to divide by: "in", "out", or "avg" of both.
            magnitude: the variance's factor.
        """
        del rnd_type
        self.factor_type, self.magnitude = factor_type, magnitude

    def __call__(self, desc: str, arr: Array) -> None:
        """Fill the array of a parameter with this name."""
        kind = desc.rpartition("_")[2]
        if kind in _CONSTANT:
            arr[:] = _CONSTANT[kind]
            return
        pixels = float(np.prod(arr.shape[2:]))
        sizes = {"in": arr.shape[1] * pixels, "out": arr.shape[0] * pixels}
        sizes["avg"] = (sizes["in"] + sizes["out"]) / 2
        factor = pixels if "depthwise" in desc else sizes[self.factor_type]
        scale = np.sqrt(self.magnitude / factor)
        arr[:] = np.random.uniform(-scale, scale, arr.shape)


def create_workload(
    net: relax.Expr, initializer: Callable[[str, Array], None] | None = None, seed: int = 0
) -> Workload:
    """Return the module of a network, or of its function, and values of its parameters.

    Args:
        net: a network whose input is named "data".
        initializer: fills an array by its name; default: ``Xavier()``.
        seed: the seed of numpy's random numbers.
    """
    mod = module_of(net)
    fill, params = initializer or Xavier(), {}
    np.random.seed(seed)
    for variable in mod["main"].params:
        if variable.name != _INPUT:
            info = spec_of(variable, variable.name)
            array = np.zeros(info.shape, info.dtype)
            fill(variable.name, array)
            params[variable.name] = tvm.runtime.tensor(array)
    return mod, params


def workload_of(
    get_net: Callable[_Parameters, relax.Function],
) -> Callable[_Parameters, Workload]:
    """Return a network's ``get_workload``, which has the parameters of its ``get_net``."""

    @wraps(get_net)
    def get_workload(*given: _Parameters.args, **named: _Parameters.kwargs) -> Workload:
        return create_workload(get_net(*given, **named))

    get_workload.__name__ = get_workload.__qualname__ = "get_workload"
    get_workload.__doc__ = "Return the network's module and its parameters."
    return get_workload
