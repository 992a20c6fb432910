from __future__ import annotations

from tvm_qnn import relay


def test_executors_and_runtimes_are_taken() -> None:
    x = relay.var("x", (3,))
    executor = relay.backend.Executor("aot", {"unpacked-api": True})
    runtime = relay.backend.Runtime("crt", {"system-lib": True})
    lib = relay.build(relay.Function([x], relay.abs(x)), executor=executor, runtime=runtime)
    assert [info.name for info in lib.library.inputs] == ["x"]
