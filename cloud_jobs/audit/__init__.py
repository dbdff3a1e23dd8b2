"""The audit of the tables: checks that no message was lost or repeated, and a search for missing
events."""
