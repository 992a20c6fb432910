import re
from pathlib import Path

import pytest

from frontends.formats import read_model
from tests.frontends.tflite.converters.test_variables import ring
from tests.legalize.passes.test_drop_constant_channels import _SIZE, Network
from tvm_qnn import digits, from_tflite
from tvm_qnn.build import export_c
from tvm_qnn.footprint.footprint import Footprint, footprint
from tvm_qnn.standalone.symbols import loaded_sections

TARGETS = ("cortex-m4", "x86-avx2")

PIXELS = _SIZE * _SIZE


@pytest.fixture(scope="module", params=TARGETS)
def found(request: pytest.FixtureRequest) -> tuple[str, Footprint]:
    return request.param, footprint(digits.model("int8"), request.param)


def exported(content: bytes, target: str, folder: Path, *, arena: bool = False) -> dict[str, int]:
    """Export a model as C files; return the numbers in its header."""
    mod, params = from_tflite(content)
    export_c(mod, target, params, folder / "m", arena=arena)
    lines = (folder / "m.h").read_text().splitlines()
    words = [line.split() for line in lines if line.startswith("#define M_")]
    return {name: int(rest[0]) for _, name, *rest in words if rest and rest[0].isdecimal()}


def test_memory_is_the_header_s(found: tuple[str, Footprint], tmp_path: Path) -> None:
    target, told = found
    content = digits.model("int8")
    beside = exported(content, target, tmp_path)
    assert told.workspace == beside["M_WORKSPACE_SIZE"]
    assert told.inputs == beside["M_INPUT_0_SIZE"]
    assert told.outputs == beside["M_OUTPUT_0_SIZE"]
    assert told.ram == sum(
        beside[f"M_{name}_SIZE"] for name in ("WORKSPACE", "INPUT_0", "OUTPUT_0")
    )
    over = exported(content, target, tmp_path, arena=True)
    assert told.arena_ram == told.arena_workspace == over["M_WORKSPACE_SIZE"]


def test_flash_is_the_object_file_s(found: tuple[str, Footprint], tmp_path: Path) -> None:
    target, told = found
    exported(digits.model("int8"), target, tmp_path)
    sections = loaded_sections((tmp_path / "m.o").read_bytes())
    assert sections is not None
    assert told.flash == sum(sections.values())
    functions = re.findall(r"^extern void (m_\w+)\(", (tmp_path / "m.c").read_text(), re.MULTILINE)
    code = sum(sections[f".text.{name}"] for name in functions)
    assert sum(layer.function_bytes or 0 for layer in told.layers) == code > 0


def test_the_sum_of_the_layers_is_the_total(found: tuple[str, Footprint]) -> None:
    _, told = found
    flash = [layer.constant_bytes + (layer.function_bytes or 0) for layer in told.layers]
    assert sum(flash) + told.shared_bytes == told.flash
    assert told.shared_bytes >= 0
    assert sum(layer.macs for layer in told.layers) == told.macs == told.model_macs
    used = [layer.workspace for layer in told.layers]
    assert 0 < max(used) <= told.workspace


def test_each_operator_with_products_has_a_layer() -> None:
    content = digits.model("int8")
    told = footprint(content, "cortex-m4")
    expected = {
        operator.name: (operator.macs, operator.outputs[0].shape)
        for operator in read_model(content).summary("").operators
        if operator.macs
    }
    layers = [layer for layer in told.layers if layer.macs]
    assert {layer.name: (layer.macs, layer.shape) for layer in layers} == expected
    assert all(layer.constant_bytes and layer.function_bytes for layer in layers)
    told = footprint(digits.model("int8"), "wasm32")
    assert told.function_bytes is told.flash is None
    assert {layer.function_bytes for layer in told.layers} == {None}
    constants = sum(layer.constant_bytes for layer in told.layers)
    assert constants + told.shared_bytes == told.constant_bytes > 0
    assert told.macs == told.model_macs


@pytest.mark.parametrize(
    ("reader", "products"),
    [("conv", [12 * 27, 7 * 9 * 12]), ("depthwise", [12 * 27, 9 * 12, 7 * 12])],
)
def test_channels_that_are_left_out_take_no_products(reader: str, products: list[int]) -> None:
    told = footprint(Network().content(reader), "cortex-m4")
    layers = [layer for layer in told.layers if layer.macs]
    assert [layer.macs for layer in layers] == [PIXELS * count for count in products]
    for layer in layers[:-1]:
        assert layer.left_out == {layer.name: (4, 5, 9, 12)}
    assert layers[-1].left_out == {}
    assert told.macs < told.model_macs


def test_what_a_model_keeps_is_memory_and_its_first_values_are_flash(tmp_path: Path) -> None:
    content = ring()
    told = footprint(content, "cortex-m4")
    header = exported(content, "cortex-m4", tmp_path)
    assert told.states == header["M_STATE_SIZE"] > 0
    assert told.ram == told.workspace + told.inputs + told.outputs + told.states
    assert told.shared_bytes >= told.states // 2
