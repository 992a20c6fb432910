"""A bounded share of the trials of `python -m tests.targets`, and its reports of faults."""

import faulthandler
import os
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from click.testing import CliRunner

from tests.support.errors import fails
from tests.targets.__main__ import main
from tests.targets.campaign import Task, run_all, tasks
from tests.targets.models import Loaded, Model, models
from tests.targets.processors import ROWS
from tests.targets.table import BEGIN, END, table, write_table
from tests.targets.trial import Outcome, try_target
from tvm_qnn.target.target import NAMES, parse_target, why_not_here

MODELS = {model.name: model for model in models(1)}


def loaded(name: str) -> Loaded:
    model = MODELS[name].load()
    assert model is not None
    return model


# The others get the same lowered functions as one of these, and have its architecture.
_SAME = {"cortex-a53", "cortex-a72", "cortex-a76", "cortex-x2", "znver4", "cortex-m3", "cortex-m7"}
_SAME |= {"cortex-m33", "cortex-m85", "cortex-m55+hardfloat"}
TRIED = [name for name in ROWS if name not in _SAME]


@pytest.mark.parametrize("name", TRIED)
def test_every_kernel_is_compiled_for_every_target(name: str) -> None:
    # Unsigned for the targets whose products are of signed bytes, and the other way around.
    kind = "int8" if "x86" in ROWS[name].target else "uint8"
    model = MODELS[f"every kernel {kind}"]
    outcome = try_target(model, loaded(model.name), ROWS[name], emulate=False)
    assert outcome.problem is None
    assert outcome.compiled


def test_every_named_target_has_a_row() -> None:
    # Plain C has a campaign of its own: tests.targets.plain_c.
    assert {*NAMES} - {"c"} <= {row.target for row in ROWS.values()}
    for row in ROWS.values():
        assert parse_target(row.target)


def test_all_models_of_the_tests_are_there() -> None:
    names = " ".join(MODELS)
    for each in (
        "digits int8",
        "fused uint8",
        "tiny resnet50 int8_per_axis",
        "onnx mobilenet uint8",
        "mxnet residual-auto",
    ):
        assert each in names
    assert len(MODELS) > 80


def test_the_share_has_every_model_and_every_target() -> None:
    rows = list(ROWS.values())
    share = tasks(list(MODELS.values()), rows, whole=False)
    assert all(task.rows for task in share)
    assert {row.name for task in share if task.model.stride > 1 for row in task.rows} == {*ROWS}
    whole = tasks(list(MODELS.values()), rows, whole=True)
    assert {len(task.rows) for task in whole} == {len(rows)}


def test_wrong_numbers_are_a_problem() -> None:
    model = loaded("digits int8")
    wrong = Loaded(model.mod, model.params, model.inputs, [array + 1 for array in model.expected])
    here = next(row for row in ROWS.values() if "x86-sse4.1" in row.name)
    if why_not_here(parse_target(here.target)):
        pytest.skip("this processor runs no code of x86")
    outcome = try_target(MODELS["digits int8"], wrong, here, emulate=False)
    assert outcome.ran
    assert "elements of output 0 differ" in str(outcome.problem)


def test_numbers_that_are_none_are_equal_and_tolerances_count() -> None:
    ones = np.array([1, np.nan, np.inf], np.float32)
    near = ones + np.array([1e-7, 0, 0], np.float32)
    assert Loaded(None, {}, [], [ones]).differs([ones]) is None
    assert "1 elements" in str(Loaded(None, {}, [], [ones]).differs([near]))
    assert Loaded(None, {}, [], [ones], 1e-6).differs([near]) is None
    assert Loaded(None, {}, [], [ones], 1e-6).differs([near[::-1]]) is not None
    both = Loaded(None, {}, [], [ones, ones], bounds=[1e-6, 0])
    assert both.differs([near, ones]) is None
    assert "of output 1" in str(both.differs([near, near]))
    assert "float64" in str(Loaded(None, {}, [], [ones]).differs([ones.astype(np.float64)]))


