"""Measures the time of a run, operator by operator, and compares it with the processor's peak."""
