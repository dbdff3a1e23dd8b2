"""From log/sealed to the target that the configuration names, and then to log/sent."""
