import numpy as np
import pytest
import tvm
from tvm import relax

from frontends.splits import split
from tests.support.modules import module


@pytest.mark.parametrize("count", [2, 129])
def test_parts_are_in_order(count: int) -> None:
    sizes = [1 + number % 3 for number in range(count)]
    data = np.arange(2 * sum(sizes), dtype=np.int8).reshape(2, -1)
    mod = module({"x": data}, lambda x: split(relax.BlockBuilder.current(), x, sizes, 1))
    machine = relax.VirtualMachine(tvm.compile(mod, target="llvm"), tvm.cpu())
    actual = [part.numpy() for part in machine["main"](tvm.runtime.tensor(data))]
    for part, expected in zip(actual, np.split(data, np.cumsum(sizes)[:-1], 1), strict=True):
        np.testing.assert_array_equal(part, expected)


def test_no_split_has_many_parts() -> None:
    """TVM's own takes minutes for 2,000, and then ends the process."""
    variable, builder = relax.Var("x", relax.TensorType((5000,), "int8")), relax.BlockBuilder()
    with builder.function("main", [variable]):
        parts = split(builder, variable, [1] * 5000, 0)
        builder.emit_func_output(builder.normalize(relax.Tuple(parts)))
    most = max(
        len(binding.value.ty.fields)
        for block in builder.get()["main"].body.blocks
        for binding in block.bindings
        if isinstance(binding.value, relax.Call)
    )
    assert (len(parts), most) == (5000, 64)
    assert split(builder, variable, [5000], 0) == [variable]
