from dataclasses import replace
from io import StringIO

import pytest
import tvm
from rich.console import Console

from benchmarks.fit_tiles import main, measure, report
from benchmarks.tiles.fit import VECTORS
from benchmarks.tiles.layers import layers
from legalize.kernels.conv2d.x86.amx.cost import NANOSECONDS
from tests.benchmarks.tiles.test_fit import OTHER, timed
from tests.support.commands import refused
from tests.support.tiles import use_soft_tiles
from tests.support.x86 import TARGET, host_has, needs_native_vnni


@pytest.mark.skipif(host_has("amx_int8"), reason="the processor has AMX")
def test_other_processors_get_one_line() -> None:
    (line,) = refused(main).splitlines()
    assert line.startswith("Error: the model is of AMX's tiles, which this processor has not: ")


@needs_native_vnni
def test_a_layer_is_timed_in_every_way(monkeypatch: pytest.MonkeyPatch) -> None:
    use_soft_tiles(monkeypatch)
    spec = next(spec for spec in layers() if spec.fusion.residual is not None)
    spec = replace(spec, in_height=3, in_width=3, has_asymmetric_kernel=True)
    layer = measure(spec, tvm.target.Target(TARGET), repeats=1)
    assert set(layer.nanoseconds) == {VECTORS, *layer.terms}
    assert len(layer.terms) == 3
    assert min(layer.nanoseconds.values()) > 100


def test_the_report_has_constants_errors_and_regrets() -> None:
    text = StringIO()
    report(timed(OTHER), Console(file=text, width=120))
    lines = [line.split() for line in text.getvalue().splitlines()]
    found = {line[1]: line for line in lines if len(line) > 5}
    assert found["products"][3::2] == [f"{NANOSECONDS.products:.3g}", "4.6"]
    assert found["fitted"][3::2] == ["0", "0.0%", "0"]
