import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax

from qnn_ops.errors import QnnError
from tests.support.modules import adder, module
from tvm_qnn import relay
from tvm_qnn.relay.factory import load_module
from tvm_qnn.relay.graph_executor import GraphModule
from tvm_qnn.relay.report import Report

X = np.arange(6, dtype=np.int8).reshape(2, 3)


@pytest.fixture
def executor() -> GraphModule:
    return GraphModule(relay.build(adder(), "llvm")["default"](tvm.cpu()))


def test_inputs_by_name_number_and_keyword(executor: GraphModule) -> None:
    executor.set_input("x", X)
    executor.set_input(1, X.tolist())
    executor.run()
    assert np.array_equal(executor.get_output(0).numpy(), X + X)
    executor.set_input(x=tvm.runtime.tensor(X), no_input_of_this_name=X)
    executor.run(w=X.astype(np.float64))  # converted, as it always was
    assert np.array_equal(executor.get_output(0).numpy(), X + X)
    assert np.array_equal(executor.get_input("w").numpy(), X)
    executor["set_input"]("x", X)
    executor["run"](w=X)
    assert np.array_equal(executor["get_output"](0).numpy(), X + X)
    assert executor["get_num_outputs"]() == 1
    with pytest.raises(QnnError, match=r"has the functions set_input.*not 'stop'"):
        executor["stop"]


def test_what_an_executor_tells_of_its_tensors(executor: GraphModule) -> None:
    assert executor.get_num_inputs() == 2
    assert [executor.get_input_index(name) for name in ("x", "w", "z")] == [0, 1, -1]
    shapes, dtypes = executor.get_input_info()
    assert shapes == {"x": (2, 3), "w": (2, 3)}
    assert dtypes == {"x": "int8", "w": "int8"}
    (name,) = executor.get_output_info()[0]
    assert executor.get_output_info() == ({name: (2, 3)}, {name: "int8"})
    assert executor.get_output_index(name) == 0
    assert executor.get_output_index("x") == -1
    with pytest.raises(QnnError, match="keeps no inner tensors"):
        executor.debug_get_output("conv")


def test_several_outputs() -> None:
    mod = module({"x": relax.TensorType((4,), "int8")}, lambda x: [relax.op.add(x, x), x])
    executor = GraphModule(relay.build(mod, "llvm")["default"](tvm.cpu()))
    executor.run(x=np.arange(4))
    assert executor.num_outputs == 2
    assert executor.get_output(0).numpy().tolist() == [0, 2, 4, 6]
    assert executor.get_output(1).numpy().tolist() == [0, 1, 2, 3]


def test_timing(executor: GraphModule) -> None:
    for end_to_end in (False, True):
        times = executor.benchmark(tvm.cpu(), repeat=3, number=2, end_to_end=end_to_end)
        assert len(times.results) == 3
        assert times.min > 0
    result = executor.benchmark(tvm.cpu(), repeat=2, number=1, min_repeat_ms=1, x=X, w=X)
    assert len(result.results) == 2
    assert np.array_equal(executor.get_input("x").numpy(), X)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda e: e.set_input("z", X), "no input 'z'; there are x, w"),
        (lambda e: e.set_input(2, X), "no input 2"),
        (lambda e: e.set_input("x", X[0]), r"'x' has shape \(2, 3\), got \(3,\)"),
        (lambda e: e.get_output(0), "call run first"),
        (lambda e: (e.run(), e.get_output(1)), "there are 1 outputs, none has number 1"),
        (lambda e: e.benchmark(repeat=0), "at least 1"),
        (lambda e: e.module.time_evaluator("main"), "times 'run', got 'main'"),
        (lambda e: GraphModule(e), r"takes lib\['default'\]\(device\), got GraphModule"),
    ],
)
def test_what_does_not_fit_is_named(
    executor: GraphModule, call: Callable[[GraphModule], Any], message: str
) -> None:
    with pytest.raises(QnnError, match=message):
        call(executor)


def test_an_input_that_is_a_tensor_s_memory(executor: GraphModule) -> None:
    memory = X.copy()
    executor.set_input_zero_copy("x", memory)
    executor.set_input("w", X)
    memory[:] = 1
    executor.run()
    assert np.array_equal(executor.get_output(0).numpy(), X + 1)
    tensor = tvm.runtime.tensor(X)
    executor.set_input_zero_copy(0, tensor)
    executor.run()
    assert np.array_equal(executor.get_output(0).numpy(), X + X)
    with pytest.raises(QnnError, match=r"'x' is int8 of shape \(2, 3\), got float32"):
        executor.set_input_zero_copy("x", X.astype(np.float32))


def test_parameters_as_bytes(executor: GraphModule) -> None:
    content = relay.save_param_dict({"w": tvm.runtime.tensor(X), "other": tvm.runtime.tensor(X)})
    executor.load_params(content)
    executor.run(x=X)
    assert np.array_equal(executor.get_output(0).numpy(), X + X)
    with pytest.raises(QnnError, match="of the same library"):
        executor.share_params(GraphModule(relay.build(adder(), "llvm")["default"]()), content)


def test_a_profile_tells_functions_apart() -> None:
    mod, params = relay.testing.mlp.get_workload(1)
    library = relay.build(mod, "llvm", params=params)
    report = GraphModule(library["default"](tvm.cpu())).profile(data=np.ones((1, 1, 28, 28)))
    names = [call["Name"] for call in report.calls]
    assert len(names) >= 3
    assert all(call["Duration (us)"].microseconds > 0 for call in report.calls)
    assert sum(call["Percent"].ratio for call in report.calls) == pytest.approx(100)
    assert report.csv().splitlines()[0] == "Name,Duration (us),Percent,Device,Count"
    assert [each["Name"] for each in json.loads(report.json())["calls"]] == names
    lines = str(report).splitlines()
    assert lines[0].split()[:2] == ["Name", "Duration"]
    assert lines[-1].startswith("Total")
    assert len({len(line) for line in lines}) == 1


def test_profiles_of_loaded_libraries_and_of_joined_calls(tmp_path: Path) -> None:
    relay.build(adder(), "llvm").export_library(tmp_path / "m.so")
    module = load_module(tmp_path / "m.so")
    report = GraphModule(module["default"](tvm.cpu())).profile(x=X, w=X)
    assert report.device_metrics["cpu0"]["Count"] == len(report.calls) == 1
    report = Report([[("a", 1e-6), ("b", 5e-6), ("a", 3e-6)]] * 2)
    joined, ordered = report.table().splitlines(), report.table(False, False, False).splitlines()
    assert [line.split()[0] for line in joined] == ["Name", "b", "a", "Total"]
    assert joined[2].split()[-1] == "2"
    assert [line.split()[0] for line in ordered] == ["Name", "a", "b", "a"]
