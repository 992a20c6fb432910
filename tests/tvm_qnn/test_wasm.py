from pathlib import Path

import pytest

from tests.support.wasm import link, needs_wasm, run
from tvm_qnn import digits, from_tflite
from tvm_qnn.build import export_c

_SCRIPT = """\
import { readFileSync } from "node:fs";
import { WASI } from "node:wasi";
const wasi = new WASI({ version: "preview1" });
const module = await WebAssembly.compile(readFileSync("test.wasm"));
process.exit(wasi.start(await WebAssembly.instantiate(module, wasi.getImportObject())));
"""


@needs_wasm
@pytest.mark.parametrize("style", digits.STYLES)
def test_the_integers_are_those_of_this_machine(style: str, tmp_path: Path) -> None:
    mod, params = from_tflite(digits.model(style))
    export_c(mod, "wasm32", params, tmp_path / "m", test_vectors=5)
    link(tmp_path / "test.wasm", *(tmp_path / f"m{end}" for end in ("_test.c", ".c", ".o")))
    assert run(_SCRIPT, tmp_path).startswith("5 vectors: every byte")
