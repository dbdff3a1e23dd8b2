"""The session log as pages and REST."""