@pytest.mark.parametrize(
    ("name", "instruction"),
    [
        ("x86-sse4.1", "vpaddb\t%xmm0, %xmm1, %xmm2"),
        ("x86-avx2", "vpaddb\t%zmm0, %zmm1, %zmm2"),
        ("x86-avx2", "{vex}\tvpdpbusd\t%ymm0, %ymm1, %ymm2"),
        ("x86-avx512", "vpdpbusd\t%zmm0, %zmm1, %zmm2"),
        ("x86-avx512-vnni", "vpermi2b\t%zmm0, %zmm1, %zmm2"),
        ("icelake-server", "tdpbusd\t%tmm0, %tmm1, %tmm2"),
        ("aarch64", "sdot\tv0.4s, v1.16b, v2.4b[0]"),
        ("aarch64", "usdot\tv0.4s, v1.16b, v2.16b"),
        ("aarch64-dotprod", "smmla\tv0.4s, v1.16b, v2.16b"),
        ("aarch64-i8mm", "add\tz0.b, z1.b, z2.b"),
        ("armv7", "vadd.i8\tq0, q1, q2"),
        ("cortex-m4", "vld1.32\t{d16}, [r0]"),
        ("riscv64", "vsetvli\ta0, a1, e8, m1, ta, ma"),
        ("riscv64", "vadd.vv\tv8, v9, v10"),
        ("wasm32", "i8x16.add"),
    ],
)
def test_instructions_that_a_target_lacks_are_a_problem(name: str, instruction: str) -> None:
    (fault,) = ROWS[name].faults(f"\tnop\n\t{instruction}\n", multiplies=False, has_all=False)
    assert fault.startswith("an instruction that it lacks")


def test_instructions_that_kernels_need_are_missed() -> None:
    row = ROWS["x86-amx"]
    tiles, bytes_ = "\ttdpbusd\t%tmm0, %tmm1\n", "\tvpdpbusd\t%zmm0, %zmm1, %zmm2\n"
    assert row.faults(tiles + bytes_, multiplies=True, has_all=True) == []
    assert row.faults(bytes_, multiplies=True, has_all=False) == []
    assert row.faults("\tnop\n", multiplies=False, has_all=False) == []
    assert "tdpbusd" in row.faults(bytes_, multiplies=True, has_all=True)[0]
    assert row.faults("\tnop\n", multiplies=True, has_all=False)


def _die(name: str) -> Outcome:
    if name == "armv7":
        faulthandler.disable()  # which would fill the terminal
        os.abort()
    if name == "wasm32":
        raise MemoryError
    return Outcome("m", name, compiled=True)


def test_a_process_that_dies_is_a_problem_of_what_it_was_at() -> None:
    def fake(model: Model, _: Loaded, row: object, *, emulate: bool) -> Outcome:
        del emulate
        return _die(row.name)  # type: ignore[attr-defined]

    model = Model("m", lambda: Loaded(None, {}, [], []), 1)
    rows = [ROWS[name] for name in ("aarch64", "armv7", "riscv64", "wasm32")]
    with patch("tests.targets.campaign.try_target", fake):
        outcomes = list(run_all([Task(model, rows, False)], jobs=2))
    problems = {outcome.target: outcome.problem for outcome in outcomes}
    assert problems["aarch64"] is problems["riscv64"] is None
    assert "the process died with code -6" in str(problems["armv7"])
    assert "the process died with code 1" in str(problems["wasm32"])


def test_a_model_that_is_not_imported_has_no_outcomes() -> None:
    model = Model("m", lambda: None, 1)
    assert list(run_all([Task(model, [ROWS["aarch64"]], False)], jobs=1)) == []


def test_the_table_counts_and_stands_between_its_marks(tmp_path: Path) -> None:
    row = ROWS["riscv64"]
    outcomes = [
        Outcome("a", "riscv64", compiled=True, emulated=True),
        Outcome("b", "riscv64", compiled=True, problem="it differs"),
        Outcome("c", "riscv64", refused="no"),
    ]
    text = table([row], outcomes)
    assert "| riscv64 | 2 | 0 | 1 | 1 | 1 |" in text
    file = tmp_path / "page.md"
    file.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    write_table(file, text)
    assert file.read_text() == f"before\n{BEGIN}\n{text}{END}\nafter\n"
    file.write_text("nothing")
    fails(r"has no .* and", write_table, file, text)


def test_the_command_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    calls = []

    def fake(work: list[Task], jobs: int, seconds: float) -> list[Outcome]:
        assert (jobs, seconds) == (2, 90)
        calls.append(sum(len(task.rows) for task in work))
        pairs = [(task.model.name, row.name) for task in work for row in task.rows]
        return [
            Outcome(*pair, compiled=True, problem="no" if pair[0] == "fused int8" else None)
            for pair in pairs
        ]

    words = ["--all", "--target", "wasm32", "--jobs", "2", "--minutes", "1.5", "--files", "0"]
    with patch("tests.targets.__main__.run_all", fake):
        results = [CliRunner().invoke(main, [*words, "--output", str(tmp_path)]) for _ in range(2)]
    assert calls == [len(models(0)), 0]
    assert [result.exit_code for result in results] == [1, 1]
    assert "fused int8, wasm32: no" in results[0].output
    assert f"| all | {len(models(0))} | 0 | 0 | 0 | 1 |" in results[1].output


def test_no_model_begins_after_the_time() -> None:
    model = MODELS["every kernel int8"]
    work = [Task(model, [ROWS["x86-avx2"]], emulate=False)]
    assert list(run_all(work, jobs=1, seconds=0)) == []
