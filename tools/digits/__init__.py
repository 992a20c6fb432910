"""Training of the digit classifier whose models `tvm_qnn.digits` has."""
