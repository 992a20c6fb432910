"""Training of the language model whose files `tvm_qnn.prose` has."""
