"""Random calls of the operators, one file each, for the tests of every lowering."""
