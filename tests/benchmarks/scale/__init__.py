"""Standstill, wear, memory, restart and overload, measured: `make scale`. No test asserts a time."""
