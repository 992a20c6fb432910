import pytest

from tests.support.processes import printed


@pytest.mark.parametrize(
    "imported",
    [
        "qnn_ops",
        "qnn_ops.errors",
        "qnn_ops.arithmetic.encoding",
        "qnn_ops.dialect.tensor_info",
        "tvm_qnn",
    ],
)
def test_what_runs_a_library_does_not_import_tvm(imported: str) -> None:
    assert printed(f"import sys, {imported}; print('tvm' in sys.modules)") == "False\n"


def test_any_operator_brings_all_of_them_to_tvm() -> None:
    code = (
        "from qnn_ops import dequantize\n"
        "from tvm.script import relax as R\n"
        "print(callable(R.qnn.quantized_conv2d))"
    )
    assert printed(code) == "True\n"


def test_a_function_wins_over_its_module_whichever_is_imported_first() -> None:
    code = (
        "import qnn_ops.quantized.quantization\n"
        "print(callable(qnn_ops.quantize))\n"
        "from qnn_ops import quantize\n"
        "import qnn_ops.quantized.quantization\n"
        "print(quantize is qnn_ops.quantize, callable(qnn_ops.requantize))"
    )
    assert printed(code) == "True\nTrue True\n"


def test_other_names_are_errors() -> None:
    import qnn_ops

    with pytest.raises(AttributeError, match="'qnn_ops' has no attribute 'fractal'"):
        _ = qnn_ops.fractal  # type: ignore[attr-defined]
    assert set(qnn_ops.__all__) <= set(dir(qnn_ops))


@pytest.mark.parametrize("home", ["left_out", "left_out.inner.part"])
def test_a_module_or_package_that_the_wheel_lacks_is_one_error(home: str) -> None:
    code = (
        "import sys, types\n"
        "from qnn_ops.lazy import make_lazy\n"
        "sys.modules['lazy'] = package = types.ModuleType('lazy')\n"
        f"make_lazy('lazy', {{'name': ({home!r},)}})\n"
        "try:\n    package.name\n"
        "except ImportError as error:\n    print(error)"
    )
    assert printed(code) == "lazy.name is not in tvm-qnn-runtime: pip install tvm-qnn\n"


def test_python_looks_for_no_circles_during_an_import() -> None:
    code = (
        "import gc, importlib, qnn_ops\n"
        "import_module, seen = importlib.import_module, []\n"
        "importlib.import_module = lambda *a: (seen.append(gc.isenabled()), import_module(*a))[1]\n"
        "qnn_ops.QnnError\n"
        "print(any(seen), bool(seen), gc.isenabled())"
    )
    assert printed(code) == "False True True\n"
