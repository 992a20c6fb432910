"""The standard's element types and families of operators: facts that several steps use."""

DOMAINS = ("", "ai.onnx")
"""The names of the standard's domain."""

FLOAT, INT32, INT64, HALF = 1, 6, 7, 10
"""The numbers of the element types float32, int32, int64 and float16."""

COMPARING = ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual")
LOGICAL = ("And", "Or", "Xor")
BROADCASTING = (
    *(*COMPARING, *LOGICAL, "Add", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Div"),
    *("Max", "Mean", "Min", "Mod", "Mul", "PRelu", "Pow", "Sub", "Sum", "Where"),
)
"""Operators of the elements of several tensors, whose shapes broadcast."""
UNARY = (
    *("Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "BitCast", "BitwiseNot", "Cast"),
    *("Ceil", "Celu", "Clip", "Cos", "Cosh", "DequantizeLinear", "Elu", "Erf", "Exp", "Floor"),
    *("Gelu", "HardSigmoid", "HardSwish", "Identity", "IsInf", "IsNaN", "LeakyRelu", "Log", "Mish"),
    *("Neg", "Not", "QuantizeLinear", "Reciprocal", "Relu", "Round", "Selu", "Sigmoid", "Sign"),
    *("Sin", "Sinh", "Softplus", "Softsign", "Sqrt", "Tan", "Tanh", "ThresholdedRelu"),
)
"""Operators of the elements of one tensor; their other operands are parameters."""
MOVING = (
    *("Concat", "Expand", "Flatten", "Gather", "Identity", "Reshape", "Slice", "Squeeze"),
    *("Transpose", "Unsqueeze"),
)
"""Operators that move elements of any type."""
REDUCING = (
    *("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean"),
    *("ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"),
)
"""Operators that reduce elements along axes."""
