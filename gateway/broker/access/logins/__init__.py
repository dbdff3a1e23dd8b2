"""Logins that are being checked: scheduling, delays after wrong guesses, and their proofs."""
