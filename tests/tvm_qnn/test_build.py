import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax

import tvm_qnn
from qnn_ops import quantize
from qnn_ops.dialect.signature import Signature, TensorInfo, with_signature
from qnn_ops.errors import LeftInFloatWarning
from tests.support.errors import fails
from tests.support.modules import adder, module
from tests.support.processes import printed
from tests.support.tflite import library_of
from tvm_qnn import digits
from tvm_qnn.target.target import host_target

X = np.arange(6, dtype=np.int8).reshape(2, 3)
W = np.full((2, 3), 10, np.int8)


@pytest.mark.parametrize("target", ["host", "llvm", {"kind": "llvm"}, host_target()])
def test_a_target_may_be_a_text_a_dict_or_a_target(target: Any) -> None:
    assert tvm_qnn.build(adder(), target).run(X, W).tolist() == (X + W).tolist()


def test_parameters_become_constants() -> None:
    for value in (W, tvm.runtime.tensor(W)):
        library = tvm_qnn.build(adder(), "host", {"w": value})
        assert library.inputs == (TensorInfo("x", (2, 3), "int8"),)
        assert library.run(X).tolist() == (X + W).tolist()


def test_threads_may_import_and_build_side_by_side() -> None:
    def answer(_: int) -> bytes:
        return library_of(digits.model("int8"), "host").run(images).tobytes()

    images = np.zeros((1, 8, 8, 1), np.int8)
    with ThreadPoolExecutor(4) as pool:
        assert len({*pool.map(answer, range(8))}) == 1


def test_the_module_stays_as_it_was() -> None:
    mod = adder()
    before = mod.script()
    for _ in range(2):
        tvm_qnn.build(mod, "host", {"w": W})
    assert mod.script() == before


def test_an_export_lowers_without_the_warnings_and_instruments_of_the_build(tmp_path: Path) -> None:
    @tvm.ir.instrument.pass_instrument
    class Watch:
        def enter_pass_ctx(self) -> None:
            entered.append(self)

    entered: list[Watch] = []
    mod = adder()
    marks = {"arithmetic": "xnnpack", "left_in_float": ["a reason"]}
    mod["main"] = mod["main"].with_attrs(marks)
    with (
        tvm.transform.PassContext(instruments=[Watch()]),
        pytest.warns(LeftInFloatWarning, match="a reason"),
    ):
        library = tvm_qnn.build(mod, "host", {"w": W})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        library.export(tmp_path / "m", format="c")
    assert len(entered) == 1


@pytest.mark.parametrize("kernels", [True, False])
def test_operators_of_the_dialect_are_lowered(kernels: bool) -> None:
    data = relax.TensorType((5,), "float32")
    mod = module({"x": data}, lambda x: quantize(x, 0.5, 3, "int8"))
    library = tvm_qnn.build(mod, "host", kernels=kernels)
    values = np.array([-1000, -0.25, 0, 0.75, 1000], np.float32)
    # Halves are rounded away from zero: -0.5 to -1 and 1.5 to 2, before 3 is added.
    assert library.run(values).tolist() == [-128, 2, 3, 5, 127]


def test_the_importers_signature_is_the_librarys() -> None:
    signature = Signature(
        (TensorInfo("a:0", (2, 3), "int8", 0.5, -1), TensorInfo("b:0", (2, 3), "int8")),
        (TensorInfo("sum", (2, 3), "int8", 0.25, 7),),
    )
    mod = adder()
    mod["main"] = with_signature(mod["main"], signature)
    library = tvm_qnn.build(mod, "host")
    assert library.signature == signature
    named: dict[str, Any] = {"a:0": X, "b:0": W}
    assert library.run(**named).tolist() == (X + W).tolist()


def test_what_does_not_fit_is_an_error() -> None:
    fails("no function named main", tvm_qnn.build, tvm.IRModule(), "host", {"w": W})
    fails("a model is an IRModule, got NoneType", tvm_qnn.build, None, "host")
    fails(
        "got tuple; importers return one, and its parameters", tvm_qnn.build, (adder(), {}), "host"
    )
    fails("params are constants by parameter name, got list", tvm_qnn.build, adder(), "host", [W])
    fails(
        "main has no parameter 'weight'; it has x, w", tvm_qnn.build, adder(), "host", {"weight": W}
    )
    fails("cannot understand the target 'riscy'", tvm_qnn.build, adder(), "riscy")


def test_constants_that_are_missing_are_named() -> None:
    mod, params = tvm_qnn.from_tflite(digits.model("int8"))
    first, *others = params
    for given in (None, {}, {name: params[name] for name in others}):
        fails(
            rf"constants are missing: '{first}'.*params=params", tvm_qnn.build, mod, "host", given
        )
    fails(rf"… \({len(params)} of {len(params)}\)", tvm_qnn.build, mod, "host")


@pytest.mark.parametrize("wrong", [W[:1], W.astype(np.int32), [[1, 2, 3], [4, 5, 6]]])
def test_a_parameter_that_does_not_fit_is_an_error(wrong: Any) -> None:
    fails(r"'w' needs int8 of shape \(2, 3\), got ", tvm_qnn.build, adder(), "host", {"w": wrong})


def test_an_imported_model_is_lowered_by_tvms_own_pass() -> None:
    # In its own process, as other tests may have imported the rules in this one.
    code = (
        "import tvm_qnn\n"
        "from tvm_qnn.digits import model\n"
        "mod, _ = tvm_qnn.from_tflite(model('int8'))\n"
        "from tvm import relax\n"
        "print('R.qnn.' in relax.transform.LegalizeOps()(mod).script())\n"
    )
    assert printed(code) == "False\n"


def test_the_package_has_the_functions_whatever_was_imported_first() -> None:
    from tvm_qnn.build import build
    from tvm_qnn.compare import compare

    assert tvm_qnn.build is build
    assert tvm_qnn.compare is compare
    assert set(tvm_qnn.__all__) <= set(dir(tvm_qnn))
    assert tvm_qnn.quantized_fully_connected is tvm_qnn.quantized_dense
    for name in {*tvm_qnn.__all__} - {"__version__", "quantized_fully_connected"}:
        assert getattr(tvm_qnn, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'from_nothing'"):
        _ = tvm_qnn.from_nothing  # type: ignore[attr-defined]
