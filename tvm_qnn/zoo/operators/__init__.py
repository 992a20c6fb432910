"""The operators of topologies: each one computes in float32, and writes itself to a file."""
