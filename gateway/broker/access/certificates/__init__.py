"""Certificates of listeners and of clients, and certificate revocation lists."""
