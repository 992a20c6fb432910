"""Converts networks of PyTorch's quantized eager mode, and TorchScript, to exported programs.

A run on an example is recorded, operator by operator. A quantized tensor becomes its integers. An
operator on quantized tensors becomes the operator on real numbers, between a dequantize and a
quantize, as ``convert_pt2e`` writes it.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Any

from frontends.errors import UnsupportedError
from frontends.torch.package import torch_package

_MOVING = {
    *("view", "_unsafe_view", "reshape", "_reshape_alias", "flatten", "squeeze", "unsqueeze"),
    *("transpose", "permute", "slice", "select", "expand", "alias", "detach", "clone"),
}
"""Operators that move values: for quantized tensors they move the integers."""

_COPIES = {"alias", "detach", "clone", "contiguous"}

_RENAMED = {
    "_adaptive_avg_pool2d": "adaptive_avg_pool2d",
    "_convolution": "convolution",
    "native_batch_norm": "_native_batch_norm_legit_no_training",
    "quantized_max_pool2d": "max_pool2d",
}

_RESIZES = {"upsample_bilinear2d", "upsample_nearest2d"}

_ARGUMENTS = {
    "_native_batch_norm_legit_no_training": (0, 1, 2, 3, 4, 6, 7),
    "convolution": range(9),
}
"""The arguments of operators that get another name."""

_POOLS = {"_adaptive_avg_pool2d", "avg_pool2d"}
"""Averages: their ties depend on the step that adds the zero point."""

_UNARY = {
    "hardswish": ("hardswish", 1),
    "leaky_relu": ("leaky_relu", 2),
    "relu6": ("relu6", 1),
    "sigmoid": ("sigmoid", 1),
    "softmax": ("softmax.int", 2),
}
"""For each quantized operator: the operator on real numbers, and the number of its arguments."""

_BINARY = {"add": "add.Tensor", "mul": "mul.Tensor"}
_BINARY |= {f"{name}_scalar": code for name, code in _BINARY.items()}
_RELU = "_relu"


def is_eager(model: Any) -> bool:
    """Tell whether a module is TorchScript, or has layers that are quantized in eager mode."""
    import torch

    if isinstance(model, torch.jit.ScriptModule):
        return True
    return any(".quantized" in type(each).__module__ for each in model.modules())


def recorded(model: Any, examples: Sequence[Any]) -> Any:
    """Return a program that computes what a module does with inputs of the examples' shapes.

    Args:
        model: a module in eval mode, TorchScript or not.
        examples: a tensor for each input.

    Raises:
        UnsupportedError: it has operators on quantized tensors that are not imported.
    """
    torch = torch_package()
    from torch.utils._python_dispatch import TorchDispatchMode

    calls = []

    class Mode(TorchDispatchMode):
        """Keeps every operator of a run."""

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            result = func(*args, **(kwargs or {}))
            calls.append((func, args, kwargs or {}, result))
            return result

    with torch.no_grad(), torch.jit.optimized_execution(False), Mode():
        result = model(*examples)
    recorder = _Recorder(torch, examples)
    for call in calls:
        recorder.note(*call)
    return torch.export.export(recorder.module(result), tuple(examples))


class _Recorder:
    """Writes the graph of the operators that depend on a run's inputs."""

    def __init__(self, torch: Any, examples: Sequence[Any]) -> None:
        self.torch, self.aten = torch, torch.ops.aten
        self.graph, self.root = torch.fx.Graph(), torch.nn.Module()
        self.nodes: dict[int, Any] = {}
        self.kept: list[Any] = []  # so that no other tensor takes their identity
        for index, example in enumerate(examples):
            self._keep(example, self.graph.placeholder(f"input_{index}"))

    def note(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        """Record a call, if it depends on an input."""
        tensors = [each for each in _flat((args, kwargs)) if self._is_tensor(each)]
        if not any(id(each) in self.nodes for each in tensors):
            return  # its result is a constant
        family, _, name = func._schema.name.partition("::")
        if name == "_local_scalar_dense":
            raise UnsupportedError("a number of the program is read from a tensor")
        if func._schema.is_mutable:
            name, func = self._functional(name, args)
        if family == "quantized":
            self._store(result, self._quantized(name, args))
        elif name == "dequantize":
            self._store(result, self._real(args[0]))
        elif name == "quantize_per_tensor":
            self._keep(result, self._quantize(args[0], result))
        elif any(each.is_quantized for each in tensors) and name in _MOVING:
            node = self._node(args[0])
            moved = node if name in _COPIES else self._call(func, node, *args[1:], **kwargs)
            self._keep(result, moved)
        elif name in _POOLS and args[0].is_quantized:
            self._keep(result, self._average(name, args))
        else:
            self._plain(name, func, args, kwargs, result)

    def module(self, result: Any) -> Any:
        """Return the graph as a module that returns a run's result."""
        results = tuple(map(self._real, _flat(result)))
        self.graph.output(results[0] if self._is_tensor(result) else results)
        self.graph.eliminate_dead_code()
        return self.torch.fx.GraphModule(self.root, self.graph)

    def _plain(self, name: str, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        if name in _RENAMED:
            name = _RENAMED[name]
            args = [args[i] for i in _ARGUMENTS.get(name, range(len(args)))]
            func = getattr(self.aten, name).default
        elif name in _RESIZES:
            func, args = getattr(self.aten, name).vec, _resize_arguments(args)
        node = self._call(func, *_mapped(args, self._value), **_mapped(kwargs, self._value))
        if self._is_tensor(result):
            self._store(result, node)
        else:
            for index, each in enumerate(_flat(result)):
                self._store(each, self.graph.call_function(operator.getitem, (node, index)))

    def _quantize(self, data: Any, result: Any) -> Any:
        """Return the integers of real numbers: fma(x, 1 / scale, zero point), to the nearest even.

        One rounding to float32 may turn numbers beside a tie into the tie. In float64 the product
        is exact.
        """
        scale, point, low, high, dtype = self._encoding(result)
        one = self.torch.tensor(1, dtype=self.torch.float32)
        float64 = self.torch.float64
        value = self._apply("_to_copy", self._real(data), dtype=float64)
        value = self._apply("mul.Scalar", value, (one / scale).item())
        value = self._apply("add.Scalar", value, point)
        value = self._apply("_to_copy", value, dtype=self.torch.float32)
        value = self._apply("round", value)
        return self._bounded(value, low, high, dtype)

    def _bounded(self, value: Any, low: int, high: int, dtype: Any) -> Any:
        """Return whole numbers as integers of a type, between two bounds."""
        return self._apply("_to_copy", self._apply("clamp", value, low, high), dtype=dtype)

    def _average(self, name: str, args: Any) -> Any:
        """Return the integers of averages: one step is 1, and a tie goes to an even number.

        PyTorch adds the zero point before it rounds, except for some images of channels last.
        """
        data, (_, point, low, high, dtype) = args[0], self._encoding(args[0])
        value = self._apply(_RENAMED.get(name, name), self._steps(data), *args[1:])
        is_last = data.is_contiguous(memory_format=self.torch.channels_last)
        if is_last and not data.is_contiguous() and name == "avg_pool2d":
            value = self._apply("add.Scalar", self._apply("round", value), point)
        else:
            value = self._apply("round", self._apply("add.Scalar", value, point))
        return self._bounded(value, low, high, dtype)

    def _functional(self, name: str, args: Any) -> tuple[str, Any]:
        """Return the operator that does not write to its operand."""
        name = name.removesuffix("_")
        known = getattr(self.aten, name, None)
        storage = args[0].untyped_storage().data_ptr()
        shared = [each for each in self.kept if each.untyped_storage().data_ptr() == storage]
        if known is None or len({id(each) for each in shared}) > 1:
            raise UnsupportedError(f"{name}_ writes to a part of a tensor")
        overload = "Tensor" if "Tensor" in known.overloads() else "default"
        return name, getattr(known, overload)

    def _quantized(self, name: str, args: Any) -> Any:
        """Return the real numbers of a quantized operator's result."""
        stem = name.removesuffix(_RELU)
        if stem in ("conv2d", "linear"):
            made = self._product(stem, args[0], args[1])
        elif name == "conv_transpose2d":
            return self._transposed(args[0], args[1])
        elif stem in _BINARY:
            made = self._apply(_BINARY[stem], *map(self._value, args[:2]))
        elif name == "cat":
            made = self._apply("cat", list(map(self._real, args[0])), args[1])
        elif name in _UNARY:
            code, count = _UNARY[name]
            return self._apply(code, self._real(args[0]), *args[1:count])
        else:
            raise UnsupportedError(f"quantized::{name} is not imported")
        return self._apply("relu", made) if stem != name else made

    def _product(self, name: str, data: Any, packed: Any) -> Any:
        """Return a convolution or a dense layer of packed weights, one scale for each channel."""
        ops, torch = self.torch.ops.quantized, self.torch
        weights, bias = getattr(ops, f"{name}_unpack")(packed)
        channels = weights.shape[0]
        if weights.qscheme() == torch.per_tensor_affine:
            scales = torch.full((channels,), weights.q_scale(), dtype=torch.float64)
            points = torch.full((channels,), weights.q_zero_point())
        else:
            scales, points = weights.q_per_channel_scales(), weights.q_per_channel_zero_points()
        parts = (weights.int_repr(), scales.float(), points.long())
        settings = (0, -128, 127, torch.int8)
        widen = torch.ops.quantized_decomposed.dequantize_per_channel.default
        kernel = self._call(widen, *map(self._constant, parts), *settings)
        operands = [self._real(data), kernel, None if bias is None else self._constant(bias)]
        if name == "linear":
            return self._apply("linear", *operands)
        window = [
            list(getattr(ops, f"conv2d_{each}")(packed))
            for each in ("stride", "padding", "dilation")
        ]
        groups = ops.conv2d_groups(packed)
        return self._apply("conv2d", *operands, *window, groups)

    def _transposed(self, data: Any, packed: Any) -> Any:
        """Return a transposed convolution: exact sums, if they are below 2 ** 24, and a bias."""
        ops, torch = self.torch.ops.quantized, self.torch
        weights, bias = ops.conv_transpose2d_unpack(packed)
        if weights.qscheme() != torch.per_tensor_affine or weights.q_zero_point():
            raise UnsupportedError(
                "quantized::conv_transpose2d takes symmetric weights of one scale"
            )
        names = ("stride", "padding", "output_padding", "groups", "dilation")
        window = [getattr(ops, f"conv_transpose2d_{each}")(packed) for each in names]
        kernel = self._constant(weights.int_repr().float())
        window = [each if isinstance(each, int) else list(each) for each in window]
        sums = self._apply("conv_transpose2d.input", self._steps(data), kernel, None, *window)
        factor = torch.tensor(data.q_scale()).float() * weights.q_scale()
        real = self._apply("mul.Tensor", sums, self._constant(factor))
        if bias is None:
            return real
        return self._apply("add.Tensor", real, self._constant(bias.reshape(-1, 1, 1)))

    def _steps(self, data: Any) -> Any:
        """Return the distances of a quantized tensor's values from 0, in steps."""
        real = self._apply("_to_copy", self._node(data), dtype=self.torch.float32)
        return self._apply("sub.Scalar", real, data.q_zero_point())

    def _store(self, tensor: Any, node: Any) -> None:
        """Store the node that computes a tensor's real numbers."""
        if self._is_tensor(tensor) and tensor.is_quantized:
            quantize = self.torch.ops.quantized_decomposed.quantize_per_tensor.default
            node = self._call(quantize, node, *self._encoding(tensor))
        self._keep(tensor, node)

    def _real(self, tensor: Any) -> Any:
        """Return the node of a tensor's real numbers."""
        if id(tensor) not in self.nodes:
            return self._constant(tensor.dequantize() if tensor.is_quantized else tensor)
        node = self.nodes[id(tensor)]
        if not tensor.is_quantized:
            return node
        widen = self.torch.ops.quantized_decomposed.dequantize_per_tensor.default
        return self._call(widen, node, *self._encoding(tensor))

    def _encoding(self, tensor: Any) -> tuple[Any, ...]:
        """Return scale, zero point, bounds and dtype of a quantized tensor's integers."""
        dtypes = {self.torch.quint8: self.torch.uint8, self.torch.qint8: self.torch.int8}
        if tensor.dtype not in dtypes or tensor.qscheme() != self.torch.per_tensor_affine:
            raise UnsupportedError("activations are quint8 or qint8, with one scale a tensor")
        dtype = dtypes[tensor.dtype]
        info = self.torch.iinfo(dtype)
        scale = self.torch.tensor(tensor.q_scale(), dtype=self.torch.float32).item()
        return scale, tensor.q_zero_point(), info.min, info.max, dtype

    def _value(self, value: Any) -> Any:
        return self._real(value) if self._is_tensor(value) else value

    def _constant(self, tensor: Any) -> Any:
        name = f"constant_{len(list(self.root.buffers()))}"
        self.root.register_buffer(name, tensor.detach().clone())
        return self.graph.get_attr(name)

    def _keep(self, tensor: Any, node: Any) -> None:
        self.kept.append(tensor)
        self.nodes[id(tensor)] = node

    def _node(self, tensor: Any) -> Any:
        return self.nodes[id(tensor)]

    def _apply(self, code: str, *args: Any, **kwargs: Any) -> Any:
        """Return a call of an operator on real numbers; its overload is "default" if not named."""
        name, _, overload = code.partition(".")
        return self._call(getattr(getattr(self.aten, name), overload or "default"), *args, **kwargs)

    def _call(self, func: Any, *args: Any, **kwargs: Any) -> Any:
        return self.graph.call_function(func, args, kwargs)

    def _is_tensor(self, value: Any) -> bool:
        return isinstance(value, self.torch.Tensor)


def _resize_arguments(args: Any) -> list[Any]:
    """Return the arguments of a resize's other form, which takes a size or factors, not both."""
    data, size, *others, tall, wide = args
    factors = [tall, wide] if tall and wide else None
    return [data, None if factors else size, *others, factors]


def _flat(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return _flat([*value.values()])
    if isinstance(value, list | tuple):
        return [each for part in value for each in _flat(part)]
    return [value]


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, dict):
        return {key: _mapped(each, change) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_mapped(each, change) for each in value)
    return change(value)
