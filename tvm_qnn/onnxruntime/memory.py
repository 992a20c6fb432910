"""``OrtMemoryInfo``: where ONNX Runtime says that a tensor is. Here it is this process's memory."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from tvm_qnn.onnxruntime.errors import WrongState

CPU_NAME = "Cpu"


class OrtAllocatorType(IntEnum):
    """How ONNX Runtime allocates memory."""

    INVALID = -1
    ORT_DEVICE_ALLOCATOR = 0
    ORT_ARENA_ALLOCATOR = 1


class OrtMemType(IntEnum):
    """What ONNX Runtime uses memory for."""

    CPU_INPUT = -2
    CPU_OUTPUT = -1
    CPU = -1
    DEFAULT = 0


class OrtDeviceMemoryType(IntEnum):
    """Who can read memory."""

    DEFAULT = 0
    HOST_ACCESSIBLE = 5


@dataclass(frozen=True)
class OrtMemoryInfo:
    """A kind of memory, as ONNX Runtime tells it. Only the processor's is there.

    Attributes:
        name: "Cpu".
        allocator_type: means nothing, as do the next two.
        device_id: of the device.
        mem_type: of the memory.
        device_mem_type: of the device's memory.
        device_vendor_id: of the device's vendor.
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
