"""Reads models that are objects of a running MXNet, only through their methods.

MXNet is never imported: a program with such an object has already imported it.
"""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from frontends.mxnet.graph import Graph
from frontends.mxnet.params import read_params
from frontends.mxnet.symbol import read_symbol
from qnn_ops.errors import QnnError

Array = np.ndarray[Any, Any]


def read_model(model: Any) -> tuple[Graph, dict[str, Array]]:
    """Read a symbol in any form, and the parameters that come with it.

    Args:
        model: the path, text or bytes of a symbol file, or a result of `read_symbol`; a symbol of
            MXNet, which has a method `tojson`; or a Gluon `HybridBlock`, which has a method
            `export` and contains its parameters.

    Returns:
        The graph, and the parameters and states by name, which only a block has.

    Raises:
        MXNetFormatError: a file is malformed.
        QnnError: the block cannot be exported; it says why.
        OSError: the path cannot be read.
    """
    if isinstance(model, Graph):
        return model, {}
    if callable(getattr(model, "tojson", None)):
        return read_symbol(model.tojson()), {}
    if callable(getattr(model, "export", None)):
        return _exported(model)
    return read_symbol(model), {}


def _exported(block: Any) -> tuple[Graph, dict[str, Array]]:
    with tempfile.TemporaryDirectory(prefix="tvm-qnn-") as folder:
        try:
            block.export(str(Path(folder) / "model"))
        except Exception as error:
            # A block has no graph before it has run once.
            raise QnnError(f"{type(block).__name__} cannot be exported: {error}") from error
        graph = read_symbol(Path(folder) / "model-symbol.json")
        parameters: dict[str, Array] = {}
        # MXNet may write no file for a block without parameters.
        for path in Path(folder).glob("model-*.params"):
            arguments, states = read_params(path)
            parameters |= {**arguments, **states}
        return graph, parameters
