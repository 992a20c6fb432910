"""``relay.frontend``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tvm

import frontends.tflite


def from_tflite(
    model: Any,
    shape_dict: Mapping[str, Sequence[int]] | None = None,
    dtype_dict: Mapping[str, str] | None = None,
) -> tuple[tvm.IRModule, dict[str, tvm.runtime.Tensor]]:
    """Import a TFLite model: ``tvm_qnn.from_tflite``, whose first arguments were Relay's."""
    return frontends.tflite.from_tflite(model, shape_dict, dtype_dict)


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
