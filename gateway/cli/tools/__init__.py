"""Commands that examine or load a broker: the audit and the load generator."""
