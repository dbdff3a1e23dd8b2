"""Durable commits: records are written to disk in batches before dependent packets are sent.

A batch takes one write and one fsync. The encoded events of a batch are called a blob.
"""
