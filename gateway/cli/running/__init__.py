"""Code that the running processes share: signals, readiness, log lines, and free ports."""
