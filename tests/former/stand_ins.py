"""A plugin of pytest: what TVM's own tests import, is not there, and plays no part in a result.

The tests' files import packages that only some of their tests need, and decorate tests with helpers
that ``tvm.testing`` has lost.
"""

import atexit
import importlib
import shutil
import sys
import tempfile
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import onnx
import pytest
import tvm
import tvm.testing

_MODULES = (
    *("relay.utils.tag_span", "torch", "torch.nn", "torchvision"),
    *("tvm_qnn.relay.op.contrib", "tvm_qnn.relay.op.contrib.register"),
)


_OPSET = 21
"""A version of the standard that every ONNX Runtime knows: the package onnx writes its newest."""

_ONNX_DTYPES = (onnx.TensorProto.UINT8, onnx.TensorProto.INT8, onnx.TensorProto.FLOAT)


def _parametrize_targets(*names: Any) -> Any:
    """Run a test once, for this processor. It is a decorator, or gets targets and returns one."""
    decorator = pytest.mark.parametrize(("target", "dev"), [("llvm", tvm.cpu(0))])
    return decorator(names[0]) if callable(names[0]) else decorator


def _unchanged(*_names: Any) -> Any:
    return lambda function: function


_OF_TESTING = {
    "parametrize_targets": _parametrize_targets,
    "known_failing_targets": _unchanged,
    "disable_span_filling": nullcontext,
    "enable_span_filling": nullcontext,
}

if not hasattr(onnx, "mapping"):
    _types = {onnx.helper.tensor_dtype_to_np_dtype(each): each for each in _ONNX_DTYPES}
    vars(onnx)["mapping"] = SimpleNamespace(NP_TYPE_TO_TENSOR_TYPE=_types)
onnx.helper.make_model = partial(
    onnx.helper.make_model, opset_imports=[onnx.helper.make_opsetid("", _OPSET)]
)
for _name in _MODULES:
    try:
        importlib.import_module(_name)
    except ImportError:
        sys.modules[_name] = MagicMock()
for _name, _value in _OF_TESTING.items():
    if not hasattr(tvm.testing, _name):
        setattr(tvm.testing, _name, _value)

# The package onnx no longer ships the models of its node tests; tests.census.nodes runs those.
_ONNX = Path(tempfile.mkdtemp())
(_ONNX / "backend/test/data/node").mkdir(parents=True)
atexit.register(shutil.rmtree, _ONNX)
onnx.__file__ = str(_ONNX / "__init__.py")
