"""Take the documentation's pictures of the page that `tvm-qnn inspect --html` writes.

    python -m tools.inspector_pictures

It needs Chromium. The pictures are part of the repository; take them anew when the page changes.
"""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from qnn_ops.errors import QnnError
from tvm_qnn import digits
from tvm_qnn.cli import main as command
from tvm_qnn.io.outputs import scratch

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "pictures"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


class Picture(NamedTuple):
    """One picture.

    Attributes:
        name: of its file.
        models: of the digits: the one that is drawn, and the one beside it if there is one.
        options: of the command.
        chosen: the place of the operator that is clicked.
        size: of the window.
    """

    name: str
    models: tuple[str, ...]
    options: tuple[str, ...]
    chosen: int
    size: tuple[int, int]


PICTURES = (
    Picture("inspector.png", ("detector.tflite",), ("--times",), 4, (1100, 640)),
    Picture("inspector_changes.png", ("digits.tflite", "other.tflite"), (), 2, (1100, 640)),
)

_CLICK = """<script>addEventListener("load", () => {
  document.activeElement.blur();
  if (data.has_times) colours.value = "time";
  colourBy(colours.value);
  choose(%d);
  goTo(data.nodes[%d]);
});</script></body>"""


def page(picture: Picture, folder: Path) -> Path:
    """Write the page of a picture, in a folder with the models, and choose its operator there."""
    html = folder / "page.html"
    model, *others = (str(folder / name) for name in picture.models)
    against = ["--against", *others] if others else []
    command(
        ["inspect", model, "--html", str(html), *against, *picture.options], standalone_mode=False
    )
    text = html.read_text(encoding="utf-8")
    click = _CLICK % (picture.chosen, picture.chosen)
    html.write_text(text.replace("</body>", click), encoding="utf-8")
    return html


def take(browser: str, html: Path, size: Sequence[int], path: Path) -> None:
    """Let a browser show a page, and keep what it shows.

    Raises:
        QnnError: if there is no picture.
    """
    line = [
        *(browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
        f"--user-data-dir={html.parent / 'profile'}",
        f"--window-size={size[0]},{size[1]}",
        f"--screenshot={path}",
        html.as_uri(),
    ]
    done = subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)
    if not path.is_file():
        raise QnnError(f"{browser} took no picture: {done.stderr.strip()[-200:]}")


def main() -> None:
    """Take all pictures."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise SystemExit("there is no Chromium on this machine")
    with scratch() as folder:
        (folder / "digits.tflite").write_bytes(digits.model("int8"))
        (folder / "other.tflite").write_bytes(digits.model("uint8"))
        (folder / "detector.tflite").write_bytes(digits.detector())
        for picture in PICTURES:
            html = page(picture, folder)
            taken = folder / picture.name
            take(browser, html, picture.size, taken)
            FOLDER.mkdir(exist_ok=True)
            shutil.copyfile(taken, FOLDER / picture.name)


if __name__ == "__main__":
    main()
