from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax, tirx
from tvm.relax import op as R
from tvm.relax.backend.cpu_generic import pipeline as cpu

import tvm_qnn
from legalize.kernels.kernel import CALLS_BY_NAME, IS_KERNEL, IS_SMALL, SAME_CODE
from legalize.passes import one_function as its_module
from legalize.passes.bodies import has_buffers
from legalize.passes.one_function import OneFunction
from legalize.pipeline import calls_pipeline
from qnn_ops import counted_indices
from qnn_ops.arrays import Array
from tests.support.arrays import full_range
from tests.support.errors import fails
from tests.support.modules import calls_of, module

TARGET = tvm.target.Target("llvm")
SHAPE = (3, 40)
TY = relax.TensorType(SHAPE, "int32")
WEIGHTS = full_range(np.random.default_rng(1), "int8", (40, 40)).astype(np.int32)


def step(x: relax.Expr) -> relax.Expr:
    """List the calls that fusion leaves."""
    return R.matmul(x, relax.const(WEIGHTS))


def chain(x: relax.Expr, steps: int) -> relax.Expr:
    for number in range(steps):
        x = step(R.add(x, relax.const(np.full(SHAPE, number, np.int32))))
    return x


def called(mod: tvm.IRModule) -> tvm.IRModule:
    """Return the module as it comes to the pass."""
    with TARGET:
        return calls_pipeline(TARGET)(mod)


def calls(mod: tvm.IRModule) -> list[relax.Call]:
    return [call for call in calls_of(mod) if isinstance(call.op, tvm.ir.GlobalVar)]


def run(mod: tvm.IRModule, arrays: list[Array], *, one: bool) -> list[Array]:
    # From calls on, nothing else of the pipeline matters here.
    disabled = [] if one else ["OneFunction"]
    with tvm.transform.PassContext(opt_level=2, disabled_pass=disabled), TARGET:
        passes = [OneFunction(), *cpu.finalize_passes(TARGET)]
        executable = tvm.compile(
            called(mod), target=TARGET, relax_pipeline=tvm.transform.Sequential(passes)
        )
    machine = relax.VirtualMachine(executable, tvm.cpu())
    result = machine["main"](*map(tvm.runtime.tensor, arrays))
    return [each.numpy() for each in ([result] if hasattr(result, "numpy") else result)]


def check(body: Callable[..., Any], inputs: int = 1) -> None:
    """One call instead of several, and the same results."""
    mod = module({f"x{i}": TY for i in range(inputs)}, body)
    before = called(mod)
    after = OneFunction()(before)
    assert len(calls(before)) > 1
    assert len(calls(after)) == 1
    rng = np.random.default_rng(0)
    arrays = [full_range(rng, "int8", SHAPE).astype(np.int32) for _ in range(inputs)]
    expected = run(mod, arrays, one=False)
    for got, want in zip(run(mod, arrays, one=True), expected, strict=True):
        np.testing.assert_array_equal(got, want)


def test_a_chain_becomes_one_call() -> None:
    check(lambda x: chain(x, 5))


def test_several_inputs_and_results() -> None:
    def body(x: relax.Expr, y: relax.Expr) -> list[relax.Expr]:
        first, second = chain(x, 3), chain(y, 2)
        return [step(R.add(first, second)), first, chain(second, 2)]

    check(body, inputs=2)


def test_functions_of_several_results() -> None:
    def body(x: relax.Expr) -> relax.Expr:
        parts = R.split(step(x), 2, axis=1)
        first, second = relax.TupleGetItem(parts, 0), relax.TupleGetItem(parts, 1)
        return [step(R.concat([second, first], axis=1)), second]

    check(body)


def test_what_is_needed_later_keeps_its_place() -> None:
    def body(x: relax.Expr) -> relax.Expr:
        early = step(x)
        return step(R.add(chain(early, 6), early))

    check(body)


