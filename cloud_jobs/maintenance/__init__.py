"""Maintains the tables: merges small files, removes old files, and requeues refused segments."""
