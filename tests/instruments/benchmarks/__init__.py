"""Benchmarks next to another broker in the same run: `make bench`. No test asserts a time."""
