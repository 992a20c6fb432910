"""The archives of ``torch.export``, and what a damaged one may hold."""
