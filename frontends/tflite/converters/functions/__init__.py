"""Functions of numbers: one by one, in pairs, along axes."""
