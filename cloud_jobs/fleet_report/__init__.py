"""`oncegate report`: the gold tables as a folder of HTML pages, read without Spark or Java."""
