"""What goes in and comes out: pictures, text on a terminal, files that are written whole."""
