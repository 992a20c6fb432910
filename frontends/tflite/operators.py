"""The table of TFLite's operators: one row has all of the importer's facts about an operator."""

from collections.abc import Callable
from dataclasses import InitVar, dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from frontends.tflite.model import HANDLE
from frontends.tflite.options.custom import FLEX

if TYPE_CHECKING:
    from frontends.tflite.converters.context import Context

Rule = Callable[["Context"], Any]
"""Returns the operator's output, an expression of Relax or one with numpy's interface
(``qnn_ops.dialect.expressions``), or a list of them if it has several."""

COMPUTED = frozenset({"int8"})
MOVED = frozenset({"int8", "int32", "bool", HANDLE})
CONVERTED = frozenset({"int8", "float32"})
"""The types for which an operator of TFLM computes int8, moves values, or converts to float32."""


@dataclass(frozen=True)
class Row:
    """The importer's facts about one operator. A rule that is None does not exist.

    Attributes:
        data: the rule for tensors of any type; it replaces all other rules.
        scaled: the exact rule for int8, uint8 and int16; sets the next two.
        quantized: the exact rule for int8 and uint8.
        int16: the exact rule for int16; its weights may be int8.
        floats: the rule for float32. A quantized operator without a rule of its own uses it between
            dequantize and quantize.
        whole: the rule for int32, int64 and bool, which are plain numbers.
        unscaled: the rule for 8 or 16 bits if a tensor has no scale, or one for each channel.
        sums: the rule for int8 data and an int32 result.
        hybrid: the rule for float32 data and 8-bit weights.
        by_block: the rule for float32 data and weights, the second operand, with scales by block.
        known: the rule that only computes values at the import.
        of_shape: whether that rule reads nothing but the operand's shape.
        is_dense: whether its result is its operand, which the reader has made dense.
        refusal: the reason why there is no rule for the data of a run.
        dtypes: the types of the first operand that the rule for any type takes; none for all.
        micro: the types for which TFLM gives the same results; none if this is not known.
        unpacks: the packed types that LiteRT's kernel unpacks: "int4", "int2", or of constants
            only "constant int4", "constant int2".
        data_and_weights: the indices of these operands of a hybrid operator.
        has_computed_weights: whether a run may compute the second operand.
        is_for_every_scale: whether it computes the same for every scale, if there is only one.
        is_layer: whether it has weights that can take the signs of scales.
        is_complemented: whether it reads an operand's scale only times its distance from the zero
            point.
        widens: whether it may give int16 for 8-bit data.
        reshapes: whether it gives the same values in another shape, complex ones too.
        takes_complex: whether it reads complex values.
        gives_complex: whether it gives complex values.
        states_dtype: whether its options state the result's type, in place of the file's tensor.
        runs_subgraphs: whether its rule emits subgraphs, so that folding leaves it to its
            conversion.
        fills: whether its result may have elements although an operand has none.
        combines: the reduction of a subgraph that has only this operator: "add", "multiply",
            "maximum", "minimum", "all" or "any".
        keeps: the part of its operand that it keeps: "numbers", or "scores" up to rounding.
        products: counts its products, from the shapes of its operands and of its result.
    """

    data: Rule | None = None
    scaled: InitVar[Rule | None] = None
    quantized: Rule | None = None
    int16: Rule | None = None
    floats: Rule | None = None
    whole: Rule | None = None
    unscaled: Rule | None = None
    sums: Rule | None = None
    hybrid: Rule | None = None
    by_block: Rule | None = None
    known: Rule | None = None
    of_shape: bool = False
    is_dense: bool = False
    refusal: str = ""
    dtypes: tuple[str, ...] = ()
    micro: frozenset[str] = frozenset()
    unpacks: tuple[str, ...] = ("constant int4",)
    data_and_weights: tuple[int, int] = (0, 1)
    has_computed_weights: bool = False
    is_for_every_scale: bool = False
    is_layer: bool = False
    is_complemented: bool = False
    widens: bool = False
    reshapes: bool = False
    takes_complex: bool = False
    gives_complex: bool = False
    states_dtype: bool = False
    runs_subgraphs: bool = False
    fills: bool = False
    combines: str = ""
    keeps: str = ""
    products: Callable[[list[tuple[int, ...]], tuple[int, ...]], int] | None = None

    def __post_init__(self, scaled: Rule | None) -> None:
        """Fill in the rules of each width."""
        if scaled is not None:
            object.__setattr__(self, "quantized", scaled)
            object.__setattr__(self, "int16", scaled)


UNKNOWN_SHAPE = "the shape of its result depends on the data of a run"
"""The reasons why some operators have no rule."""

OPERATORS: dict[str, Row] = {}
"""The rows by operator. The file of each family of operators adds its rows when it is imported."""

_NOTHING = Row()
_Rule = TypeVar("_Rule", bound=Rule)


def converter(*codes: str, kind: str = "data", **facts: Any) -> Callable[[_Rule], _Rule]:
    """Decorate the only rule of some operators, which gives them a row.

    Args:
        *codes: the operators.
        kind: the rule's field of the row.
        **facts: other fields.
    """

    def decorate(rule: _Rule) -> _Rule:
        facts[kind] = rule
        OPERATORS.update(dict.fromkeys(codes, Row(**facts)))
        return rule

    return decorate


def row_of(code: str) -> Row:
    """Return an operator's row; an empty row for an unknown operator."""
    return OPERATORS.get(code, _NOTHING)


def codes_with(*kinds: str) -> list[str]:
    """List LiteRT's own operators that have a rule of one of these kinds, sorted."""
    own = {code: row for code, row in OPERATORS.items() if not code.startswith(FLEX)}
    return sorted(code for code, row in own.items() if any(getattr(row, kind) for kind in kinds))


OPERATORS.update(
    {
        "UNIQUE": Row(refusal=UNKNOWN_SHAPE),
        **dict.fromkeys(
            (
                *("MULTINOMIAL", "RANDOM_STANDARD_NORMAL", "RANDOM_UNIFORM"),
                "STABLEHLO_RNG_BIT_GENERATOR",
            ),
            Row(refusal="its results are random numbers, others in every run"),
        ),
        # Compilers and libraries of vendors write these operators; they do not contain the model.
        "CUSTOM:edgetpu-custom-op": Row(
            refusal="is code for Coral's Edge TPU; import the file that edgetpu_compiler read"
        ),
        "CUSTOM:ethos-u": Row(refusal="is code for Arm's Ethos-U; import the file that vela read"),
        "CUSTOM:NeutronGraph": Row(
            refusal="is code for NXP's eIQ Neutron; import the file that its converter read"
        ),
        "CUSTOM:PosenetDecoderOp": Row(
            refusal="is Coral's decoder of poses, which its library runs on a processor"
        ),
    }
)
