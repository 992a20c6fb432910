import numpy as np
import pytest
from tvm import te

from tests.support.arm import CORTEX_A72, CORTEX_A76, Core, each_core, on_cores, run_cases
from tests.support.functions import copier, dot, doubler
from tests.support.programs import Case


@each_core
def test_several_functions_run_over_several_inputs(core: Core) -> None:
    rng = np.random.default_rng(0)
    cases = []
    for size, dtype in ((5, "int8"), (64, "uint8"), (1000, "int32"), (3, "float32")):
        function = doubler(size, dtype)
        inputs = [rng.integers(0, 60, size).astype(dtype) for _ in range(3)]
        cases += [Case(function, [array], (size,), dtype) for array in inputs]
    for case, result in zip(cases, run_cases(core, cases), strict=True):
        assert result.dtype == case.dtype
        np.testing.assert_array_equal(result, case.inputs[0] * 2)


@each_core
@pytest.mark.parametrize(
    ("reads", "writes", "what"),
    [(8, 5, None), (5, 9, "past the output"), (5, 200, "SIGSEGV"), (200, 5, "SIGSEGV")],
)
def test_memory_beyond_a_buffer_is_noticed(
    core: Core, reads: int, writes: int, what: str | None
) -> None:
    case = Case(copier(5, reads, writes), [np.arange(5, dtype=np.int8)], (5,), "int8")
    if what is None:
        np.testing.assert_array_equal(run_cases(core, [case])[0][:4], np.arange(4))
    else:
        with pytest.raises(AssertionError, match=what):
            run_cases(core, [case])


@each_core
def test_floats_become_integers_of_64_bits(core: Core) -> None:
    # On 32 bits a function of the compiler's own does this.
    data = te.placeholder((4,), "float64")
    function = te.create_prim_func([data, te.compute((4,), lambda i: data[i].astype("int64"))])
    case = Case(function, [np.array([1.5, -7.9, 3e12, -3e12])], (4,), "int64")
    np.testing.assert_array_equal(run_cases(core, [case])[0], [1, -7, 3 * 10**12, -3 * 10**12])


@on_cores(CORTEX_A72, CORTEX_A76)
def test_an_instruction_that_the_core_lacks_stops_the_program(core: Core) -> None:
    # Compiled for a core that has it.
    lucky = Core(core.name, core.machine, CORTEX_A76.target_name)
    case = Case(
        dot("llvm.aarch64.neon.sdot.v4i32.v16i8", 4),
        [np.arange(16, dtype=np.int8)] * 2,
        (4,),
        "int32",
    )
    if core is CORTEX_A72:
        with pytest.raises(AssertionError, match="SIGILL on cortex-a72"):
            run_cases(lucky, [case])
    else:
        np.testing.assert_array_equal(run_cases(lucky, [case])[0], [14, 126, 366, 734])
