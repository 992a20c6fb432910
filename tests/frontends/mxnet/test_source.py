import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from frontends.mxnet.source import MXNetSource, params_beside
from frontends.summary import FLOAT, INTEGER, UNSUPPORTED, Summary
from tests.frontends.mxnet.files import array_list, dense, symbol_json
from tests.support.errors import fails

DIGITS = Path(__file__).parents[2] / "fixtures" / "mxnet_digits"
SYMBOL, PARAMS = DIGITS / "digits-symbol.json", DIGITS / "digits-0000.params"


def summary_of(
    symbol: Path, params: Path, shapes: Mapping[str, tuple[int, ...]] | None = None
) -> Summary:
    return MXNetSource(symbol, params, "mxnet").summary(symbol.name, shapes)


def test_shapes_ranges_and_products() -> None:
    summary = summary_of(SYMBOL, PARAMS, {"data": (1, 1, 8, 8)})
    assert [(note.name, note.shape, note.dtype) for note in summary.inputs] == [
        ("data", (1, 1, 8, 8), "float32")
    ]
    convolution, *_, dense_layer = [op for op in summary.operators if op.code.startswith("_sg_")]
    weight = convolution.inputs[1].shape
    result = convolution.outputs[0]
    assert convolution.macs == int(np.prod(result.shape)) * int(np.prod(weight[1:]))
    assert result.quantization.startswith("from ")
    assert dense_layer.macs == int(np.prod(dense_layer.inputs[1].shape))
    assert {operator.lowering for operator in summary.operators} == {INTEGER}
    assert summary.macs > 0


def test_without_a_shape_the_operators_are_listed() -> None:
    summary = summary_of(SYMBOL, PARAMS)
    assert summary.macs == 0
    assert summary.inputs[0].dtype == ""
    assert "_sg_mkldnn_conv" in [operator.code for operator in summary.operators]


def test_a_shape_that_does_not_fit_is_an_error() -> None:
    fails("4", summary_of, SYMBOL, PARAMS, {"data": (1, 4, 8, 8)})


def test_what_cannot_be_imported_is_part_of_the_answer(tmp_path: Path) -> None:
    nodes: list[Mapping[str, Any]] = [
        {"op": "null", "name": "data"},
        {"op": "null", "name": "weight"},
        {
            "op": "FullyConnected",
            "name": "dense",
            "attrs": {"num_hidden": "2", "no_bias": "True"},
            "inputs": [[0, 0, 0], [1, 0, 0]],
        },
        {"op": "Wobble", "name": "wobble", "inputs": [[2, 0, 0]]},
        {"op": "Frobnicate", "name": "last", "inputs": [[3, 0, 0]]},
    ]
    symbol, params = tmp_path / "net-symbol.json", tmp_path / "net-0000.params"
    symbol.write_text(symbol_json(nodes))
    params.write_bytes(array_list([dense(np.ones((2, 5), np.float32))], ["arg:weight"]))
    summary = summary_of(symbol, params, {"data": (3, 5)})
    assert [(op.code, op.lowering, op.macs) for op in summary.operators] == [
        ("FullyConnected", FLOAT, 3 * 2 * 5),
        ("Wobble", UNSUPPORTED, 0),
        ("Frobnicate", UNSUPPORTED, 0),
    ]
    assert json.loads(json.dumps(summary.operators[0].options))["num_hidden"] == "2"


def test_the_newest_parameters_beside_a_symbol(tmp_path: Path) -> None:
    symbol = tmp_path / "net-symbol.json"
    symbol.touch()
    fails(r"there is no net-0000\.params beside", params_beside, symbol)
    for name in ("net-0000.params", "net-0007.params", "net-best.params", "other-0009.params"):
        (tmp_path / name).touch()
    assert params_beside(symbol).name == "net-0007.params"


def test_the_parameters_beside_the_symbol_are_taken() -> None:
    named = MXNetSource(SYMBOL, PARAMS, "mxnet")
    found = MXNetSource(str(SYMBOL), None, "mxnet")
    assert found.parameters.keys() == named.parameters.keys() != set()


def test_the_variables_of_results_are_known() -> None:
    source = MXNetSource(SYMBOL, PARAMS, "mxnet")
    imported = source.convert({"data": (1, 1, 8, 8)})
    codes = {source.graph.nodes[number].op for number in imported.results.values()}
    assert {"_sg_mkldnn_conv", "_sg_mkldnn_fully_connected"} <= codes
