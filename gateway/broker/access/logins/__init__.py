"""Login checks: the queue of logins, delays after wrong guesses, and results."""
