"""Epilogues: the instructions that turn accumulators into outputs."""
