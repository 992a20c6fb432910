"""Checks the arrays of runs against the library's description of its tensors."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from qnn_ops.arithmetic.encoding import Encoding, dequantize_array, quantize_array
from qnn_ops.dialect.tensor_info import OpenSize, TensorInfo
from qnn_ops.errors import QnnError

Given = np.ndarray | Mapping[str, np.ndarray]
"""An input by position; or a single mapping with all inputs by name."""


def input_arrays(
    infos: Sequence[TensorInfo],
    arrays: Sequence[Given],
    named: Mapping[str, np.ndarray],
    *,
    quantize: bool = False,
) -> list[np.ndarray]:
    """Return the inputs of a run in order, from inputs by position and by name.

    Args:
        infos: the inputs' descriptions.
        arrays: inputs by position; or one mapping of inputs by name.
        named: inputs by name.
        quantize: whether float arrays are quantized.

    Raises:
        QnnError: if an input is missing, unknown or given twice, or does not fit.
    """
    names = [info.name for info in infos]
    if len(arrays) == 1 and isinstance(only := next(iter(arrays)), Mapping):
        arrays, named = (), {**only, **named}
    if len(arrays) > len(names):
        raise QnnError(f"the model has {len(names)} inputs, got {len(arrays)} arrays")
    given: dict[str, Any] = dict(zip(names, arrays, strict=False))
    for name, array in named.items():
        if name not in names:
            raise QnnError(f"no input is named {name!r}; there are {', '.join(names)}")
        if name in given:
            raise QnnError(f"input {name!r} is given twice, by position and by name")
        given[name] = array
    missing = [name for name in names if name not in given]
    if missing:
        raise QnnError(f"missing input {', '.join(map(repr, missing))}")
    values = [_fitting(info, given[info.name], quantize) for info in infos]
    sizes_in(infos, values)
    return values


def sizes_in(infos: Sequence[TensorInfo], arrays: Sequence[np.ndarray]) -> dict[str, int]:
    """Return the open sizes of a run, by name.

    Args:
        infos: the inputs' descriptions.
        arrays: the inputs, with the right ranks.

    Raises:
        QnnError: if a size is beyond its bounds, or sizes of one name differ.
    """
    found: dict[str, int] = {}
    places = [
        (info.name, axis, size, array.shape[axis])
        for info, array in zip(infos, arrays, strict=True)
        for axis, size in enumerate(info.shape)
        if isinstance(size, OpenSize)
    ]
    # Expressions of other sizes come after all plain names.
    for name, axis, size, given in sorted(
        places, key=lambda place: not place[2].name.isidentifier()
    ):
        known = size.value(found)
        if known is None:
            known = found[size.name] = given
        where = f"input {name!r}, axis {axis}"
        if given != known:
            raise QnnError(f"{where}: {size} is {known} in this run, got {given}")
        if given < size.low or (size.high is not None and given > size.high):
            raise QnnError(f"{where}: {size} is {size.bounds}, got {given}")
    return found


def given_outputs(
    infos: Sequence[TensorInfo], out: Mapping[str, np.ndarray], *, dequantize: bool = False
) -> dict[str, np.ndarray]:
    """Return the arrays that outputs are written to, by name.

    Args:
        infos: the outputs' descriptions.
        out: the arrays.
        dequantize: whether quantized outputs are written as real values.

    Raises:
        QnnError: if an array is unknown, does not fit, or cannot be written to.
    """
    by_name = {info.name: info for info in infos}
    for name, array in out.items():
        if name not in by_name:
            raise QnnError(f"out: no output is named {name!r}; there are {', '.join(by_name)}")
        info = by_name[name]
        if dequantize and _encoding(info):
            info = replace(info, dtype="float32")
        if not isinstance(array, np.ndarray) or not _fits(info, array):
            raise QnnError(f"out: output {name!r} gives {_needed(info)}, got {_got(array)}")
        if not array.flags.writeable:
            raise QnnError(f"out: the array for output {name!r} cannot be written to")
    return dict(out)


def written(array: np.ndarray, target: np.ndarray | None) -> np.ndarray:
    """Write the array's elements to the target, and return it; without a target, the array."""
    if target is None:
        return array
    if array is not target:
        target[...] = array
    return target


def benchmark_arrays(
    infos: Sequence[TensorInfo],
    arrays: Sequence[Given],
    named: Mapping[str, np.ndarray],
    repeat: int,
) -> list[np.ndarray]:
    """Return the inputs of timed runs in order: the given ones, or zeros if none are given at all.

    Raises:
        QnnError: as ``input_arrays``, or if there is no run to time.
    """
    if repeat < 1:
        raise QnnError(f"benchmark: repeat must be at least 1, got {repeat}")
    if not arrays and not named:
        return [np.zeros(info.shape, info.dtype) for info in infos]
    return input_arrays(infos, arrays, named)


def _fitting(info: TensorInfo, value: np.ndarray, quantize: bool) -> np.ndarray:
    """Return an array for an input.

    Raises:
        QnnError: if the value does not fit.
    """
    array = np.asarray(value)
    if quantize and np.issubdtype(array.dtype, np.floating) and (encoding := _encoding(info)):
        try:
            array = quantize_array(array, encoding)
        except QnnError as error:
            raise QnnError(f"input {info.name!r}: {error}") from error
    if not _fits(info, array):
        raise QnnError(f"input {info.name!r} takes {_needed(info)}, got {_got(array)}")
    return array


def _needed(info: TensorInfo) -> str:
    return f"{info.dtype} of shape {info.shape}"


def _got(value: Any) -> str:
    if not isinstance(value, np.ndarray):
        return f"an object of type {type(value).__name__}"
    return f"{value.dtype} of shape {value.shape}"


def checked(infos: Sequence[TensorInfo], found: list[np.ndarray]) -> list[np.ndarray]:
    """Return the results of a run.

    Raises:
        QnnError: if they differ from the library's description.
    """
    if len(found) != len(infos) or not all(map(_fits, infos, found)):
        given = [(array.shape, str(array.dtype)) for array in found]
        raise QnnError(f"the library's code gives {given}, which its description does not say")
    return found


def _fits(info: TensorInfo, array: np.ndarray) -> bool:
    fits = array.shape == info.shape or info.takes(array.shape)
    return bool(fits and array.dtype == _dtype(info.dtype))


@cache
def _dtype(name: str) -> np.dtype[Any]:
    # Numpy takes longer to compare a dtype with a name than a small network takes for a layer.
    return np.dtype(name)


def results_of(found: np.ndarray | Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """Return the results of a run in the outputs' order, even if there is only one."""
    return list(found.values()) if isinstance(found, Mapping) else [found]


def named_results(
    infos: Sequence[TensorInfo], found: np.ndarray | Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Return the results of a run by the outputs' names, even if there is only one."""
    return dict(zip((info.name for info in infos), results_of(found), strict=True))


def reals(info: TensorInfo, array: np.ndarray) -> np.ndarray:
    """Return the real numbers of a quantized tensor; any other tensor unchanged."""
    encoding = _encoding(info)
    return array if encoding is None else dequantize_array(array, encoding)


def _encoding(info: TensorInfo) -> Encoding | None:
    if info.scale is None or info.zero_point is None:
        return None
    return Encoding(info.scale, info.zero_point, info.dtype)
