"""Commits records in batches. Packets that depend on a record are sent after its commit.

One write and one fsync make a whole batch durable. The encoded events of a batch are called a blob.
"""
