"""Ingestion of landed segment files: list them, verify them, and write them to the tables in
batches."""
