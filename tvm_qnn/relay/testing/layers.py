"""``relay.testing.layers``: layers that make their own parameters."""

from collections.abc import Mapping
from typing import Any

from tvm import relax

from qnn_ops.errors import QnnError
from tvm_qnn.relay import nn, op
from tvm_qnn.relay.expr import spec, var

_KERNELS = {"NCHW": ("OIHW", "OIHW"), "NHWC": ("HWIO", "HWOI")}


def conv_kernel_layout(data_layout: str, is_depthwise: bool = False) -> str:
    """Return the kernel's layout for a layout of the data.

    Raises:
        QnnError: if there is none.
    """
    if data_layout not in _KERNELS:
        raise QnnError(f"conv_kernel_layout: NCHW or NHWC, got {data_layout!r}")
    return _KERNELS[data_layout][is_depthwise]


def conv2d(
    data: relax.Expr, weight: relax.Expr | None = None, *, name: str, **options: Any
) -> relax.Call:
    """Return a convolution; options are those of ``relay.nn.conv2d``."""
    return nn.conv2d(data, weight or _kernel(name, data, options, "OIHW"), **options)


def conv2d_transpose(
    data: relax.Expr, weight: relax.Expr | None = None, *, name: str, **options: Any
) -> relax.Call:
    """Return a transposed convolution; options are those of ``relay.nn.conv2d_transpose``."""
    return nn.conv2d_transpose(data, weight or _kernel(name, data, options, "IOHW"), **options)


def _kernel(name: str, data: relax.Expr, options: Mapping[str, Any], layout: str) -> relax.Var:
    """Return the weights of a convolution.

    ``layout`` is theirs by default. A group has all channels of its first axis, and a share of its
    second.
    """
    of_data, window = spec(name, data), options["kernel_size"]
    channels = of_data.shape[options.get("data_layout", "NCHW").index("C")]
    height, width = (window, window) if isinstance(window, int) else window
    known = {"O": options["channels"], "I": channels, "H": height, "W": width}
    known[layout[1]] //= options.get("groups", 1)
    shape = [known[letter] for letter in options.get("kernel_layout", layout)]
    return var(f"{name}_weight", shape=shape, dtype=of_data.dtype)


def batch_norm_infer(data: relax.Expr, *, name: str, axis: int = 1, **options: Any) -> relax.Expr:
    """Normalize channels; the options are those of ``relay.nn.batch_norm``."""
    of_data = spec(name, data)
    names = ("gamma", "beta", "moving_mean", "moving_var")
    size, dtype = of_data.shape[axis], of_data.dtype
    gamma, beta, mean, variance = (
        var(f"{name}_{each}", shape=(size,), dtype=dtype) for each in names
    )
    return op.field_of(nn.batch_norm(data, gamma, beta, mean, variance, axis, **options), 0)


def bias_of(data: relax.Expr, name: str, axis: int = 1) -> relax.Call:
    """Add a bias with this name."""
    of_data = spec(name, data)
    return nn.bias_add(data, var(name, shape=(of_data.shape[axis],), dtype=of_data.dtype), axis)


def dense(data: relax.Expr, units: int, weight: str) -> relax.Call:
    """Return a dense layer whose weights have this name."""
    of_data = spec(weight, data)
    return nn.dense(data, var(weight, shape=(units, of_data.shape[-1]), dtype=of_data.dtype))


def dense_add_bias(data: relax.Expr, units: int, name: str) -> relax.Call:
    """Return a dense layer with a bias."""
    return bias_of(dense(data, units, f"{name}_weight"), f"{name}_bias", -1)
