"""Describes and imports a PyTorch program, with the interface of all formats."""

import re
from math import prod
from typing import Any

from frontends.builder import Imported
from frontends.formats import Shapes, Source
from frontends.summary import FLOAT, INTEGER, UNSUPPORTED, OperatorInfo, Summary, TensorNote
from frontends.torch.importer import import_program, known_program, missing_operators
from frontends.torch.inductor import is_of_inductor
from frontends.torch.reader import calls_of, constants_of, operator_of, read_program, user_nodes
from frontends.torch.shapes import OpenSizes, open_sizes
from qnn_ops.arrays import Array
from qnn_ops.dialect.tensor_info import OpenSize

_WEIGHTED = (
    *("conv1d.default", "conv1d.padding", "conv2d.default", "conv2d.padding"),
    "linear.default",
)

_OF_ONEDNN = ("conv2d.default", "linear.default")

# The operators that XNNPACK computes in integers if their operands are quantized.
_INTEGER = {
    *_WEIGHTED,
    *(
        "conv_transpose2d.input",
        "adaptive_avg_pool2d.default",
        "add.Tensor",
        "add_.Tensor",
        "cat.default",
    ),
    *("flatten.using_ints", "hardtanh.default", "hardtanh_.default", "max_pool2d.default"),
    *("constant_pad_nd.default", "pad.default", "sub.Tensor"),
    *("mean.dim", "mul.Tensor", "permute.default", "relu.default", "relu_.default"),
    *("relu6.default", "reshape.default", "slice.Tensor", "squeeze.dim", "transpose.int"),
    *("unsqueeze.default", "view.default"),
}


class TorchSource(Source):
    """A program."""

    def __init__(self, model: Any) -> None:
        """Read a program: a path, a file's contents, or an ``ExportedProgram``."""
        self.read = read_program(model)
        self.known: Any = None  # the program that was described last

    def convert(self, shapes: Shapes | None = None) -> Imported:
        """Import it."""
        program = known_program(self.read, shapes)
        return import_program(program, open_sizes(program, shapes))

    def summary(self, name: str, shapes: Shapes | None = None) -> Summary:
        """Describe it, node by node; open sizes have the numbers of its example."""
        self.known = program = known_program(self.read, shapes)
        sizes = open_sizes(program, shapes)
        constants = constants_of(program)
        notes: dict[str, TensorNote] = {}
        numbers = {key: number for number, key in enumerate(constants)}  # as ``constants`` counts

        def note(node: Any) -> TensorNote:
            value = node.meta.get("val")
            shape = tuple(_noted(size, sizes) for size in getattr(value, "shape", ()))
            dtype = str(getattr(value, "dtype", "")).removeprefix("torch.")
            made = TensorNote(
                numbers.setdefault(node.name, len(numbers)),
                node.name,
                shape,
                dtype,
                is_constant=node.name in constants,
            )
            return notes.setdefault(node.name, made)

        missing = missing_operators(program)
        known = _OF_ONEDNN if is_of_inductor(program) else _INTEGER
        integer = set(constants)
        operators = []
        for number, node in enumerate(calls_of(program)):
            inputs = tuple(note(each) for each in node.all_input_nodes)
            result = note(node)
            reason = missing.get(number, "")
            is_integer = str(node.target).startswith("quantized_decomposed.") or (
                operator_of(node) in known and all(each.name in integer for each in inputs)
            )
            if is_integer:
                integer.add(node.name)
            operators.append(
                OperatorInfo(
                    index=number,
                    code=operator_of(node),
                    name=node.name,
                    inputs=inputs,
                    outputs=(result,),
                    options={},
                    macs=_macs(node, inputs, result),
                    lowering=UNSUPPORTED if reason else INTEGER if is_integer else FLOAT,
                    reason=reason,
                )
            )
        given, results = user_nodes(program)
        return Summary(
            name=name,
            format="PyTorch",
            inputs=tuple(note(node) for node in given),
            outputs=tuple(note(node) for node in results),
            operators=tuple(operators),
            parameters=sum(array.size for array in constants.values()),
            parameter_bytes=sum(array.nbytes for array in constants.values()),
        )

    def constants(self) -> dict[int, Array]:
        """Return parameters, buffers and constants."""
        program = self.known or known_program(self.read)
        return dict(enumerate(constants_of(program).values()))


def _noted(size: Any, sizes: OpenSizes) -> int:
    """Return a size; an open size with its name."""
    if isinstance(size, int):
        return size
    text = str(size.node.expr)
    name = re.sub(r"\w+", lambda word: sizes[word[0]][0] if word[0] in sizes else word[0], text)
    low, high = sizes[text][1] if text in sizes else (1, None)
    return OpenSize(name, low, high, example=size.node.hint)


def _macs(node: Any, inputs: tuple[TensorNote, ...], result: TensorNote) -> int:
    """Count a node's products, by the shapes of its weights and its result."""
    if operator_of(node) not in _WEIGHTED or len(inputs) < 2:
        return 0
    return prod(result.shape) * prod(inputs[1].shape[1:])
