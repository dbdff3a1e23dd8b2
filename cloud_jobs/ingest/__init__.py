"""Ingestion of landed segment files: they are listed, verified and written to the tables in
batches."""
