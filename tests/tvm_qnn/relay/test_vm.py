"""``relay.create_executor``, ``relay.vm`` and ``relay.backend``."""

from typing import Any

import numpy as np

from tests.support.errors import fails
from tests.support.modules import adder
from tvm_qnn import relay

X = np.arange(4, dtype=np.float32)


def test_a_constant_expression() -> None:
    tables: Any = relay.qnn.op.canonicalizations
    found = tables.run_const_expr(relay.const(3.0))
    assert found.tolist() == 3


def test_a_function_a_module_and_an_expression() -> None:
    x = relay.var("x", shape=(4,), dtype="float32")
    y = relay.var("y", shape=(4,), dtype="float32")
    body = relay.subtract(x, y)
    executor = relay.create_executor("graph")
    for each in (relay.Function([x, y], body), body):
        assert executor.evaluate(each)(X, X - 1).numpy().tolist() == [1, 1, 1, 1]
    mod = adder()
    w = np.ones((2, 3), np.int8)
    assert relay.create_executor("vm", mod).evaluate()(w, w=w).numpy().tolist() == [[2] * 3] * 2


def test_constants_and_several_results_are_evaluated() -> None:
    value = relay.create_executor().evaluate(relay.add(relay.const(1.5), relay.const(2.0)))
    assert value.numpy() == 3.5
    x = relay.var("x", shape=(4,), dtype="float32")
    results = relay.create_executor().evaluate(relay.Function([x], relay.Tuple([x, -x])))(X)
    assert [each.numpy().tolist() for each in results] == [X.tolist(), (-X).tolist()]


def test_a_virtual_machine_and_what_cannot_be_evaluated() -> None:
    library = relay.vm.compile(adder(), "llvm")
    machine = relay.vm.VirtualMachine(library)
    w = np.ones((2, 3), np.int8)
    assert machine.invoke("main", w, w=w).numpy().tolist() == [[2] * 3] * 2
    assert machine.run(w, w).numpy().tolist() == [[2] * 3] * 2
    fails("'main', not 'other'", machine.invoke, "other")
    fails("kind is one of", relay.create_executor, "cuda")
    fails("give an expression", relay.create_executor().evaluate)


def test_executors_and_runtimes_are_taken() -> None:
    x = relay.var("x", (3,))
    executor = relay.backend.Executor("aot", {"unpacked-api": True})
    runtime = relay.backend.Runtime("crt", {"system-lib": True})
    lib = relay.build(relay.Function([x], relay.abs(x)), executor=executor, runtime=runtime)
    assert [info.name for info in lib.library.inputs] == ["x"]
