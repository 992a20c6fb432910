"""Draws the README's picture: its table of speed, from the figures of docs/performance.md.

python -m tools.speed_picture
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import matplotlib

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "pictures" / "speed.svg"
MACHINE = "AMD EPYC (Zen 5, two cores) with AVX512-VNNI and no AMX"


def main() -> None:
    """Draw the chart of one machine. Its texts stay texts, so that a test can read them."""
    path = ROOT / "docs" / "_ext" / "speed_charts.py"
    spec = importlib.util.spec_from_file_location("speed_charts", path)
    assert spec is not None
    assert spec.loader is not None
    speed = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(speed)
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    (chart,) = (chart for chart in speed.charts(page) if chart.title == MACHINE)
    said = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = [index for index, model in enumerate(chart.models) if f"| {model} |" in said]
    models = tuple(chart.models[index] for index in shown)
    times = {
        program: tuple(each[index] for index in shown) for program, each in chart.times.items()
    }
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "tvm-qnn"}):
        speed.draw(speed.Chart(chart.title, models, times), PICTURE)


if __name__ == "__main__":
    main()
