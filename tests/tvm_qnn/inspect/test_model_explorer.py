import json

from frontends.formats import read_model
from frontends.summary import UNSUPPORTED, OperatorInfo, Summary, TensorNote
from tvm_qnn.inspect.model_explorer import model_explorer_graph
from tvm_qnn.zoo import build as zoo


def test_edges_are_those_of_the_model() -> None:
    summary = read_model(zoo("mobilenet_v2", "uint8", tiny=True)).summary("net.tflite")
    found = json.loads(json.dumps(model_explorer_graph(summary)))
    assert found["label"] == "net.tflite"
    (graph,) = found["graphs"]
    nodes = {node["id"]: node for node in graph["nodes"]}
    assert len(nodes) == len(summary.operators) + 2
    tensors = {
        (node["id"], output["id"]): {each["key"]: each["value"] for each in output["attrs"]}
        for node in nodes.values()
        for output in node["outputsMetadata"]
    }
    for place, operator in enumerate(summary.operators):
        node = nodes[str(place)]
        assert node["label"] == operator.code
        taken = {
            int(edge["targetNodeInputId"]): tensors[
                edge["sourceNodeId"], edge["sourceNodeOutputId"]
            ]
            for edge in node["incomingEdges"]
        }
        wanted = {n: each for n, each in enumerate(operator.inputs) if not each.is_constant}
        assert {n: each["tensor_name"] for n, each in taken.items()} == {
            n: each.name for n, each in wanted.items()
        }
        assert {each["shape"] for each in taken.values()} == {
            "x".join(map(str, each.shape)) for each in wanted.values()
        }
    (end,) = nodes["GraphOutputs"]["incomingEdges"]
    assert end["sourceNodeId"] == str(len(summary.operators) - 1)


def test_all_values_are_text_and_names_give_groups() -> None:
    note = TensorNote(0, "block/conv/y;block/relu", (1,), "int8")
    options = {"stride": 2, "empty": ""}
    operator = OperatorInfo(
        0, "ODD", note.name, (), (note,), options, lowering=UNSUPPORTED, reason="no rule"
    )
    summary = Summary("m", "TFLite", (), (note,), (operator,), 0, 0)
    (graph,) = model_explorer_graph(summary, {note.name: 2e-6})["graphs"]
    _, node, _ = graph["nodes"]
    assert node["namespace"] == "block/conv"
    assert {each["key"]: each["value"] for each in node["attrs"]} == {
        "index": "0",
        "computed in": "unsupported",
        "reason": "no rule",
        "time": "2.0 µs",
        "stride": "2",
    }
    assert node["style"]["backgroundColor"]
