"""Scripts that make files of this repository; each is run as `python -m tools.<name>`."""
