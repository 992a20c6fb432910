from typing import Any

import numpy as np
import pytest

from qnn_ops.errors import QnnError
from tvm_qnn.compare import Archive, compare_outputs

A, B = np.array([1, 2], np.int8), np.array([7.5], np.float32)


def given(**arrays: Any) -> Archive:
    return Archive(arrays)


def test_outputs_of_the_same_names_or_places_are_compared() -> None:
    found = compare_outputs(given(a=A, b=B), given(b=B, a=A + 1), [([], [])] * 2, "theirs")
    assert [(t.index, t.name, t.differing) for t in found.tensors] == [(0, "a", 4), (1, "b", 0)]
    assert (found.reference, found.runs) == ("theirs", 2)
    assert "1 of 2 tensors equal those of theirs in 2 runs" in repr(found)
    assert compare_outputs(given(a=A, b=B), given(x=A, y=B), [([], [])], "theirs").is_equal
    with pytest.raises(QnnError, match="one side has a, b, the other a"):
        compare_outputs(given(a=A, b=B), given(a=A), [], "theirs")
