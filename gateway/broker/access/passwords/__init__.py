"""Passwords: the password file, hashes, the worker processes that check them, and SCRAM."""
