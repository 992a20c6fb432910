"""The table of LiteRT's operators by type: what LiteRT runs, and how it is imported here."""

import warnings
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

from frontends.errors import UnsupportedOperatorError
from frontends.tflite import from_tflite
from frontends.tflite.notes import QuantizedFallbackWarning
from frontends.tflite.operators import codes_with, row_of
from frontends.tflite.schema import OPERATORS
from frontends.tflite.writer import ModelWriter
from qnn_ops.errors import QnnError
from tests.operators.example import DTYPES, Example
from tests.operators.examples import CODES, example
from tests.operators.weighted import WEIGHTED_CODES, WEIGHTS, weighted_example
from tests.support.children import Death, answers, without_stderr
from tvm_qnn.oracle import LiteRtSession, litert_tensors

Make = Callable[[str, str, "int | None"], Example]

EXACT, IN_FLOAT, REFUSED, NONE = "yes", "float", "no", "–"

_RULES = ("data", "floats", "hybrid", "int16", "quantized", "unscaled", "whole")
_STRINGS = ("HASHTABLE", "HASHTABLE_FIND", "HASHTABLE_IMPORT", "HASHTABLE_SIZE", "SKIP_GRAM")
_KNOWN = {*codes_with(*_RULES, "known", "of_shape", "is_dense", "refusal"), *_STRINGS}
RECURRENT = {
    code
    for code in codes_with("data")
    if ".recurrent." in getattr(row_of(code).data, "__module__", "")
}
OTHERS = (_KNOWN & {*OPERATORS}) - {*CODES, *WEIGHTED_CODES, *RECURRENT}
"""Operators that are no question of a type, or that the writer has no options for."""

_MOST_VERSIONS = 14
_SECONDS = 60.0


def imported() -> frozenset[str]:
    """Return the operators that are imported at all."""
    return frozenset(codes_with(*_RULES, "known", "of_shape", "is_dense"))


def known_to_litert(code: str) -> bool:
    """Tell whether LiteRT's reference kernels have a version of an operator."""
    for version in (1, 2):
        writer = ModelWriter()
        tensor = writer.tensor("x", (1,), "float32")
        writer.operator(code, [tensor], [writer.tensor("y", (1,), "float32")], version=version)
        if "find op for builtin" not in _answer(writer.finish([tensor], [1]), []):
            return True
    return False


def _answer(model: bytes, arrays: Sequence[Any], *, default: bool = False) -> str:
    """Return LiteRT's error, or nothing."""
    try:
        with without_stderr():
            if default:
                LiteRtSession(model, xnnpack=False).run(arrays)
            else:
                litert_tensors(model, arrays)
    except QnnError as error:
        return str(error)
    return ""


def _runs(item: tuple[Make, str, str]) -> bool:
    """Tell whether LiteRT runs an example, of one version or another.

    Its default kernels are asked where its reference kernels lack the operator.
    """
    make, code, dtype = item
    kinds = (False,) if known_to_litert(code) else (False, True)
    for default, version in product(kinds, (None, *range(1, _MOST_VERSIONS))):
        made = make(code, dtype, version)
        answer = _answer(made.model(), made.arrays, default=default)
        if "find op for builtin" not in answer:
            return not answer
    return False


def _ours(make: Make, code: str, dtype: str) -> str:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            from_tflite(make(code, dtype, None).model())
        except (UnsupportedOperatorError, QnnError):
            return REFUSED
    in_float = any(issubclass(each.category, QuantizedFallbackWarning) for each in caught)
    return IN_FLOAT if in_float else EXACT


def cells(make: Make, codes: Sequence[str], dtypes: Sequence[str]) -> dict[str, list[str]]:
    """Return the cells of each row of a table."""
    items = [(make, code, dtype) for code, dtype in product(codes, dtypes)]
    found: dict[str, list[str]] = {code: [] for code in codes}
    for item, runs in zip(items, answers(_runs, items, _SECONDS), strict=True):
        works = runs is True and not isinstance(runs, Death)
        found[item[1]].append(_ours(*item) if works else NONE)
    return found


def _table(rows: dict[str, list[str]], heads: Sequence[str]) -> str:
    lines = [["operator", *heads], ["---", *[":-:"] * len(heads)]]
    lines += [[code, *row] for code, row in rows.items() if {*row} != {NONE}]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


