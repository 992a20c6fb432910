"""A layer with weights of few bits in ggml's kernels, from the package llama-cpp-python."""

import ctypes
from collections.abc import Callable
from functools import cache
from importlib import util
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.base import Array

DISTRIBUTION = "llama-cpp-python"
"""The package's name on PyPI."""

_TYPES = {4: 2, 8: 8}
"""Q4_0 and Q8_0: 32 weights share a scale. The kernels round data to 8 bits."""
_PACKED = 4
"""The bits of weights for which ggml has such a layout on x86."""
_BLOCK = 32
_BLOCK_BYTES = {4: 18, 8: 34}
_FLOAT32 = 0
_GRAPH_BYTES = 1 << 20


class _Parameters(ctypes.Structure):
    _fields_ = [
        ("mem_size", ctypes.c_size_t),
        ("mem_buffer", ctypes.c_void_p),
        ("no_alloc", ctypes.c_bool),
    ]


def is_there() -> bool:
    """Tell whether the package is installed."""
    return util.find_spec("llama_cpp") is not None


def product(weights: Array, bits: int, data: Array) -> Callable[[], Array]:
    """Return a function that multiplies data with weights, on one thread.

    Args:
        weights: float32 [units, depth]; ggml quantizes them.
        bits: 4 or 8.
        data: float32 [rows, depth].

    Returns:
        A function that returns float32 [rows, units]; its next call overwrites them.
    """
    units, depth = weights.shape
    constant, variable = (_call("ggml_init", _Parameters(_GRAPH_BYTES, None, True)) for _ in "ab")
    packed = _call("ggml_new_tensor_2d", constant, _TYPES[bits], _long(depth), _long(units))
    operand = _call("ggml_new_tensor_2d", variable, _FLOAT32, _long(depth), _long(len(data)))
    result = _call("ggml_mul_mat", variable, packed, operand)
    plain = _call("ggml_backend_cpu_buffer_type")
    packing = _packing() if bits == _PACKED else plain
    _call("ggml_backend_alloc_ctx_tensors_from_buft", constant, packing)
    _call("ggml_backend_alloc_ctx_tensors_from_buft", variable, plain)

    blocks = np.empty(units * depth // _BLOCK * _BLOCK_BYTES[bits], np.uint8)
    sizes = (_long(0), _long(units), _long(depth), None)
    _call("ggml_quantize_chunk", _TYPES[bits], _pointer(weights), _pointer(blocks), *sizes)
    for tensor, values in ((packed, blocks), (operand, data)):
        _call("ggml_backend_tensor_set", tensor, _pointer(values), *_range(values))

    graph = _call("ggml_new_graph", variable)
    _call("ggml_build_forward_expand", graph, result)
    backend = _call("ggml_backend_cpu_init")
    _call("ggml_backend_cpu_set_n_threads", backend, 1)
    output = np.empty((len(data), units), np.float32)
    if failed := _call("ggml_backend_graph_compute", backend, graph).value:
        raise RuntimeError(f"ggml does not compute this layer: status {failed}")

    def run() -> Array:
        _call("ggml_backend_graph_compute", backend, graph)
        _call("ggml_backend_tensor_get", result, _pointer(output), *_range(output))
        return output

    return run


@cache
def _packing() -> ctypes.c_void_p:
    """Return ggml's buffer type that lays out weights for this processor; otherwise the plain."""
    registry = _call("ggml_backend_cpu_reg")
    name = b"ggml_backend_dev_get_extra_bufts"
    get_kinds = _call("ggml_backend_reg_get_proc_address", registry, name).value
    device = _call("ggml_backend_reg_dev_get", registry, _long(0))
    assert get_kinds is not None
    kinds = ctypes.CFUNCTYPE(ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p)(get_kinds)(device)
    for kind in kinds:  # a null pointer ends them
        if kind is None:
            break
        named = _call("ggml_backend_buft_name", ctypes.c_void_p(kind))
        if ctypes.string_at(named) == b"CPU_REPACK":
            return ctypes.c_void_p(kind)
    return _call("ggml_backend_cpu_buffer_type")


def _call(name: str, *arguments: Any) -> ctypes.c_void_p:
    """Call a function of ggml; a result that is no pointer is its value."""
    function = getattr(_library(), name)
    function.restype = ctypes.c_void_p
    return ctypes.c_void_p(function(*arguments))


_long = ctypes.c_int64


def _range(values: Array) -> tuple[ctypes.c_size_t, ctypes.c_size_t]:
    return ctypes.c_size_t(0), ctypes.c_size_t(values.nbytes)


def _pointer(values: Array) -> ctypes.c_void_p:
    return values.ctypes.data_as(ctypes.c_void_p)


@cache
def _library() -> Any:
    """Return ggml's functions, which the package's libraries export together."""
    spec = util.find_spec("llama_cpp")
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent / "lib"
    loaded = [
        ctypes.CDLL(str(folder / f"lib{name}.so"), ctypes.RTLD_GLOBAL)
        for name in ("ggml-base", "ggml-cpu", "ggml")
    ]
    return loaded[-1]
