"""The command `oncegate query`, which prints readings from the ingested tables without Spark."""
