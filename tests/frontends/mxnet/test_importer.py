"""What `from_mxnet` does with whole models: inputs, parameters, names, errors."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from frontends.mxnet import from_mxnet
from frontends.mxnet.graph import Entry, Graph, Node
from qnn_ops.dialect.signature import signature_of
from tests.support.errors import failing, fails


def chain(*operators: tuple[str, Mapping[str, str]], label: bool = False) -> Graph:
    """Return a chain of operators; each reads the one before, and the first reads "data"."""
    nodes = [Node("data", "null")]
    for number, (op, attrs) in enumerate(operators):
        nodes.append(Node(f"{op.strip('_')}{number}", op, attrs, (Entry(len(nodes) - 1),)))
    return Graph(tuple(nodes), (Entry(len(nodes) - 1),))


QUANTIZE = ("_contrib_quantize_v2", {"min_calib_range": "-1", "max_calib_range": "1"})


def test_all_unsupported_operators_are_named_at_once() -> None:
    graph = chain(("Frobnicate", {}), QUANTIZE, ("Wobble", {}))
    with pytest.raises(UnsupportedOperatorError) as error:
        from_mxnet(graph, (1, 3))
    assert [(index, code) for index, code, _, _ in error.value.operators] == [
        (1, "Frobnicate"),
        (3, "Wobble"),
    ]


def test_operators_without_a_rule_and_refused_ones_are_named_at_once() -> None:
    # Each reads what the one before it would give; the second time there is no shape, either.
    graph = chain(("Dropout", {"mode": "always"}), ("Wobble", {}), ("Frobnicate", {}))
    with pytest.raises(UnsupportedOperatorError) as error:
        from_mxnet(graph, (1, 3))
    codes = [code for _, code, _, _ in error.value.operators]
    assert codes == ["Dropout", "Wobble", "Frobnicate"]
    fails(r"Wobble(.|\n)*Frobnicate", from_mxnet, graph, error=UnsupportedOperatorError)


def test_a_result_that_an_operator_does_not_have_is_named() -> None:
    reader = Node("z", "Activation", {"act_type": "relu"}, (Entry(1, 7),))
    graph = Graph((*chain(QUANTIZE).nodes, reader), (Entry(2),))
    fails("has no output 7", from_mxnet, graph, (1, 3))


def test_operators_that_no_output_needs_do_not_matter() -> None:
    graph = chain(QUANTIZE, ("Wobble", {}))
    graph = Graph(graph.nodes, (Entry(1),))
    mod, params = from_mxnet(graph, (1, 3))
    assert not params
    assert signature_of(mod).outputs[0].dtype == "int8"


@pytest.mark.parametrize("shape", [(2, 3), {"data": (2, 3)}])
def test_the_shape_of_the_input(shape: Any) -> None:
    mod, _ = from_mxnet(chain(QUANTIZE), shape)
    signature = signature_of(mod)
    assert [(info.name, info.shape, info.dtype) for info in signature.inputs] == [
        ("data", (2, 3), "float32")
    ]
    assert signature.outputs[0].name == "contrib_quantize_v20_output"
    assert mod["main"].attrs["num_input"] == 1


def test_a_shape_may_stand_in_the_file() -> None:
    graph = chain(QUANTIZE)
    data = Node("data", "null", {"__shape__": "(4, 5)"})
    mod, _ = from_mxnet(Graph((data, *graph.nodes[1:]), graph.heads))
    assert signature_of(mod).inputs[0].shape == (4, 5)


def test_an_input_that_is_read_needs_a_shape() -> None:
    fails(r"'data' is no parameter and has no shape", from_mxnet, chain(QUANTIZE))


test_arguments_that_do_not_fit = failing(
    lambda arguments: from_mxnet(chain(QUANTIZE), **arguments),
    ({"shape": {"date": (1, 3)}}, "shape: no input is named 'date'; there are 'data'"),
    ({"shape": (0, 3)}, "positive sizes"),
    ({"shape": {"data": "three"}}, "list of integers"),
    ({"shape": (1, 3), "dtype": "complex64"}, "a dtype must be one of"),
    ({"shape": (1, 3), "semantics": "tvm"}, "semantics must be one of mxnet, corrected"),
    ({"shape": (1, 3), "arg_params": 3}, "arg_params are arrays by name"),
    ({"shape": (1, 3), "arg_params": {"w": "text"}}, "'w' must be numbers"),
)


def test_parameters_may_be_arrays_of_mxnet() -> None:
    class Array:
        def asnumpy(self) -> np.ndarray:
            return np.ones((2, 3), np.float32)

    mod, params = from_mxnet(chain(QUANTIZE), arg_params={"arg:data": Array()})
    assert signature_of(mod).inputs == ()
    assert [value.shape for value in params.values()] == [(2, 3)]


def test_results_of_formulas_bear_the_names_of_their_nodes() -> None:
    """Passes give generated names to other variables, and a profile goes by these names."""
    mod, _ = from_mxnet(chain(("hard_sigmoid", {}), ("LeakyReLU", {"act_type": "elu"})), (1, 3))
    names = [binding.var.name for binding in mod["main"].body.blocks[0].bindings]
    assert {"hard_sigmoid0", "LeakyReLU1"} <= set(names)
