import tvm
from tvm import relax
from tvm.relax import op as R

from frontends.naming import owners, with_results

GROUPS = (["Q"], ["DQ"], ["Relu"])


def test_what_quantizes_or_clamps_a_result_belongs_to_its_operator() -> None:
    codes = ["Q", "DQ", "Conv", "Relu", "Q", "DQ", "Relu", "Q", "DQ", "Q"]
    operands = [None, *range(9)]
    assert owners(codes, operands, *GROUPS) == [0, 1, 2, 3, 2, 5, 6, 6, 8, 9]


def test_an_activation_that_nothing_quantizes_is_its_own() -> None:
    assert owners(["Conv", "Relu", "Conv"], [None, 0, 1], *GROUPS) == [0, 1, 2]


def test_variables_are_renamed_once_for_each_operator() -> None:
    builder = relax.BlockBuilder()
    data = relax.Var("data", relax.TensorType((4,), "float32"))
    with builder.function("main", [data]):
        with builder.dataflow():
            first = builder.emit(R.add(data, data))
            second = builder.emit(R.nn.relu(first))
            third = builder.emit(R.multiply(second, first))
            output = builder.emit_output(third)
        builder.emit_func_output(output)
    mod = builder.get()
    results = [(first, 2), (second, 2), (third, 3), (relax.const(1), 4), ([third], 5)]
    named, numbers = with_results(mod, results, ["", "", "Conv", "a.b", "", ""])
    assert numbers == {"Conv_2": 2, "a_b_3": 3}
    (block,) = named["main"].body.blocks
    assert [binding.var.name for binding in block.bindings] == ["lv", "Conv_2", "a_b_3", "gv"]
    relax.analysis.well_formed(named)  # raises
    tvm.ir.assert_structural_equal(named, mod, map_free_vars=True)
