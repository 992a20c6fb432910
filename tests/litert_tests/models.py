"""The models that LiteRT's tests read.

Those that its build makes of text with TensorFlow are made here: the same functions, with the same
names of tensors. The others are the checkout's.
"""

from pathlib import Path

import numpy as np

from frontends.tflite.model import Entry
from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter

_STORED = ("python/testdata/pc_conv.bin", "testdata/sparse_tensor.bin")
_UNIT = Quantization.per_tensor(1.0, 0)


def write_models(checkout: Path, folder: Path) -> None:
    """Write them below a folder, as their paths are below the checkout's ``tflite``.

    Args:
        checkout: of LiteRT.
        folder: that gets them.
    """
    for name in _STORED:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if (stored := checkout / "tflite" / name).is_file():
            path.write_bytes(stored.read_bytes())
    made = {
        "permute_float": permutation("float32"),
        "permute_uint8": permutation("uint8"),
        "gather_string": gather((10,), (3,)),
        "gather_string_0d": gather((), ()),
        "two_signatures": two_signatures(),
    }
    for name, content in made.items():
        (folder / f"python/testdata/{name}.tflite").write_bytes(content)


def permutation(dtype: str) -> bytes:
    """Return a model that turns four numbers about."""
    scale = _UNIT if dtype == "uint8" else None
    writer = ModelWriter()
    data = writer.tensor("input", (1, 4), dtype, scale)
    matrix = np.eye(4, dtype=dtype)[::-1].copy()
    weights = writer.tensor("Const", (4, 4), dtype, scale, matrix)
    result = writer.tensor("output", (1, 4), dtype, scale)
    ends = [data, weights, -1], [result]
    writer.operator("FULLY_CONNECTED", *ends, fused_activation_function="NONE")
    return writer.finish([data], [result])


def gather(shape: tuple[int, ...], indices: tuple[int, ...]) -> bytes:
    """Return a model that takes some of its texts."""
    writer = ModelWriter()
    texts = writer.tensor("input", shape, "string")
    which = writer.tensor("indices", indices, "int64")
    result = writer.tensor("output", indices, "string")
    writer.operator("GATHER", [texts, which], [result], version=2)
    return writer.finish([texts, which], [result])


def two_signatures() -> bytes:
    """Return a model of a sum and a product."""
    writer = ModelWriter()
    graphs = {"add": writer, "multiply": writer.subgraph()}
    entries = []
    for number, (name, graph) in enumerate(graphs.items()):
        names = (f"{name}_x:0", f"{name}_y:0", f"{name}_result:0")
        x, y, result = (graph.tensor(each, (1,), "float32") for each in names)
        code = {"add": "ADD", "multiply": "MUL"}[name]
        graph.operator(code, [x, y], [result], fused_activation_function="NONE")
        graph.end([x, y], [result])
        entries.append(Entry(name, number, (("x", x), ("y", y)), (("output_0", result),)))
    return writer.finish([0, 1], [2], entries=entries)
