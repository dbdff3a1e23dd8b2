"""Commits: records are written in batches, and packets are sent once their records are durable.

One write and one fsync make a batch durable. The encoded events of a batch are called a blob.
"""
