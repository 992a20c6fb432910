import json
import math

from tvm_qnn.io.chrome_trace import chrome_trace


def test_a_trace_is_strict_json_of_a_row_for_each_name() -> None:
    text = chrome_trace("all", {"a": [(5.0, 0.5), (6.0, 0.25)], "b": iter([(5.5, 0.5)])})
    events = json.loads(text)["traceEvents"]
    names = {(each["tid"], each["args"]["name"]) for each in events if each["ph"] == "M"}
    assert names == {(0, "all"), (1, "a"), (2, "b")}
    spans = [(each["tid"], each["ts"], each["dur"]) for each in events if each["ph"] == "X"]
    assert spans == [(1, 0, 5e5), (1, 1e6, 2.5e5), (2, 5e5, 5e5)]

    def refuse(name: str) -> None:
        raise AssertionError(name)

    text = chrome_trace("all", {"a": [(0.0, math.nan)], "b": []})
    found = json.loads(text, parse_constant=refuse)
    assert found["traceEvents"][2]["dur"] is None
