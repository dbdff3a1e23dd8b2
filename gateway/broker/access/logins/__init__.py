"""Checks of logins: the queue, the checks themselves, delays after wrong guesses, and results."""
