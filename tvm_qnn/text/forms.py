"""The forms of language models that a decoder accepts, and the step that is compiled from them.

A step reads the past from buffers of a fixed size. It returns the keys and values of its own tokens
only, and the decoder writes them into the buffers. The past is never copied.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from frontends.onnx.read.constants import with_values
from frontends.onnx.read.names import copied, onnx_package
from frontends.onnx.read.reader import read_proto
from frontends.onnx.replacements.group_queries import STEP
from qnn_ops.errors import QnnError
from tvm_qnn.text.names import COLUMNS, IDS, MASK, NEW, PLACES

_PAST = re.compile(r"past_key_values\.(\d+)\.(key|value)")
_BRANCH = "use_cache_branch"
"""Optimum's input that says whether there is a past."""
_GROUPS = "GroupQueryAttention"
_ATTENTIONS = ("Attention", "MultiHeadAttention")
"""Operators that append new tokens to past keys and values, and return both together."""
_DYNAMIC = ("DynamicQuantizeLinear", "DynamicQuantizeMatMul")
_DEFAULT_LENGTH = 512
_END, _INT64 = (1 << 63) - 1, 7
"""The end of an axis in a Slice, and ONNX's number of int64."""


@dataclass(frozen=True)
class Form:
    """The file of a model, as a decoder needs it.

    Attributes:
        proto: the model; inputs that do not change from run to run are constants.
        pasts: shapes of the past's keys and values by name, with 0 as the number of tokens.
        places: the most tokens for which the file has positions, if it states this.
    """

    proto: Any
    pasts: Mapping[str, tuple[int, ...]]
    places: int | None

    @property
    def begins(self) -> bool:
        """Whether a step can begin a text without reading a past."""
        return any(node.op_type == _GROUPS for node in self.proto.graph.node)

    @property
    def is_whole(self) -> bool:
        """Whether a step needs all of its tokens.

        It does if data is quantized at run time, with one scale for all tokens of a step.
        """
        return any(node.op_type in _DYNAMIC for node in self.proto.graph.node)

    def length(self, most: int | None) -> int:
        """Return the most tokens of a text.

        Args:
            most: the wanted number; None for 512, or for the file's number of positions if it is
                less.

        Raises:
            QnnError: if it is below 1, or the file has fewer positions.
        """
        if most is None:
            return min(_DEFAULT_LENGTH, self.places or _DEFAULT_LENGTH)
        if most < 1 or (self.places is not None and most > self.places):
            bounds = "at least 1" if self.places is None else f"1 to {self.places}"
            raise QnnError(f"decoder: max_length is {bounds} for this model, got {most}")
        return most

    def step(self, tokens: int, length: int) -> tuple[Any, dict[str, tuple[int, ...]]]:
        """Return the model of a step, and the shapes of its inputs.

        Args:
            tokens: the tokens that it takes.
            length: the size of the past's buffers; 0 for a step that begins a text.

        Raises:
            QnnError: if a result is not the past followed by new tokens.
        """
        proto = copied(self.proto)
        graph = proto.graph
        names = {value.name for value in graph.input}
        known: dict[str, tuple[int, ...]] = {
            IDS: (1, tokens),
            MASK: (1, length + tokens),
            PLACES: (1, tokens),
        }
        shapes = {name: shape for name, shape in known.items() if name in names}
        renamed = _write_rows(graph, tokens, has_past=bool(length))
        if not length:
            others = [value for value in graph.input if value.name not in self.pasts]
            del graph.input[:]
            graph.input.extend(others)
        for value in graph.input:
            if value.name not in self.pasts:
                continue
            batch, heads, _, width = self.pasts[value.name]
            name = value.name = renamed.get(value.name, value.name)
            is_column = name.endswith(COLUMNS)
            shapes[name] = (batch, heads, *((width, length) if is_column else (length, width)))
            value.type.tensor_type.ClearField("shape")
            for size in shapes[name]:
                value.type.tensor_type.shape.dim.add(dim_value=size)
        return proto, shapes


