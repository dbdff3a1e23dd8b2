"""Data directories in supported formats, with their expected contents: see `make`."""
