"""Ingestion of landed segment files in batches: list, verify, and write them to the tables."""
