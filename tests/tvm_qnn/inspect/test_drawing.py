from frontends.formats import read_model
from frontends.summary import Summary
from tests.tvm_qnn.inspect.test_changes import CHAIN, WEIGHTS, Layer, graph
from tvm_qnn import digits
from tvm_qnn.inspect.changes import changes_of
from tvm_qnn.inspect.drawing import edges_of, layers, nodes_of, positions


def test_operators_stand_between_the_ends_that_may_be_one() -> None:
    summary = read_model(digits.model("int8")).summary("digits")
    nodes = nodes_of(summary)
    edges = edges_of(nodes, summary)
    count = len(summary.operators)
    assert [node.kind for node in nodes[count:]] == ["input", "output"]
    assert nodes[:count] == nodes_of(summary)[:count]
    assert (edges[0], edges[count], edges[count + 1]) == ([count], [], [count - 1])
    rows = layers(edges)
    assert (rows[0], rows[-1]) == ([count], [count + 1])
    model = graph(CHAIN)
    inputs = model.summary.inputs
    summary = Summary("m", "TFLite", inputs, inputs, (), 0, 0)
    assert edges_of(nodes_of(summary), summary) == {0: [], 1: [0]}


def test_what_was_removed_is_drawn_between_its_neighbours() -> None:
    shorter: list[Layer] = [CHAIN[0], ("SOFTMAX", "c", "a")]
    model, other = graph(shorter, WEIGHTS), graph(CHAIN, WEIGHTS)
    changes = changes_of(model, other)
    nodes = nodes_of(model.summary, changes)
    assert [node.kind for node in nodes] == ["operator", "operator", "input", "output", "removed"]
    edges = edges_of(nodes, model.summary, changes)
    assert edges[4] == [0]
    assert edges[1] == [0, 4]
    model = graph([("RELU", "b", "x")])
    other = graph([("NEG", "n", "x"), ("RELU", "b", "n"), ("ABS", "z", "b")])
    changes = changes_of(model, other)
    nodes = nodes_of(model.summary, changes)
    edges = edges_of(nodes, model.summary, changes)
    operator, given, result, first, last = range(5)
    assert edges[first] == [given]
    assert edges[operator] == [given, first]
    assert edges[last] == [operator]
    assert edges[result] == [operator, last]  # this model's, and the other's
    # The other model goes a, r, c; this one c, a: an edge back is left out.
    other = graph([("ABS", "a", "x"), ("NEG", "r", "a"), ("RELU", "c", "r")])
    model = graph([("RELU", "c", "x"), ("ABS", "a", "c")])
    changes = changes_of(model, other)
    nodes = nodes_of(model.summary, changes)
    edges = edges_of(nodes, model.summary, changes)
    assert sorted(node for row in layers(edges) for node in row) == list(range(len(nodes)))


def test_a_node_is_below_all_that_it_depends_on() -> None:
    edges = {0: [], 1: [0], 2: [0], 3: [1], 4: [3, 2]}
    rows = layers(edges)
    assert [sorted(row) for row in rows] == [[0], [1, 2], [3], [4]]
    places = positions(rows)
    assert places[0] == (0.0, 0.0)
    assert sorted(places[node][0] for node in (1, 2)) == [-0.5, 0.5]
    assert places[4] == (0.0, 3.0)
    # Two chains side by side: each stays on its side.
    edges = {0: [], 1: [], 2: [1], 3: [0], 4: [3], 5: [2]}
    rows = layers(edges)
    order = [[{0: "a", 3: "a", 4: "a"}.get(node, "b") for node in row] for row in rows]
    assert order[0] == order[1] == order[2]
    assert layers({}) == []
    assert positions([]) == {}