def test_views_are_no_copies() -> None:
    """Reshapes between calls and at the end name the memory of what they view."""

    def body(x: relax.Expr) -> relax.Expr:
        return R.reshape(step(R.reshape(step(x), (1, *SHAPE))), (120,))

    check(body)


def test_lookups_in_one_row_are_no_views() -> None:
    def body(x: relax.Expr) -> relax.Expr:
        rows = R.reshape(step(x), (1, *SHAPE))
        return R.take(rows, R.sum(x), axis=0, mode="clip")

    check(body)


def test_tensors_share_memory() -> None:
    """However long a chain is, two tensors are alive at a time."""
    sizes = []
    for steps in (4, 10):
        after = OneFunction()(called(module({"x": TY}, lambda x, n=steps: chain(x, n))))
        (call,) = calls(after)
        sizes.append(int(call.args[2].ty.shape[0]))
    assert sizes[0] == sizes[1] == 2 * 512


@pytest.mark.parametrize(
    "body", [lambda x: [step(step(x)), x], step], ids=["an input as a result", "one call"]
)
def test_else_main_stays(body: Callable[[relax.Expr], Any]) -> None:
    before = called(module({"x": TY}, body))
    tvm.ir.assert_structural_equal(OneFunction()(before), before)


def test_a_result_that_is_wanted_twice() -> None:
    x = relax.Var("x", TY)
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            last = builder.emit_output(builder.emit(step(builder.emit(step(x)))))
        builder.emit_func_output(relax.Tuple([last, last]))
    before = called(builder.get())
    tvm.ir.assert_structural_equal(OneFunction()(before), before)


