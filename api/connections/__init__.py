"""Visitors' connections: limits on their number and duration, TLS, and the certificate."""
