"""Computation of the gold tables, which reports query, from the ingested tables."""
