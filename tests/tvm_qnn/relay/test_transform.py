import pytest
import tvm

from tests.support.errors import fails
from tests.support.modules import adder
from tvm_qnn import relay


def test_the_build_s_own_passes_change_nothing_and_constants_are_folded() -> None:
    mod = adder()
    passes = [relay.transform.InferType(), relay.transform.FuseOps(fuse_opt_level=2)]
    passes += [relay.qnn.transform.Legalize(), relay.qnn.transform.CanonicalizeOps()]
    for each in passes:
        assert each(mod).same_as(mod)
    x = relay.var("x", shape=(2,), dtype="float32")
    body = relay.add(x, relay.multiply(relay.const(2.0), relay.const(3.0)))
    folded = relay.transform.FoldConstant()(tvm.IRModule.from_expr(relay.Function([x], body)))
    assert "multiply" not in folded.script()


def test_what_has_no_meaning_is_named() -> None:
    with pytest.raises(AttributeError, match="no Defunctionalization: it has no meaning"):
        relay.transform.Defunctionalization()
    fails("kernels of vendors are not called", getattr, relay.transform, "PartitionGraph")
