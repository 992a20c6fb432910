from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.support.packages import packed


@pytest.mark.parametrize(
    ("target", "core"), [("cortex-m0plus", "Cortex-M0+"), ("cortex-m55", "Cortex-M55")]
)
def test_the_description_lists_the_files(target: str, core: str, tmp_path: Path) -> None:
    files = packed("cmsis", target, tmp_path, test_vectors=0)
    root = ET.parse(tmp_path / "tvm-qnn.net.pdsc").getroot()
    assert root.findtext("name") == "net"
    listed = {file.attrib["name"]: file.attrib["category"] for file in root.iter("file")}
    assert listed == {"net.h": "header", "net.hpp": "header", "net.c": "source", "net.o": "object"}
    assert listed.keys() <= set(files)
    (condition,) = root.iter("condition")
    (require,) = condition
    assert require.attrib == {"Dcore": core}
    (component,) = root.iter("component")
    assert component.attrib["condition"] == condition.attrib["id"]
