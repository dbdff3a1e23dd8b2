"""Full serial lines, from the last byte of each to a subscriber: `make bench-serial`."""
