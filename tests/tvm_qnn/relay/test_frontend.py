from __future__ import annotations

from pathlib import Path

import numpy as np
import tvm

from frontends.tflite.writer import ModelWriter
from tvm_qnn import relay
from tvm_qnn.relay import graph_executor


def float_model() -> bytes:
    writer = ModelWriter()
    x = writer.tensor("x", (2, 4), "float32", None)
    places = writer.tensor("places", (1, 2, 1), "int32", None)
    y = writer.tensor("y", (1, 2, 4), "float32", None)
    writer.operator("GATHER_ND", [x, places], [y])
    return writer.finish([x, places], [y])


def test_a_float_model_is_imported_as_any_other_is(tmp_path: Path) -> None:
    path = tmp_path / "float.tflite"
    path.write_bytes(float_model())
    places = np.array([[[1], [0]]], np.int32)
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    for model in (float_model(), path):
        mod, params = relay.frontend.from_tflite(model, {"x": (2, 4)}, {"x": "float32"})
        lib = relay.build(mod, "llvm", params=params)
        executor = graph_executor.GraphModule(lib["default"](tvm.cpu()))
        executor.set_input("x", x)
        executor.set_input("places", places)
        executor.run()
        np.testing.assert_array_equal(executor.get_output(0).numpy(), x[[[1, 0]]])
