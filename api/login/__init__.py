"""Logins for people, tokens for programs, and the check of each caller's role."""
