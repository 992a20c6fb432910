"""The demonstration: exact on trained digits, exact and fast on Inception V3 or another model."""
