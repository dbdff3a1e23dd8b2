"""Checks of logins, with their queue, the delays after wrong guesses, and the results."""
