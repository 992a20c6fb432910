import pytest
from tvm import relax

import tvm_qnn
from qnn_ops.dialect.signature import Signature, TensorInfo, with_signature
from tests.support.modules import adder, module
from tvm_qnn.library.library import Library


@pytest.fixture(scope="module")
def library() -> Library:
    return tvm_qnn.build(adder(), "host")


@pytest.fixture(scope="module")
def two_outputs() -> Library:
    mod = module(
        {"x": relax.TensorType((4,), "int8")},
        lambda x: [relax.op.add(x, x), relax.op.reshape(x, (2, 2))],
    )
    infos = (TensorInfo("sum", (4,), "int8"), TensorInfo("square", (2, 2), "int8"))
    mod["main"] = with_signature(mod["main"], Signature((TensorInfo("x", (4,), "int8"),), infos))
    return tvm_qnn.build(mod, "host")
