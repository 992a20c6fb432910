"""Reads the archives of ``torch.export`` safely, even damaged or hostile ones."""
