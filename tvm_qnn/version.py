"""The only place of the version; setup.py reads it, too."""

__version__ = "0.1.0"
