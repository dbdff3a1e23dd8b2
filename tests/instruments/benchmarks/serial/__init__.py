"""Fully loaded serial lines, measured from the last byte to a subscriber: `make bench-serial`."""
