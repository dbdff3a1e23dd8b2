"""Standstill, wear, memory and restart, measured: `make scale`. No test asserts a time."""
