"""Write every kind of page that a command writes, of the models of digits.

    python -m tools.sample_pages out/pages

`make screenshots` takes pictures of them.
"""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import numpy as np
from PIL import Image

from tvm_qnn import digits
from tvm_qnn.cli import main as command
from tvm_qnn.io.outputs import scratch

_SAMPLES = 220
"""Three of them are taken for other digits."""


def write_pages(folder: Path) -> list[Path]:
    """Write the pages into a folder, which is made; return them."""
    folder.mkdir(parents=True, exist_ok=True)
    folder = folder.resolve()
    models = {"digits": digits.model("int8"), "other": digits.model("uint8")}
    models["detector"] = digits.detector()
    pages = {
        "inspect": ["inspect", "detector.tflite"],
        "inspect_times": ["inspect", "detector.tflite", "--times"],
        "inspect_changes": ["inspect", "digits.tflite", "--against", "other.tflite"],
        "compare": ["compare", "digits.tflite"],
        "report": ["report", "digits.tflite", "--target", "cortex-m4"],
    }
    with scratch() as inside, _inside(inside):
        for name, content in models.items():
            Path(f"{name}.tflite").write_bytes(content)
        Path("digits.toml").write_text("mean = 0\nstd = 255\n", encoding="utf-8")
        held_out = zip(*digits.held_out(), strict=True)
        for number, (ink, label) in enumerate(islice(held_out, _SAMPLES)):
            path = Path("pictures", str(label), f"{number}.png")
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray((ink * (255 / digits.INK)).astype(np.uint8)).save(path)
        for name, words in pages.items():
            _run([*words, "--html", f"{name}.html"])
        _run(["evaluate", "digits.tflite", "pictures", "--output", "evaluated"])
        Path("evaluated", "report.html").rename("evaluate.html")
        return sorted(Path(shutil.copy(page, folder)) for page in Path().glob("*.html"))


@contextmanager
def _inside(folder: Path) -> Iterator[None]:
    """Work in a folder, so that pages name files as a user's do."""
    before, arguments = Path.cwd(), sys.argv
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
        sys.argv = arguments


def _run(words: list[str]) -> None:
    sys.argv = ["tvm-qnn", *words]  # which pages tell
    command(words, standalone_mode=False)


def main() -> None:
    """Write the pages into the folder that is named."""
    if len(sys.argv) != 2:
        raise SystemExit("name a folder")
    for path in write_pages(Path(sys.argv[1])):
        print(path)


if __name__ == "__main__":
    main()
