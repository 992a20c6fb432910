import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from frontends.formats import read_model
from frontends.summary import UNSUPPORTED, OperatorInfo, Summary, TensorNote
from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from tvm_qnn import digits
from tvm_qnn.inspect.changes import Described, changes_of
from tvm_qnn.inspect.report import channel_ranges, histogram, html_report, real_range
from tvm_qnn.zoo import build as zoo

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)


@pytest.fixture(scope="module")
def summary() -> Summary:
    return read_model(zoo("mobilenet_v2", "uint8", tiny=True)).summary("net.tflite")


def data_of(page: str) -> dict[str, object]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    result: dict[str, object] = json.loads(found[1])
    return result


def test_the_page_needs_no_other_file(summary: Summary) -> None:
    page = html_report(summary)
    assert not re.search(r"(src|href)=|url\(|@import|https?://(?!www\.w3\.org/2000/svg)", page)
    nodes = data_of(page)["nodes"]
    assert isinstance(nodes, list)
    kinds = [node["kind"] for node in nodes]
    assert kinds == ["operator"] * len(summary.operators) + ["input", "output"]
    # All but the input read another operator's result.
    assert [node["kind"] for node in nodes if node["from"] == []] == ["input"]


def test_times_are_those_of_the_operators(summary: Summary) -> None:
    name = summary.operators[3].name
    nodes = data_of(html_report(summary, {name: 0.5}))["nodes"]
    assert isinstance(nodes, list)
    assert [node["seconds"] for node in nodes if node["name"] == name] == [0.5]


def test_names_of_a_model_cannot_end_the_page() -> None:
    evil = "</script><script>alert(1)</script>"
    note = TensorNote(0, evil, (1,), "int8")
    operator = OperatorInfo(0, evil, evil, (), (note,), lowering=UNSUPPORTED, reason=evil)
    page = html_report(Summary(evil, "TFLite", (), (note,), (operator,), 0, 0))
    assert "<script>alert" not in page
    assert data_of(page)["name"] == evil


def test_numbers_that_json_does_not_have_are_null() -> None:
    note = TensorNote(0, "x", (1,), "float32")
    options = {"beta": float("inf"), "alpha": [float("nan")]}
    operator = OperatorInfo(0, "SOFTMAX", "x", (), (note,), options)
    page = html_report(Summary("m", "TFLite", (), (note,), (operator,), 0, 0))
    assert '"options": {"beta": null, "alpha": [null]}' in page


@pytest.mark.skipif(not BROWSER, reason="there is no Chromium on this machine")
def test_search_and_click_in_a_browser(summary: Summary, tmp_path: Path) -> None:
    number = next(i for i, op in enumerate(summary.operators) if op.code == "ADD")
    script = f"""<script>{{
        const typed = document.getElementById("search");
        typed.value = "add";
        typed.dispatchEvent(new Event("input"));
        const box = document.querySelector('[data-node="{number}"]');
        box.dispatchEvent(new MouseEvent("click", {{ bubbles: true }}));
    }}</script>"""
    dom = _dom(html_report(summary).replace("</body>", f"{script}</body>"), tmp_path)
    boxes = re.findall(r'class="(node[^"]*)" data-node="(\d+)"', dom)
    shown = {int(place): kinds.split() for kinds, place in boxes}
    assert "chosen" in shown[number]
    found = {place for place, kinds in shown.items() if "match" in kinds}
    adds = {n for n, operator in enumerate(summary.operators) if operator.code == "ADD"}
    assert adds & shown.keys() <= found
    assert all("faded" in kinds for place, kinds in shown.items() if place not in found)
    details = re.search(r'<section id="details">(.*?)</section>', dom, re.DOTALL)
    assert details
    assert f"{number} ADD" in details[1]
    for note in (*summary.operators[number].inputs, *summary.operators[number].outputs):
        assert note.quantization in re.sub("<wbr>", "", details[1])


