"""Connections of visitors: limits on their number and duration, TLS, and the certificate."""
