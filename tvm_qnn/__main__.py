"""`python -m tvm_qnn` is the command `tvm-qnn`."""

from tvm_qnn.cli import main

main(prog_name="python -m tvm_qnn")
