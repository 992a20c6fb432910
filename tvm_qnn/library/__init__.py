"""Compiled models: run here or on a device, written to files, loaded, kept in a cache."""
