"""Well-formed TFLite files of models that are partly invalid."""

import copy
import struct
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from frontends.tflite.quantization import Quantization
from frontends.tflite.sparsity import Level, Sparsity
from frontends.tflite.writer import ModelWriter
from frontends.tflite.writer_tables import OperatorToWrite, TensorToWrite
from tests.fuzz.mutations import ODD_SCALES, Rng

_SIZES = (0, 1, 2, -1, -2, 3, 5, 1 << 16, 1 << 20, (1 << 31) - 1, -(1 << 31))
_DTYPES = (
    *("int8", "uint8", "int16", "int32", "int64", "float32", "bool"),
    *("int4", "float16", "resource", "string"),
)
_POINTS = (0, 0, 1, -128, 127, 255, 256, -129, 1 << 40, -(1 << 62))
_CUSTOM: tuple[Any, ...] = (
    "",
    "x" * 50,
    None,
    [],
    [1, 2],
    {},
    True,
    -1,
    1e300,
    float("nan"),
    1 << 40,
)
# What the writer's libraries raise where a number does not fit.
_NOT_WRITTEN = (
    *(ValueError, TypeError, OverflowError, struct.error),
    *(KeyError, AttributeError, RuntimeError, AssertionError),
)


def rewritten(rng: Rng, writer: ModelWriter) -> bytes | None:
    """Return a file of a model with one to four invalid changes, in any subgraph.

    Args:
        rng: says where.
        writer: of a model that was finished once; it stays as it is.

    Returns:
        The file; None if the writer itself refuses the result.
    """
    other = copy.deepcopy(writer)
    graphs = [other, *other._subgraphs]
    try:
        for _ in range(int(rng.integers(1, 5))):
            # Half of the changes are in the subgraphs, if there are any.
            inner = len(graphs) > 1 and rng.random() < 0.5
            graph = graphs[int(rng.integers(1, len(graphs)))] if inner else other
            changes = [each for each in _CHANGES if rng.random() < 0.4]
            next((each for each in changes if each(rng, graph)), None)
        return other.finish(*other._ends)
    except _NOT_WRITTEN:
        return None


def _pick(rng: Rng, values: Any) -> Any:
    return values[int(rng.integers(len(values)))]


def _tensor(rng: Rng, graph: ModelWriter) -> bool:
    """Change a tensor: its shape, type, encoding, data or kind."""
    place = int(rng.integers(len(graph._tensors)))
    tensor = graph._tensors[place]
    shape = list(tensor.shape)
    if shape and rng.random() < 0.5:
        shape[int(rng.integers(len(shape)))] = int(_pick(rng, _SIZES))
    else:
        shape = [int(size) for size in rng.integers(1, 5, int(rng.integers(0, 7)))]
    changes: list[dict[str, Any]] = [
        {"shape": tuple(shape)},
        {"dtype": str(_pick(rng, _DTYPES))},
        {"quantization": _quantization(rng)},
        {"buffer": 0},
        {"buffer": int(rng.integers(len(graph._buffers)))},
        {"is_variable": not tensor.is_variable},
        {"sparsity": _sparsity(rng, tensor)},
    ]
    graph._tensors[place] = replace(tensor, **_pick(rng, changes))
    return True


def _operand(rng: Rng, graph: ModelWriter) -> bool:
    """Let an operator have another operand or result, one more, or one less."""
    if not graph._operators:
        return False
    place = int(rng.integers(len(graph._operators)))
    operator = graph._operators[place]
    field = str(_pick(rng, ("inputs", "inputs", "outputs")))
    names = list(getattr(operator, field))
    number = int(rng.integers(-1, len(graph._tensors)))
    kind = rng.random()
    if names and kind < 0.7:
        names[int(rng.integers(len(names)))] = number
    elif names and kind < 0.85:
        names.pop(int(rng.integers(len(names))))
    else:
        names.append(number)
    changes: dict[str, Any] = {field: tuple(names)}
    graph._operators[place] = replace(operator, **changes)
    return True


