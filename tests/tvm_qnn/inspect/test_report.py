from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from frontends.formats import read_model
from frontends.summary import UNSUPPORTED, OperatorInfo, Summary, TensorNote
from tvm_qnn.inspect import html_report
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
    assert len(nodes) == len(summary.operators)
    # Every operator but the first takes what another one gives.
    assert [node["from"] for node in nodes].count([]) == 1


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
    script = f"""<script>
        const typed = document.getElementById("search");
        typed.value = "add";
        typed.dispatchEvent(new Event("input"));
        document.querySelector('[data-node="{number}"]').dispatchEvent(new MouseEvent("click"));
    </script>"""
    dom = _dom(html_report(summary).replace("</body>", f"{script}</body>"), tmp_path)
    adds = [op for op in summary.operators if op.code == "ADD"]
    shown = set(re.findall(r'class="node[^"]*\bmatch\b[^"]*" data-node="(\d+)"', dom))
    assert {str(op.index) for op in adds} <= shown
    assert f"{len(shown)} found" in dom
    details = re.search(r'<section id="details">(.*?)</section>', dom, re.DOTALL)
    assert details
    assert f"{number} ADD" in details[1]
    for note in (*summary.operators[number].inputs, *summary.operators[number].outputs):
        assert note.quantization in re.sub("<wbr>", "", details[1])


@pytest.mark.skipif(not BROWSER, reason="there is no Chromium on this machine")
def test_a_model_of_no_operators_in_a_browser(tmp_path: Path) -> None:
    note = TensorNote(0, "x", (1,), "int8")
    dom = _dom(html_report(Summary("m", "TFLite", (note,), (note,), (), 0, 0)), tmp_path)
    assert "0 operators" in dom
    assert not re.search(r'viewBox="[^"]*NaN', dom)


def _dom(page: str, folder: Path) -> str:
    """Parse a page as a browser does."""
    path = folder / "page.html"
    path.write_text(page, "utf-8")
    line = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    line += [f"--user-data-dir={folder / 'profile'}", path.as_uri()]
    environment = {**os.environ, "HOME": str(folder)}
    return subprocess.run(
        line, capture_output=True, text=True, check=True, timeout=120, env=environment
    ).stdout
