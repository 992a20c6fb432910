import json

from tests.support.commands import said
from tvm_qnn.cli import main
from tvm_qnn.target.boards import BOARDS
from tvm_qnn.target.target import NAMES


def test_every_name_is_listed_and_this_machine_runs_its_own() -> None:
    text = said(main, ["targets", "--json"])
    rows = {row["name"]: row for row in json.loads(text)}
    assert set(rows) == {"host", *NAMES, *BOARDS}
    assert rows["host"]["runs_here"]
    assert rows["raspberrypi4"]["board"] == "Raspberry Pi 4: Cortex-A72"
    assert not (rows["aarch64"]["runs_here"] and rows["x86-avx2"]["runs_here"])
    text = said(main, ["targets"])
    assert "armv7-neon" in text
    assert "Raspberry Pi 4" in text
