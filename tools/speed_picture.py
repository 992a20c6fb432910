"""Writes the README's times and draws its picture, both from docs/performance.md.

python -m tools.speed_picture
"""

import importlib.util
import re
from pathlib import Path

import matplotlib

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "pictures" / "speed.svg"
MACHINE = "AMD EPYC (Zen 5, two cores) with AVX512-VNNI and no AMX"


def main() -> None:
    """Write the rows of one machine and draw its chart, whose texts a test can read."""
    path = ROOT / "docs" / "_ext" / "speed_charts.py"
    spec = importlib.util.spec_from_file_location("speed_charts", path)
    assert spec is not None
    assert spec.loader is not None
    speed = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(speed)
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    (chart,) = (chart for chart in speed.charts(page) if chart.title == MACHINE)
    readme = ROOT / "README.md"
    said = readme.read_text(encoding="utf-8")
    for row in re.findall(r"^\| \w.*$", page.split(MACHINE)[1].split("\n\n")[1], re.MULTILINE):
        name = row.split("|")[1]
        said = re.sub(rf"^\|{re.escape(name)}\|.*$", row, said, flags=re.MULTILINE)
    readme.write_text(said, encoding="utf-8")
    shown = [index for index, model in enumerate(chart.models) if f"| {model} |" in said]
    models = tuple(chart.models[index] for index in shown)
    times = {
        program: tuple(each[index] for index in shown) for program, each in chart.times.items()
    }
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "tvm-qnn"}):
        speed.draw(speed.Chart(chart.title, models, times), PICTURE)


if __name__ == "__main__":
    main()
