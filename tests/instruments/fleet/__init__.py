"""A fleet's segments made from a seed, with faults, and what has to stand in the tables then."""
