from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from qnn_ops.errors import QnnError
from tests.support.stems import network
from tvm_qnn.build import export_c


def workspace(folder: Path, core: str, *, width: int = 12, limit: int | None = None) -> int:
    folder.mkdir()
    export_c(network(width), core, None, folder / "m", arena=limit is None, ram_limit=limit)
    return int((folder / "m.h").read_text().split("WORKSPACE_SIZE ")[1].split()[0])


@pytest.mark.parametrize("core", ["cortex-m4", "riscv32"])
def test_layers_run_in_strips_where_memory_is_limited(core: str, tmp_path: Path) -> None:
    plain = workspace(tmp_path / "plain", core)
    assert workspace(tmp_path / "enough", core, limit=plain) == plain
    limit = plain * 3 // 4
    assert workspace(tmp_path / "less", core, limit=limit) <= limit
    calls = [(tmp_path / name / "m.c").read_text().count("conv2d") for name in ("plain", "less")]
    assert calls[0] < calls[1]
    # What strips read of the input is not copied.
    assert "rows" not in (tmp_path / "less" / "m.c").read_text()


def test_a_limit_that_is_too_low_tells_the_least(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tvm_qnn.standalone.ram_limit._TRIES", 2)
    with pytest.raises(QnnError, match="may take 100 bytes of memory") as caught:
        workspace(tmp_path / "none", "cortex-m4", limit=100)
    least = int(re.findall(r"in strips, is ([\d,]+)", str(caught.value))[0].replace(",", ""))
    assert workspace(tmp_path / "least", "cortex-m4", limit=least) == least
    assert not [*(tmp_path / "none").iterdir()]


def test_a_limit_is_for_microcontrollers(tmp_path: Path) -> None:
    with pytest.raises(QnnError, match="a limit of memory is for microcontrollers"):
        workspace(tmp_path / "x86", "x86-avx2", limit=sys.maxsize)