def _code(rng: Rng, graph: ModelWriter) -> bool:
    """Let an operator be another one, or come twice, or earlier."""
    operators = graph._operators
    if not operators:
        return False
    place = int(rng.integers(len(operators)))
    kind = rng.random()
    if kind < 0.4:
        operators[place] = replace(operators[place], code=int(rng.integers(len(graph._codes))))
    elif kind < 0.7:
        operators.insert(int(rng.integers(len(operators))), _pick(rng, operators))
    else:
        operators.insert(0, operators.pop(place))
    return True


def _option(rng: Rng, graph: ModelWriter) -> bool:
    """Change an option: a number, a name, or a value of a custom operator."""
    having = [i for i, operator in enumerate(graph._operators) if operator.options]
    if not having:
        return False
    place = int(_pick(rng, having))
    operator: OperatorToWrite = graph._operators[place]
    options = dict(operator.options)
    name = str(_pick(rng, sorted(options)))
    if rng.random() < 0.2:
        del options[name]
    elif operator.options_type is None:
        options[name] = _pick(rng, _CUSTOM)
    elif isinstance(options[name], str):
        options[name] = str(_pick(rng, ("", "other", "v1_2")))
    elif isinstance(options[name], np.ndarray):
        options[name] = np.array(rng.choice(_SIZES, int(rng.integers(4))), options[name].dtype)
    else:
        options[name] = type(options[name])(_pick(rng, (*_SIZES, 4, 7)))
    graph._operators[place] = replace(operator, options=options)
    return True


def _end(rng: Rng, graph: ModelWriter) -> bool:
    """Give a subgraph an input or output more, less, or elsewhere."""
    ends = [list(each) for each in graph._ends]
    end = ends[int(rng.integers(2))]
    if end and rng.random() < 0.3:
        end.pop()
    elif end and rng.random() < 0.5:
        end[int(rng.integers(len(end)))] = int(rng.integers(len(graph._tensors)))
    else:
        end.append(int(rng.integers(len(graph._tensors))))
    graph._ends = (ends[0], ends[1])
    return True


def _data(rng: Rng, graph: ModelWriter) -> bool:
    """Change the bytes of a constant, all of them or their number."""
    places = [i for i, data in enumerate(graph._buffers) if data]
    if not places:
        return False
    place = int(_pick(rng, places))
    data = graph._buffers[place]
    new = [data[:-1], data + data, bytes(len(data)), b"\xff" * len(data), rng.bytes(len(data))]
    graph._buffers[place] = _pick(rng, new)
    return True


_CHANGES: tuple[Callable[[Rng, ModelWriter], bool], ...] = (
    _option,
    _operand,
    _code,
    _end,
    _data,
    _tensor,
)


def _quantization(rng: Rng) -> Quantization | None:
    if rng.random() < 0.2:
        return None
    count = int(_pick(rng, (1, 1, 1, 2, 3, 8, 100)))
    scales = np.array([_pick(rng, ODD_SCALES) for _ in range(count)], np.float32)
    points = np.array([_pick(rng, _POINTS) for _ in range(count)], np.int64)
    return Quantization(scales, points, int(rng.integers(-1, 5)))


def _sparsity(rng: Rng, tensor: TensorToWrite) -> Sparsity:
    """Change how values are stored, or let a tensor that is dense be stored so."""
    known = tensor.sparsity
    if known is None:
        sizes = tensor.shape or (1,)
        known = Sparsity(tuple(range(len(sizes))), (), tuple(Level(size) for size in sizes))
    levels = list(known.levels)
    place = int(rng.integers(len(levels)))
    numbers = rng.integers(-1, 9, int(rng.integers(0, 6)))
    choices: list[dict[str, Any]] = [
        {"order": tuple(int(each) for each in rng.permutation(len(known.order)))},
        {"order": (*known.order, len(known.order))},
        {"blocks": (*known.blocks, int(rng.integers(-1, 4)))},
        {"levels": tuple(levels[:-1])},
    ]
    odd = [
        Level(int(_pick(rng, _SIZES))),
        Level(levels[place].size, numbers, levels[place].indices),
        Level(levels[place].size, np.sort(numbers), numbers),
    ]
    levels[place] = _pick(rng, [each for each in odd if _can_be_written(each)])
    choices += [{"levels": tuple(levels)}] * 3
    return replace(known, **_pick(rng, choices))


def _can_be_written(level: Level) -> bool:
    return (level.segments is None) == (level.indices is None)