@pytest.mark.parametrize(
    ("limit", "value"), [("_MOST_WEIGHTS", 100), ("_MOST_DATA", 100), ("_MOST_CALLS", 3)]
)
def test_a_main_beyond_a_limit_stays(
    monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    before = called(module({"x": TY}, lambda x: chain(x, 3)))
    monkeypatch.setattr(its_module, limit, value)
    tvm.ir.assert_structural_equal(OneFunction()(before), before)


@pytest.mark.parametrize(("count", "has_bodies"), [(7, True), (8, False)])
def test_many_calls_are_calls_by_name(count: int, has_bodies: bool) -> None:
    before = called(module({"x": TY}, lambda x: chain(x, count)))
    assert len(calls(before)) == count + 1  # the first sum is one of its own
    after = OneFunction()(before)
    assert len(calls(after)) == 1
    assert (len(after.functions) == 2) is has_bodies


def test_functions_with_buffers_are_called_by_name_beside_kernels() -> None:
    """With bodies of both, a pass for buffers walks over the kernels for minutes."""
    before = called(module({"x": TY}, lambda x: chain(x, 2)))
    functions = {each: f for each, f in before.functions_items() if isinstance(f, tirx.PrimFunc)}
    buffered = {each.name_hint for each, f in functions.items() if has_buffers(f)}
    assert buffered  # products begin with initial values
    first, *_ = (each for each in functions if each.name_hint not in buffered)
    assert len(OneFunction()(before).functions) == 2
    before[first] = before[first].with_attr(IS_KERNEL, True)
    names = {each.name_hint.rpartition("__")[0] for each in OneFunction()(before).functions}
    assert names == {"", *buffered}


@pytest.mark.parametrize(
    ("limit", "is_small"), [("_WEIGHTS_OF_BODIES", False), ("_MOST_BODIES", True)]
)
def test_kernels_are_told_of_calls_by_name(
    monkeypatch: pytest.MonkeyPatch, limit: str, is_small: bool
) -> None:
    given = module({"x": TY}, lambda x: R.add(R.add(x, weights()), weights()))
    assert CALLS_BY_NAME not in its_module.tell_calls(given).attrs
    monkeypatch.setattr(its_module, limit, 1)
    told = its_module.tell_calls(given).attrs
    assert CALLS_BY_NAME in told
    assert (IS_SMALL in told) is is_small


def weights() -> relax.Expr:
    return relax.const(np.ones(TY.shape.values[-1].value, str(TY.dtype)))


def test_functions_of_the_same_code_are_one() -> None:
    """Their results have different shapes, and the code reads where its outputs lie."""
    before = called(module({"x": TY}, lambda x: chain(x, 65)))
    names = [each for each, f in before.functions_items() if isinstance(f, tirx.PrimFunc)]
    for name in names:
        before[name] = before[name].with_attr(SAME_CODE, "0123")
    after = OneFunction()(before)
    digests = {each.name_hint.split("_")[-1] for each in after.functions}
    assert len(names) > 1
    assert digests == {"main", "model", "0123"}


@pytest.mark.parametrize(("inputs", "is_one"), [(63, True), (64, False)])
def test_a_main_of_many_tensors_stays(inputs: int, is_one: bool) -> None:
    """One function of all takes LLVM a minute for some 300: it checks each."""
    names = {f"x{number}": TY for number in range(inputs)}
    mod = called(module(names, lambda x, *_others: chain(x, 2)))
    assert (len(calls(OneFunction()(mod))) == 1) is is_one


def test_the_function_takes_nothing_for_distinct() -> None:
    """Places are used for one tensor after the other."""
    after = OneFunction()(called(module({"x": TY}, lambda x: chain(x, 3))))
    (function,) = (f for f in after.functions.values() if isinstance(f, tirx.PrimFunc))
    assert not function.attrs["tirx.noalias"]


def test_what_one_body_wrote_is_read_from_memory_by_the_next() -> None:
    """Else LLVM selects instructions for both together, which takes for ever for some."""
    after = OneFunction()(called(module({"x": TY}, lambda x: chain(x, 3))))
    (function,) = (f for f in after.functions.values() if isinstance(f, tirx.PrimFunc))
    mod = tvm.IRModule({"model": function.with_attr("global_symbol", "model")})
    code = tirx.build(mod, target=TARGET).inspect_source("ll")
    assert code.count('asm sideeffect "", "~{memory}"') >= 2
    assert "declare void @qnn_barrier" not in code  # it is no call


@pytest.mark.parametrize("steps", [1, 9])
def test_many_weights_are_read_by_functions_of_their_own(
    steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(its_module, "_WEIGHTS_OF_BODIES", 1)

    def body(x: relax.Expr, y: relax.Expr) -> relax.Expr:
        # The second input comes in late, and the first result is an output, too.
        first = chain(x, 1)
        return relax.Tuple([first, R.add(chain(first, steps), y)])

    mod = module({"x": TY, "y": TY}, body)
    before = called(mod)
    after = OneFunction()(before)
    assert len(calls(before)) > len(calls(after)) == 1
    # Each function is there once, however often it is called.
    assert len(after.functions) == len({call.op for call in calls(before)}) + 2
    rng = np.random.default_rng(0)
    arrays = [full_range(rng, "int8", SHAPE).astype(np.int32) for _ in range(2)]
    expected = run(mod, arrays, one=False)
    for got, want in zip(run(mod, arrays, one=True), expected, strict=True):
        np.testing.assert_array_equal(got, want)


def test_an_error_of_a_function_is_the_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(its_module, "_WEIGHTS_OF_BODIES", 1)
    indices = relax.TensorType((2,), "int32")

    def body(x: relax.Expr, wanted: relax.Expr) -> relax.Expr:
        return R.take(chain(x, 2), counted_indices(wanted, 3, "it"), axis=0, mode="clip")

    library = tvm_qnn.build(module({"x": TY, "wanted": indices}, body), "host")
    x = np.zeros(SHAPE, np.int32)
    assert library.run(x, np.array([0, 2], np.int32)).shape == (2, 40)
    fails("it: index 3 is beyond the 3 that there are", library.run, x, np.array([0, 3], np.int32))
