"""Benchmark scripts; run each as `python -m benchmarks.<name>`."""
