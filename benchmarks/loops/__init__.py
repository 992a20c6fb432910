"""What llvm-mca expects of the loops of compiled kernels, for any instruction set."""
