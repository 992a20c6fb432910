import re
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from legalize.passes.in_strips import Strips
from qnn_ops.errors import QnnError
from tests.support.stems import network
from tvm_qnn.build import export_c
from tvm_qnn.standalone.ram_limit import fit
from tvm_qnn.standalone.schedules import Schedule


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


def test_a_limit_that_is_too_low_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tvm_qnn.standalone.ram_limit._TRIES", 2)
    with pytest.raises(QnnError, match="may take 100 bytes of memory") as caught:
        workspace(tmp_path / "none", "cortex-m4", limit=100)
    least = int(re.findall(r"in strips, is ([\d,]+)", str(caught.value))[0].replace(",", ""))
    assert workspace(tmp_path / "least", "cortex-m4", limit=least) == least
    assert not [*(tmp_path / "none").iterdir()]
    with pytest.raises(QnnError, match="a limit of memory is for microcontrollers"):
        workspace(tmp_path / "x86", "x86-avx2", limit=sys.maxsize)


def test_a_schedule_that_was_passed_over_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Schedules take other amounts beyond their estimates than the ones before."""
    # Rows of strips: products, estimate, and what it takes.
    taken = {8: (10, 80, 140), 4: (20, 75, 95), 2: (30, 65, 120), 1: (40, 40, 60)}
    made = [Schedule(Strips(0, n), 1, 1, *taken[n][:2]) for n in taken]
    monkeypatch.setattr("tvm_qnn.standalone.ram_limit.peak", lambda _: 150)
    monkeypatch.setattr("tvm_qnn.standalone.ram_limit.schedules", lambda *_: made)
    tried: list[int] = []

    def lower(choose: Any) -> int:
        strips = choose(None, ())
        tried.extend([] if strips is None else [strips.rows])
        return 150 if strips is None else taken[strips.rows][2]

    found = fit(cast("Any", lower), cast("Any", lambda memory: memory), 100)
    assert found.schedule is not None
    assert (found.schedule.strips.rows, found.lowered) == (4, 95)
    assert tried == [8, 2, 1, 4]
    taken[4] = (20, 75, 101)
    found = fit(cast("Any", lower), cast("Any", lambda memory: memory), 100)
    assert (found.lowered, tried[4:]) == (60, [8, 2, 1, 4, 1])
