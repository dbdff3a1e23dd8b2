"""The audit of the tables. It finds lost messages, repeated messages and missing events."""
