import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from legalize.passes.rewriter import CallRewriter, Facts, call_pass, rewrite_calls
from qnn_ops import quantized_concat, quantized_lookup, quantized_pad, quantized_relu
from qnn_ops.dialect.registry import attrs_of, with_attrs


@I.ir_module
class Pads:
    """A pad of a pad that a Relax operator reads too, and a third one that nobody reads."""

    @R.function
    def main(x: R.Tensor((3,), "int8")) -> R.Tuple(R.Tensor((5,), "int8"), R.Tensor((4,), "int8")):
        with R.dataflow():
            one = R.qnn.quantized_pad(x, pad_width=[0, 1], pad_value=1)
            two = R.qnn.quantized_pad(one, pad_width=[0, 1], pad_value=2)
            same = R.add(one, one)
            dead = R.qnn.quantized_pad(two, pad_width=[0, 1], pad_value=3)  # noqa: F841
            R.output(two, same)
        return (two, same)


PAD = quantized_pad.op.name


def test_only_calls_with_a_rule_are_visited_in_order() -> None:
    seen: list[relax.Call] = []
    rewrite_calls(Pads, {PAD: lambda _writer, _original, call: seen.append(call)})
    assert [attrs_of(call).pad_value for call in seen] == [1, 2, 3]
    assert all(isinstance(call.ty, relax.TensorType) for call in seen)


def test_what_nobody_reads_is_removed_if_a_call_is_replaced() -> None:
    same = rewrite_calls(Pads, {PAD: lambda _writer, _original, call: with_attrs(call)})
    assert same.script().count("quantized_pad") == 2
    assert rewrite_calls(Pads, {PAD: lambda *_: None}).same_as(Pads)


def merge(writer: CallRewriter, _original: relax.Call, call: relax.Call) -> relax.Expr:
    """Pads by twice the value; a pad of a pad becomes one of both."""
    inner = writer.producer(call.args[0], quantized_pad)
    assert writer.producer(call.args[0], quantized_relu) is None
    if inner is None:
        return with_attrs(call, pad_value=2 * attrs_of(call).pad_value)
    (before, after), (_, more) = attrs_of(inner).pad_width, attrs_of(call).pad_width
    merged = with_attrs(inner, pad_width=[before, after + more])
    return relax.Call(merged.op, inner.args, merged.attrs)


def test_a_rewrite_sees_its_operands_rewritten() -> None:
    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((3,), "int8")) -> R.Tuple(
            R.Tensor((5,), "int8"), R.Tensor((4,), "int8")
        ):
            with R.dataflow():
                one = R.qnn.quantized_pad(x, pad_width=[0, 1], pad_value=2)
                two = R.qnn.quantized_pad(x, pad_width=[0, 2], pad_value=2)
                same = R.add(one, one)
                R.output(two, same)
            return (two, same)

    tvm.ir.assert_structural_equal(rewrite_calls(Pads, {PAD: merge}), Expected)


def test_a_pass_has_its_name_and_starts_afresh_for_each_module() -> None:
    merging = call_pass({PAD: merge}, "Merge")
    assert merging.info.name == "Merge"
    tvm.ir.assert_structural_equal(merging(Pads), merging(Pads))


def test_other_functions_and_attributes_of_the_module_are_kept() -> None:
    @I.ir_module
    class Module:
        I.module_attrs({"version": 3})

        @T.prim_func(s_tir=True)
        def kernel(x: T.Buffer((3,), "int8"), y: T.Buffer((3,), "int8")) -> None:
            for i in range(3):
                with T.sblock("copy"):
                    v = T.axis.spatial(3, i)
                    y[v] = x[v]

        @R.function
        def main(x: R.Tensor((3,), "int8")) -> R.Tensor((3,), "int8"):
            R.func_attr({"author": "nobody"})
            cls = Module
            return R.call_tir(cls.kernel, (x,), R.Tensor((3,), "int8"))

    tvm.ir.assert_structural_equal(rewrite_calls(Module, {PAD: merge}), Module)


def test_with_attrs_changes_what_is_named_and_nothing_else() -> None:
    inputs = [relax.Var(name, relax.TensorType((4,), "uint8")) for name in "xy"]
    call = quantized_concat(inputs, [0.5, 0.25], [1, 2], 0.5, 3, "uint8", axis=0)
    changed = with_attrs(call, output_zero_point=4, input_zero_points=(5, 6))
    assert changed.op.same_as(call.op)
    assert [arg.same_as(old) for arg, old in zip(changed.args, call.args, strict=True)] == [True]
    expected = {**vars(attrs_of(call)), "output_zero_point": 4, "input_zero_points": (5, 6)}
    assert vars(attrs_of(changed)) == expected
    assert attrs_of(call).output_zero_point == 3


def test_every_place_that_reads_a_variable_counts() -> None:
    @I.ir_module
    class Module:
        @R.function
        def main(
            x: R.Tensor((4,), "int8"), unread: R.Tensor((4,), "int8"), c: R.Tensor((), "bool")
        ) -> R.Tuple(R.Tensor((4,), "int8"), R.Tuple(R.Tensor((4,), "int8"))):
            twice = R.add(x, x)
            if c:  # noqa: SIM108 (TVMScript)
                y = R.add(twice, x)
            else:
                y = R.negative(twice)
            return (y, (twice,))

    mod: tvm.IRModule = Module
    uses = {var.name: count for var, count in Facts(mod["main"]).uses.items()}
    assert (uses["x"], uses["twice"], uses["c"]) == (3, 3, 1)
    assert "unread" not in uses


def test_a_calls_producer_may_be_no_variable() -> None:
    x = relax.Var("x", relax.TensorType((4,), "int8"))
    table = relax.Var("table", relax.TensorType((256,), "int8"))
    call = quantized_lookup(x, table)
    writer = CallRewriter(Pads)
    assert writer.producer(call, quantized_lookup) is call
    assert writer.producer(call, quantized_pad) is None
