"""The command `oncegate report`: writes HTML pages from the gold tables, without Spark or Java."""
