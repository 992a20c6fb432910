from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from tests.support.bochs import PROCESSORS, Processor, missing, run_cases, write_assembly
from tests.support.functions import copier, dot, doubler
from tests.support.programs import Case

pytestmark = [
    pytest.mark.avx512,
    pytest.mark.skipif(missing() is not None, reason=f"cannot emulate x86: {missing()}"),
]
each_processor = pytest.mark.parametrize("processor", PROCESSORS.values(), ids=PROCESSORS)
ICELAKE = PROCESSORS["icelake-server"]


@each_processor
def test_several_functions_run_over_several_inputs(processor: Processor) -> None:
    rng = np.random.default_rng(0)
    cases = []
    for size, dtype in ((5, "int8"), (64, "uint8"), (1_000_000, "int32"), (3, "float32")):
        function = doubler(size, dtype)
        inputs = [rng.integers(0, 60, size).astype(dtype) for _ in range(2)]
        cases += [Case(function, [array], (size,), dtype) for array in inputs]
    for case, result in zip(cases, run_cases(processor, cases), strict=True):
        assert result.dtype == case.dtype
        np.testing.assert_array_equal(result, case.inputs[0] * 2)


@pytest.mark.parametrize(
    ("reads", "writes", "what"),
    [
        (8, 5, None),
        (5, 9, "past the output"),
        (5, 200, "memory that is not its own"),
        (200, 5, "memory that is not its own"),
    ],
)
def test_memory_beyond_a_buffer_is_noticed(reads: int, writes: int, what: str | None) -> None:
    case = Case(copier(5, reads, writes), [np.arange(5, dtype=np.int8)], (5,), "int8")
    if what is None:
        np.testing.assert_array_equal(run_cases(ICELAKE, [case])[0][:4], np.arange(4))
    else:
        with pytest.raises(AssertionError, match=what):
            run_cases(ICELAKE, [case])


@each_processor
def test_an_instruction_that_the_processor_lacks_stops_the_program(processor: Processor) -> None:
    # Compiled for a processor that has it.
    lucky = Processor(processor.model, ICELAKE.mcpu)
    ones = np.ones(64, np.int8)
    case = Case(
        dot("llvm.x86.avx512.vpdpbusd.512", 16),
        [ones, np.arange(64, dtype=np.int8)],
        (16,),
        "int32",
    )
    if processor.model == ICELAKE.model:
        sums = np.arange(64).reshape(16, 4).sum(axis=1)
        np.testing.assert_array_equal(run_cases(lucky, [case])[0], sums)
    else:
        what = f"failed on {processor.model}: an instruction that the processor lacks"
        with pytest.raises(AssertionError, match=what):
            run_cases(lucky, [case])


def test_addresses_that_the_emulator_misreads_are_written_at_length(tmp_path: Path) -> None:
    module = Mock()
    module.inspect_source.return_value = "\t.loc\t1 0 0\n\tvpextrw\t$0, %xmm25, 28(%rsi)\n\tretq\n"
    text = write_assembly(module, tmp_path).read_text()
    assert text == "\t{disp32} vpextrw\t$0, %xmm25, 28(%rsi)\n\tretq\n"
