"""MXNet's answers for float operators, family by family (tests/fixtures/mxnet_float)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tvm

from frontends.mxnet.graph import Entry, Graph, Node
from frontends.mxnet.importer import from_mxnet
from tests.support.mxnet import fixture, imported
from tests.support.unchecked import unchecked
from tvm_qnn import build

_FOLDER = Path(__file__).parents[1] / "fixtures" / "mxnet_float"
FAMILIES = sorted(path.stem for path in _FOLDER.glob("*.npz"))


def check_family(family: str, close: Mapping[str, float] | None = None) -> None:
    """Assert that every case of a family gives MXNet's results: the same bits, or nearly.

    Args:
        family: of tests/fixtures/mxnet_float/families.py.
        close: by how a case's name begins, the largest difference, relative to the case's largest
            value; who calls says where it comes from.
    """
    prefix = _FOLDER / family
    inputs, outputs = fixture(prefix)
    mod, params = imported(prefix, inputs)
    with unchecked():
        library = build(mod, "llvm", params)
    results = library.run(*(inputs[info.name] for info in library.inputs)).values()
    for info, actual, expected in zip(library.outputs, results, outputs, strict=True):
        assert (actual.shape, actual.dtype) == (expected.shape, expected.dtype), info.name
        tolerance = max(
            [limit for start, limit in (close or {}).items() if info.name.startswith(start)],
            default=0.0,
        )
        if tolerance:
            scale = float(np.abs(expected).max())
            np.testing.assert_allclose(
                actual, expected, rtol=0, atol=tolerance * scale, err_msg=info.name
            )
        else:
            np.testing.assert_array_equal(actual, expected, err_msg=info.name)


def convert(
    op: str, *inputs: tuple[int, ...] | np.ndarray, of: str = "float32", **attributes: str
) -> tuple[tvm.IRModule, dict[str, Any]]:
    """Import a graph of one operator, "made", of inputs "x0", "x1", and so on.

    Args:
        op: MXNet's name of the operator.
        inputs: the shape of an input, or the value of a parameter.
        of: the dtype of the inputs.
        attributes: as a file has them.

    Returns:
        The module and its parameters.
    """
    given = {f"x{index}": value for index, value in enumerate(inputs)}
    variables = [Node(name, "null") for name in given]
    entries = tuple(Entry(index) for index in range(len(given)))
    made = Node("made", op, attributes, entries)
    graph = Graph((*variables, made), (Entry(len(given)),))
    return from_mxnet(
        graph,
        {name: value for name, value in given.items() if isinstance(value, tuple)},
        of,
        {name: value for name, value in given.items() if not isinstance(value, tuple)},
    )
