import pytest
import tvm
from tvm import relax

from qnn_ops import dequantize, quantize
from qnn_ops.dialect.signature import Signature, signature_of
from qnn_ops.input_ranges import with_input_ranges
from tests.support.modules import module

REAL = relax.TensorType((1, 3, 2, 2), "float32")


def ranges(mod: tvm.IRModule) -> list[tuple[float | None, float | None]]:
    found = with_input_ranges(mod, signature_of(mod))
    assert Signature.from_json(found.to_json()) == found
    return [(info.low, info.high) for info in found.inputs]


def test_the_range_is_that_of_the_first_quantization() -> None:
    mod = module({"x": REAL}, lambda x: quantize(x, 0.5, -28, "int8"))
    assert ranges(mod) == [(-50.0, 77.5)]


def test_a_change_of_layout_may_come_first() -> None:
    mod = module(
        {"x": REAL}, lambda x: quantize(relax.op.permute_dims(x, (0, 2, 3, 1)), 0.5, 128, "uint8")
    )
    assert ranges(mod) == [(-64.0, 63.5)]


def test_other_inputs_have_none() -> None:
    quantized = relax.TensorType((4,), "int8")
    mod = module(
        {"x": REAL, "y": quantized, "z": REAL},
        lambda x, y, z: [
            quantize(relax.op.abs(x), 0.5, 0, "int8"),
            dequantize(y, 0.5, 0),
            quantize(z, 0.5, 0, "int16"),
        ],
    )
    assert ranges(mod) == [(None, None)] * 3


@pytest.mark.parametrize("field", ["low", "high"])
def test_signatures_without_a_range_do_not_name_it(field: str) -> None:
    mod = module({"x": REAL}, lambda x: relax.op.abs(x))
    assert f'"{field}"' not in with_input_ranges(mod, signature_of(mod)).to_json()
