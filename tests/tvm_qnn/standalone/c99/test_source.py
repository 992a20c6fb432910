from tests.support.errors import giving
from tvm_qnn.standalone.c99.source import c_number

test_numbers_are_those_of_c = giving(
    c_number,
    (3, "int8", "3"),
    (-3, "int64", "(-3LL)"),
    (-(2**31), "int32", "(-2147483647 - 1)"),
    (-(2**63), "int64", "(-9223372036854775807LL - 1)"),
    (2**32 - 1, "uint32", "4294967295U"),
    (1.0, "float32", "1.0f"),
    (0.1, "float32", "0.100000001f"),
    (0.1, "float64", "0.10000000000000001"),
    (-1e30, "float32", "(-1.00000002e+30f)"),
    (float("-inf"), "float32", "(-(float)INFINITY)"),
    (float("nan"), "float64", "((double)NAN)"),
)
