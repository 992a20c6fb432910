from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import tvm

import tvm_qnn
from frontends.errors import UnsupportedOperatorError
from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from frontends.tflite.reader import read_model
from frontends.tflite.writer import ModelWriter
from qnn_ops.dialect.signature import TensorInfo, signature_of
from tests.frontends.tflite import example_models
from tests.support.errors import fails
from tests.support.tflite import ANY, Q, Sheet, check_refused, fixed, one, refused, x
from tests.support.tflite_graphs import Subgraph, model_of
from tvm_qnn import build
from tvm_qnn.oracle import litert_tensors

UNIT = Quantization.per_tensor(0.5, 0)

EXPECTED = """
@I.ir_module
class Module:
    @R.function
    def main(
        x: R.Tensor((1, 4, 4, 3), "int8"),
        k: R.Tensor((2, 3, 3, 3), "int8"),
        b: R.Tensor((2,), "int32"),
    ) -> R.Tensor((1, 8), "int8"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            y = R.qnn.quantized_conv2d(
                x, k, b,
                input_scale=0.5, input_zero_point=-3,
                kernel_scale=[0.25, 0.75], kernel_zero_point=0,
                output_scale=2.0, output_zero_point=5, out_dtype="int8",
                strides=(2, 2), padding=(0, 0, 1, 1), data_layout="NHWC", kernel_layout="OHWI",
                out_min=5, out_max=127,
            )
            z = R.reshape(y, (1, 8))
            out = z
            R.output(out)
        return out
"""


def small_model() -> bytes:
    square = {"stride_h": 2, "dilation_h_factor": 1, "dilation_w_factor": 1}
    return example_models.small_model(np.ones((2, 3, 3, 3), np.int8), padding="SAME", **square)


def strided_model() -> bytes:
    """Return a strided convolution, its result reshaped to rows, and a dense layer."""
    sheet, wide = Sheet(seed=40), (ANY, "int8", Quantization.per_tensor(8.0, 0))
    kernel, weights = (
        fixed(sheet.rng.integers(-9, 9, shape), "int8", UNIT) for shape in ((4, 3, 3, 2), (5, 36))
    )
    bias = fixed(np.arange(4), "int32", Quantization.per_tensor(0.25, 0))
    options = {"gives": wide, "padding": "SAME", "stride_h": 2, "stride_w": 2}
    image = sheet.made("CONV_2D", x(1, 6, 6, 2), kernel, bias, **options)
    rows = sheet.made("RESHAPE", image, [1, 36])
    result = (ANY, "int8", Quantization.per_tensor(64.0, 0))
    return sheet.add("FULLY_CONNECTED", rows, weights, gives=result).model()


def test_the_module_of_a_small_model() -> None:
    mod, params = from_tflite(small_model())
    expected = tvm.script.from_source(EXPECTED)
    mod["main"] = mod["main"].without_attr("qnn_signature")
    tvm.ir.assert_structural_equal(mod, expected)
    assert [param.name for param in mod["main"].params] == ["x", "k", "b"]
    assert list(params) == ["k", "b"]
    np.testing.assert_array_equal(params["b"].numpy(), np.array([7, -70000], np.int32))
    mod, _ = from_tflite(small_model())
    tvm.ir.assert_structural_equal(tvm.script.from_source(mod.script()), mod)
    signature = signature_of(from_tflite(small_model())[0])
    assert signature.inputs == (TensorInfo("x", (1, 4, 4, 3), "int8", 0.5, -3),)
    assert signature.outputs == (TensorInfo("z", (1, 8), "int8", 2.0, 5),)


def test_every_form_of_a_model(tmp_path: Any) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(small_model())
    expected, _ = from_tflite(small_model())
    for form in (path, str(path), read_model(path)):
        tvm.ir.assert_structural_equal(from_tflite(form)[0], expected)
    assert tvm_qnn.from_tflite is from_tflite


def test_names_in_the_file_become_names_of_variables() -> None:
    writer = ModelWriter()
    x = writer.tensor("serving/x:0", (2,), "int8", Q)
    y = writer.tensor("a;b;c", (2, 1), "int8", Q)
    z = writer.tensor("serving/x:0", (2,), "int8", Q)
    w = writer.tensor("", (2,), "int8", Q)
    lambda_ = writer.tensor("lambda", (2,), "int8", Q)
    axis = writer.tensor("", (), "int32", data=np.array(1, np.int32))
    writer.operator("EXPAND_DIMS", [x, axis], [y])
    writer.operator("SQUEEZE", [y], [z])
    writer.operator("RELU", [z], [w])
    writer.operator("RELU", [w], [lambda_])
    mod, _ = from_tflite(writer.finish([x], [lambda_]), outputs="all")
    main = mod["main"]
    assert [param.name for param in main.params] == ["serving_x_0"]
    names = [binding.var.name for binding in main.body.blocks[0].bindings[:4]]
    assert names == ["a", "serving_x_0_1", "tensor_3", "lambda_1"]
    signature = signature_of(mod)
    assert signature.inputs[0].name == "serving/x:0:0"
    assert [info.name for info in signature.outputs] == ["a;b;c", "serving/x:0:2", ":3", "lambda"]
    tvm.ir.assert_structural_equal(tvm.script.from_source(mod.script()), mod)


