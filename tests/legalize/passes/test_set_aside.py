import numpy as np
import pytest
import tvm
from tvm import relax, te, tirx

import tvm_qnn
from legalize import lower
from legalize.kernels.kernel import CALLS_BY_NAME, IS_KERNEL
from legalize.passes import one_function
from legalize.passes.bodies import SET_ASIDE, TAKES_POINTERS
from legalize.passes.set_aside import set_aside
from tests.support.arrays import full_range
from tests.support.linking import needs_linker
from tvm_qnn import digits
from tvm_qnn.target.codegen import Compiled
from tvm_qnn.target.target import host_target


@pytest.fixture(autouse=True)
def by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small models call their kernels by name, too."""
    monkeypatch.setattr(one_function, "_WEIGHTS_OF_BODIES", 0)


def lowered() -> tvm.IRModule:
    mod, params = tvm_qnn.from_tflite(digits.model("int8"))
    return lower(relax.transform.BindParams("main", params)(mod), host_target())


def kernels(mod: tvm.IRModule) -> dict[str, tirx.PrimFunc]:
    every = ((each.name_hint, function) for each, function in mod.functions_items())
    return {name: each for name, each in every if IS_KERNEL in (each.attrs or {})}


def test_kernels_give_away_their_code() -> None:
    before = lowered()
    after, codes = set_aside(before, {})
    assert len(kernels(after)) >= 3
    for name, kernel in kernels(after).items():
        code = codes[kernel.attrs[SET_ASIDE]]
        assert TAKES_POINTERS in code.attrs
        assert SET_ASIDE not in kernels(before)[name].attrs
        assert isinstance(kernel.body.block.body, tirx.IfThenElse)  # only a call
        tvm.ir.assert_structural_equal(kernel.ty, kernels(before)[name].ty)
    tvm.ir.assert_structural_equal(after["main"], before["main"])


def test_kernels_that_become_bodies_keep_their_code() -> None:
    before = lowered().without_attr(CALLS_BY_NAME)
    after, codes = set_aside(before, {})
    assert after.same_as(before)
    assert not codes


def test_kernels_of_open_sizes_keep_their_code() -> None:
    def kernel(operand: relax.Expr, name: str) -> relax.Expr:
        def negated(x: te.Tensor) -> te.Tensor:
            return te.compute(x.shape, lambda i: -x[i])

        attrs = {IS_KERNEL: True}
        return builder.emit_te(negated, operand, primfunc_name_hint=name, primfunc_attrs=attrs)

    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((4,), "int8"))
    y = relax.Var("y", relax.TensorType((tirx.Var("n", "int64"),), "int8"))
    with builder.function("main", [x, y]):
        builder.emit_func_output(relax.Tuple([kernel(x, "of_four"), kernel(y, "open")]))
    after, codes = set_aside(builder.get().with_attr(CALLS_BY_NAME, True), {})
    given = {name for name, each in kernels(after).items() if SET_ASIDE in each.attrs}
    assert given == {"of_four"}
    assert [name.rpartition("__")[0] for name in codes] == ["of_four"]


@pytest.mark.parametrize("can_link", [False, pytest.param(True, marks=needs_linker)])
@pytest.mark.parametrize("is_joined", [False, True])
def test_the_virtual_machine_calls_the_code_too(
    monkeypatch: pytest.MonkeyPatch, is_joined: bool, can_link: bool
) -> None:
    if not is_joined:
        monkeypatch.setattr(one_function, "_MOST_CALLS", 0)
    if not can_link:
        monkeypatch.setattr(Compiled, "_loaded", lambda _self: (_ for _ in ()).throw(OSError()))
    mod, params = tvm_qnn.from_tflite(digits.model("int8"))
    page = full_range(np.random.default_rng(0), "int8", (1, 8, 8, 1))
    wanted = tvm_qnn.build(mod, "host", params, kernels=False).run(page)
    got = tvm_qnn.build(mod, "host", params, cache=can_link).run(page)
    np.testing.assert_array_equal(got, wanted)
