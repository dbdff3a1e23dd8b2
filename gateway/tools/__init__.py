"""Commands that run and end: the audit of a store, and the load generator."""