class TestOutputs:
    def names(self, outputs: Any) -> list[str]:
        mod, _ = from_tflite(strided_model(), outputs=outputs)
        return [info.name for info in signature_of(mod).outputs]

    def test_none_is_the_models(self) -> None:
        # The sheet makes every tensor an output.
        assert self.names(None) == ["y4", "y6", "y8"]

    def test_all_is_every_computed_tensor(self) -> None:
        nodes = [("RELU", "x", "z"), ("RELU6", "z", "y")]
        model = model_of(Subgraph({"x y z": ((2,), "int8", Q)}, nodes, "x", "y"))
        for outputs, expected in ((None, ["y"]), ("all", ["z", "y"]), (["z"], ["z"])):
            mod, _ = from_tflite(model, outputs=outputs)
            assert [info.name for info in signature_of(mod).outputs] == expected

    def test_a_list_names_and_numbers_those_alone(self) -> None:
        graph = read_model(strided_model())
        mod, _ = from_tflite(graph, outputs=["y6", 3, "y4", 3])
        names = [info.name for info in signature_of(mod).outputs]
        assert names == list(dict.fromkeys(["y6", graph.tensors[3].name, "y4"]))

    def test_operators_that_no_output_needs_are_left_out(self) -> None:
        mod, _ = from_tflite(strided_model(), outputs=["y4"])
        full, _ = from_tflite(strided_model())
        bindings = [each["main"].body.blocks[0].bindings for each in (mod, full)]
        assert len(bindings[0]) < len(bindings[1])

    @pytest.mark.parametrize(
        ("outputs", "message"),
        [
            ("y4", r'outputs must be None, "all" or a list, got \'y4\''),
            (4, 'outputs must be None, "all" or a list, got 4'),
            (["nothing"], "outputs: no tensor is named 'nothing'$"),
            ([99], "outputs: no operator computes tensor 99"),
            (["x1"], "outputs: no operator computes tensor 0"),
        ],
    )
    def test_tensors_that_cannot_be_outputs(self, outputs: Any, message: str) -> None:
        fails(message, self.names, outputs)

    def test_a_name_of_several_tensors(self) -> None:
        graph = read_model(strided_model())
        tensors = [replace(tensor, name="t") for tensor in graph.tensors]
        check_refused(
            replace(graph, tensors=tuple(tensors)), "but several are: 't:0', 't:1', ", outputs=["t"]
        )

    def test_an_input_that_is_an_output(self) -> None:
        graph = read_model(strided_model())
        mod, params = from_tflite(replace(graph, outputs=graph.inputs))
        x = np.arange(72, dtype=np.int8).reshape(1, 6, 6, 2)
        np.testing.assert_array_equal(build(mod, "llvm", params).run(x), x)


class TestInputs:
    def test_another_batch_size(self) -> None:
        model = strided_model()
        images = np.random.default_rng(41).integers(-128, 128, (3, 6, 6, 2)).astype(np.int8)
        mod, params = from_tflite(model, shape_dict={"x1": (3, 6, 6, 2)}, outputs="all")
        assert signature_of(mod).inputs[0].shape == (3, 6, 6, 2)
        results = build(mod, "llvm", params, kernels=False).run(images).values()
        each = [litert_tensors(model, [image[None]]) for image in images]
        for index, result in zip(read_model(model).computed, results, strict=True):
            expected = np.concatenate([tensors[index] for tensors in each])
            np.testing.assert_array_equal(result, expected)

    def test_a_number_for_one_value(self) -> None:
        model, value = one("RELU", x(1)).model(), np.array(-20, np.int8)
        mod, params = from_tflite(model, shape_dict={"x1": ()})
        expected = litert_tensors(model, [value], resize=True)[1]
        result = build(mod, "llvm", params).run(value)
        assert result.shape == expected.shape == ()
        np.testing.assert_array_equal(result, expected)

    def test_dtypes_are_the_files(self) -> None:
        from_tflite(strided_model(), dtype_dict={"x1": "int8"})
        check_refused(
            strided_model(), "dtype_dict: input 'x1' is int8, got uint8", dtype_dict={"x1": "uint8"}
        )

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"shape_dict": {"x": (1, 6, 6, 2)}}, "shape_dict: no input is named 'x'; .* 'x1'"),
            ({"dtype_dict": {"x": "int8"}}, "dtype_dict: no input is named 'x'; there are 'x1'"),
            ({"shape_dict": {"x1": (6, 6, 2)}}, r"needs 4 positive sizes as in \(1, 6, 6, 2\)"),
            ({"shape_dict": {"x1": (0, 6, 6, 2)}}, "'x1' needs sizes of 1 or more, got 0"),
            ({"shape_dict": {"x1": (1 << 70, 6, 6, 2)}}, "needs 4 positive sizes"),
            ({"shape_dict": {"x1": 6}}, r"needs 4 positive sizes as in \(1, 6, 6, 2\), got \(6,\)"),
            ({"shape_dict": {"x1": (1.5, 6, 6, 2)}}, "is a number, a name or a range, got 1.5"),
            (
                {"shape_dict": {"x1": (1, "h", "w", 2)}},
                r"operator 0 CONV_2D .*: height and width must be numbers, got \(h, w\)",
            ),
            ({"shape_dict": {"x1": (1, 6, 6, 3)}}, r"0 CONV_2D .*kernel takes 2 input channels"),
        ],
    )
    def test_shapes_that_do_not_fit(self, arguments: Any, message: str) -> None:
        fails(message, from_tflite, strided_model(), **arguments)

    def test_types_that_a_model_cannot_take(self) -> None:
        graph = read_model(strided_model())
        for dtype in ("string", "complex64", "int4"):
            first = replace(graph.tensors[0], dtype=dtype)
            check_refused(
                replace(graph, tensors=(first, *graph.tensors[1:])),
                f"input 'x1' is of type {dtype}, which",
            )

    def test_shapes_that_the_file_leaves_open(self) -> None:
        graph = read_model(strided_model())
        for signature, is_error in (((-1, 6, 6, 2), False), ((-1, -1, -1, 2), True)):
            first = replace(graph.tensors[0], shape_signature=signature)
            model = replace(graph, tensors=(first, *graph.tensors[1:]))
            if is_error:
                check_refused(model, "input 'x1' has dimensions that the file leaves")
            mod, _ = from_tflite(model, shape_dict={"x1": (1, 6, 6, 2)})
            assert signature_of(mod).inputs[0].shape == (1, 6, 6, 2)


