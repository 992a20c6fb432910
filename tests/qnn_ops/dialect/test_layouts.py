from itertools import product

import numpy as np
import pytest

from qnn_ops.dialect.layouts import DATA_LAYOUTS, KERNEL_LAYOUTS, permutation, reorder


def test_reorder_by_hand() -> None:
    assert reorder((1, 2, 3, 4), "NHWC", "NCHW") == (1, 4, 2, 3)
    assert reorder((8, 1, 3, 5), "OIHW", "IHWO") == (1, 3, 5, 8)


@pytest.mark.parametrize("layouts", [DATA_LAYOUTS, KERNEL_LAYOUTS])
def test_a_permutation_moves_axes_to_their_letters(layouts: tuple[str, ...]) -> None:
    sizes = dict(zip(layouts[0], (2, 3, 4, 5), strict=True))
    for source, target in product(layouts, layouts):
        array = np.arange(120).reshape([sizes[letter] for letter in source])
        moved = array.transpose(permutation(source, target))
        assert moved.shape == tuple(sizes[letter] for letter in target)
        assert moved.shape == reorder(array.shape, source, target)
        back = moved.transpose(permutation(target, source))
        np.testing.assert_array_equal(back, array)