def large(count: int = 3000) -> Summary:
    """Make a chain of operators."""
    notes = [TensorNote(i, f"block/{i}/y", (1, 8, 8, 4), "int8") for i in range(count + 1)]
    operators = tuple(
        OperatorInfo(i, ("CONV_2D", "RELU")[i % 2], notes[i + 1].name, (notes[i],), (notes[i + 1],))
        for i in range(count)
    )
    return Summary("large", "TFLite", (notes[0],), (notes[-1],), operators, 0, 0)


@pytest.mark.skipif(not BROWSER, reason="there is no Chromium on this machine")
def test_thousands_of_operators_take_few_elements(tmp_path: Path) -> None:
    summary = large()
    script = """<script>{
        const counts = [];
        const count = () => counts.push(document.querySelectorAll("#graph *").length);
        count();
        document.getElementById("search").value = "relu";
        document.getElementById("search").dispatchEvent(new Event("input"));
        count();
        document.getElementById("fit").click();
        count();
        document.title = JSON.stringify([counts, document.getElementById("found").textContent]);
    }</script>"""
    dom = _dom(html_report(summary).replace("</body>", f"{script}</body>"), tmp_path)
    title = re.search("<title>(.*?)</title>", dom)
    assert title
    counts, found = json.loads(title[1])
    assert found == "1500 found"
    assert max(counts) < 500  # a box has five


@pytest.mark.skipif(not BROWSER, reason="there is no Chromium on this machine")
def test_colours_are_those_of_time_or_difference(summary: Summary, tmp_path: Path) -> None:
    first, second = summary.operators[:2]
    times = {first.name: 4e-6, second.name: 1e-6}
    off = {second.name: {"differing": 3, "elements": 4, "worst": 2, "sqnr": 10, "cosine": 0.5}}
    script = """<script>{
        const fills = () => [0, 1, 2].map((n) => document.querySelector(
            `[data-node="${n}"] rect`).getAttribute("fill"));
        const words = () => document.getElementById("legend").textContent;
        const seen = [colours.value, fills(), words()];
        colours.value = "time";
        colours.dispatchEvent(new Event("change"));
        choose(1);
        document.title = JSON.stringify([...seen, fills(), words()]);
    }</script>"""
    page = html_report(summary, times, off).replace("</body>", f"{script}</body>")
    dom = _dom(page, tmp_path)
    title = re.search("<title>(.*?)</title>", dom)
    assert title
    kind, off_fills, off_words, fills, words = json.loads(title[1])
    assert kind == "difference"
    assert off_fills == ["#ffffff", "#fb8c3c", "#ffffff"]
    assert off_words.endswith("to 75 %")
    assert fills == ["#fb8c3c", "#ffc88b", "#ffffff"]
    assert words.endswith("to 4.0 µs")
    assert "3 of 4 elements, by at most 2" in re.sub("<wbr>", "", dom)


@pytest.mark.skipif(not BROWSER, reason="there is no Chromium on this machine")
def test_buttons_and_fingers_zoom(summary: Summary, tmp_path: Path) -> None:
    script = """<script>{
        const finger = (kind, id, x) => graph.dispatchEvent(new PointerEvent(
            kind, { pointerId: id, clientX: x, clientY: 300, bubbles: true }));
        const widths = [view.w];
        document.getElementById("nearer").click();
        widths.push(view.w);
        document.getElementById("farther").click();
        widths.push(view.w);
        finger("pointerdown", 1, 100);
        finger("pointerdown", 2, 200);
        finger("pointermove", 2, 300);
        widths.push(view.w);
        finger("pointerup", 1, 100);
        finger("pointerup", 2, 300);
        document.title = JSON.stringify(widths);
    }</script>"""
    dom = _dom(html_report(summary).replace("</body>", f"{script}</body>"), tmp_path)
    title = re.search("<title>(.*?)</title>", dom)
    assert title
    start, near, far, pinched = json.loads(title[1])
    assert near == pytest.approx(start / 1.5)
    assert far == pytest.approx(start)
    assert pinched == pytest.approx(start / 2)


