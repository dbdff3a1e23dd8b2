"""Durable commits: records are written to disk in batches, and packets are sent only afterwards.

A batch takes one write and one fsync. Its encoded events are called a blob.
"""
