"""Commands that test a broker: the audit and the load generator."""