@pytest.mark.skipif(not BROWSER, reason="there is no Chromium on this machine")
def test_a_model_of_no_operators_in_a_browser(tmp_path: Path) -> None:
    note = TensorNote(0, "x", (1,), "int8")
    dom = _dom(html_report(Summary("m", "TFLite", (note,), (note,), (), 0, 0)), tmp_path)
    assert "0 operators" in dom
    assert not re.search(r'viewBox="[^"]*NaN', dom)


@pytest.mark.skipif(not BROWSER, reason="there is no Chromium on this machine")
def test_histograms_and_changes_in_a_browser(tmp_path: Path) -> None:
    sources = [read_model(digits.model(style)) for style in ("int8", "uint8")]
    ours, theirs = (Described(s.summary("d"), s.constants()) for s in sources)
    changes = changes_of(ours, theirs)
    page = html_report(ours.summary, constants=ours.constants, changes=changes)
    script = """<script>{
        choose(0);
        const words = document.getElementById("legend").textContent;
        const bars = [...document.querySelectorAll("#details figure svg")];
        document.title = JSON.stringify([colours.value, words, bars.map((bar) => [
            bar.getAttribute("aria-label"), bar.querySelectorAll("rect").length])]);
    }</script>"""
    dom = _dom(page.replace("</body>", f"{script}</body>"), tmp_path)
    title = re.search("<title>(.*?)</title>", dom)
    assert title
    kind, words, bars = json.loads(title[1])
    assert (kind, words) == ("change", "equalchanged")
    weights = next(note for note in ours.summary.operators[0].inputs if note.is_constant)
    values = ours.constants[weights.index]
    name = f"values of {weights.name}, from {values.min()} to "
    (count,) = [count for label, count in bars if label.startswith(name)]
    assert 16 < count <= 32
    assert any("ranges of the channels" in label for label, _ in bars)
    assert "input 0: int8, was uint8" in re.sub("<wbr>", "", dom)


def _dom(page: str, folder: Path) -> str:
    """Parse a page as a browser does."""
    path = folder / "page.html"
    path.write_text(page, "utf-8")
    line = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    line += [f"--user-data-dir={folder / 'profile'}", path.as_uri()]
    environment = {**os.environ, "HOME": str(folder)}
    dom = folder / "dom.html"
    # No pipes: Chromium's helpers may keep them open after its end.
    with dom.open("wb") as out:
        subprocess.run(
            line, stdout=out, stderr=subprocess.DEVNULL, check=True, timeout=120, env=environment
        )
    return dom.read_text("utf-8")


@pytest.mark.skipif(not BROWSER, reason="there is no Chromium on this machine")
def test_times_are_shown_first_and_the_graph_can_be_saved(summary: Summary, tmp_path: Path) -> None:
    script = """<script>{
        let text = "", media = "";
        window.Blob = class { constructor(parts, { type }) { text = parts[0]; media = type; } };
        URL.createObjectURL = () => "#";
        document.getElementById("save").click();
        const image = new DOMParser().parseFromString(text, "image/svg+xml");
        const boxes = image.querySelectorAll(".node").length;
        const style = image.querySelector("style").textContent.includes(".node");
        document.title = JSON.stringify([colours.value, media, boxes, style]);
    }</script>"""
    times = {summary.operators[0].name: 4e-6}
    page = html_report(summary, times).replace("</body>", f"{script}</body>")
    title = re.search("<title>(.*?)</title>", _dom(page, tmp_path))
    assert title
    kind, media, boxes, style = json.loads(title[1])
    assert (kind, media, style) == ("time", "image/svg+xml", True)
    assert boxes > 2


@pytest.mark.skipif(not BROWSER, reason="there is no Chromium on this machine")
def test_the_verdict_is_shown(summary: Summary, tmp_path: Path) -> None:
    dom = _dom(html_report(summary, verdict="3 of 3 tensors equal"), tmp_path)
    assert '<p id="verdict">3 of 3 tensors equal</p>' in dom


