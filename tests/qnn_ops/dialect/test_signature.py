import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import tirx as T

from qnn_ops.dialect.signature import (
    Signature,
    TensorInfo,
    bounds_of,
    main_function,
    signature_of,
    with_bounds,
    with_signature,
)
from qnn_ops.dialect.tensor_info import OpenSize
from tests.support.errors import fails
from tests.support.modules import adder, module

SIGNATURE = Signature(
    inputs=(TensorInfo("image:0", (1, 4, 4, 3), "uint8", 0.0078125, 128),),
    outputs=(TensorInfo("scores", (1, 10), "int8", 0.00390625, -128), TensorInfo("n", (), "int32")),
)


def test_json_gives_the_signature_back() -> None:
    assert Signature.from_json(SIGNATURE.to_json()) == SIGNATURE


def test_a_scale_comes_back_to_the_last_bit() -> None:
    scale = 0.1 + 0.2  # has no short decimal form
    infos = (TensorInfo("x", (1,), "int8", scale, 0),)
    assert Signature.from_json(Signature(infos, ()).to_json()).inputs[0].scale == scale


def test_it_travels_with_its_function_through_text_and_json_and_passes() -> None:
    mod = adder()
    mod["main"] = with_signature(mod["main"], SIGNATURE)
    assert signature_of(mod) == SIGNATURE
    assert signature_of(tvm.script.from_source(mod.script())) == SIGNATURE
    assert signature_of(tvm.ir.load_json(tvm.ir.save_json(mod))) == SIGNATURE
    assert signature_of(relax.transform.LegalizeOps()(mod)) == SIGNATURE


def test_a_function_without_one_is_described_by_its_types() -> None:
    assert signature_of(adder((2, 3))) == Signature(
        inputs=(TensorInfo("x", (2, 3), "int8"), TensorInfo("w", (2, 3), "int8")),
        outputs=(TensorInfo("output0", (2, 3), "int8"),),
    )


def test_each_field_of_a_tuple_is_an_output() -> None:
    mod = module(
        {"x": relax.TensorType((4,), "int8")},
        lambda x: [relax.op.astype(x, "int32"), relax.op.reshape(x, (2, 2))],
    )
    assert signature_of(mod).outputs == (
        TensorInfo("output0", (4,), "int32"),
        TensorInfo("output1", (2, 2), "int8"),
    )


def test_a_module_without_main_is_an_error() -> None:
    fails("no function named main", signature_of, tvm.IRModule())


def test_a_main_in_tir_is_an_error() -> None:
    @I.ir_module
    class Module:
        @T.prim_func
        def main(x: T.Buffer((4,), "int8")) -> None:
            for i in range(4):
                x[i] = T.int8(0)

    fails("not a Relax function", main_function, Module)


def test_a_shape_that_is_unknown_is_an_error() -> None:
    ty = relax.TensorType(ndim=2, dtype="int8")
    mod = module({"x": ty}, lambda x: relax.op.add(x, x))
    fails(r"^main's parameter 'x' must have a shape known", signature_of, mod)


def test_open_sizes_have_names_and_bounds() -> None:
    size = tvm.tirx.Var("n", "int64")
    mod = module(
        {"x": relax.TensorType((size, 4), "int8")}, lambda x: relax.op.concat([x, x], axis=0)
    )
    mod["main"] = with_bounds(mod["main"], {"n": (2, 9)})
    assert bounds_of(mod["main"]) == {"n": (2, 9)}
    found = Signature.from_json(signature_of(mod).to_json())
    assert found.open_sizes == ["n of input 'x' (2 to 9)"]
    (given, _), (result, _) = found.inputs[0].shape, found.outputs[0].shape
    assert isinstance(given, OpenSize)
    assert isinstance(result, OpenSize)
    assert (str(given), given, given.low, given.high) == ("n", 2, 2, 9)
    assert (result.value({"n": 7}), result.value({}), int(result)) == (14, None, 4)
