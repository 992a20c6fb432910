"""The commands of `tvm-qnn`, one in each file. They import their modules when they run."""
