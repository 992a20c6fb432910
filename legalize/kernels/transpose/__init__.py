"""Orders of axes."""
