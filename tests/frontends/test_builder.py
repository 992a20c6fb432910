from collections.abc import Sequence

import numpy as np
import pytest
from tvm import relax
from tvm.relax import op as R

from frontends.builder import ModuleBuilder
from qnn_ops import quantized_dense
from qnn_ops.dialect.signature import Signature, TensorInfo, signature_of
from qnn_ops.errors import QnnError
from tests.support.errors import fails

SIGNATURE = Signature((TensorInfo("data", (2, 3), "float32"),), (TensorInfo("y", (2, 3), "int8"),))


def no_signature(_outputs: Sequence[relax.Expr]) -> Signature:
    return SIGNATURE


def test_names_are_valid_and_never_twice() -> None:
    builder = ModuleBuilder()
    texts = ("serving/x:0", "serving_x_0", "lambda", "1x", "")
    assert [builder.fresh(text, "tensor_3") for text in texts] == [
        *("serving_x_0", "serving_x_0_1", "lambda_1", "tensor_3_1x", "tensor_3")
    ]
    assert builder.fresh("", suffix="_table") == "node_table"


@pytest.mark.parametrize("count", [1, 2])
def test_inputs_come_before_constants(count: int) -> None:
    builder = ModuleBuilder()
    data = builder.add_input("data", (2, 3), "float32")

    def convert() -> list[relax.Expr]:
        weight = builder.add_constant("weight", np.ones((2, 3), np.float32).T.reshape(2, 3))
        return [builder.emit(R.add(data, weight), f"y{number}") for number in range(count)]

    imported = builder.module(convert, no_signature)
    main = imported.mod["main"]
    assert [parameter.name for parameter in main.params] == ["data", "weight"]
    assert main.attrs["num_input"] == 1
    assert list(imported.params) == ["weight"]
    assert signature_of(imported.mod).inputs == SIGNATURE.inputs
    assert isinstance(main.ret_ty, relax.TupleType) == (count == 2)


def test_results_without_elements_become_zeros() -> None:
    builder = ModuleBuilder()
    data = builder.add_input("data", (2, 0), "float32")
    imported = builder.module(lambda: [builder.emit(R.exp(data), "y")], no_signature)
    binding = imported.mod["main"].body.blocks[0].bindings[0]
    assert binding.value.op.name == "relax.zeros"
    assert imported.mod["main"].ret_ty == relax.TensorType((2, 0), "float32")


def test_what_does_not_fit_is_raised_once_the_function_has_ended(
    capfd: pytest.CaptureFixture[str],
) -> None:
    def convert() -> list[relax.Expr]:
        raise QnnError("no such axis")

    fails("no such axis", ModuleBuilder().module, convert, no_signature)
    assert capfd.readouterr().err == ""


def test_sums_that_could_leave_int32_are_refused() -> None:
    builder = ModuleBuilder()
    data = builder.add_input("data", (1, 70_000), "int8")
    weight = builder.add_constant("weight", np.full((1, 70_000), 127, np.int8))
    bias = builder.add_constant("bias", np.full(1, 2**31 - 1, np.int32))
    with pytest.raises(QnnError, match="can reach"):
        builder.emit(
            quantized_dense(
                data,
                weight,
                input_scale=1.0,
                input_zero_point=0,
                kernel_scale=1.0,
                kernel_zero_point=0,
                output_scale=1.0,
                output_zero_point=0,
                out_dtype="int8",
                rounding="upward",  # not LiteRT's, whose sums wrap
                bias=bias,
            )
        )
