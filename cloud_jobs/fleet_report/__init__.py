"""The command `oncegate report`: write HTML pages from the gold tables, without Spark or Java."""
