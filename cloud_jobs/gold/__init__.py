"""Computes the gold tables from the ingested tables. Reports query the gold tables."""
