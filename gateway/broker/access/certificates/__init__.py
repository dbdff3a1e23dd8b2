"""Certificates of listeners, certificates of clients, and certificate revocation lists."""
