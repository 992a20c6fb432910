"""The Dockerfile fits the package and the pages; no test builds an image."""

import importlib.util
import re
from pathlib import Path

import pytest

from tvm_qnn.cli import main

ROOT = Path(__file__).parents[1]
TEXT = ROOT.joinpath("Dockerfile").read_text("utf-8")
STAGES = dict(re.findall(r"^FROM \S+ AS (\w+)\n(.*?)(?=^FROM|\Z)", TEXT, re.DOTALL | re.MULTILINE))
IMAGES = ("runtime", "serve", "cli")
SETUP = "".join(
    ROOT.joinpath(name).read_text("utf-8") for name in ("setup.py", "tools/runtime/setup.py")
)


@pytest.mark.parametrize("image", IMAGES)
def test_an_image_runs_a_program_and_not_as_root(image: str) -> None:
    stage = STAGES[image]
    assert re.search(r"^USER (user|nobody)$", stage, re.MULTILINE)
    program = re.search(r'^ENTRYPOINT \["([\w-]+)"(?:, "(\w+)")?', stage, re.MULTILINE)
    assert program is not None
    assert f'"{program[1]} = ' in SETUP
    assert program[2] is None or program[2] in main.commands


def test_it_installs_extras_and_runs_modules_that_there_are() -> None:
    extras = ",".join(re.findall(r"\.whl\)\"?\[([\w,]+)\]", TEXT)).split(",")
    assert extras == ["serve", "demo", "onnx"]
    assert all(f'"{each}": ' in SETUP for each in extras)
    assert all(map(importlib.util.find_spec, re.findall(r"python3 -m ([\w.]+)", TEXT)))


def test_pages_name_its_images() -> None:
    pages = [*ROOT.joinpath("docs").rglob("*.md"), ROOT / "Dockerfile"]
    text = "".join(page.read_text("utf-8") for page in pages)
    assert set(re.findall(r"docker build --target (\w+)", text)) == {*IMAGES}


def test_the_server_tells_its_health() -> None:
    asked = re.search(r"http://127.0.0.1:(\d+)(/[\w/]+)", STAGES["serve"])
    assert asked is not None
    assert f"EXPOSE {asked[1]} " in STAGES["serve"]
    assert asked[2] in ROOT.joinpath("docs/guides/serving.md").read_text("utf-8")
