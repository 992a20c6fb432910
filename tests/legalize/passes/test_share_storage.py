import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.relax import op as R

from legalize.call_plan import Call, Input, Output, Plan, Temporary
from legalize.passes.share_storage import ShareStorage, share
from tests.legalize.passes.test_one_function import TY, called, chain
from tests.support.modules import module


def calls_on(sizes: list[int], *arguments: tuple[int, ...]) -> Plan:
    """Return a plan of calls on temporary tensors, by their numbers: three are those of a "sum"."""
    calls = [
        Call("sum" if len(numbers) == 3 else "f", tuple(map(Temporary, numbers)))
        for numbers in arguments
    ]
    return Plan(tuple(calls), (), tuple(sizes))


def test_tensors_share_a_block_where_one_is_dead() -> None:
    found = share(calls_on([64, 640, 64, 640], (0, 1), (1, 2), (2, 3)), {})
    assert found.sizes == (640, 64)
    assert found.places == {1: 0, 3: 0, 0: 1, 2: 1}


def test_blocks_are_whole_lines_and_the_largest_choose_first() -> None:
    found = share(calls_on([10, 100, 300], (0, 1), (1, 2)), {})
    assert found.sizes == (320, 128)
    assert found.places == {2: 0, 1: 1, 0: 0}


@pytest.mark.parametrize(
    ("sizes", "arguments", "blocks"),
    [
        # The second argument, whose tensor is not read again.
        ([64, 64, 64], [(0,), (1,), (0, 1, 2)], 2),
        # It is read again: later, or as another argument.
        ([64, 64, 64], [(0,), (1,), (0, 1, 2), (1, 2)], 3),
        ([64, 64], [(0,), (0, 0, 1)], 2),
        # It is of another size.
        ([64, 128, 64], [(0,), (1,), (0, 1, 2)], 3),
        # Something of the output was written before.
        ([64, 64, 64], [(0, 2), (1,), (0, 1, 2)], 3),
    ],
)
def test_an_output_lies_over_an_input_that_dies(
    sizes: list[int], arguments: list[tuple[int, ...]], blocks: int
) -> None:
    plan = calls_on(sizes, *arguments)
    assert len(share(plan, {"sum": 1}).sizes) == blocks
    assert len(share(plan, {}).sizes) == len(sizes)


def test_a_chain_of_sums_is_one_block() -> None:
    sums = (1, 0, 2), (3, 2, 4), (5, 4, 6)
    plan = calls_on([64] * 7, (0,), (1,), sums[0], (3,), sums[1], (5,), sums[2])
    found = share(plan, {"sum": 1})
    assert len({found.places[number] for number in (0, 2, 4, 6)}) == 1
    assert len(found.sizes) == 2


def test_inputs_and_outputs_are_the_callers() -> None:
    plan = Plan((Call("f", (Temporary(0), Input(0), Output(0))),), (), (64,))
    assert share(plan, {"f": 1}).places == {0: 0}


def test_main_allocates_blocks_and_its_results() -> None:
    mod = called(module({"x": TY}, lambda x: chain(x, 5)))
    text = ShareStorage()(mod)["main"].script()
    assert text.count("R.memory.alloc_storage(") == 2
    assert text.count("R.memory.alloc_tensor(") > 4
    assert text.count("R.builtin.alloc_tensor(") == 1


def test_what_is_no_list_of_calls_stays() -> None:
    mod = module({"x": TY}, lambda x: R.add(x, x))
    tvm.ir.assert_structural_equal(ShareStorage()(mod), mod)


def test_results_are_those_without_it() -> None:
    mod = called(module({"x": TY}, lambda x: chain(x, 5)))
    x = np.random.default_rng(0).integers(-9, 9, (3, 40), np.int32)
    results = []
    for each in (mod, ShareStorage()(mod)):
        machine = relax.VirtualMachine(tvm.compile(each, target="llvm"), tvm.cpu())
        results.append(machine["main"](tvm.runtime.tensor(x)).numpy())
    np.testing.assert_array_equal(*results)
