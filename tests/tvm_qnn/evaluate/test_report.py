import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from qnn_ops.dialect.tensor_info import TensorInfo
from tests.support.pictures import write_picture
from tvm_qnn.answers.classes import ClassesReading
from tvm_qnn.evaluate.evaluation import Evaluation, evaluate, journal_of
from tvm_qnn.evaluate.feed import Feed
from tvm_qnn.evaluate.peers import Peer
from tvm_qnn.evaluate.report import remarks, summary, write_report
from tvm_qnn.evaluate.samples import CLASSES, Data, Sample
from tvm_qnn.evaluate.tasks.classification import Classification
from tvm_qnn.evaluate.worker import Beside, Job
from tvm_qnn.io.preparation import Preparation

SCORES = TensorInfo("y", (1, 3), "int8")
LABELS = ("ant", "<b>bee</b>", "$x$ \x1b[2J")


@pytest.fixture
def found(tmp_path: Path) -> Evaluation:
    """Return an evaluation of two pictures; one is wrong and has another output."""
    for name in ("0.png", "1.png"):
        write_picture(tmp_path / name, [[3, 4], [5, 6]])
    feed = Feed.of((TensorInfo("x", (1, 2, 2, 1), "uint8"),), {}, Preparation())
    task = Classification(ClassesReading((SCORES,), LABELS, 5), (0,))
    samples = tuple(Sample(tmp_path / f"{place}.png", "", label=place) for place in range(2))
    job = Job(b"", Data(CLASSES, samples), feed, task, Beside(Peer("LiteRT", "", b""), feed, task))
    first = {"output": "y", "index": [0, 1], "ours": 2, "theirs": 5}
    records: list[dict[str, Any]] = [
        {
            "place": 0,
            **(same := {"top": [0, 1, 2], "score": 3.0, "truth": 3.0}),
            "beside": same,
            "differing": {"elements": 3, "differing": 0, "first": None},
        },
        {
            "place": 1,
            "top": [2, 1, 0],
            "score": 3.0,
            "truth": 1.0,
            "beside": {"top": [1, 2, 0], "score": 3.0, "truth": 3.0},
            "differing": {"elements": 3, "differing": 2, "first": first},
        },
    ]
    # In another order than that of the samples, as processes give them.
    return evaluate(job, lambda _job, _places: iter(records[::-1]), journal_of(job, "", None))


def test_the_two_models_stand_side_by_side(found: Evaluation) -> None:
    assert summary(found)[0] == ("right (top-1)", ["50.00%", "100.00%"])
    said = " ".join(remarks(found))
    assert "1 of 2 predictions are the same." in said
    assert "1 of 2 samples have equal outputs; 2 of 6 elements differ." in said
    assert "1.png, output y[0, 1]: 2, not 5." in said


def test_outputs_of_other_types_are_not_compared(found: Evaluation, tmp_path: Path) -> None:
    records = [{**record, "differing": None} for record in found.records]
    journal = journal_of(found.job, "", None)
    again = evaluate(found.job, lambda _job, _places: iter(records), journal)
    assert again.figures["beside"]["compared"] == 0
    assert "other shapes or types" in " ".join(remarks(again))
    job = replace(found.job, beside=None)
    whole = found.records
    alone = evaluate(job, lambda _job, _places: iter(map(dict, whole)), journal_of(job, "", None))
    assert alone.figures["beside"] is None
    assert summary(alone)[0] == ("right (top-1)", ["50.00%"])
    assert remarks(alone) == []
    assert "equal" not in write_report(tmp_path, "x", alone)[1].read_text()


def test_files_are_written(found: Evaluation, tmp_path: Path) -> None:
    files = write_report(tmp_path, "a & b", found)
    assert [path.name for path in files] == [
        *("figures.json", "samples.csv", "classes.csv", "confusion.png", "report.html")
    ]
    figures = json.loads(files[0].read_text(), parse_constant=pytest.fail)
    assert figures == found.figures
    with files[1].open(newline="") as file:
        rows = [*csv.DictReader(file)]
    assert [(row["predicted"], row["beside_predicted"], row["equal"]) for row in rows] == [
        ("0", "0", "True"),
        ("2", "1", "False"),
    ]
    assert files[3].read_bytes().startswith(b"\x89PNG")


def test_the_page_has_the_worst_pictures_and_no_markup(found: Evaluation, tmp_path: Path) -> None:
    page = write_report(tmp_path, "<i>a</i> & b", found, {"date": "<today>"})[-1].read_text("utf-8")
    assert page.count("<figure>") == 1
    assert "1 &lt;b&gt;bee&lt;/b&gt; (score 1), taken for 2 $x$ \\x1b[2J (score 3)" in page
    assert "<b>" not in page
    assert "&lt;i&gt;a" in page
    assert "http" not in page
    assert "<main>" in page
    assert page.count('tabindex="0"') == page.count("<table") == 3
    assert "<tr><td>date</td><td>&lt;today&gt;</td></tr>" in page
    assert "<th></th>" not in page
