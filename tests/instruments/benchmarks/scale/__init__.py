"""Measurements of stalls, wear, memory and restarts: `make scale`. No test asserts a time."""
