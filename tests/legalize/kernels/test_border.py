from tvm import relax
from tvm.script import tirx as T

from legalize.kernels.border import Border, edges_of, tell_border
from legalize.kernels.call import call_tir
from tests.support.errors import giving

# tirx's own annotations are not Python's.
# mypy: disable-error-code="valid-type"


@T.prim_func(s_tir=True)
def copy(source: T.Buffer((4,), "uint8"), target: T.Buffer((4,), "uint8")) -> None:
    for i in range(4):
        target[i] = source[i]


def edges(*, zero_point: int, border: Border | None) -> tuple[int, ...]:
    function = copy if border is None else tell_border(copy, border)
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((4,), "uint8"))
    with builder.function("main", [x]):
        assert edges_of(builder, x, zero_point) == (0, 0, 0, 0)
        result = call_tir(builder, "copy", function, [x], (4,), "uint8")
        # Under another name, as passes give them.
        other = builder.emit(result)
        found = edges_of(builder, other, zero_point)
        builder.emit_func_output(other)
    return found


test_edges_are_what_the_function_before_tells = giving(
    lambda zero_point, border: edges(zero_point=zero_point, border=border),
    (7, Border((1, 2, 3, 4), 7), (1, 2, 3, 4)),
    (8, Border((1, 2, 3, 4), 7), (0, 0, 0, 0)),
    (7, None, (0, 0, 0, 0)),
)
