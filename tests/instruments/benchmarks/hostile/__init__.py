"""Measurements of an honest client next to each attack: `make hostile`. No test asserts a time."""
