"""Commands that run once and exit: the audit of a session log, backups, and the load generator."""
