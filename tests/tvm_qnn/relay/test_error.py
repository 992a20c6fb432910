import pytest
import tvm.error as installed

from tests.support.tflite import one, x
from tvm_qnn import relay
from tvm_qnn.relay import tvm
from tvm_qnn.relay.error import OpError, OpNotImplemented, RPCError, TVMError


def test_scripts_catch_errors_by_their_former_names() -> None:
    assert tvm.TVMError is tvm.error.TVMError is TVMError
    with pytest.raises(tvm.TVMError, match="not a TFLite file"):
        relay.frontend.from_tflite(b"nothing")
    model = one("SKIP_GRAM", x(2, 3))
    with pytest.raises(tvm.error.OpNotImplemented, match="SKIP_GRAM: no conversion rule"):
        relay.frontend.from_tflite(model.model())
    assert tvm.error.OpNotImplemented is OpNotImplemented
    assert issubclass(OpNotImplemented, OpError)
    assert tvm.error.OpError is OpError
    assert RPCError is tvm.error.RPCError is installed.RPCError
