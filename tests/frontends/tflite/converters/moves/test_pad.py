"""PAD, PADV2, MIRROR_PAD, STABLEHLO_PAD, REVERSE_V2 and REVERSE_SEQUENCE."""

from typing import Any

import numpy as np

from frontends.errors import ModelFormatError
from frontends.tflite.quantization import Quantization
from tests.differential.graphs import OTHERS, QUANTIZED
from tests.differential.moves import reverse
from tests.differential.single import single
from tests.support.steps import compiled
from tests.support.tflite import (
    Operand,
    Q,
    Sheet,
    check_refused,
    fixed,
    given,
    one,
    refused,
    x,
)

SEVEN = fixed(7, "int8", Q)
WIDTHS = np.array([[0, 0], [1, 2], [0, 3], [2, 0]], np.int32)


test_padded_and_reversed_tensors_equal_litert = compiled(
    single("MIRROR_PAD", "PAD", "PADV2", "REVERSE_SEQUENCE", "STABLEHLO_PAD"),
    reverse,
    dtypes=(*QUANTIZED, *OTHERS),
    count=12,
)

test_what_does_not_fit = refused(
    (r"paddings must have shape \(2, 2\), got \(4, 2\)", one("PADV2", x(2, 3), WIDTHS, SEVEN)),
    (
        r"same scale and zero point, got \(0.25, 3\) and \(0.5, 3\)",
        one("PADV2", x(2, 3), WIDTHS[:2], fixed(7, "int8", Quantization.per_tensor(0.25, 3))),
    ),
    ("pad_width", one("PADV2", x(2, 3), -WIDTHS[1:3], SEVEN)),
    ("3 and 0 do not fit axis 0", one("MIRROR_PAD", x(3, 4), [[3, 0], [0, 0]], mode="REFLECT")),
    ("must have axes", one("REVERSE_V2", x(3, 4), [])),
    (
        "lengths outside of 0 to 4",
        one("REVERSE_SEQUENCE", x(2, 4, dtype="uint8"), [1, 5], seq_dim=1),
    ),
    ("lengths for 2 batches", one("REVERSE_SEQUENCE", x(2, 4, dtype="uint8"), [1], seq_dim=1)),
    ("axes 0 and 0", one("REVERSE_SEQUENCE", x(2, 4, dtype="uint8"), [1, 1], seq_dim=0)),
)


def options(low: list[int], high: list[int], between: list[int]) -> dict[str, Any]:
    return {"edge_padding_low": low, "edge_padding_high": high, "interior_padding": between}


def _around(*shape: int, filler: Operand | None = None, **options: Any) -> Sheet:
    return one("STABLEHLO_PAD", x(*shape), filler or given(1, "int8", Q), **options)


def test_a_result_that_lacks_elements_along_an_axis_has_none() -> None:
    sheet, data, filler = Sheet(), x(4, 5), x()
    for low in (-4, -9):
        sheet.add("STABLEHLO_PAD", data, filler, **options([low, 0], [0, 0], [0, 0]))
    sheet.check()


NONE, ONE = [0, 0], options([1], [0], [0])

test_what_is_refused = refused(
    ("low must have a number for each of 2 axes, got", _around(4, 5, **options([0], NONE, NONE))),
    ("interior.*have a number for each of 2 axes, got", _around(4, 5, **options(NONE, NONE, []))),
    (r"interior.* 0 to 2147483647, got \(0, -1\)", _around(4, 5, **options(NONE, NONE, [0, -1]))),
    ("edge_padding_low must be", _around(4, 5, **options([0, 2**40], NONE, NONE))),
    ("is too large", _around(4, 5, **options([2**31 - 1, 0], NONE, NONE))),
    ("is too large", _around(4, 5, **options([2**20, 2**20], NONE, NONE))),
    ("edge_padding_low must have a number for each of 1 axes", _around(4)),
    ("must be one int8", _around(4, filler=given(1, "float32", Q), **ONE)),
    ("must be one int8", _around(4, filler=given([1, 2], "int8", Q), **ONE)),
)


def test_vectors_of_options_end_in_the_file() -> None:
    model = _around(4, **options([77], [66], [55])).model()
    place = model.index((77).to_bytes(8, "little")) - 4
    damaged = model[:place] + (2**31 - 1).to_bytes(4, "little") + model[place + 4 :]
    check_refused(damaged, "EdgePaddingLow has 2147483647 elements", ModelFormatError)
