"""Input and output: pictures, text on a terminal, files that appear as a whole."""
