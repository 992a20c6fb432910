from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from tests.former import __main__ as former
from tests.former import calls
from tests.former.imports import changed
from tests.former.live import is_same
from tests.former.names import names, refusal
from tests.support.commands import refused
from tests.support.errors import giving
from tvm_qnn import relay
from tvm_qnn.relay import tvm

test_import_lines = giving(
    changed,
    ("import tvm", "from tvm_qnn.relay import tvm"),
    ("import tvm.testing", "from tvm_qnn.relay import tvm"),
    ("    from tvm import relay, te", "    from tvm_qnn.relay.tvm import relay, te"),
    ("from tvm.relay import transform", "from tvm_qnn.relay import transform"),
    (
        "from tvm.relay.testing.temp_op_attr import TempOpAttr",
        "from tvm_qnn.relay.testing.temp_op_attr import TempOpAttr",
    ),
    ("from tvm.contrib import graph_executor", "from tvm_qnn.relay.contrib import graph_executor"),
    (
        "from tvm.contrib.debugger import debug_executor",
        "from tvm_qnn.relay.contrib.debugger import debug_executor",
    ),
    (
        "import tvm.contrib.graph_executor as runtime",
        "from tvm_qnn.relay.contrib import graph_executor as runtime",
    ),
    ("from tvm.runtime.vm import VirtualMachine", "from tvm_qnn.relay.vm import VirtualMachine"),
    ("from tvm.error import TVMError", "from tvm_qnn.relay.error import TVMError"),
    ("import numpy as np", "import numpy as np"),
    ("x = tvm.cpu()  # import tvm", "x = tvm.cpu()  # import tvm"),
)


SCRIPT = """
import numpy as np
import tvm
import tvm.testing
from tvm import relay
from tvm.contrib import graph_executor
from tvm.relay.testing import run_infer_type


def test_dequantize():
    x = relay.var("x", shape=(2, 2), dtype="int8")
    y = relay.qnn.op.dequantize(x, relay.const(0.5), relay.const(1))
    assert run_infer_type(y).checked_type == relay.TensorType((2, 2), "float32")
    mod = tvm.IRModule.from_expr(relay.Function([x], y))
    with tvm.transform.PassContext(opt_level=3, config={"relay.FuseOps.max_depth": 1}):
        graph, lib, params = relay.build(mod, "llvm", params=None)
    module = graph_executor.create(graph, lib, device=tvm.cpu(0))
    module.set_input("x", np.array([[1, 2], [3, 4]], "int8"))
    module.run()
    np.testing.assert_equal(module.get_output(0).numpy(), [[0, 0.5], [1, 1.5]])


def test_that_fails():
    assert relay.const(1).data.numpy() == 2
"""


def test_the_command_runs_the_tests_of_a_checkout(tmp_path: Path) -> None:
    folder = tmp_path / former.FOLDER / "relay"
    folder.mkdir(parents=True)
    (folder / "test_op_qnn_own.py").write_text(SCRIPT)
    result = CliRunner().invoke(former.main, [str(tmp_path), "--show"])
    assert result.exit_code == 1
    assert "| test_op_qnn_own.py | 1 | 0 | 1 |" in result.stdout
    assert "test_op_qnn_own::test_that_fails" in result.stdout


def test_a_folder_that_is_no_checkout_is_named(tmp_path: Path) -> None:
    assert "test_op_qnn" in refused(former.main, [str(tmp_path)])


def test_a_call_of_each_kind_can_be_made() -> None:
    found = calls.results(tvm, relay, range(len(calls.KINDS)))
    assert len([seed for seed in found if seed.isdigit()]) == len(calls.KINDS)
    assert [str(each) for each in found.values() if each.dtype.kind == "U"] == []


def test_what_is_the_same() -> None:
    one = np.array([1, np.nan], np.float32)
    assert is_same(one, one)
    assert not is_same(one, one.astype(np.float64))
    assert not is_same(one, np.array([1, 2], np.float32))


@pytest.mark.parametrize("name", [name for name, _ in names()])
def test_a_name_works_or_says_what_to_do(name: str) -> None:
    refusal(name)


def test_most_names_work() -> None:
    assert len(names()) == 100
    assert sum(not refusal(name) for name, _ in names()) >= 93
