"""Exports models as files that run without TVM: an object file and a few lines of C."""
