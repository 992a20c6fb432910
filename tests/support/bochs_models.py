"""Whole modules on emulated x86 processors: as standalone exports, which need no system."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np
import tvm

from qnn_ops.dialect.signature import signature_of
from tests.support import bochs, programs
from tests.support.bochs import Processor
from tests.support.programs import Case
from tvm_qnn.standalone.export import export_standalone

# The export's function as one that main.c calls.
_TABLE = """\
#include <tvm/ffi/c_api.h>

#include "model.h"

static _Alignas(MODEL_ALIGNMENT) unsigned char workspace[MODEL_WORKSPACE_SIZE];

static int run(void *self, const TVMFFIAny *args, int32_t count, TVMFFIAny *result) {
  const void *inputs[MODEL_INPUTS];
  void *outputs[1];
  if (MODEL_OUTPUTS != 1 || count != MODEL_INPUTS + 1) return 1;
  for (int i = 0; i < MODEL_INPUTS; i++) inputs[i] = ((DLTensor *)args[i].v_ptr)->data;
  outputs[0] = ((DLTensor *)args[MODEL_INPUTS].v_ptr)->data;
  return model_run(inputs, outputs, workspace);
}

int (*const functions[])(void *, const TVMFFIAny *, int32_t, TVMFFIAny *) = {run};
"""


def _write_parts(
    folder: Path, path: Path, code: str, symbol: str, constants: bytes, alignment: int
) -> None:
    """Write code and constants of an export in files that the emulator's compiler takes."""
    path.write_bytes(b"")  # the object, which is read, but not used
    source = folder / "functions.ll"
    source.write_text(code)
    bochs.write_assembly(tvm.runtime.load_module(str(source)), folder)
    weights = folder / "weights.bin"
    weights.write_bytes(constants)
    (folder / "weights.s").write_text(
        f'.section .rodata\n.globl {symbol}\n.balign {alignment}\n{symbol}: .incbin "{weights}"\n'
    )


def run_module(processor: Processor, mod: tvm.IRModule, inputs: Sequence[np.ndarray]) -> np.ndarray:
    """Compile a lowered module of one output for a processor, and run it there once."""
    signature = signature_of(mod)
    (info,) = signature.outputs
    target = tvm.target.Target(processor.target)
    with TemporaryDirectory(prefix="tvm-qnn-bochs-") as name:
        folder = Path(name)
        with patch("tvm_qnn.standalone.export.write_object", partial(_write_parts, folder)):
            export_standalone(mod, signature, target, folder / "model")
        (folder / "table.c").write_text(_TABLE)
        names = ("table.c", "model.c", "functions.s", "weights.s")
        program = bochs.link([folder / name for name in names], folder)
        case = Case(None, inputs, info.shape, info.dtype)
        run = partial(bochs.run_program, processor)
        return programs.run_calls([(0, case)], program, run)[0]
