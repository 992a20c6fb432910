"""Writers of loops and vectors in TVM's TIR, for any processor."""
