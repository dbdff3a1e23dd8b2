"""Shared parts of running processes: signals, readiness, log lines, and free ports."""
