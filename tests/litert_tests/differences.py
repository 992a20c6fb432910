"""Tests of LiteRT's that fail on ``tvm_qnn.litert`` by design, each with its reason."""

_OPERATORS = "operators of the caller's are refused"
_DELEGATES = "delegates are refused"
_TEXT = "tensors of text are refused when the model is compiled"
_HELD = "arrays of a tensor's memory may be held while the model runs"

DIFFERENCES = {
    **{
        f"InterpreterCustomOpsTest::test{name}": _OPERATORS
        for name in ("RegistererByName", "RegistererByFunc", "RegistererFailure")
    },
    "InterpreterCustomOpsTest::testRegisterGenAIOpsFailure": _OPERATORS,
    "InterpreterTest::testSparseTensorAccess": _OPERATORS,
    "InterpreterTest::testString": _TEXT,
    "InterpreterTest::testStringZeroDim": _TEXT,
    "InterpreterTest::testCreationCounter": "interpreters are not counted",
    "InterpreterTensorAccessorTest::testBase": _HELD,
    "InterpreterTensorAccessorTest::testBaseProtectsFunctions": _HELD,
    **{
        f"InterpreterDelegateTest::test{name}": _DELEGATES
        for name in ("Delegate", "MultipleInterpreters", "DestructionOrder", "Options", "Fail")
    },
}
"""The reason by the test's class and name."""
