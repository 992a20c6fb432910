from collections.abc import Callable

import pytest
from tvm import relax
from tvm.relax import op as R

from legalize.passes.bodies import is_view
from tests.support.modules import module


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (lambda x: R.reshape(x, (10, 12)), True),
        (lambda x: R.strided_slice(x, [0], [0], [5]), True),
        (lambda x: R.strided_slice(x, [0], [0], [4]), False),
        (lambda x: R.permute_dims(x, [1, 0]), False),
    ],
    ids=["reshape", "all rows", "the first rows", "transpose"],
)
def test_views_have_as_many_elements(
    body: Callable[[relax.Expr], relax.Expr], expected: bool
) -> None:
    mod = relax.transform.LegalizeOps()(module({"x": relax.TensorType((5, 24), "float32")}, body))
    (function,) = (each for name, each in mod.functions_items() if name.name_hint != "main")
    assert is_view(function) is expected
