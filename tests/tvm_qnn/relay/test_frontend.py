from __future__ import annotations

from pathlib import Path

import numpy as np
import tvm

from frontends.tflite.writer import ModelWriter
from tvm_qnn import relay
from tvm_qnn.relay import graph_executor


def float_model() -> bytes:
    writer = ModelWriter()
    x = writer.tensor("x", (1, 4), "float32", None)
    y = writer.tensor("y", (1, 4), "float32", None)
    writer.operator("LOGISTIC", [x], [y])
    return writer.finish([x], [y])


def test_a_float_model_goes_through_tvms_importer(tmp_path: Path) -> None:
    path = tmp_path / "float.tflite"
    path.write_bytes(float_model())
    x = np.array([[-1, 0, 1, 2]], np.float32)
    for model in (float_model(), path):
        mod, params = relay.frontend.from_tflite(model, {"x": (1, 4)}, {"x": "float32"})
        lib = relay.build(mod, "llvm", params=params)
        executor = graph_executor.GraphModule(lib["default"](tvm.cpu()))
        executor.set_input(0, x)
        executor.run()
        # float32 exponentials of two libraries
        np.testing.assert_allclose(executor.get_output(0).numpy(), 1 / (1 + np.exp(-x)), rtol=1e-5)
