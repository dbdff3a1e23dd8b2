"""`oncegate query`: readings from the ingested tables, without Spark or Java."""
