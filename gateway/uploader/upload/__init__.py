"""Upload from log/sealed to the configured target, after which segments move to log/sent."""
