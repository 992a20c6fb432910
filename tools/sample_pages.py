"""Write every kind of page that a command writes, of the models of digits.

    python -m tools.sample_pages out/pages

`make screenshots` takes pictures of them.
"""

from __future__ import annotations

import shutil
import sys
from itertools import islice
from pathlib import Path

import numpy as np
from PIL import Image

from tvm_qnn import digits
from tvm_qnn.cli import main as command
from tvm_qnn.io.outputs import scratch

_SAMPLES = 60


def write_pages(folder: Path) -> list[Path]:
    """Write the pages into a folder, which is made; return them."""
    folder.mkdir(parents=True, exist_ok=True)
    with scratch() as inside:
        models = {"digits": digits.model("int8"), "other": digits.model("uint8")}
        models["detector"] = digits.detector()
        paths = {name: inside / f"{name}.tflite" for name in models}
        for name, content in models.items():
            paths[name].write_bytes(content)
        pictures = inside / "pictures"
        held_out = zip(*digits.held_out(), strict=True)
        for number, (ink, label) in enumerate(islice(held_out, _SAMPLES)):
            path = pictures / str(label) / f"{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray((ink * (255 / digits.INK)).astype(np.uint8)).save(path)
        model, other, detector = (str(paths[name]) for name in ("digits", "other", "detector"))
        pages = {
            "inspect": ["inspect", detector],
            "inspect_times": ["inspect", detector, "--times"],
            "inspect_changes": ["inspect", model, "--against", other],
            "compare": ["compare", model],
            "report": ["report", model, "--target", "cortex-m4"],
        }
        for name, words in pages.items():
            _run([*words, "--html", str(folder / f"{name}.html")])
        _run(["evaluate", model, str(pictures), "--output", str(inside / "evaluated")])
        shutil.copyfile(inside / "evaluated" / "report.html", folder / "evaluate.html")
    return sorted(folder.glob("*.html"))


def _run(words: list[str]) -> None:
    command(words, standalone_mode=False)


def main() -> None:
    """Write the pages into the folder that is named."""
    if len(sys.argv) != 2:
        raise SystemExit("name a folder")
    for path in write_pages(Path(sys.argv[1])):
        print(path)


if __name__ == "__main__":
    main()
