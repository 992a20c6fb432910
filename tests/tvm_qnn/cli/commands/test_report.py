import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.legalize.passes.test_drop_constant_channels import Network
from tests.support.commands import refused, said
from tests.tvm_qnn.cli.commands.conftest import SHOWN
from tvm_qnn.cli import main
from tvm_qnn.footprint import footprint as footprints
from tvm_qnn.target.target import parse_target

_KNOWN: dict[str, footprints.Footprint] = {}


@pytest.fixture(autouse=True)
def one_footprint(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile a model once for its table, its JSON and all tests."""
    compiled = footprints.footprint

    def footprint(model: Path, *target: str, **told: Any) -> footprints.Footprint:
        key = f"{model.read_bytes()!r} {target} {told}"
        if key not in _KNOWN:
            _KNOWN[key] = compiled(model, *target, **told)
        return _KNOWN[key]

    monkeypatch.setattr(footprints, "footprint", footprint)


def not_strict(name: str) -> None:
    pytest.fail(f"{name} is no JSON")


def test_layers_and_totals(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    arguments = ["report", str(model), "--target", "cortex-m4"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert not result.stderr
    told = json.loads(CliRunner().invoke(main, [*arguments, "--json"]).stdout)
    lines = result.stdout.splitlines()
    inputs, outputs = told["inputs"], told["outputs"]
    counts = {layer["code"]: layer["estimated_instructions"] for layer in told["layers"]}
    assert [code for code, count in counts.items() if count is None] == ["MAX_POOL_2D"]
    assert told["estimated_instructions"] is None
    estimates = [layer["estimated_instructions"] or 0 for layer in told["layers"]]
    assert lines[-4:] == [
        f"RAM {told['ram']:,} bytes: workspace {told['workspace']:,}, inputs {inputs}, "
        f"outputs {outputs}; with --arena {told['arena_ram']:,}",
        f"flash {told['flash']:,} bytes: constants {told['constant_bytes']:,}, "
        f"code {told['function_bytes']:,}",
        f"{told['macs']:,} MACs, 100% of the file's",
        f"about {sum(estimates):,} instructions by estimate; layers without an estimate: 1",
    ]
    for layer in told["layers"]:
        if layer["macs"]:
            figures = layer["code"], f"{layer['macs']:,}", f"{layer['estimated_instructions']:,}"
            assert any(all(figure in line for figure in figures) for line in lines)
    assert [path.name for path in model.parent.iterdir()] == [model.name]


@pytest.mark.parametrize("target", ["cortex-m4", "x86-avx2", "wasm32"])
def test_json_is_strict_and_its_layers_are_the_total(model: Path, target: str) -> None:
    text = said(main, ["report", str(model), "--target", target, "--json"])
    told = json.loads(text, parse_constant=not_strict)
    layers = told["layers"]
    assert sum(layer["macs"] for layer in layers) == told["macs"]
    if target == "wasm32":
        assert told["flash"] is told["function_bytes"] is None
    else:
        flash = sum(layer["constant_bytes"] + layer["function_bytes"] for layer in layers)
        assert flash + told["shared_bytes"] == told["flash"]
    has_estimates = any(layer["estimated_instructions"] for layer in layers)
    assert has_estimates == (target == "cortex-m4")
    assert max(layer["workspace"] for layer in layers) <= told["workspace"]
    assert told["target"] == str(parse_target(target))


def test_a_hook_is_told_the_names_of_the_report_s_layers(model: Path, tmp_path: Path) -> None:
    arguments = [str(model), "--target", "cortex-m4"]
    told = json.loads(CliRunner().invoke(main, ["report", *arguments, "--json"]).stdout)
    said(main, ["compile", *arguments, "-o", str(tmp_path / "c")])
    source = next(tmp_path.glob("c/*[!n].c")).read_text()
    names = dict(re.findall(r'^  [A-Z_0-9]+_HOOK\((\d+), "(.+)"\);$', source, re.MULTILINE))
    expected = {str(call): layer["name"] for layer in told["layers"] for call in layer["calls"]}
    assert names == expected
    assert len({*names.values()}) > 3


def test_which_channels_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    path = tmp_path / "net.tflite"
    path.write_bytes(Network().content("conv"))
    arguments = ["report", str(path), "--target", "cortex-m4"]
    text = said(main, arguments)
    assert re.search(r"CONV_2D +│ 1×6×6×16 │ +4 │ +11,664 │", text)
    assert "75% of the file's" in text
    told = json.loads(CliRunner().invoke(main, [*arguments, "--json"]).stdout)
    estimates = [layer["estimated_instructions"] for layer in told["layers"]]
    assert sum(estimates) == told["estimated_instructions"]
    last = f"about {sum(estimates):,} instructions by estimate"
    assert text.splitlines()[-1] == last
    assert [4, 5, 9, 12] in [
        channels for layer in told["layers"] for channels in layer["left_out"].values()
    ]


def test_what_runs_in_strips(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    # Each try takes as long as a build; tests/tvm_qnn/standalone/test_ram_limit.py has several.
    monkeypatch.setattr("tvm_qnn.standalone.ram_limit._TRIES", 1)
    arguments = ["report", str(model), "--target", "cortex-m4", "--ram-limit"]
    told = json.loads(CliRunner().invoke(main, [*arguments, "1600", "--json"]).stdout)
    assert told["arena_ram"] <= 1600
    strips = told["strips"]
    assert told["macs"] == told["model_macs"] + strips["repeated_macs"]
    assert told["layers"][0]["code"].startswith("CONV_2D + DEPTHWISE_CONV_2D + ")
    result = CliRunner().invoke(main, [*arguments, "1600"])
    assert strips["rows"] == 1
    assert f"{strips['layers']} layers run in {strips['count']} strips of one row," in result.stdout
    told = json.loads(CliRunner().invoke(main, [*arguments, "1M", "--json"]).stdout)
    assert told["strips"] is None
    assert "the model may take 100 bytes of memory" in refused(main, [*arguments, "100"])


def test_a_target_without_elf_says_that_code_is_not_known(model: Path) -> None:
    assert "code not known" in said(main, ["report", str(model), "--target", "wasm32"])


def test_names_are_shown_as_they_are(hostile: Path) -> None:
    assert SHOWN in said(main, ["report", hostile.name, "--target", "cortex-m4"])


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("x86-avx2,x86-amx", "a report is for one target, got 'x86-avx2,x86-amx'"),
        ("cuda", "a target is a processor"),
        ("cortex-m4 -mfloat-abi=hard", "results would be wrong"),
    ],
)
def test_what_does_not_work_is_one_line(model: Path, target: str, message: str) -> None:
    text = refused(main, ["report", str(model), "--target", target])
    assert message in text
    assert len(text.splitlines()) == 1
