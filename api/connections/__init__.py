"""Connections of visitors: limits on their number and time, TLS, and the certificate."""
