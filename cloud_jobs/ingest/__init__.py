"""Ingestion of landed (uploaded) segment files: list and verify them, and store their events."""
