"""Whole-graph rewrites from IRModule to IRModule, one idea in each file."""
