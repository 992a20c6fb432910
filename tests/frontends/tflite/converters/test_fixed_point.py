from collections.abc import Callable

import numpy as np
import tvm
from tvm import relax

from frontends.builder import ModuleBuilder
from frontends.tflite.converters.fixed_point import divided, inverse_sqrt, log
from qnn_ops.arithmetic.fixed_point import rounding_divide_by_pot
from qnn_ops.arithmetic.inverse_sqrt import inverse_sqrt_multiplier
from qnn_ops.dialect.expressions import Expression

Emitted = Callable[[Expression], "list[Expression]"]


def computed(values: list[int], emitted: Emitted) -> list[np.ndarray]:
    """Compile the emitted expression for a column of numbers, and run it."""
    column = np.array(values, np.int64)[:, np.newaxis]
    builder = ModuleBuilder()
    data = builder.add_input("data", column.shape, "int64")
    function = builder.function(lambda: [each.expr for each in emitted(builder.array(data))])
    mod = tvm.IRModule({"main": function.with_attr("global_symbol", "main")})
    machine = relax.VirtualMachine(tvm.compile(mod, target="llvm"), tvm.cpu())
    results = machine["main"](tvm.runtime.tensor(column))
    return [result.numpy()[:, 0] for result in results]


def test_functions_equal_the_reference() -> None:
    values = [0, 1, 2, 3, 4, 255, 65025, (1 << 29) - 1, 1 << 29, (1 << 29) + 5, 2**31 - 1]
    results = computed(values, lambda data: [*inverse_sqrt(data)])
    for result, expected in zip(results, inverse_sqrt_multiplier(values), strict=True):
        np.testing.assert_array_equal(result, expected)
    values = [-13, -12, -4, -1, 0, 1, 4, 12, 13, 2**31 - 1, -(2**31)]
    results = computed(values, lambda x: [divided(x, bits) for bits in (0, 3)])
    for bits, result in zip((0, 3), results, strict=True):
        np.testing.assert_array_equal(result, rounding_divide_by_pot(values, bits))
    values = [1 << 19, (1 << 19) + 1, 600_000, 1 << 25, 2**31 - 1]
    (result,) = computed(values, lambda data: [log(data)])
    np.testing.assert_allclose(result / 2.0**26, np.log(np.array(values) / 2.0**19), atol=1e-6)
