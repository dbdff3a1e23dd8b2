"""The laws of conservation over the tables, and what is missing from the log."""
