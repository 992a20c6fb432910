"""``relay.frontend``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import tflite
import tvm
from tvm.relax.frontend import tflite as relax_tflite

import frontends.tflite
from frontends.tflite.reader import read_model


def from_tflite(
    model: Any,
    shape_dict: Mapping[str, Sequence[int]] | None = None,
    dtype_dict: Mapping[str, str] | None = None,
) -> tuple[tvm.IRModule, dict[str, tvm.runtime.Tensor]]:
    """Import a TFLite model.

    A model with quantized tensors becomes integer operators (``tvm_qnn.from_tflite``). One that
    has none goes through TVM's own importer.

    Args:
        model: a ``tflite.Model``, the file's bytes or its path.
        shape_dict: shapes of inputs by name.
        dtype_dict: dtypes of inputs by name.

    Returns:
        The module and its parameters, by name.

    Raises:
        QnnError: as ``tvm_qnn.from_tflite``.
    """
    graph = read_model(model)
    if any(tensor.quantization is not None for tensor in graph.tensors):
        return frontends.tflite.from_tflite(graph, shape_dict, dtype_dict)
    if isinstance(model, (str, os.PathLike)):
        with open(model, "rb") as file:
            model = file.read()
    if isinstance(model, (bytes, bytearray)):
        model = tflite.Model.GetRootAs(model)
    return relax_tflite.from_tflite(model, shape_dict, dtype_dict), {}


def from_mxnet(
    symbol: Any,
    shape: Any = None,
    dtype: Any = "float32",
    arg_params: Mapping[str, Any] | None = None,
    aux_params: Mapping[str, Any] | None = None,
) -> tuple[tvm.IRModule, dict[str, tvm.runtime.Tensor]]:
    """Import an MXNet model: ``tvm_qnn.from_mxnet``, whose arguments were Relay's."""
    from frontends.mxnet import from_mxnet as convert

    return convert(symbol, shape, dtype, arg_params, aux_params)
