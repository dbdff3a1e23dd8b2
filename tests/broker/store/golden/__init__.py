"""Data directories that earlier versions left, with what must be found in them: see `make`."""
