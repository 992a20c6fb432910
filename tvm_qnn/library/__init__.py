"""Compiled models: runs them here or on a device, writes, loads and caches them."""
