"""Passwords: the password file, hashes, the processes that check passwords, and SCRAM."""
