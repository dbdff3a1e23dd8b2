"""Durable commits: records are written to disk in batches before dependent packets are sent.

One write and one fsync make a batch durable. The encoded events of a batch are called a blob.
"""
