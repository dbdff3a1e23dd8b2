"""The command `oncegate query`: print readings from the ingested tables, without Spark or Java."""
