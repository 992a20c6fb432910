"""Types of elements: ONNX Runtime's names, such as "tensor(float)", and numpy's dtypes."""

from typing import Any

import numpy as np

from tvm_qnn.onnxruntime.errors import WrongState

# ONNX's numbers of element types, with numpy's names if these differ.
_NUMBERS = {
    1: "float", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64",
    8: "string", 9: "bool", 10: "float16", 11: "double", 12: "uint32", 13: "uint64",
    16: "bfloat16", 17: "float8e4m3fn", 18: "float8e4m3fnuz", 19: "float8e5m2",
    20: "float8e5m2fnuz", 21: "uint4", 22: "int4",
}  # fmt: skip
_OF_NUMPY = {"float32": "float", "float64": "double"}
_DTYPES = {
    name: np.dtype({other: own for own, other in _OF_NUMPY.items()}.get(name, name))
    for name in _NUMBERS.values()
    if name not in ("bfloat16", "string", "uint4", "int4") and not name.startswith("float8")
}
_TEXTS = "USOT"


def type_of(number: int) -> str:
    """Return the type of tensors with ONNX's number of an element type."""
    return f"tensor({_NUMBERS.get(number, 'undefined')})"


def number_of(type_name: str) -> int:
    """Return ONNX's number of a tensor type's elements."""
    return next(number for number in _NUMBERS if type_of(number) == type_name)


def dtype_of(type_name: str) -> np.dtype[Any] | None:
    """Return numpy's dtype for tensors of a type; None if it has none."""
    return _DTYPES.get(type_name.removeprefix("tensor(").removesuffix(")"))


def type_of_dtype(dtype: np.dtype[Any]) -> str:
    """Return the type of tensors with a dtype of numpy; the byte order does not count.

    Raises:
        WrongState: ONNX has no such element type.
    """
    name = "string" if dtype.kind in _TEXTS else _OF_NUMPY.get(dtype.name, dtype.name)
    if name not in _NUMBERS.values():
        raise WrongState(f"Numpy_type {dtype.num} can't be converted to MLDataType.")
    return f"tensor({name})"


def dtype_to_use(element_type: Any) -> np.dtype[Any]:
    """Return the dtype for numpy's type or ONNX's number.

    Raises:
        WrongState: numpy or ONNX has no such element type.
    """
    if not isinstance(element_type, int):
        dtype = np.dtype(element_type)
        type_of_dtype(dtype)
        return dtype
    found = dtype_of(type_of(element_type))
    if found is None:
        raise WrongState(f"{type_of(element_type)} ({element_type}) has no dtype in numpy")
    return found
