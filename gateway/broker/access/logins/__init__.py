"""Logins that are being checked: the queue, the checks, delays after guesses, and the result."""
