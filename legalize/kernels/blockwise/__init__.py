"""Dense layers of float32 data, whose weights stay in memory as a few bits."""
