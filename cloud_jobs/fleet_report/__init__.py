"""The command `oncegate report`, which writes HTML pages from the gold tables without Spark."""