RANDOM = "its results are random numbers, others in every run"


class TestUnsupported:
    def test_all_operators_are_named_at_once(self) -> None:
        sheet, data = Sheet(), x(2, 3)
        second = sheet.made("RELU", sheet.made("SKIP_GRAM", data))
        sheet.add("CONCATENATION", second, fused_activation_function="RELU")
        # Wrong as well, but not what is told first.
        sheet.add("TRANSPOSE", data, [0, 0])
        sheet.add("MULTINOMIAL", data)
        with pytest.raises(UnsupportedOperatorError) as caught:
            from_tflite(sheet.model())
        assert caught.value.operators == (
            (0, "SKIP_GRAM", "no conversion rule", ["x1", "y2"]),
            (2, "CONCATENATION", "fused activation RELU", ["y3", "y4"]),
            (4, "MULTINOMIAL", RANDOM, ["x1", "y7"]),
        )

    @pytest.mark.parametrize(
        ("code", "dtype", "message"),
        [
            ("RANDOM_UNIFORM", "float32", RANDOM),
            ("RANDOM_STANDARD_NORMAL", "float32", RANDOM),
            ("UNIQUE", "int32", "the shape of its result depends on the data of a run"),
            ("WHERE", "int64", "the shape of its result depends on the data of a run"),
            ("GATHER", "string", "tensor 1 'y2' is of type string"),
            ("QUANTIZE", "uint4", "tensor 1 'y2' is of type uint4"),
        ],
    )
    def test_what_nothing_is_compiled_for(self, code: str, dtype: str, message: str) -> None:
        sheet = one(code, x(2, dtype="int32"), gives=dtype)
        with pytest.raises(UnsupportedOperatorError) as caught:
            from_tflite(sheet.model())
        assert caught.value.operators == ((0, code, message, ["x1", "y2"]),)

    test_types_that_no_operator_takes = staticmethod(
        refused(
            *(
                (
                    f"float32 activations with {dtype} weights",
                    one("ADD", x(1, 4, dtype="float32"), fixed([[1] * 4], dtype, Q)),
                )
                for dtype in ("int8", "uint8")
            ),
            (
                "no conversion rule for tensors of type int16",
                one("HARD_SWISH", x(1, 4, dtype="int16", encoding=UNIT)),
            ),
            (
                "operator 0 DEQUANTIZE: tensor 1 'y2' is of type float16",
                one("DEQUANTIZE", x(2, 3), gives="float16"),
            ),
            error=UnsupportedOperatorError,
        )
    )


_PLAIN, _SEVERAL = (
    x(1, 4, encoding=each)
    for each in (None, Quantization(np.full(4, 0.1, np.float32), np.zeros(4, np.int64), 1))
)

test_encodings_and_shapes_that_do_not_fit = refused(
    (
        r"operator 0 ADD .*: tensor 0 'x1' is int8 but the file states no scale",
        one("ADD", _PLAIN, _PLAIN, gives=(ANY, "int8", Q)),
    ),
    ("'x1' must have one scale, got 4", one("ADD", _SEVERAL, _SEVERAL, gives=(ANY, "int8", Q))),
    ("no conversion rule for tensors of type float32, int8", one("RELU", x(1, 4), gives="float32")),
    (r"operator 0 ADD \('x1', 'x2', 'y3'\): quantized_add", one("ADD", x(2, 3), x(2, 4))),
)
