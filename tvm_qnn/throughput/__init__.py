"""Measures images a second: of several streams, each with one thread, and of batches."""
