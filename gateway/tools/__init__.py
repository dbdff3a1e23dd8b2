"""Commands that run once and exit: the audit of a session log, and the load generator."""
