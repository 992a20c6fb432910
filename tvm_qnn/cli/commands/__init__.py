"""The commands of `tvm-qnn`, one a file. They import what they need when they run."""
