"""The operators that topologies are made of: each computes in float32, and writes itself."""
