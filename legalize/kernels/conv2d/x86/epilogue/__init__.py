"""From accumulators to outputs."""
