"""Data directories that earlier versions wrote, with their expected contents: see `make`."""
