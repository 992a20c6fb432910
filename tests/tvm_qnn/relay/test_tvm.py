from typing import Any

import numpy as np
import pytest
import tvm as installed

from qnn_ops.errors import QnnError
from tests.support.errors import fails
from tvm_qnn import relay
from tvm_qnn.relay import graph_executor, tvm


def test_names_are_tvm_s_own_or_those_it_had() -> None:
    assert tvm.relax is installed.relax
    assert tvm.transform.Sequential is installed.transform.Sequential
    assert tvm.contrib.download is installed.contrib.download
    assert tvm.runtime.tensor is installed.runtime.tensor
    assert tvm.relay is relay
    assert tvm.tir.IntImm is installed.tirx.IntImm
    assert tvm.contrib.graph_runtime is tvm.contrib.graph_executor is graph_executor
    assert tvm.nd.array([1, 2]).numpy().tolist() == [1, 2]
    assert np.array_equal(tvm.nd.array(np.eye(2), tvm.cpu()).numpy(), np.eye(2))
    assert str(tvm.context("llvm", 0)) == str(installed.cpu(0))
    for text in ("llvm", "llvm -mcpu=skylake", str(tvm.target.Target("llvm"))):
        assert str(tvm.device(text, 0)) == str(installed.cpu(0))
    assert str(tvm.target.Target("llvm -mcpu=skylake").attrs["mcpu"]) == "skylake"
    assert tvm.target.Target("llvm", host="llvm").kind.name == "llvm"
    assert tvm.nd.empty((2, 3), "int8").shape == (2, 3)
    with tvm.transform.PassContext(opt_level=3, config={"relay.FuseOps.max_depth": 1}) as context:
        assert context.opt_level == 3
    assert tvm.ir.structural_equal(installed.IRModule({}), installed.IRModule({}))
    array = tvm.nd.array(np.arange(3))
    assert isinstance(array, tvm.nd.NDArray)
    assert array.asnumpy().tolist() == [0, 1, 2]


@pytest.mark.parametrize("package", [relay, tvm])
def test_a_star_import_brings_no_helpers(package: Any) -> None:
    assert not {"QnnError", "SimpleNamespace", "Named", "params", "expr"} & {*package.__all__}
    assert all(hasattr(package, name) for name in package.__all__)


def test_the_project_declares_operators_under_private_names() -> None:
    for module in (relay.op, relay.qnn.op):
        assert not {"operator", "offer", "TYPE_CHECKING"} & {*dir(module)}


def test_what_is_not_here_says_what_to_do() -> None:
    fails(r"target\.cuda: kernels are for processors", tvm.target.cuda)
    fails(r"arm_cpu\('rasp4b64'\): write 'aarch64", tvm.target.arm_cpu, "rasp4b64")
    with pytest.raises(QnnError, match="need no tuning"):
        _ = tvm.autotvm
    with pytest.raises(AttributeError, match="no nothing_like_this"):
        _ = tvm.nothing_like_this