HEAD = """# Operators by type

This page shows which types of each TFLite operator LiteRT 2.3.0 runs, and what tvm-qnn makes of
them. LiteRT runs its reference kernels, or its default kernels for operators that have no others.
`python -m tests.operators` writes this page: it gives one model for each cell to both programs.

- **yes**: LiteRT's result, bit for bit; for float32, with
  [these exceptions](numerics.md#float32-beside-integers).
- **float**: computed in float32 between a dequantize and a quantize, with a warning.
- **no**: refused here.
- **–**: LiteRT does not run this type.

int4, int8, uint8 and int16 are quantized tensors; int32, int64 and bool are plain numbers. The
types are those of the data: QUANTIZE and CAST also make int4 from float32.

"""


REASONS = """
## What is wrong, and computed as LiteRT does

- EQUAL, NOT_EQUAL, GREATER, GREATER_EQUAL, LESS and LESS_EQUAL of int8 or uint8, and EQUAL of
  int16, with a scale above 1: LiteRT's kernels distinguish only signs. A `WrongInLiteRTWarning`
  names these operators.

## What is refused, and why

- The same comparisons with the scale 1: LiteRT ends the process. With far greater scales its
  answers depend on how it was compiled.
- UNIQUE, WHERE of data that the run computes, and SEGMENT_SUM by segments that the run computes:
  the shape of the result depends on the data.
- NOT_EQUAL, PRELU and SUM of int16, EMBEDDING_LOOKUP of int16 and int8, FAKE_QUANT of integers,
  MATRIX_DIAG and MATRIX_SET_DIAG of bool: LiteRT's reference kernels
  [read the data as another type](numerics.md#where-tflites-reference-kernels-surprise).
- BROADCAST_TO, DILATE, HASHTABLE_LOOKUP, MATRIX_DIAG and MATRIX_SET_DIAG of int4, and GATHER of
  rows of an odd number of int4: LiteRT's kernels read two numbers as a byte. BITCAST of int4.
- CONV_2D of int2 weights, DEPTHWISE_CONV_2D of int16 data and int4 weights, EMBEDDING_LOOKUP of
  int4 or int2 rows that stay integers: LiteRT's reference kernels do not unpack them there.
- Weights with a scale for each block, except in FULLY_CONNECTED and EMBEDDING_LOOKUP.
- ADD, SUB and DIV of tensors without a scale, except for
  [some sums of int16](numerics.md#where-tflites-reference-kernels-surprise): LiteRT ends, or its
  quotients are mere rounding errors. EXP, GELU and TANH whose result has no scale. REDUCE_PROD of
  quantized tensors without elements: LiteRT leaves what memory held.
- MULTINOMIAL, RANDOM_STANDARD_NORMAL, RANDOM_UNIFORM, STABLEHLO_RNG_BIT_GENERATOR: random numbers.
- BIDIRECTIONAL_SEQUENCE_LSTM of several images with one result, not time major;
  BIDIRECTIONAL_SEQUENCE_RNN that is hybrid and time major, has a second sequence of another size,
  or one without weights and not time major; LSTM of float32 weights without an activation: there
  LiteRT's reference kernels read beyond tensors, or read uninitialized memory.
- HASHTABLE, HASHTABLE_FIND, HASHTABLE_IMPORT, HASHTABLE_SIZE: LiteRT's reference kernels lack them,
  and its default kernels only have tables from strings to int64 and back. tvm-qnn has no tensors of
  strings. SKIP_GRAM needs strings, too.
- LSH_PROJECTION of items of more than 60 bytes: FarmHash hashes these items in another way.
"""


def page() -> str:
    """Return the page, in Markdown."""
    rows, weighted = cells(example, CODES, DTYPES), cells(weighted_example, WEIGHTED_CODES, WEIGHTS)
    return (
        HEAD
        + _table(rows, DTYPES)
        + "\nData and weights of the same or of different types:\n\n"
        + _table(weighted, WEIGHTS)
        + "\n## Operators without a row\n\n"
        + _rest([code for code, row in rows.items() if {*row} == {NONE}])
        + REASONS
    )


def _rest(never_run: Sequence[str]) -> str:
    """Name the operators that have no row."""
    here = imported()
    lines = []
    for title, codes in (("Recurrent layers", RECURRENT), ("Others", OTHERS)):
        taken = ", ".join(code for code in sorted(codes) if code in here)
        refused = ", ".join(code for code in sorted(codes) if code not in here)
        lines.append(f"- {title}: imported: {taken or 'none'}; refused: {refused or 'none'}.\n")
    names = ", ".join(never_run)
    return "".join(lines) + f"- LiteRT runs none of these types in {names}.\n"
