"""Input and output: pictures, text on a terminal, files that are written whole."""
