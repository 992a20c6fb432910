"""The loops of compiled kernels, as llvm-mca expects them to run, for any instruction set."""
