"""Handles visitors' connections: limits their number and duration, and provides TLS."""
