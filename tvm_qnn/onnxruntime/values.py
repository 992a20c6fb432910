"""``OrtValue``, a tensor in this process's memory, and ONNX Runtime's words about memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from qnn_ops.errors import QnnError
from tvm_qnn.onnxruntime.elements import dtype_to_use, number_of, type_of_dtype
from tvm_qnn.onnxruntime.errors import WrongState, WrongType

CPU_NAME = "Cpu"


class OrtAllocatorType(IntEnum):
    """How ONNX Runtime allocates memory."""

    INVALID = -1
    ORT_DEVICE_ALLOCATOR = 0
    ORT_ARENA_ALLOCATOR = 1


class OrtMemType(IntEnum):
    """The uses that ONNX Runtime makes of memory."""

    CPU_INPUT = -2
    CPU_OUTPUT = -1
    CPU = -1
    DEFAULT = 0


class OrtDeviceMemoryType(IntEnum):
    """Devices that can read memory."""

    DEFAULT = 0
    HOST_ACCESSIBLE = 5


@dataclass(frozen=True)
class OrtMemoryInfo:
    """A kind of memory, as ONNX Runtime describes it; only the processor's can be made.

    Attributes:
        name: "Cpu".
        allocator_type: has no effect, like the fields below.
        device_id: the device's number.
        mem_type: the memory's use.
        device_mem_type: the kind of the device's memory.
        device_vendor_id: the device's vendor.
    """

    name: str = CPU_NAME
    allocator_type: OrtAllocatorType = OrtAllocatorType.ORT_ARENA_ALLOCATOR
    device_id: int = 0
    mem_type: OrtMemType = OrtMemType.DEFAULT
    device_mem_type: OrtDeviceMemoryType = OrtDeviceMemoryType.DEFAULT
    device_vendor_id: int = 0

    def __post_init__(self) -> None:
        """Check the name.

        Raises:
            WrongState: it is not the processor's memory.
        """
        if self.name != CPU_NAME:
            raise WrongState("Specified device is not supported. Try CreateMemoryInfo_V2.")


_CPU = "cpu"


def check_device(device_type: str) -> None:
    """Raise if a device is not this processor.

    Raises:
        WrongState: the device is another one.
    """
    if not isinstance(device_type, str) or device_type.lower() != _CPU:
        raise WrongState(
            f"Can't allocate memory on the device {device_type!r}: tvm-qnn has {_CPU!r} alone"
        )


class OrtValue:
    """A tensor, which may share its memory with a numpy array."""

    def __init__(self, array: np.ndarray) -> None:
        """Hold an array without copying it.

        Args:
            array: a contiguous array.
        """
        self.array = array

    @classmethod
    def ortvalue_from_numpy(
        cls,
        numpy_obj: np.ndarray,
        /,
        device_type: str = _CPU,
        device_id: int = 0,
        vendor_id: int = -1,
    ) -> OrtValue:
        """Return a value that shares an array's memory; a copy if the array is not contiguous.

        Args:
            numpy_obj: the array.
            device_type: cpu.
            device_id: has no effect.
            vendor_id: has no effect.

        Raises:
            WrongState: the object is not an array of numbers, or the device is another one.
        """
        check_device(device_type)
        if not isinstance(numpy_obj, np.ndarray) or numpy_obj.dtype.kind in "USO":
            raise WrongState(
                "Creation of OrtValues is currently only supported from non-string numpy arrays"
            )
        type_of_dtype(numpy_obj.dtype)
        return cls(_dense(numpy_obj))

    @classmethod
    def ortvalue_from_numpy_with_onnx_type(
        cls, data: np.ndarray, /, onnx_element_type: int
    ) -> OrtValue:
        """Return a value in an array's memory, with the bytes read as another type.

        Args:
            data: the array.
            onnx_element_type: ONNX's number of a type of the same size.

        Raises:
            WrongState: numpy has no such type, or its size differs.
        """
        dtype = dtype_to_use(onnx_element_type)
        if dtype.itemsize != data.dtype.itemsize:
            raise WrongState(f"elements of {data.dtype} cannot be read as those of {dtype}")
        return cls(_dense(data).view(dtype))

    @classmethod
    def ortvalue_from_shape_and_type(
        cls,
        shape: Sequence[int],
        element_type: Any,
        device_type: str = _CPU,
        device_id: int = 0,
        vendor_id: int = -1,
    ) -> OrtValue:
        """Return a value with memory of its own.

        Args:
            shape: the tensor's shape.
            element_type: numpy's type, or ONNX's number of one.
            device_type: cpu.
            device_id: has no effect.
            vendor_id: has no effect.

        Raises:
            WrongState: a size is negative, or there is no such element type or device.
        """
        check_device(device_type)
        if any(size < 0 for size in shape):
            raise WrongState(f"sizes must not be negative, got {list(shape)}")
        return cls(np.zeros(tuple(shape), dtype_to_use(element_type)))

    @classmethod
    def from_dlpack(cls, data: Any, /) -> OrtValue:
        """Return a value that shares the memory of a DLPack object or of a DLPack capsule."""
        source = data if hasattr(data, "__dlpack__") else _Capsule(data)
        return cls(_dense(np.from_dlpack(source)))

    def numpy(self) -> np.ndarray:
        """Return the tensor as an array that shares its memory."""
        return self.array.view()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy:
            return np.array(self.array, dtype)
        return np.asarray(self.array, dtype)

    def __dlpack__(self, *, stream: Any = None, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        kind, number = self.array.__dlpack_device__()
        return int(kind), int(number)

    def update_inplace(self, data: np.ndarray | OrtValue) -> None:
        """Write other numbers into the tensor's memory.

        Args:
            data: an array or value of the same shape and dtype.

        Raises:
            WrongType: the data is not an array.
            WrongState: its size differs.
            QnnError: its dtype differs.
        """
        if isinstance(data, OrtValue):
            data = data.array
        if not isinstance(data, np.ndarray):
            raise WrongType("data must be a numpy.ndarray or an OrtValue.")
        if data.size != self.array.size:
            raise WrongState(
                "The input size of numpy arrays does not match the size of the OrtValue."
            )
        if data.dtype != self.array.dtype:
            raise QnnError(f"the OrtValue is {self.array.dtype}, got {data.dtype}")
        np.copyto(self.array, data.reshape(self.array.shape))

    def shape(self) -> list[int]:
        """Return the shape."""
        return list(self.array.shape)

    def data_type(self) -> str:
        """Return the type, such as "tensor(float)"."""
        return type_of_dtype(self.array.dtype)

    def element_type(self) -> int:
        """Return ONNX's number of the element type."""
        return number_of(self.data_type())

    def device_name(self) -> str:
        """Return "cpu"."""
        return _CPU

    def data_ptr(self) -> int:
        """Return the address of the first element."""
        return int(self.array.ctypes.data)

    def tensor_size_in_bytes(self) -> int:
        """Return the number of bytes of the elements."""
        return int(self.array.nbytes)

    def has_value(self) -> bool:
        """Return True: there is a value."""
        return True

    def is_tensor(self) -> bool:
        """Return True: it is a tensor."""
        return True

    def is_sparse_tensor(self) -> bool:
        """Return False: it is not a sparse tensor."""
        return False

    def is_tensor_sequence(self) -> bool:
        """Return False: it is not a sequence."""
        return False


class _Capsule:
    """Wraps a DLPack capsule as an object that numpy takes."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def _dense(array: np.ndarray) -> np.ndarray:
    # Not np.ascontiguousarray: it turns a scalar into a vector.
    return array if array.flags.c_contiguous else array.copy()
