import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from legalize.lift import LEAST_BYTES, lift_constants
from tests.support.modules import module

X = relax.TensorType((LEAST_BYTES,), "int8")
LARGE = np.arange(LEAST_BYTES, dtype=np.uint8).astype(np.int8)


def test_large_constants_become_parameters_after_the_others() -> None:
    constant, other = relax.const(LARGE), relax.const(LARGE + np.int8(1))
    before = module(
        {"x": X}, lambda x: relax.op.add(relax.op.add(x, constant), relax.op.add(constant, other))
    )

    @I.ir_module
    class After:
        @R.function
        def main(
            x: R.Tensor((4096,), "int8"),
            constant0: R.Tensor((4096,), "int8"),
            constant1: R.Tensor((4096,), "int8"),
        ) -> R.Tensor((4096,), "int8"):
            with R.dataflow():
                a: R.Tensor((4096,), "int8") = R.add(x, constant0)
                b: R.Tensor((4096,), "int8") = R.add(constant0, constant1)
                c: R.Tensor((4096,), "int8") = R.add(a, b)
                d: R.Tensor((4096,), "int8") = c
                R.output(d)
            return d

    unchanged = before.script()
    after, tensors = lift_constants(before)
    normal = relax.transform.Normalize()
    tvm.ir.assert_structural_equal(normal(after)["main"], normal(After)["main"], True)
    assert [tensor.numpy().tolist() for tensor in tensors] == [
        LARGE.tolist(),
        (LARGE + np.int8(1)).tolist(),
    ]
    assert before.script() == unchanged


def test_small_constants_stay() -> None:
    small = relax.const(LARGE[:-1])
    ty = relax.TensorType((LEAST_BYTES - 1,), "int8")
    before = module({"x": ty}, lambda x: relax.op.add(x, small))
    after, tensors = lift_constants(before)
    assert tensors == []
    tvm.ir.assert_structural_equal(after, before)


def test_constants_without_elements_become_parameters() -> None:
    # TVM writes bytecode with such a constant, and cannot read it.
    before = module({"x": X}, lambda x: relax.op.concat([x, relax.const(LARGE[:0])], 0))
    _, tensors = lift_constants(before)
    assert [tuple(tensor.shape) for tensor in tensors] == [(0,)]
