"""The page of a report: its memory map shows what the memory plan says."""

import re
from itertools import combinations

import pytest

from tvm_qnn import digits
from tvm_qnn.footprint.footprint import Footprint, footprint
from tvm_qnn.footprint.page import report_page


@pytest.fixture(scope="module")
def found() -> Footprint:
    return footprint(digits.model("int8"), "cortex-m4")


def test_no_two_blocks_are_at_one_place_at_one_time(found: Footprint) -> None:
    assert max(each.offset + each.size for each in found.blocks) == found.arena_workspace
    inputs = [each for each in found.blocks if each.first < 0]
    assert sum(each.size for each in inputs) == found.inputs
    for one, other in combinations(found.blocks, 2):
        apart = one.last < other.first or other.last < one.first
        beside = one.offset + one.size <= other.offset or other.offset + other.size <= one.offset
        # An output may lie over an input that its call reads last.
        meets = one.last == other.first or other.last == one.first
        assert apart or beside or meets


def test_the_page_has_every_block_and_layer(found: Footprint) -> None:
    page = report_page("<model>", found, {"command": "tvm-qnn report"})
    assert "<title>&lt;model&gt;</title>" in page
    chart = re.search('<svg class="chart".*?</svg>', page, re.DOTALL)
    assert chart
    assert len(re.findall("<rect ", chart[0])) == len(found.blocks)
    heights = [float(text) for text in re.findall(r'height="([\d.]+)"', chart[0])]
    highest = max(found.blocks, key=lambda block: block.size)
    assert max(heights) == pytest.approx(280 * highest.size / found.arena_workspace, abs=0.1)
    for layer in found.layers:
        assert f'<td class="name">{layer.name}</td>' in page
        assert f"<td>{layer.constant_bytes:,}</td>" in page
    assert "tvm-qnn report" in page


def test_a_page_without_code_sizes_says_so() -> None:
    page = report_page("digits", footprint(digits.model("int8"), "wasm32"), {})
    assert "<td>–</td>" in page
