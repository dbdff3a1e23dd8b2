"""A fleet's segments generated from a seed, with faults, and the expected tables."""