def read_form(model: Any) -> Form:
    """Read a model's file.

    Args:
        model: as ``from_onnx`` takes it.

    Raises:
        QnnError: if it is not a language model of a known form; the message names missing and
            unknown inputs.
        ModelFormatError: it is malformed.
        OSError: the file cannot be read.
    """
    proto = read_proto(model)
    graph = proto.graph
    if any(value.name == _BRANCH for value in graph.input):
        proto = with_values(proto, {_BRANCH: True})
        graph = proto.graph
    constants = {tensor.name for tensor in graph.initializer}
    values = {value.name: value for value in graph.input if value.name not in constants}
    pasts = {name: _sizes(value) for name, value in values.items() if _PAST.fullmatch(name)}
    has_groups = any(node.op_type == _GROUPS for node in graph.node)
    _check(set(values), set(pasts), {value.name for value in graph.output}, has_groups=has_groups)
    return Form(proto, pasts, _places(graph))


def _check(inputs: set[str], pasts: set[str], outputs: set[str], *, has_groups: bool) -> None:
    """Raise one error that names the missing inputs and outputs, and the unknown inputs."""
    layers = {int(found[1]) for found in map(_PAST.fullmatch, pasts) if found} or {0}
    kept = {f"{layer}.{kind}" for layer in range(max(layers) + 1) for kind in ("key", "value")}
    needed = {IDS, *([MASK] if has_groups else []), *(f"past_key_values.{each}" for each in kept)}
    told = [
        ("inputs that are missing", needed - inputs),
        ("inputs that are unknown", inputs - needed - {MASK, PLACES}),
        ("outputs that are missing", {"logits", *(f"present.{each}" for each in kept)} - outputs),
    ]
    if faults := [f"{text}: {', '.join(sorted(names))}" for text, names in told if names]:
        raise QnnError(f"decoder: this model has {'; '.join(faults)}")


def _sizes(value: Any) -> tuple[int, ...]:
    """Return the sizes of keys or values, [1, heads, 0, width]."""
    sizes = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
    kind = onnx_package().TensorProto
    if len(sizes) != 4 or not sizes[1] or not sizes[3] or sizes[0] > 1:
        raise QnnError(
            f"decoder: input {value.name!r} needs the shape (batch, heads, past, width) with heads "
            f"and width as numbers, and a batch that is open or 1, got {tuple(sizes)} (0: open)"
        )
    if value.type.tensor_type.elem_type != kind.FLOAT:
        raise QnnError(f"decoder: input {value.name!r} must be float32")
    return 1, sizes[1], 0, sizes[3]


def _places(graph: Any) -> int | None:
    """Return the rows of the tables of rotations; None if no attention has them."""
    shapes = {tensor.name: tensor.dims for tensor in graph.initializer}
    names = [name for node in graph.node if node.op_type == _GROUPS for name in node.input[7:9]]
    return min((int(shapes[name][0]) for name in names if name in shapes), default=None)


def _write_rows(graph: Any, tokens: int, *, has_past: bool) -> dict[str, str]:
    """Make the model return only rows of new tokens; return the new names of renamed pasts.

    Args:
        graph: the model's graph.
        tokens: the number of new tokens.
        has_past: whether attentions read a past.

    Raises:
        QnnError: if a result is not the past followed by new tokens.
    """
    helper = onnx_package().helper
    makers = {name: node for node in graph.node for name in node.output if name}
    renamed: dict[str, str] = {}
    for value in graph.output:
        if not value.name.startswith("present."):
            continue
        name, node = value.name, makers.get(value.name)
        past = name.replace("present.", "past_key_values.", 1)
        value.name = f"{name}{NEW}"
        value.type.tensor_type.ClearField("shape")
        if node is not None and node.op_type == _GROUPS and past in node.input[3:5]:
            place = list(node.input).index(past)
            node.output[place - 2] = value.name
            if not has_past:
                node.input[place] = ""
            elif name.endswith("key"):
                node.input[place] = renamed[past] = f"{past}{COLUMNS}"
                node.attribute.append(helper.make_attribute(STEP, 1))
        elif node is not None and node.op_type == "Concat" and node.input[0] == past:
            graph.node.append(helper.make_node("Identity", [node.input[1]], [value.name]))
        elif node is not None and node.op_type in _ATTENTIONS and past in node.input:
            names = [f"{value.name}.{part}" for part in ("begin", "end", "axis")]
            for part, number in zip(names, (-tokens, _END, 2), strict=True):
                graph.initializer.append(helper.make_tensor(part, _INT64, [1], [number]))
            graph.node.append(helper.make_node("Slice", [name, *names], [value.name]))
        else:
            raise QnnError(
                f"decoder: output {name!r} is neither of an attention nor a Concat, of {past!r} "
                "and new tokens"
            )
    return renamed