@pytest.mark.skipif(not BROWSER, reason="there is no Chromium on this machine")
def test_scopes_are_boxes(tmp_path: Path) -> None:
    writer = ModelWriter()
    names = ["x", "a/in", "a/one/left", "a/one/right", "b/left", "b/right", "c"]
    x, *tensors = (
        writer.tensor(name, (1, 4), "int8", Quantization.per_tensor(0.5, 0)) for name in names
    )
    a, left, right, b, other, c = tensors
    for taken, given in [([x], a), ([a], left), ([a], right), ([left], b), ([right], other)]:
        writer.operator("RELU", taken, [given])
    writer.operator("ADD", [b, other], [c])
    summary = read_model(writer.finish([x], [c])).summary("model")
    script = """<script>{
        const shown = () => data.nodes.map((box) => [box.name, box.members?.length ?? 0, box.y]);
        const found = [[...scopes.options].map((option) => option.value)];
        for (const depth of ["1", "2", "0"]) {
            scopes.value = depth;
            scopes.dispatchEvent(new Event("change"));
            found.push(shown());
        }
        showScopes(1);
        choose(0);
        const text = document.getElementById("details").textContent;
        found.push(text.includes("Operators of this scope") && text.includes("a/one/right"));
        search("a/one/left");
        found.push(matches);
        document.title = JSON.stringify(found);
    }</script>"""
    title = re.search(
        "<title>(.*?)</title>",
        _dom(html_report(summary).replace("</body>", f"{script}</body>"), tmp_path),
    )
    assert title
    options, one, two, every, listed, matches = json.loads(title[1])
    assert options == ["0", "1", "2"]
    assert one == [["a", 3, 1], ["b", 2, 2], ["c", 0, 3], ["x", 0, 0], ["c", 0, 4]]
    assert [box[:2] for box in two] == [
        *(["a/in", 0], ["a/one", 2], ["b/left", 0], ["b/right", 0], ["c", 0], ["x", 0], ["c", 0])
    ]
    assert len(every) == 8
    assert listed
    assert matches == [0, 1]


def test_bins_hold_every_integer_once() -> None:
    values = np.arange(-128, 128, dtype=np.int8)
    found = histogram(values)
    assert found == (-128, 127, (8,) * 32)
    narrow = histogram(np.arange(20, dtype=np.int32).repeat(3))
    assert narrow == (0, 19, (3,) * 20)
    values = np.random.default_rng(1).integers(-100, 91, 1000).astype(np.int8)
    found = histogram(values)
    assert found is not None
    assert sum(found.counts) == 1000
    width = (found.high - found.low + 1) // len(found.counts)
    first = values[values < values.min() + width].size
    assert (found.low, found.counts[0]) == (values.min(), first)
    values = np.array([np.nan, np.inf, *np.linspace(-1, 1, 64)], np.float16)
    found = histogram(values)
    assert found is not None
    assert (found.low, found.high, sum(found.counts)) == (-1, 1, 64)
    extreme = np.array([-3e38, 3e38] * 8, np.float32)
    assert histogram(extreme) is not None


@pytest.mark.parametrize("values", [np.zeros(15, np.int8), np.zeros(99, bool), np.zeros(99, "V2")])
def test_few_values_and_what_are_no_numbers_have_none(values: np.ndarray) -> None:
    assert histogram(values) is None


def test_ranges_are_those_of_scale_and_zero_point() -> None:
    note = TensorNote(0, "x", (1, 4), "uint8", scales=(0.5,), zero_points=(128,))
    assert real_range(note) == (-64, 63.5)
    assert channel_ranges(note) is None
    scales = tuple(float(n) for n in range(1, 33))
    weights = TensorNote(0, "w", (32,), "int8", scales=scales, zero_points=(0,) * 32)
    assert real_range(weights) is None
    assert channel_ranges(weights) == (128, 128 * 32, (1,) * 32)
