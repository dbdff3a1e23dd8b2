"""Maintenance of the tables: merge small files, remove old files, and retry refused segments."""
