import numpy as np
import pytest
import tvm

from tvm_qnn import relay
from tvm_qnn.relay import contrib, graph_executor


def test_names_of_today_and_of_before() -> None:
    assert contrib.graph_runtime is graph_executor
    assert contrib.util is contrib.utils
    assert contrib.cc is tvm.support.cc
    assert contrib.download is tvm.contrib.download
    with pytest.raises(AttributeError, match=r"tvm\.contrib has no nothing"):
        _ = contrib.nothing


def test_the_debugger_runs_a_model() -> None:
    x = relay.var("x", (3,))
    lib = relay.build(relay.Function([x], relay.negative(x)))
    data = np.arange(3, dtype=np.float32)
    debugger = contrib.debugger.debug_executor
    made = debugger.GraphModuleDebug(lib["debug_create"]("default", tvm.cpu()), [tvm.cpu()], "", "")
    for module in (made, debugger.create(lib.graph_json, lib, tvm.cpu(), dump_root="unused")):
        module.run(x=data)
        np.testing.assert_array_equal(module.get_output(0).numpy(), -data)
