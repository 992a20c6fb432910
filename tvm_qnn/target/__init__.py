"""What code is compiled for and what it needs; machine code, object files and linkers."""
