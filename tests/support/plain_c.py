"""Models as plain C, compiled and run on this machine."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm

from tests.support.standalone import check_call, run_example
from tvm_qnn.build import lower_model
from tvm_qnn.standalone.export import export_standalone
from tvm_qnn.target.target import parse_target

WARNINGS = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror")
SANITIZERS = ("-fsanitize=undefined,address", "-fno-sanitize-recover=all")

needs_gcc = pytest.mark.skipif(not shutil.which("gcc"), reason="no C compiler gcc on the path")


def run_plain_c(
    mod: tvm.IRModule,
    params: Mapping[str, Any],
    inputs: Mapping[str, np.ndarray] | Sequence[np.ndarray],
    folder: Path,
    *options: str,
    arena: bool = False,
) -> list[np.ndarray]:
    """Export a model as plain C, compile it with every warning an error, and run it once.

    Args:
        mod: as ``build`` takes it.
        params: its constants.
        inputs: by name, or in order.
        folder: for the files.
        options: of gcc, beside the warnings.
        arena: whether inputs and outputs lie in the workspace.

    Returns:
        The outputs, in order.
    """
    target = parse_target("c")
    lowered, signature = lower_model(mod, target, params)
    export_standalone(lowered, signature, target, folder / "model", arena=arena)
    for name in ("model.c", "model_weights.c"):
        check_call(["gcc", *WARNINGS, *options, "-c", "-o", folder / f"{name}.o", folder / name])
    objects = [folder / f"{name}.o" for name in ("model.c", "model_weights.c")]
    main, program = folder / "model_main.c", folder / "program"
    check_call(["gcc", *options, "-o", program, main, *objects, "-lm"])
    given = [
        inputs[info.name] if isinstance(inputs, Mapping) else inputs[number]
        for number, info in enumerate(signature.inputs)
    ]
    return run_example([program], signature, [given], folder)[0]
