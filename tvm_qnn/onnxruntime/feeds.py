"""Turns the values that a program gives a run into arrays, and checks them as ONNX Runtime does."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from qnn_ops.errors import QnnError
from tvm_qnn.onnxruntime.elements import dtype_of, type_of_dtype
from tvm_qnn.onnxruntime.errors import InvalidArgument, WrongObject, WrongState, WrongType
from tvm_qnn.onnxruntime.model import Model, NodeArg
from tvm_qnn.onnxruntime.values import OrtValue


def arrays_of(model: Model, feed: Any) -> dict[str, np.ndarray]:
    """Return the arrays of a run: the model's inputs in order, then constants that are given.

    Args:
        model: the model.
        feed: arrays, nested lists or values (``OrtValue``) by name.

    Raises:
        QnnError: a value is missing, has an unknown name or does not fit; as ONNX Runtime's error.
    """
    if not isinstance(feed, Mapping):
        raise WrongObject(f"{type(feed).__name__!r} object has no attribute 'keys'")
    if missing := [arg.name for arg in model.inputs if arg.name not in feed]:
        raise QnnError(f"Required inputs ({missing}) are missing from input feed ({list(feed)}).")
    if odd := [name for name in feed if not isinstance(name, str)]:
        raise WrongType(f"run(): inputs are named by texts, got {odd[0]!r}")
    known = {arg.name: arg for arg in (*model.inputs, *model.overridable)}
    arrays = {name: _array(known.get(name), name, value) for name, value in feed.items()}
    for name, array in arrays.items():
        if name not in known:
            raise InvalidArgument(f"Invalid input name: {name}")
        if (actual := type_of_dtype(array.dtype)) != known[name].type:
            raise InvalidArgument(
                f"Unexpected input data type. Actual: ({actual}) , expected: ({known[name].type})"
            )
    for name, array in arrays.items():
        if name not in model.without_shape:
            _check_shape(known[name], array.shape)
    return {name: arrays[name] for name in known if name in arrays}


def _array(arg: NodeArg | None, name: str, value: Any) -> np.ndarray:
    if isinstance(value, OrtValue):
        return value.array
    if isinstance(value, np.ndarray):
        return value if value.dtype.isnative else value.astype(value.dtype.newbyteorder("="))
    if isinstance(value, list) and arg is not None:
        try:
            return np.array(value, dtype_of(arg.type))
        except (TypeError, ValueError):
            raise WrongState("Could not create tensor from given input list") from None
    if isinstance(value, str | tuple):
        raise WrongState(
            f"Input must be a list of dictionaries or a single numpy array for input {name!r}."
        )
    raise WrongState(f"Unable to handle object of type {type(value)}")


def _check_shape(arg: NodeArg, shape: tuple[int, ...]) -> None:
    advice = "Please fix either the inputs/outputs or the model."
    if len(shape) != len(arg.shape):
        raise InvalidArgument(
            f"Invalid rank for input: {arg.name} Got: {len(shape)} Expected: {len(arg.shape)} "
            f"{advice}"
        )
    pairs = enumerate(zip(shape, arg.shape, strict=True))
    wrong = [
        f" index: {index} Got: {got} Expected: {expected}\n"
        for index, (got, expected) in pairs
        if isinstance(expected, int) and expected > 0 and got != expected
    ]
    if wrong:
        raise InvalidArgument(
            f"Got invalid dimensions for input: {arg.name} for the following indices\n"
            f"{''.join(wrong)} {advice}"
        )
