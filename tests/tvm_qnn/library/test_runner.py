from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tvm import relax
from tvm.relax import op as R

import tvm_qnn
from tests.support.errors import fails
from tests.support.modules import module
from tvm_qnn.library import runtime
from tvm_qnn.library.runner import Runner

SHAPE = (3, 40)
TY = relax.TensorType(SHAPE, "int32")
WEIGHTS = np.arange(1600, dtype=np.int32).reshape(40, 40) % 7


def steps(x: relax.Expr, count: int) -> relax.Expr:
    for _ in range(count):
        x = R.matmul(x, relax.const(WEIGHTS))
    return x


def program(body: Callable[..., Any], inputs: int = 1) -> runtime.Program:
    mod = module({f"x{i}": TY for i in range(inputs)}, body)
    return tvm_qnn.build(mod, "host")._ready()


def tensors(*numbers: int) -> list[Any]:
    return [runtime.tensor(np.full(SHAPE, number, np.int32)) for number in numbers]


def expected(number: int, count: int) -> np.ndarray:
    x = np.full(SHAPE, number, np.int32)
    for _ in range(count):
        x = x @ WEIGHTS
    return x


def machine_calls(machine: Any, run: Callable[[], object]) -> list[str]:
    """List the functions that a machine calls during a run."""
    names: list[str] = []

    def watch(_function: object, name: str, before: bool, *_rest: object) -> int:
        if before:
            names.append(name)
        return 0

    machine["set_instrument"](watch)
    run()
    machine["set_instrument"](None)
    return names


def test_the_machine_is_passed_by_from_the_second_run_on() -> None:
    machine = program(lambda x: steps(x, 3)).machine()
    runner = Runner(machine)
    first = runtime.array_of(runner(*tensors(1)))
    assert machine_calls(machine, lambda: runner(*tensors(1))) == []
    np.testing.assert_array_equal(first, expected(1, 3))
    for number in (2, 5):
        np.testing.assert_array_equal(
            runtime.array_of(runner(*tensors(number))), expected(number, 3)
        )


def test_inputs_of_each_run_are_taken() -> None:
    difference = tvm_qnn.build(module({"x0": TY}, lambda x: R.subtract(x, x)), "host")._ready()
    runner = Runner(difference.machine())
    for number in (1, 2, 5):
        result = runtime.array_of(runner(*tensors(number)))
        np.testing.assert_array_equal(result, np.zeros(SHAPE, np.int32))
    runner = Runner(program(lambda x: steps(x, 3)).machine())
    result = runner(*tensors(1))
    call = runner.bound(*tensors(4))
    call()
    np.testing.assert_array_equal(runtime.array_of(result), expected(4, 3))


def test_so_it_is_with_several_results() -> None:
    machine = program(lambda x, y: [steps(x, 2), steps(y, 3)], inputs=2).machine()
    runner = Runner(machine)
    runner(*tensors(1, 2))
    assert machine_calls(machine, lambda: runner(*tensors(3, 4))) == []
    results = [runtime.array_of(each) for each in runner(*tensors(3, 4))]
    for result, wanted in zip(results, (expected(3, 2), expected(4, 3)), strict=True):
        np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize(
    "body",
    [lambda x: x, lambda x: steps(x, 70), lambda x: [steps(x, 2), x]],
    ids=["no kernel", "many kernels", "an input as a result"],
)
def test_other_programs_stay_with_the_machine(body: Callable[..., Any]) -> None:
    runner = Runner(program(body).machine())
    for number in (1, 2, 3):
        result = runner(*tensors(number))
        results = [result] if hasattr(result, "__dlpack__") else list(result)
        want = body(relax.Var("x", TY))
        assert len(results) == (len(want) if isinstance(want, list) else 1)
        if len(results) == 2:
            np.testing.assert_array_equal(runtime.array_of(results[1]), expected(number, 0))
    runner.bound(*tensors(1))()


class Machine:
    """A machine whose program calls the functions of these names, and records the answers."""

    def __init__(self, *names: str) -> None:
        self.names, self.answers = names, list[int]()
        self._watch: Callable[..., int] | None = None

    def __getitem__(self, name: str) -> Callable[..., Any]:
        return self._run if name == "run" else self._take

    def _take(self, watch: Callable[..., int] | None) -> None:
        self._watch = watch

    def _run(self, *_tensors: object) -> str:
        if self._watch is not None:
            self.answers = [self._watch(None, name, True, None) for name in self.names]
        return "result"


def test_a_look_at_many_kernels_ends_where_data_are_read() -> None:
    # TVM reads the symbols of all libraries where one does: 36 MB, and half a second.
    names = ("alloc_tensor", "first", "reshape", "alloc_tensor", "second", "tuple_getitem", "third")
    kernels = ("first", "second", "third")
    machine = Machine(*(name if name in kernels else f"vm.builtin.{name}" for name in names))
    assert Runner(machine)("x") == "result"
    assert machine.answers == [int(name in kernels) for name in names]
    machine = Machine("first", "vm.builtin.read_if_cond", "second")
    assert Runner(machine)("x") == "result"
    assert machine.answers == []


def test_several_inputs_and_results_keep_their_order_and_numbers() -> None:
    one = program(lambda x, y: [steps(R.add(x, y), 2), steps(y, 1)], inputs=2)
    for first, second in ((1, 2), (7, 3)):
        total, other = one(*tensors(first, second))
        np.testing.assert_array_equal(total, expected(first + second, 2))
        np.testing.assert_array_equal(other, expected(second, 1))
    one = program(lambda x: steps(x, 3))
    found = [one(*tensors(number))[0] for number in (1, 2, 3)]
    for number, array in enumerate(found, 1):
        np.testing.assert_array_equal(array, expected(number, 3))


def test_the_kernel_refuses_what_the_machine_refuses() -> None:
    one = program(lambda x: steps(x, 3))
    one(*tensors(1))
    other = runtime.tensor(np.zeros((3, 41), np.int32))
    fails("the library's code failed", one, other)
    np.testing.assert_array_equal(one(*tensors(2))[0], expected(2, 3))
    run = program(lambda x: steps(x, 3)).prepare(runtime.tensor(np.zeros((2, 2), np.int32)))
    for _ in range(2):
        fails("the library's code failed", run)
    machine = program(lambda x: steps(x, 3)).machine()
    runner = Runner(machine)
    fails(r".", runner, runtime.tensor(np.zeros((2, 2), np.int32)), error=Exception)
    np.testing.assert_array_equal(runtime.array_of(runner(*tensors(2))), expected(2, 3))
