"""Import lines of ONNX Runtime's tests, changed to those of the façade and of stand-ins."""

from tests.support.peer_tests import with_changes

_FOLDER = "tests.onnxruntime_tests"
_STAND_INS = (
    (r"from helper import", f"from {_FOLDER}.stand_ins import"),
    (r"from onnx\.mapping import", f"from {_FOLDER}.stand_ins import"),
)
_FACADE = (
    (r"from onnxruntime\.capi import _pybind_state as", f"from {_FOLDER} import private as"),
    (
        r"from onnxruntime\.capi\.(_pybind_state|onnxruntime_pybind11_state) import",
        f"from {_FOLDER}.private import",
    ),
    (r"from onnxruntime\.", "from tvm_qnn.onnxruntime."),
    (r"import onnxruntime as", "import tvm_qnn.onnxruntime as"),
)


def changed(source: str, on_onnxruntime: bool) -> str:
    """Return the tests with their import lines changed.

    Args:
        source: of the tests.
        on_onnxruntime: whether those of ONNX Runtime stay.
    """
    return with_changes(source, _STAND_INS if on_onnxruntime else _STAND_INS + _FACADE)
