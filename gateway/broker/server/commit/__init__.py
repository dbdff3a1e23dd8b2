"""Commits of records in batches. Packets that depend on records are sent after the commit.

One write and one fsync make a whole batch durable. The encoded events of a batch are called a blob.
"""
