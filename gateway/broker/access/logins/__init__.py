"""Login checks: the queue of logins, delays after wrong passwords, and results."""
