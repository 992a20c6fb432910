"""Networks of MXNet's model zoo, quantized by MXNet itself, against what tvm-qnn makes of them."""
