from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.packages import check_static_library, needs_cc, packed


class Environment:
    """As far as the script of a library sees it."""

    def __init__(self) -> None:
        self.appended: dict[str, list[str]] = {}

    def Append(self, **values: list[str]) -> None:
        """Keep what is appended."""
        self.appended.update(values)


@needs_cc
def test_the_script_links_the_library(tmp_path: Path, monkeypatch: Any) -> None:
    files = packed("platformio", "host", tmp_path)
    manifest = json.loads((tmp_path / "library.json").read_text())
    assert manifest["name"] == "net"
    assert f"src/{manifest['headers']}" in files
    environment = Environment()
    monkeypatch.chdir(tmp_path)  # where PlatformIO runs it
    script = (tmp_path / manifest["build"]["extraScript"]).read_text()
    exec(script, {"Import": lambda name: None, "env": environment})
    (folder,), (name,) = environment.appended["LIBPATH"], environment.appended["LIBS"]
    check_static_library(tmp_path, Path(folder, f"lib{name}.a"))
