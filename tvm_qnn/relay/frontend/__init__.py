"""``relay.frontend``."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import tvm

from qnn_ops.dialect.signature import signature_of, with_signature
from qnn_ops.errors import QnnError

_ALIKE = {"from_mxnet": "frontends.mxnet", "from_tflite": "frontends.tflite"}
"""Importers of this project whose first arguments are Relay's, and their packages."""

__all__ = ["from_onnx", "from_pytorch", *_ALIKE]


def from_onnx(
    model: Any,
    shape: Mapping[str, Sequence[int]] | None = None,
    dtype: Any = "float32",
    opset: int | None = None,
    freeze_params: bool = True,
    convert_config: Any = None,
    export_node_renamed_model_path: Any = None,
) -> tuple[tvm.IRModule, dict[str, tvm.runtime.Tensor]]:
    """Import an ONNX model, as ``tvm_qnn.from_onnx``.

    Args:
        model: a path, the contents of a file or an ``onnx.ModelProto``.
        shape: shapes of inputs by name, if the file leaves them open.
        dtype: has no effect, like the arguments below: the file has the dtypes.
        opset: has no effect: the file has it.
        freeze_params: has no effect: constants are always known when a model is built.
        convert_config: has no effect.
        export_node_renamed_model_path: has no effect.
    """
    del dtype, opset, freeze_params, convert_config, export_node_renamed_model_path
    from frontends.onnx import from_onnx as convert

    return convert(model, shape)


def from_pytorch(
    script_module: Any, input_infos: Any = None, *_options: Any, **_named: Any
) -> tuple[tvm.IRModule, dict[str, tvm.runtime.Tensor]]:
    """Import a PyTorch program, as ``tvm_qnn.from_exported_program``.

    TorchScript, and modules that are quantized in eager mode, become a program by a run on zeros,
    which decides all branches. Their integers are those of PyTorch's engines for x86, as with
    ``X86InductorQuantizer``.

    Args:
        script_module: a module in eval mode, TorchScript or not, or the result of
            ``torch.export.export``.
        input_infos: for a module: ``(name, shape)`` or ``(name, (shape, dtype))`` for each input.

    Raises:
        QnnError: if it is none of these, a shape is missing, or an operator is not imported.
    """
    from frontends.torch import from_exported_program
    from frontends.torch.eager import is_eager, recorded

    if hasattr(script_module, "graph_signature") or isinstance(script_module, (str, bytes, Path)):
        return from_exported_program(script_module)
    torch: Any = sys.modules.get("torch")  # a program with a module has imported it
    if not torch or not isinstance(script_module, torch.nn.Module) or not input_infos:
        raise QnnError(
            f"from_pytorch takes an exported program, got {type(script_module).__name__}; write "
            "torch.export.export(model.eval(), example_inputs) and give its result"
        )
    names = [name for name, _ in input_infos]
    examples = tuple(_example(torch, info) for _, info in input_infos)
    export = recorded if is_eager(script_module) else torch.export.export
    mod, params = from_exported_program(export(script_module, examples))
    known = signature_of(mod)
    inputs = (replace(info, name=name) for info, name in zip(known.inputs, names, strict=True))
    mod["main"] = with_signature(mod["main"], replace(known, inputs=tuple(inputs)))
    return mod, params


def _example(torch: Any, info: Any) -> Any:
    """Return an example of an input from its shape, or from its shape and dtype."""
    is_pair = len(info) == 2 and isinstance(info[1], str)
    shape, dtype = info if is_pair else (info, "float32")
    return torch.zeros(tuple(shape), dtype=getattr(torch, dtype))


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    if name in _ALIKE:
        return getattr(import_module(_ALIKE[name]), name)
    if name.startswith("from_"):
        raise QnnError(
            f"relay.frontend.{name}: convert the model to TFLite or ONNX with its framework's "
            "tools, and use from_tflite or from_onnx"
        )
    raise AttributeError(f"relay.frontend has no {name}")
