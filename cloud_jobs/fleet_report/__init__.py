"""`oncegate report`: the gold tables as one HTML page, read without Spark or Java."""
