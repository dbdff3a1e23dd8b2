"""Checks of logins, including the login queue, delays after wrong guesses, and results."""
