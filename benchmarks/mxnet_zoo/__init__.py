"""Networks of MXNet's model zoo, quantized by MXNet itself, to compare with tvm-qnn."""
