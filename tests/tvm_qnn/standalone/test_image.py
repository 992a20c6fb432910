from __future__ import annotations

import numpy as np

from tvm_qnn.standalone.image import pack
from tvm_qnn.standalone.workspace import ALIGNMENT


def test_constants_lie_at_aligned_offsets_with_all_their_bytes() -> None:
    arrays: list[np.ndarray] = [
        np.arange(5, dtype=np.int32),
        np.array(7, np.int8),
        np.arange(6, dtype=np.int16).reshape(2, 3).T,
        np.zeros(0, np.float32),
        np.full(ALIGNMENT, -1, np.int8),
    ]
    data, offsets = pack(arrays)
    assert [offset % ALIGNMENT for offset in offsets] == [0] * len(arrays)
    for array, offset in zip(arrays, offsets, strict=True):
        size = array.nbytes
        found = np.frombuffer(data[offset : offset + size], array.dtype).reshape(array.shape)
        np.testing.assert_array_equal(found, array)
    assert len(data) == offsets[-1] + ALIGNMENT


def test_no_constants_are_no_bytes() -> None:
    assert pack([]) == (b"", ())
