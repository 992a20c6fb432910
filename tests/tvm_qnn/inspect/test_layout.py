from tvm_qnn.inspect.layout import layers, positions


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
